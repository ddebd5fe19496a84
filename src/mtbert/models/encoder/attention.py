"""Attention: softmax(Q K^T / sqrt(d) + bias) V, with dropout on the softmax."""

import torch
import torch.nn.functional as F
from torch import Tensor

from mtbert.models.encoder.dropout import dropout

LONG = 256  # tokens


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor,
    training: bool,
    dropout_p: float,
    bias: Tensor | None = None,
) -> Tensor:
    """dropout(softmax(Q K^T / sqrt(d) + bias)) V; query, key, value and result [rows, heads, tokens, d].

    `mask` is true where a token is, and broadcasts to [rows, heads, tokens, tokens], the shape of `bias`.

    Training on a CPU computes it step by step: PyTorch's fused kernel has no dropout there, and for short sequences a
    slow backward pass in bf16. From LONG tokens, without dropout and bias, that kernel takes 0.3 to 0.9 times as long,
    and does not keep the softmax. The softmax of bf16 takes five times as long on a CPU as that of fp32, forward and
    backward.
    """
    is_long = key.shape[-2] >= LONG and not dropout_p and bias is None
    if query.device.type != "cpu" or not training or is_long:
        masked_bias = mask if bias is None else bias.to(query.dtype).masked_fill(~mask, -torch.inf)
        return fused(query, key, value, masked_bias, dropout_p if training else 0.0)
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5  # [rows, heads, tokens, tokens]
    if bias is not None:
        scores = scores + bias
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1, dtype=torch.float32).to(value.dtype)
    if dropout_p:
        weights = dropout(weights, dropout_p)
    return weights @ value


def fused(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, dropout_p: float) -> Tensor:
    """PyTorch's own kernels for the same; on a GPU the fast ones want d to be a multiple of 8, so zeros fill it up."""
    width = query.shape[-1]
    missing = -width % 8 if query.is_cuda else 0
    if missing:
        query, key, value = (F.pad(part, (0, missing)) for part in (query, key, value))
    attended = F.scaled_dot_product_attention(query, key, value, mask, dropout_p, scale=width**-0.5)
    return attended[..., :width]
