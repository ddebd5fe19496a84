"""ModernBERT (Warner et al. 2024): LayerNorm first, rotary positions, local attention, gated feed-forward, no biases.

Formula: h_att = h + W_a attention(R Q x, R K x, V x) with x = LN(h), in the first layer x = h; and
h_next = h_att + W_o (GELU(u) * g) with (u, g) = W_i LN(h_att). Behind the last layer is a LayerNorm. slot.py says what
an adapter can change of it.

Source: Warner et al. (2024), "Smarter, Better, Faster, Longer", section 2.1 and appendix A; R from Su et al. (2021),
"RoFormer", equation 34. Of every three layers the first attends to all tokens, with theta 160,000. The others attend to
`local_attention` / 2 tokens on either side and the token itself, with theta 10,000.

Weights are Hugging Face's, with Wqkv as three maps, so that an adapter can change one of them. Residuals stay fp32 in
bf16's autocast: they are sums over all layers that nothing normalises.

Legend: h a layer's input; R the rotation by a token's position; width the hidden size; d the width of a head; tokens
the longest of a batch's rows; * a product dimension by dimension. Of PALs of width 204 a task has 3,060,000 weights at
the shape of ModernBERT-base (22 layers), biases apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from mtbert.models.encoder.attention import attention
from mtbert.models.encoder.base import Backbone, Compute
from mtbert.models.encoder.base import Layer as AnyLayer
from mtbert.models.encoder.config import MOST_LAYERS, Count, Share, Size
from mtbert.models.encoder.config import Config as AnyConfig
from mtbert.models.encoder.dropout import Dropout
from mtbert.models.encoder.slot import LinearName, Slot, begin_parallel, finish_parallel

FULL, LOCAL = "full_attention", "sliding_attention"
THETA = {FULL: 160_000.0, LOCAL: 10_000.0}
HUB_THETAS = {FULL: "global_rope_theta", LOCAL: "local_rope_theta"}  # their names on the hub
QKV, PARTS = ".attn.Wqkv.weight", ("query", "key", "value")


@dataclass(frozen=True, kw_only=True)
class Config(AnyConfig):
    """What config.json states of a ModernBERT, by its names.

    Attributes:
        layer_types: whether each layer attends to all tokens, or to those near.
        thetas: the base of the rotations of each of both kinds.
    """

    expected = {
        "hidden_activation": "gelu",
        "norm_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        "rope_type": "default",
    }

    layer_types: list[Literal["full_attention", "sliding_attention"]]
    thetas: dict[Literal["full_attention", "sliding_attention"], Annotated[float, Field(gt=0)]]
    global_attn_every_n_layers: Count = 3
    head_dim: Size | None = None
    local_attention: Annotated[Size, Field(ge=2)] = 128
    norm_eps: float = 1e-5
    embedding_dropout: Share = 0.0
    attention_dropout: Share = 0.0
    mlp_dropout: Share = 0.0

    def __post_init__(self) -> None:
        if len(self.layer_types) != self.num_hidden_layers:
            allowed = f"num_hidden_layers, {self.num_hidden_layers}"
            raise ValueError(f"layer_types has {len(self.layer_types)} layers; allowed: {allowed}")
        d = self.hidden_size // self.num_attention_heads
        if self.head_dim not in (None, d):
            raise ValueError(f"head_dim is {self.head_dim}; allowed: {d}, as hidden_size has it")
        if d % 2:
            raise ValueError(f"a head's width, hidden_size / num_attention_heads, is {d}; allowed: an even number")

    @property
    def epsilon(self) -> float:
        """What keeps LayerNorm's divisions finite."""
        return self.norm_eps

    @classmethod
    def normalised(cls, stated: dict[str, Any]) -> dict[str, Any]:
        """Return the kinds of layers and their rotations also where they are stated as on the hub.

        `rope_type` is that of the first rotation which is not the default.
        """
        settings = dict(stated)
        every, layers = stated.get("global_attn_every_n_layers", 3), stated.get("num_hidden_layers")
        if stated.get("layer_types") is None:
            settings.pop("layer_types", None)
            if isinstance(every, int) and every > 0 and isinstance(layers, int) and layers <= MOST_LAYERS:
                settings["layer_types"] = [LOCAL if number % every else FULL for number in range(layers)]
        if isinstance(stated.get("sliding_window"), int):  # to either side: transformers' other name of the same
            settings["local_attention"] = 2 * stated["sliding_window"]
        settings["thetas"], settings["rope_type"] = {}, "default"
        for layer_type, name in HUB_THETAS.items():
            rotation = _rotation(stated, layer_type)
            default = stated[name] if stated.get(name) is not None else THETA[layer_type]
            settings["thetas"][layer_type] = rotation.get("rope_theta", default)
            kinds = [rotation.get("rope_type", "default"), rotation.get("type", "default"), settings["rope_type"]]
            settings["rope_type"] = next((kind for kind in kinds if kind != "default"), "default")
        return settings


def _rotation(stated: dict[str, Any], layer_type: str) -> dict[str, Any]:
    """Return what config.json states of the rotation in layers of a type; `rope_scaling` holds for all types."""
    rotation: dict[str, Any] = {}
    parameters = stated.get("rope_parameters")
    for part in (parameters.get(layer_type) if isinstance(parameters, dict) else None, stated.get("rope_scaling")):
        if isinstance(part, dict):
            rotation |= part
    return rotation


@dataclass(frozen=True)
class Sight:
    """What a layer's tokens see, and where they stand.

    Shapes: mask [rows, 1, 1 or tokens, tokens], true where a token is seen; cosines and sines [tokens, d].
    """

    mask: Tensor
    cosines: Tensor
    sines: Tensor

    def rotated(self, heads: Tensor) -> Tensor:
        """R x of each head [rows, heads, tokens, d]: in fp32, where large angles keep their digits."""
        first, second = heads.float().chunk(2, dim=-1)
        turned = heads.float() * self.cosines + torch.cat([-second, first], dim=-1) * self.sines
        return turned.to(heads.dtype)


def angles(theta: float, tokens: int, d: int, device: torch.device) -> Tensor:
    """Return the angle of each token and dimension: position / theta^(2 i / d) for dimensions i and i + d / 2."""
    speeds = 1.0 / theta ** (torch.arange(0, d, 2, device=device).float() / d)
    positions = torch.arange(tokens, device=device).float()
    return (positions[:, None] * speeds).repeat(1, 2)


class Embeddings(nn.Module):
    """The words' embeddings, normalised."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.drop = Dropout(config.embedding_dropout)

    def forward(self, words: Tensor, token_types: Tensor) -> Tensor:
        """Map word embeddings [rows, tokens, width] to the first layer's input of the same shape."""
        return self.drop(self.norm(words))


class Attention(nn.Module):
    """Self-attention with its output map."""

    def __init__(self, config: Config, reach: int | None) -> None:
        super().__init__()
        width = config.hidden_size
        self.heads, self.reach = config.num_attention_heads, reach
        self.query, self.key, self.value, self.Wo = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.dropout, self.out_drop = Dropout(config.attention_dropout), Dropout(config.attention_dropout)

    def forward(self, hidden: Tensor, sight: Sight, slot: Slot) -> Tensor:
        """Hidden and result [rows, tokens, width]."""
        maps: tuple[tuple[LinearName, nn.Linear], ...] = (
            ("query", self.query),
            ("key", self.key),
            ("value", self.value),
        )
        query, key, value = (
            slot.linear(name, dense, hidden).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for name, dense in maps  # [rows, heads, tokens, d]
        )
        query, key = sight.rotated(query), sight.rotated(key)
        if self.reach is not None and in_blocks(hidden.shape[1], self.reach):
            attended = local_attention(query, key, value, sight.mask, self.reach, self.training, self.dropout.p)
        else:
            attended = attention(query, key, value, sight.mask, self.training, self.dropout.p)
        return self.out_drop(slot.linear("attention_output", self.Wo, attended.transpose(1, 2).flatten(2)))


def in_blocks(tokens: int, reach: int) -> bool:
    """Return whether local attention is computed block by block: where a block with its neighbours is not nearly all.

    A graph that is exported holds one way for all lengths.
    """
    return not torch.compiler.is_exporting() and tokens > 4 * reach


def near(tokens: int, reach: int, device: torch.device) -> Tensor:
    """Return which tokens are at most `reach` from each other: bool [tokens, tokens]."""
    positions = torch.arange(tokens, device=device)
    return (positions[:, None] - positions).abs() <= reach


def local_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, reach: int, training: bool, dropout_p: float
) -> Tensor:
    """Return `attention` where a token sees those at most `reach` away, in memory that grows with tokens x reach.

    Blocks of `reach` tokens are rows of their own, which see themselves and both neighbours.

    Shapes: query, key, value and result [rows, heads, tokens, d]; mask [rows, 1, 1, tokens].
    """
    rows, heads, tokens, d = query.shape
    count = -(-tokens // reach)
    lacking = count * reach - tokens

    def with_neighbours(vectors: Tensor) -> Tensor:
        """[rows, heads, tokens, d] -> [rows count, heads, 3 reach, d], each block between its neighbours."""
        padded = F.pad(vectors, (0, 0, reach, reach + lacking))
        blocks = padded.unfold(2, 3 * reach, reach)  # [rows, heads, count, d, 3 reach]
        return blocks.permute(0, 2, 1, 4, 3).flatten(0, 1)

    positions = torch.arange(3 * reach, device=query.device)
    is_near = (positions - positions[:reach, None] - reach).abs() <= reach  # [reach, 3 reach]
    is_token = F.pad(mask[:, 0, 0], (reach, reach + lacking)).unfold(1, 3 * reach, reach)  # [rows, count, 3 reach]
    # Padding sees padding, since a softmax over nothing is not a number; no token sees its result.
    is_seen = is_near & (is_token[:, :, None, :] | ~is_token[:, :, reach : 2 * reach, None])
    block_mask = is_seen.flatten(0, 1).unsqueeze(1)  # [rows count, 1, reach, 3 reach]
    queries = F.pad(query, (0, 0, 0, lacking)).unflatten(2, (count, reach)).transpose(1, 2).flatten(0, 1)
    attended = attention(queries, with_neighbours(key), with_neighbours(value), block_mask, training, dropout_p)
    joined = attended.unflatten(0, (rows, count)).transpose(1, 2).reshape(rows, heads, count * reach, d)
    return joined[:, :, :tokens]


class FeedForward(nn.Module):
    """The gated feed-forward."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.Wi = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.Wo = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)
        self.drop = Dropout(config.mlp_dropout)

    def forward(self, hidden: Tensor, slot: Slot) -> Tensor:
        """Hidden and result [rows, tokens, width]."""
        inner, gate = slot.linear("intermediate", self.Wi, hidden).chunk(2, dim=-1)
        return slot.linear("output", self.Wo, self.drop(F.gelu(inner) * gate))


class Layer(AnyLayer):
    """Self-attention and feed-forward, each behind its LayerNorm."""

    def __init__(self, config: Config, number: int) -> None:
        super().__init__()
        self.layer_type = config.layer_types[number]
        self.attn_norm = nn.LayerNorm(config.hidden_size, config.norm_eps, bias=False) if number else nn.Identity()
        self.attn = Attention(config, config.local_attention // 2 if self.layer_type == LOCAL else None)
        self.mlp_norm = nn.LayerNorm(config.hidden_size, config.norm_eps, bias=False)
        self.mlp = FeedForward(config)

    def forward(self, hidden: Tensor, sight: Sight, mask: Tensor, following: nn.LayerNorm, slot: Slot) -> Tensor:
        """One layer; hidden and result [rows, tokens, width], mask [rows, 1, 1, tokens]; following: the next norm."""
        normed = self.attn_norm(hidden)
        parallel = begin_parallel(slot, normed, mask)
        attended = slot.sublayer("attention", self.attn(normed, sight, slot), hidden, self.mlp_norm)
        output = slot.sublayer("feed_forward", self.mlp(self.mlp_norm(attended), slot), attended, following)
        parallel = finish_parallel(slot, parallel)
        return output if parallel is None else output + parallel

    def linears(self) -> dict[LinearName, nn.Linear]:
        """Return the linear maps by the names that a slot uses."""
        return {
            "query": self.attn.query,
            "key": self.attn.key,
            "value": self.attn.value,
            "attention_output": self.attn.Wo,
            "intermediate": self.mlp.Wi,
            "output": self.mlp.Wo,
        }

    def parts(self) -> dict[str, list[nn.Module]]:
        """Return its parts as `training.trainable` names them."""
        return {"attention": [self.attn_norm, self.attn], "feed_forward": [self.mlp], "output_norms": [self.mlp_norm]}


class ModernBert(Backbone):
    """A ModernBERT."""

    title = "ModernBERT"
    config_type = Config
    layers_at = "layers"
    gated = True

    def __init__(self, config: Config, pooler: bool = False) -> None:
        super().__init__(config, pooler)
        self.embeddings = Embeddings(config)
        self.layers = nn.ModuleList(Layer(config, number) for number in range(config.num_hidden_layers))
        self.final_norm = nn.LayerNorm(config.hidden_size, config.norm_eps, bias=False)

    @classmethod
    def mlm_heads(cls, stated: Mapping[str, Any]) -> tuple[tuple[str | None, ...], ...]:
        """Return the names of a checkpoint's MLM_PARTS; see `Backbone`."""
        dense_bias = "head.dense.bias" if stated.get("classifier_bias", False) else None
        bias = "decoder.bias" if stated.get("decoder_bias", True) else None
        return (("head.dense.weight", dense_bias, "head.norm.weight", None, bias),)

    @property
    def word_embeddings(self) -> nn.Embedding:
        """The words' embeddings."""
        return self.embeddings.tok_embeddings  # type: ignore[return-value]

    def layer_modules(self) -> list[Layer]:
        """Return the layers, the lowest first."""
        return list(self.layers)  # type: ignore[arg-type]

    def norms(self) -> list[nn.Module]:
        """Return the LayerNorm behind the last layer."""
        return [self.final_norm]

    def first_input(self, words: Tensor, token_types: Tensor) -> Tensor:
        """Return the first layer's input, whose residuals stay in fp32; see `Backbone`."""
        return self.embeddings(words, token_types)

    def computing(self, mask: Tensor) -> Compute:
        """Return what computes a layer; see `Backbone`."""
        layers, tokens = self.layer_modules(), mask.shape[-1]
        sights = {layer_type: self.sight(layer_type, mask, tokens) for layer_type in (FULL, LOCAL)}
        following_norms = [*(layer.attn_norm for layer in layers[1:]), self.final_norm]

        def compute(number: int, hidden: Tensor, slot: Slot) -> Tensor:
            layer = layers[number]
            return layer(hidden, sights[layer.layer_type], mask, following_norms[number], slot)

        return compute

    def end(self, hidden: Tensor) -> Tensor:
        """Return the last layer's output behind the last LayerNorm."""
        return self.final_norm(hidden)

    def sight(self, layer_type: str, mask: Tensor, tokens: int) -> Sight:
        """Return what the tokens see in layers of a type; mask [rows, 1, 1, tokens]."""
        config, reach = self.config, self.config.local_attention // 2
        d = config.hidden_size // config.num_attention_heads
        turn = angles(config.thetas[layer_type], tokens, d, mask.device)
        if layer_type == LOCAL and not in_blocks(tokens, reach):
            mask = near(tokens, reach, mask.device) & (mask | ~mask.transpose(2, 3))
        return Sight(mask, turn.cos(), turn.sin())

    @classmethod
    def from_hugging_face(cls, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return weights by their names here: Wqkv as three maps."""
        renamed: dict[str, Tensor] = {}
        for name, value in weights.items():
            if name.endswith(QKV):
                layer = name.removesuffix(QKV)
                for part, part_value in zip(PARTS, value.chunk(3), strict=True):
                    renamed[f"{layer}.attn.{part}.weight"] = part_value
            else:
                renamed[name] = value
        return renamed
