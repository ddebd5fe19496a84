"""SMART's worst noise and its term against a restatement in NumPy, of a model that is one matrix."""

import numpy as np
import pytest
import torch
from models import small_batch
from torch import nn

from mtbert.heads import HEADS
from mtbert.objectives import OBJECTIVES
from mtbert.tasks import TASKS

ROWS, TOKENS, WIDTH, CLASSES = 2, 3, 4, 5
WORDS = np.random.default_rng(0).normal(size=(ROWS, TOKENS, WIDTH))
MATRIX = np.random.default_rng(1).normal(size=(WIDTH, CLASSES))
SIGMA, ETA, STEPS = 0.1, 0.3, 2


class OneMatrix(nn.Module):
    """Logits are the mean word times a matrix."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = self
        self.matrix = nn.Parameter(torch.tensor(MATRIX, dtype=torch.float32))
        self.classes = HEADS.build({"name": "linear"}, TASKS["sst"], 1, 1)

    def words(self, input_ids) -> torch.Tensor:
        return torch.tensor(WORDS, dtype=torch.float32)

    def head(self, task: str):
        return self.classes

    def forward(self, batch, noise=0.0) -> torch.Tensor:
        return (self.words(None) + noise).mean(dim=1) @ self.matrix


def log_softmax(noise: np.ndarray) -> np.ndarray:
    logits = (WORDS + noise).mean(axis=1) @ MATRIX
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def symmetrised(noise: np.ndarray) -> np.ndarray:
    """KL in both directions between noised and clean outputs, by example."""
    noised, clean = log_softmax(noise), log_softmax(np.zeros_like(noise))
    return ((np.exp(noised) - np.exp(clean)) * (noised - clean)).sum(axis=-1)


def slope(noise: np.ndarray) -> np.ndarray:
    """Of its sum over examples, by central differences."""
    found = np.zeros_like(noise)
    for place in np.ndindex(noise.shape):
        step = np.zeros_like(noise)
        step[place] = 1e-6
        found[place] = (symmetrised(noise + step).sum() - symmetrised(noise - step).sum()) / 2e-6
    return found


def largest(noise: np.ndarray) -> np.ndarray:
    return np.abs(noise).max(axis=-1, keepdims=True)


def worst(form: str, noise: np.ndarray, epsilon: float, length: float) -> np.ndarray:
    for _ in range(STEPS):
        uphill = slope(noise)
        if form == "normalised":
            noise = noise + ETA * uphill
            noise = length * noise / (largest(noise) + epsilon)
        else:
            noise = np.clip(noise + ETA * uphill / largest(uphill), -epsilon, epsilon)
    return noise


@pytest.mark.parametrize(
    ("form", "epsilon", "length"), [("normalised", 1e-6, 1.0), ("normalised", 0.5, 0.2), ("projected", 0.15, 1.0)]
)
def test_both_forms_are_as_the_formula_has_them(form: str, epsilon: float, length: float) -> None:
    options = {"noise": SIGMA, "step_size": ETA, "steps": STEPS, "radius": epsilon, "length": length, "bregman": 0.0}
    model, batch = OneMatrix(), small_batch("sst", rows=ROWS)
    drawn = torch.randn(ROWS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(0)).numpy().astype(float)
    expected = worst(form, SIGMA * drawn, epsilon, length)
    objective = OBJECTIVES.build({"name": "smart", "form": form, **options}, model, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(objective.worst_noise(batch, model(batch)).numpy(), expected, atol=2e-4)
    objective.generator.manual_seed(0)
    term = objective.term(batch, model(batch)).item()
    assert term == pytest.approx(symmetrised(expected).mean(), rel=2e-3)
