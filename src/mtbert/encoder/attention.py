"""Attention: softmax(Q K^T / sqrt(d)) V, with dropout on the softmax."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface

from mtbert.encoder.dropout import dropout

NAME = "mtbert"  # by which Hugging Face's modules find it


def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, chance: float = 0.0) -> Tensor:
    """dropout(softmax(Q K^T / sqrt(d))) V; query, key, value and result [rows, heads, tokens, d].

    `mask` is true where a token is, and broadcasts to [rows, heads, tokens, tokens].

    Written out where a CPU trains: PyTorch's fused kernel has a slow backward pass there, a sixth of a whole step at
    the size of PALs.
    """
    if query.device.type != "cpu" or not (chance or torch.is_grad_enabled()):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=chance)
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5  # [rows, heads, tokens, tokens]
    weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1).to(value.dtype)
    return (dropout(weights, chance) if chance else weights) @ value


def _for_hugging_face(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    dropout: float = 0.0,
    **_: object,
) -> tuple[Tensor, None]:
    """In the form that Hugging Face's modules call: result [rows, tokens, heads, d], and no weights."""
    return attention(query, key, value, attention_mask, dropout).transpose(1, 2), None


AttentionInterface.register(NAME, _for_hugging_face)
