"""Pooling: one embedding from the hidden states of a sequence."""

from torch import Tensor

from mtbert.models.encoder.bert import Encoder
from mtbert.settings import Pooling


def pool(how: Pooling, encoder: Encoder, hidden: Tensor, mask: Tensor) -> Tensor:
    """Return one embedding for each sequence.

    `cls` is the first token's hidden state; `pooler` is BERT's dense layer and tanh on it (Devlin et al. 2019); `mean`
    is the mean over the tokens that are not padding (Reimers and Gurevych 2019, section 3).

    Shapes: hidden [rows, tokens, width], mask [rows, tokens], result [rows, width].
    """
    if how == "cls":
        return hidden[:, 0]
    if how == "pooler":
        return encoder.pooled(hidden)
    weights = mask.unsqueeze(-1).to(hidden.dtype)  # [rows, tokens, 1]
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1)
