"""BERT (Devlin et al. 2019, section 3) with a slot for adapters in each layer.

A layer computes h_att = LN(h + SA(h)) and LN(h_att + FFN(h_att)); slot.py says what an adapter can change of it.
Without an adapter this is Hugging Face's BertModel. Parts and settings have the same names, so that
weights and config.json are the same files. Hugging Face's own takes three seconds to import, as long as the rest of a
training.

Legend: rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from mtbert.errors import EncoderError
from mtbert.models.encoder.attention import attention
from mtbert.models.encoder.config import MLM_HEAD, Config, read_config
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import PLAIN, Linear, Slot, Sublayer
from mtbert.settings import Pooling

Slots = Callable[[int], Slot]  # from a layer's number


class Embeddings(nn.Module):
    """The sum of word, position and type embeddings, normalised."""

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
        places = self.position_embeddings.weight[: words.shape[1]]
        return self.dropout(self.LayerNorm(words + self.token_type_embeddings(token_types) + places))


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

    def forward(self, hidden: Tensor, mask: Tensor, slot: Slot) -> Tensor:
        """Hidden and result [rows, tokens, width], mask [rows, 1, 1, tokens]."""
        maps: tuple[tuple[Linear, nn.Linear], ...] = (("query", self.query), ("key", self.key), ("value", self.value))
        query, key, value = (
            slot.linear(name, dense, hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for name, dense in maps  # [rows, heads, tokens, width / heads]
        )
        return attention(query, key, value, mask, self.training, self.dropout.p).transpose(1, 2).flatten(2)


class Output(nn.Module):
    """The end of each sub-layer: a dense map, the residual and LayerNorm."""

    def __init__(self, dense: Linear, sublayer: Sublayer, inputs: int, config: Config) -> None:
        super().__init__()
        self.names: tuple[Linear, Sublayer] = dense, sublayer
        self.dense = nn.Linear(inputs, config.hidden_size)
        self.LayerNorm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, inner: Tensor, residual: Tensor, slot: Slot, parallel: Tensor | None = None) -> Tensor:
        """Inner [rows, tokens, inputs]; the others and the result [rows, tokens, width]."""
        dense, sublayer = self.names
        output = self.dropout(slot.linear(dense, self.dense, inner))
        summed = slot.sublayer(sublayer, output, residual, self.LayerNorm)
        return self.LayerNorm(summed if parallel is None else summed + parallel)


class Layer(nn.Module):
    """Self-attention and feed-forward."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention = nn.Module()
        self.attention.self = SelfAttention(config)
        self.attention.output = Output("attention_output", "attention", config.hidden_size, config)
        self.intermediate = nn.Module()
        self.intermediate.dense = nn.Linear(config.hidden_size, config.intermediate_size)
        self.output = Output("output", "feed_forward", config.intermediate_size, config)

    def forward(self, hidden: Tensor, mask: Tensor, slot: Slot = PLAIN) -> Tensor:
        """One layer; hidden and result [rows, tokens, width], mask [rows, 1, 1, tokens]."""
        parallel = slot.parallel(hidden, mask)
        attended = self.attention.output(self.attention.self(hidden, mask, slot), hidden, slot)  # type: ignore[operator]
        inner = F.gelu(slot.linear("intermediate", self.intermediate.dense, attended))  # type: ignore[arg-type]
        return self.output(inner, attended, slot, parallel)

    def linears(self) -> dict[Linear, nn.Linear]:
        """Return the linear maps by the names that a slot uses."""
        attention, parts = self.attention, ("query", "key", "value")
        maps = {name: getattr(attention.self, name) for name in parts}
        return maps | {  # type: ignore[return-value]
            "attention_output": attention.output.dense,  # type: ignore[union-attr]
            "intermediate": self.intermediate.dense,
            "output": self.output.dense,
        }


class Bert(nn.Module):
    """A BERT's weights by Hugging Face's names; the pooler is empty where the BERT has none.

    Attributes:
        mlm_head: MLM_PARTS of the masked language model that the weights were trained as; no part of the model, and
            empty where there is none.
    """

    def __init__(self, config: Config, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.mlm_head: dict[str, Tensor] = {}
        self.embeddings = Embeddings(config)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer(config) for _ in range(config.num_hidden_layers))})
        self.pooler = nn.ModuleDict()
        if pooler:
            self.pooler["dense"] = nn.Linear(config.hidden_size, config.hidden_size)


class Undrawn(TorchFunctionMode):
    """Leave the weights of new modules undrawn: no time, and no memory until they are written.

    PyTorch's device `meta` does the same for a second and a half, since drawing there imports its compiler.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Skip the functions of torch.nn.init."""
        return None if getattr(func, "__module__", None) == "torch.nn.init" else func(*args, **(kwargs or {}))


def read(directory: Path) -> Bert:
    """Read the BERT of an encoder's directory, in fp32; EncoderError where the files hold another architecture."""
    config = read_config(directory)
    weights = {name: value.float() for name, value in load_file(directory / "model.safetensors").items()}
    with Undrawn():  # all are replaced at once
        bert = Bert(config, pooler="pooler.dense.weight" in weights)
    missing = sorted(bert.state_dict().keys() - weights.keys())
    if missing:
        raise EncoderError(f"{directory / 'model.safetensors'} lacks weights of BERT: {', '.join(missing)}")
    bert.load_state_dict({name: weights[name] for name in bert.state_dict()}, assign=True)
    bert.mlm_head = load_file(directory / MLM_HEAD) if (directory / MLM_HEAD).is_file() else {}
    return bert.requires_grad_()


class Encoder(nn.Module):
    """A BERT whose layers an adapter can change.

    Args:
        bert: its weights.
        dropout: replaces all its own dropout probabilities; None keeps them.
        mask_token: id of [MASK], where the tokenizer has one.
        typed: whether the second sentence of a pair has a token type of its own; else all tokens have the first.
    """

    def __init__(
        self, bert: Bert, dropout: float | None = None, mask_token: int | None = None, typed: bool = True
    ) -> None:
        super().__init__()
        self.mask_token = mask_token
        self.typed = typed and bert.config.type_vocab_size > 1
        self.bert = bert
        for module in bert.modules():
            if isinstance(module, Dropout) and dropout is not None:
                module.p = dropout

    @property
    def width(self) -> int:
        """Hidden size."""
        return self.bert.config.hidden_size

    def words(self, input_ids: Tensor) -> Tensor:
        """Word embeddings alone, before positions, types and LayerNorm: [rows, tokens, width]."""
        return self.bert.embeddings.word_embeddings(input_ids)

    def pooled(self, how: Pooling, hidden: Tensor, mask: Tensor) -> Tensor:
        """Return one embedding for each sequence: [rows, tokens, width] and mask [rows, tokens] -> [rows, width].

        `cls` is the first token's hidden state; `pooler` is BERT's dense layer and tanh on it (Devlin et al. 2019);
        `mean` is the mean over the tokens that are not padding (Reimers and Gurevych 2019, section 3).
        """
        if how == "mean":
            weights = mask.unsqueeze(-1).to(hidden.dtype)  # [rows, tokens, 1]
            return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
        if how == "cls":
            return hidden[:, 0]
        if "dense" not in self.bert.pooler:
            raise EncoderError("model.pooling is pooler, but the encoder has none; allowed: cls or mean")
        return torch.tanh(self.bert.pooler["dense"](hidden[:, 0]))

    def forward(self, words: Tensor, token_types: Tensor, mask: Tensor, slots: Slots = lambda _: PLAIN) -> Tensor:
        """Return the last layer's hidden states; `slots` maps a layer's number (0, 1, ...) to an adapter's slot.

        Shapes: words [rows, tokens, width], token_types and mask [rows, tokens], result [rows, tokens, width].
        """
        hidden = self.bert.embeddings(words, token_types if self.typed else torch.zeros_like(token_types))
        kind = hidden.device.type
        if torch.is_autocast_enabled(kind):  # else the residuals stay fp32 and are cast in every layer
            hidden = hidden.to(torch.get_autocast_dtype(kind))
        attend = mask.bool()[:, None, None, :]  # [rows, 1, 1, tokens]
        for number, layer in enumerate(self.layer_modules()):
            hidden = layer(hidden, attend, slots(number))
        return hidden.to(self.bert.embeddings.word_embeddings.weight.dtype)

    def layer_modules(self) -> list[Layer]:
        """Return the layers, the lowest first."""
        return list(self.bert.encoder["layer"])  # type: ignore[arg-type]

    def parts(self) -> dict[str, list[nn.Parameter]]:
        """Return the parameters by the names that `training.trainable` uses; parts may overlap.

        `biases` are those of linear maps, LayerNorms and pooler. Training them and the heads alone is BitFit (Ben Zaken
        et al. 2022, section 3): 102,912 weights of BERT-base.
        """
        layers = self.layer_modules()
        modules: dict[str, list[nn.Module]] = {
            "encoder": [self.bert],
            "embeddings": [self.bert.embeddings],
            "layers": [*layers],
            "attention": [layer.attention for layer in layers],
            "feed_forward": [part for layer in layers for part in (layer.intermediate, layer.output.dense)],
            "output_norms": [layer.output.LayerNorm for layer in layers],
            "pooler": [self.bert.pooler],
        }
        modules |= {f"layer_{number}": [layer] for number, layer in enumerate(layers, start=1)}
        parts = {name: [p for module in group for p in module.parameters()] for name, group in modules.items()}
        return parts | {"biases": [p for name, p in self.bert.named_parameters() if name.endswith(".bias")]}
