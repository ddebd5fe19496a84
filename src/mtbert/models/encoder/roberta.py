"""RoBERTa (Liu et al. 2019), and with it XLM-R (Conneau et al. 2020) and CamemBERT (Martin et al. 2020).

Formula: BERT's layers; the first token's position is padding + 1.

Source: Liu et al. (2019), "RoBERTa: A Robustly Optimized BERT Pretraining Approach", section 3: BERT, trained anew.
Positions and token types are those of the authors' code (fairseq): padding has position `pad_token_id`, so that a
sequence's begin behind it, and 514 positions hold 512 tokens; the second sentence of a pair has no type of its own. One
thing differs: a `<pad>` that a text itself holds has the next position, as any token. In transformers it has padding's,
and each token behind it has the position of the token before.

Legend: as in bert.py. Weights of an adapter are those of a BERT of the same shape: PALs of width 204 have 1,811,520 at
the shape of RoBERTa-base, biases apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from mtbert.models.encoder.bert import Bert
from mtbert.models.encoder.bert import Config as BertConfig
from mtbert.models.encoder.bert import Embeddings as BertEmbeddings

# Of a masked language model: the head's weights, in the order of MLM_PARTS.
HEAD = (
    "lm_head.dense.weight",
    "lm_head.dense.bias",
    "lm_head.layer_norm.weight",
    "lm_head.layer_norm.bias",
    "lm_head.bias",
)


@dataclass(frozen=True, kw_only=True)
class Config(BertConfig):
    """What config.json states of a RoBERTa, by its names."""

    pad_token_id: Annotated[int, Field(ge=0)] = 1

    @property
    def positions(self) -> int:
        """Tokens of the longest sequence."""
        return self.max_position_embeddings - self.pad_token_id - 1

    def __post_init__(self) -> None:
        if self.positions < 1:
            raise ValueError(
                f"pad_token_id is {self.pad_token_id}; allowed: less than max_position_embeddings - 1, "
                f"{self.max_position_embeddings - 1}, since positions begin behind it"
            )


class Embeddings(BertEmbeddings):
    """BERT's, with positions that begin behind that of padding."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.first = config.pad_token_id + 1


class Roberta(Bert):
    """A RoBERTa; the pooler is empty where its checkpoint has none."""

    title = "RoBERTa"
    config_type = Config

    @classmethod
    def mlm_heads(cls, stated: Mapping[str, Any]) -> tuple[tuple[str | None, ...], ...]:
        """Return the names of a checkpoint's MLM_PARTS; see `Backbone`."""
        return (HEAD,)

    def embeddings_of(self, config: Config) -> Embeddings:
        """Make the embeddings."""
        return Embeddings(config)
