"""DeBERTa-v3 (He et al. 2021, 2023): BERT's layers, whose attention has content and positions apart.

Formula: softmax((Q_i K_j + Q_i P_K(i - j) + K_j P_Q(i - j)) / sqrt(3 d)) V with Q = W_q h, K = W_k h,
P_K(n) = W_k e(n) and P_Q(n) = W_q e(n); e(n) = LN(E[b(n)]), and b the bucket of a distance: each of the nearest has its
own, farther ones share theirs by their logarithm.

Source: He et al. (2021), "DeBERTa", equation 4; buckets and W_q, W_k for positions, too, from the authors' DeBERTa-v2;
He et al. (2023), "DeBERTaV3", whose models have this form. The variant with a convolution (DeBERTa-v2's larger models),
or with other positions, is refused by name. The enhanced mask decoder is no part of the encoder, and not here.

Weights are Hugging Face's. An adapter that changes `query` or `key` changes W_q and W_k of positions, too: they are the
same maps. Nothing is gathered by index: a product by distance is moved into place, which is as exact backward.

Legend: h a layer's input; E `rel_embeddings` [2 buckets, width]; i, j positions in a row, n = i - j; d the width of a
head; tokens the longest of a batch's rows. Weights of an adapter are those of a BERT of the same shape: PALs of width
204 have 1,811,520 at the shape of DeBERTa-v3-base, biases apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import torch
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.encoder.attention import attention
from mtbert.models.encoder.base import Compute
from mtbert.models.encoder.bert import Bert
from mtbert.models.encoder.config import MLM_PARTS, Share, Size
from mtbert.models.encoder.config import Config as AnyConfig
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import LinearName, Slot

SUMMANDS = 3  # of a score, by which d is multiplied
# Of a masked language model: the head's weights as DeBERTa-v3's checkpoints name them, in the order of MLM_PARTS.
HEAD = (
    "lm_predictions.lm_head.dense.weight",
    "lm_predictions.lm_head.dense.bias",
    "lm_predictions.lm_head.LayerNorm.weight",
    "lm_predictions.lm_head.LayerNorm.bias",
    "lm_predictions.lm_head.bias",
)


@dataclass(frozen=True, kw_only=True)
class Config(AnyConfig):
    """What config.json states of a DeBERTa-v3, by its names."""

    expected = {
        "hidden_act": "gelu",
        "relative_attention": True,
        "share_att_key": True,
        "pos_att_type": ["c2p", "p2c"],
        "norm_rel_ebd": "layer_norm",
        "position_biased_input": False,
        "conv_kernel_size": 0,
    }
    absent = {
        "relative_attention": False,
        "share_att_key": False,
        "pos_att_type": None,
        "norm_rel_ebd": "none",
        "position_biased_input": True,
    }

    position_buckets: Annotated[Size, Field(ge=2)]
    max_relative_positions: int = -1
    type_vocab_size: Annotated[int, Field(ge=0, le=256)] = 0
    embedding_size: Size | None = None
    attention_head_size: Size | None = None
    layer_norm_eps: float = 1e-7
    hidden_dropout_prob: Share = 0.1
    attention_probs_dropout_prob: Share = 0.1

    @property
    def token_types(self) -> int:
        """How many token types there are."""
        return self.type_vocab_size

    @property
    def epsilon(self) -> float:
        """What keeps LayerNorm's divisions finite."""
        return self.layer_norm_eps

    @property
    def farthest(self) -> int:
        """The distance from which on all share the last bucket."""
        return self.max_relative_positions if self.max_relative_positions > 0 else self.max_position_embeddings

    @classmethod
    def normalised(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Return `pos_att_type` as a sorted list also where it is a text, as on the hub."""
        types = stated.get("pos_att_type")
        if isinstance(types, str):
            types = types.split("|")
        return {**stated, "pos_att_type": sorted(types, key=str) if isinstance(types, list) else types}

    def __post_init__(self) -> None:
        if self.embedding_size not in (None, self.hidden_size):
            raise ValueError(f"embedding_size is {self.embedding_size}; allowed: hidden_size, {self.hidden_size}")
        d = self.hidden_size // self.num_attention_heads
        if self.attention_head_size not in (None, d):
            raise ValueError(f"attention_head_size is {self.attention_head_size}; allowed: {d}, as hidden_size has it")
        if self.farthest - 1 <= self.position_buckets // 2:
            raise ValueError(
                f"position_buckets is {self.position_buckets}, and the farthest distance {self.farthest}; allowed: "
                f"fewer than {2 * (self.farthest - 1)} buckets"
            )


class Embeddings(nn.Module):
    """The sum of word and type embeddings, normalised; positions enter the attention alone."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width)
        if config.type_vocab_size:
            self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.has_types = config.type_vocab_size > 0

    def forward(self, words: Tensor, token_types: Tensor) -> Tensor:
        """Map word embeddings [rows, tokens, width] to the first layer's input of the same shape."""
        types = self.token_type_embeddings(token_types) if self.has_types else 0
        return self.dropout(self.LayerNorm(words + types))


class SelfAttention(nn.Module):
    """Disentangled self-attention without its output map."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.query_proj = nn.Linear(width, width)
        self.key_proj = nn.Linear(width, width)
        self.value_proj = nn.Linear(width, width)
        self.pos_dropout = Dropout(config.hidden_dropout_prob)
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def linears(self) -> dict[LinearName, nn.Linear]:
        """Return the three maps by the names that a slot uses."""
        return {"query": self.query_proj, "key": self.key_proj, "value": self.value_proj}

    def forward(self, hidden: Tensor, mask: Tensor, slot: Slot, buckets: Tensor, in_bucket: Tensor) -> Tensor:
        """Hidden and result [rows, tokens, width], mask [rows, 1, 1, tokens]; the others as `Deberta` has them."""

        def headed(name: LinearName, inputs: Tensor) -> Tensor:
            """[rows, tokens, width] -> [rows, heads, tokens, d]."""
            mapped = slot.linear(name, self.linears()[name], inputs)
            return mapped.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        query, key, value = (headed(name, hidden) for name in self.linears())
        distances = (in_bucket @ self.pos_dropout(buckets)).unsqueeze(0)  # e(n) for n from tokens down to -tokens
        content_to_position = by_distance(query, headed("key", distances[:, 1:]))  # Q_i P_K(i - j)
        position_keys = headed("query", distances.flip(1)[:, 1:])
        position_to_content = by_distance(key, position_keys).transpose(-1, -2)  # K_j P_Q(i - j)
        bias = (content_to_position + position_to_content) / (SUMMANDS * query.shape[-1]) ** 0.5
        attended = attention(query / SUMMANDS**0.5, key, value, mask, self.training, self.dropout.p, bias)
        return attended.transpose(1, 2).flatten(2)


def by_distance(vectors: Tensor, distances: Tensor) -> Tensor:
    """Return x_a y(a - b) for positions a and b: [rows, heads, tokens, tokens].

    Shapes: vectors x [rows, heads, tokens, d]; distances y [1, heads, 2 tokens, d], its first for the distance
    tokens - 1, and each next for one less. So row a of all products has that of b = 0 at tokens - 1 - a: rows that are
    one number shorter, and begin tokens - 1 numbers later, have it first.
    """
    tokens = vectors.shape[2]
    products = (vectors @ distances.transpose(-1, -2)).flatten(-2)
    moved = products[..., tokens - 1 : tokens - 1 + tokens * (2 * tokens - 1)]
    return moved.unflatten(-1, (tokens, 2 * tokens - 1))[..., :tokens]


class Deberta(Bert):
    """A DeBERTa-v3, which has no pooler."""

    title = "DeBERTa"
    config_type = Config
    has_pooler = False

    def __init__(self, config: Config, pooler: bool = False) -> None:
        super().__init__(config, pooler)  # type: ignore[arg-type]
        self.encoder["rel_embeddings"] = nn.Embedding(2 * config.position_buckets, config.hidden_size)
        self.encoder["LayerNorm"] = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        # in fp32 as Hugging Face's, so that a distance at a bucket's edge has the same
        self.log_range = torch.tensor((config.farthest - 1) / (config.position_buckets // 2), device="cpu").log().item()

    @classmethod
    def mlm_heads(cls, stated: Mapping[str, Any]) -> tuple[tuple[str | None, ...], ...]:
        """Return the names of a checkpoint's MLM_PARTS; see `Backbone`. DeBERTa-v3's own state no `legacy`."""
        return (MLM_PARTS, HEAD) if stated.get("legacy", True) else (HEAD, MLM_PARTS)

    def embeddings_of(self, config: Config) -> Embeddings:
        """Make the embeddings."""
        return Embeddings(config)

    def attention_of(self, config: Config) -> SelfAttention:
        """Make the self-attention of a layer."""
        return SelfAttention(config)

    def computing(self, mask: Tensor) -> Compute:
        """Return what computes a layer; see `Backbone`."""
        layers = self.layer_modules()
        buckets = self.encoder["LayerNorm"](self.encoder["rel_embeddings"].weight)  # [2 buckets, width]
        in_bucket = self.in_bucket(mask.shape[-1], mask.device).to(buckets.dtype)

        def compute(number: int, hidden: Tensor, slot: Slot) -> Tensor:
            return layers[number](hidden, mask, slot, buckets, in_bucket)

        return compute

    def in_bucket(self, tokens: int, device: torch.device) -> Tensor:
        """Return which bucket has each distance from `tokens` down to -`tokens`: bool [2 tokens + 1, 2 buckets]."""
        count = self.config.position_buckets
        middle = count // 2
        distance = tokens - torch.arange(2 * tokens + 1, device=device)
        size = distance.abs().clamp_min(middle)
        logarithmic = torch.ceil(torch.log(size / middle) / self.log_range * (middle - 1)) + middle
        bucket = torch.where(distance.abs() <= middle, distance, logarithmic * distance.sign()).long()
        number = (bucket + count).clamp(0, 2 * count - 1)
        return number[:, None] == torch.arange(2 * count, device=device)
