"""BERT (Devlin et al. 2019, section 3) with a slot for adapters in each layer.

Formula: h_att = LN(h + SA(h)), and a layer ends in LN(h_att + FFN(h_att)), FFN(x) = W_o GELU(W_i x + b_i) + b_o;
slot.py says what an adapter can change of it.

Without an adapter this is Hugging Face's BertModel. Parts and settings have the same names, so that
weights and config.json are the same files. Hugging Face's own takes three seconds to import, as long as the rest of a
training.

Legend: h a layer's input; rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mtbert.models.encoder.attention import attention
from mtbert.models.encoder.base import Backbone, Compute
from mtbert.models.encoder.base import Layer as AnyLayer
from mtbert.models.encoder.config import MLM_PARTS, Count, Share
from mtbert.models.encoder.config import Config as AnyConfig
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import PLAIN, LinearName, Slot, Sublayer, begin_parallel, finish_parallel


@dataclass(frozen=True, kw_only=True)
class Config(AnyConfig):
    """What config.json states of a BERT, by its names."""

    expected = {"hidden_act": "gelu", "position_embedding_type": "absolute"}

    type_vocab_size: Count = 2
    layer_norm_eps: float = 1e-12
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


class Embeddings(nn.Module):
    """The sum of word, position and type embeddings, normalised.

    Attributes:
        first: the position of a sequence's first token.
    """

    first = 0

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, width)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, width)
        self.token_type_embeddings = nn.Embedding(config.type_vocab_size, width)
        self.LayerNorm = nn.LayerNorm(width, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, words: Tensor, token_types: Tensor) -> Tensor:
        """Map word embeddings [rows, tokens, width] to the first layer's input of the same shape."""
        positions = self.position_embeddings.weight[self.first : self.first + words.shape[1]]
        return self.dropout(self.LayerNorm(words + self.token_type_embeddings(token_types) + positions))


class SelfAttention(nn.Module):
    """Self-attention without its output map."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads = config.num_attention_heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.dropout = Dropout(config.attention_probs_dropout_prob)

    def linears(self) -> dict[LinearName, nn.Linear]:
        """Return the three maps by the names that a slot uses."""
        return {"query": self.query, "key": self.key, "value": self.value}

    def forward(self, hidden: Tensor, mask: Tensor, slot: Slot) -> Tensor:
        """Hidden and result [rows, tokens, width], mask [rows, 1, 1, tokens]."""
        query, key, value = (
            slot.linear(name, dense, hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for name, dense in self.linears().items()  # [rows, heads, tokens, width / heads]
        )
        return attention(query, key, value, mask, self.training, self.dropout.p).transpose(1, 2).flatten(2)


class LayerNorm(nn.LayerNorm):
    """LayerNorm whose result has the precision of what it normalises; it adds up in fp32.

    In autocast a GPU would make it fp32, and then cast it for each linear map that reads it, forward and backward. Its
    weights are rounded as those of linear maps are.
    """

    def forward(self, input: Tensor) -> Tensor:
        """Return a tensor of the same shape."""
        if not input.is_cuda or input.dtype == self.weight.dtype:
            return super().forward(input)
        with torch.autocast("cuda", enabled=False):
            weight, bias = self.weight.to(input.dtype), self.bias.to(input.dtype)
            return F.layer_norm(input, self.normalized_shape, weight, bias, self.eps)


class Output(nn.Module):
    """The end of each sub-layer: a dense map, the residual and LayerNorm."""

    def __init__(self, dense: LinearName, sublayer: Sublayer, inputs: int, config: Config) -> None:
        super().__init__()
        self.dense_name: LinearName = dense
        self.sublayer: Sublayer = sublayer
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, inner: Tensor, residual: Tensor, slot: Slot, parallel: Tensor | None = None) -> Tensor:
        """Inner [rows, tokens, inputs]; the others and the result [rows, tokens, width]."""
        output = self.dropout(slot.linear(self.dense_name, self.dense, inner))
        summed = slot.sublayer(self.sublayer, output, residual, self.LayerNorm)
        return self.LayerNorm(summed if parallel is None else summed + parallel)


class Layer(AnyLayer):
    """Self-attention and feed-forward."""

    def __init__(self, config: Config, self_attention: nn.Module) -> None:
        super().__init__()
        self.attention = nn.Module()
        self.attention.self = self_attention
        self.attention.output = Output("attention_output", "attention", config.hidden_size, config)
        self.intermediate = nn.Module()
        self.intermediate.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output = Output("output", "feed_forward", config.intermediate_size, config)

    def forward(self, hidden: Tensor, mask: Tensor, slot: Slot = PLAIN, *more: Any) -> Tensor:
        """One layer; hidden and result [rows, tokens, width], mask [rows, 1, 1, tokens]; more: for its attention."""
        parallel = begin_parallel(slot, hidden, mask)
        attended = self.attention.self(hidden, mask, slot, *more)  # type: ignore[operator]
        attended = self.attention.output(attended, hidden, slot)  # type: ignore[operator]
        inner = F.gelu(slot.linear("intermediate", self.intermediate.dense, attended))  # type: ignore[arg-type]
        return self.output(inner, attended, slot, finish_parallel(slot, parallel))

    def linears(self) -> dict[LinearName, nn.Linear]:
        """Return the linear maps by the names that a slot uses."""
        return {
            **self.attention.self.linears(),  # type: ignore[operator, union-attr]
            "attention_output": self.attention.output.dense,  # type: ignore[union-attr]
            "intermediate": self.intermediate.dense,
            "output": self.output.dense,
        }

    def parts(self) -> dict[str, list[nn.Module]]:
        """Return its parts as `training.trainable` names them."""
        return {
            "attention": [self.attention],
            "feed_forward": [self.intermediate, self.output.dense],
            "output_norms": [self.output.LayerNorm],
        }


class Bert(Backbone):
    """A BERT; the pooler is empty where its checkpoint has none."""

    title = "BERT"
    config_type = Config
    has_pooler = True

    def __init__(self, config: Config, pooler: bool = True) -> None:
        super().__init__(config)
        self.embeddings = self.embeddings_of(config)
        layers = [Layer(config, self.attention_of(config)) for _ in range(config.num_hidden_layers)]
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(layers)})
        if pooler:  # last, since fresh weights are drawn in this order
            self.pooler["dense"] = nn.Linear(config.hidden_size, config.hidden_size)

    @classmethod
    def mlm_heads(cls, stated: Mapping[str, Any]) -> tuple[tuple[str | None, ...], ...]:
        """Return the names of a checkpoint's MLM_PARTS; see `Backbone`."""
        return (MLM_PARTS,)

    def embeddings_of(self, config: Any) -> nn.Module:
        """Make the embeddings."""
        return Embeddings(config)

    def attention_of(self, config: Any) -> nn.Module:
        """Make the self-attention of a layer."""
        return SelfAttention(config)

    @property
    def word_embeddings(self) -> nn.Embedding:
        """The words' embeddings."""
        return self.embeddings.word_embeddings  # type: ignore[return-value]

    def layer_modules(self) -> list[Layer]:
        """Return the layers, the lowest first."""
        return list(self.encoder["layer"])  # type: ignore[arg-type]

    def computing(self, mask: Tensor) -> Compute:
        """Return what computes a layer; see `Backbone`."""
        layers = self.layer_modules()

        def compute(number: int, hidden: Tensor, slot: Slot) -> Tensor:
            return layers[number](hidden, mask, slot)

        return compute
