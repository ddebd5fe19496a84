"""Attention: softmax(Q K^T / sqrt(d)) V, with dropout on the softmax."""

import torch
import torch.nn.functional as F
from torch import Tensor

from mtbert.models.encoder.dropout import dropout


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, training: bool, dropout_p: float) -> Tensor:
    """dropout(softmax(Q K^T / sqrt(d))) V; query, key, value and result [rows, heads, tokens, d].

    `mask` is true where a token is, and broadcasts to [rows, heads, tokens, tokens].

    Training on a CPU computes it step by step: PyTorch's fused kernel has a slow backward pass there, the slower the
    narrower the heads. The softmax of bf16 takes five times as long there as that of fp32, forward and backward.
    """
    if query.device.type != "cpu" or not training:
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, dropout_p=dropout_p if training else 0.0
        )
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5  # [rows, heads, tokens, tokens]
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1, dtype=torch.float32).to(value.dtype)
    return (dropout(weights, dropout_p) if dropout_p else weights) @ value
