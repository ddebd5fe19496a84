"""Which way attention takes in training on a CPU."""

import pytest
import torch
from torch import Tensor

from mtbert.models.encoder.attention import LONG, attention


def trained(tokens: int, dropout_p: float = 0.0) -> tuple[Tensor, int]:
    """Return attention over so many tokens, the last of them padding, and the size of the largest tensor it keeps."""
    query, key, value = torch.randn(3, 1, 1, tokens, 2, generator=torch.Generator().manual_seed(1)).requires_grad_()
    mask = torch.arange(tokens) < tokens - 1
    sizes: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda kept: sizes.append(kept.numel()) or kept, lambda kept: kept):
        attended = attention(query, key, value, mask[None, None, None], True, dropout_p)
    return attended, max(sizes)


@pytest.mark.parametrize(
    ("tokens", "dropout_p", "kept"),
    [(LONG - 1, 0.0, (LONG - 1) ** 2), (LONG, 0.0, 2 * LONG), (LONG, 0.1, LONG**2)],
)
def test_only_long_attention_without_dropout_keeps_no_softmax(tokens: int, dropout_p: float, kept: int):
    assert trained(tokens, dropout_p)[1] == kept


def test_long_attention_is_what_its_formula_says(monkeypatch: pytest.MonkeyPatch):
    fused, _ = trained(LONG)
    monkeypatch.setattr("mtbert.models.encoder.attention.LONG", LONG + 1)
    step_by_step, _ = trained(LONG)
    torch.testing.assert_close(fused, step_by_step)
