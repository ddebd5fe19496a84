"""SMART's worst noise, its term and the term's gradient by the formula, for a model of one matrix."""

import pytest
import torch
import torch.nn.functional as F
from models import small_batch
from torch import Tensor, nn

from mtbert.learning.objectives import OBJECTIVES
from mtbert.models.heads import HEADS
from mtbert.tasks import COURSE

ROWS, TOKENS, WIDTH, CLASSES = 2, 3, 4, 5
WORDS, NOISE = torch.randn(2, ROWS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(0))
MATRIX = torch.randn(WIDTH, CLASSES, generator=torch.Generator().manual_seed(1))
SIGMA, ETA, RADIUS, LENGTH = 0.1, 0.3, 0.15, 0.2


class OneMatrix(nn.Module):
    """Logits are the mean of the words, each behind a LayerNorm, times a matrix."""

    width = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.LayerNorm(WIDTH)
        self.matrix = nn.Parameter(MATRIX.clone())
        self.classes = HEADS.build(HEADS.choose({"name": "linear"}), COURSE["sst"], 1, 1)

    @property
    def encoder(self) -> "OneMatrix":
        return self  # as a property: a module may not hold itself

    backbone = encoder

    def head(self, task: str):
        return self.classes

    def forward(self, batch) -> Tensor:
        return self.embeddings(WORDS).mean(dim=1) @ self.matrix


def log_shares(noise: Tensor, matrix: Tensor = MATRIX) -> Tensor:
    """Log-probabilities of the classes, with noise on the words."""
    return ((F.layer_norm(WORDS, [WIDTH]) + noise).mean(dim=1) @ matrix).log_softmax(dim=-1)


def divergence(noise: Tensor) -> Tensor:
    """KL in both directions between noised and clean outputs, by example."""
    noised, clean = log_shares(noise), log_shares(torch.zeros_like(noise))
    return ((noised.exp() - clean.exp()) * (noised - clean)).sum(dim=-1)


def slope(noise: Tensor) -> Tensor:
    """Of its sum over the examples."""
    return torch.func.grad(lambda moved: divergence(moved).sum())(noise)


def largest(noise: Tensor) -> Tensor:
    return torch.linalg.vector_norm(noise, torch.inf, dim=-1, keepdim=True)


def normalised(noise: Tensor) -> Tensor:
    moved = noise + ETA * slope(noise)
    return LENGTH * moved / (largest(moved) + RADIUS)


def projected(noise: Tensor) -> Tensor:
    return (noise + ETA * slope(noise) / largest(slope(noise))).clamp(-RADIUS, RADIUS)


@pytest.mark.parametrize("form", [normalised, projected])
def test_both_forms_are_as_the_formula_has_them(form) -> None:
    options = {"noise": SIGMA, "step_size": ETA, "steps": 2, "radius": RADIUS, "length": LENGTH, "bregman": 0.0}
    model, batch = OneMatrix(), small_batch("sst", rows=ROWS, tokens=TOKENS)
    drawn = torch.randn(ROWS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(0))
    expected = form(form(SIGMA * drawn))
    chosen = {"name": "smart", "form": form.__name__, **options}
    objective = OBJECTIVES.build(OBJECTIVES.choose(chosen), model, torch.Generator().manual_seed(0))
    torch.testing.assert_close(objective.worst_noise(batch, model(batch)), expected, atol=2e-4, rtol=0)
    objective.generator.manual_seed(0)
    term = objective.term(batch, model(batch)).item()
    assert term == pytest.approx(divergence(expected).mean().item(), rel=2e-3)


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({"weight": 0.02, "reduction": "sum"}, 0.02),  # smart-pytorch's sym_kl_loss, its example
        ({}, 1 / ROWS),  # MT-DNN's SymKlCriterion
    ],
)
def test_the_term_and_its_gradient_are_those_of_both_codes(options, factor) -> None:
    matrix = MATRIX.clone().requires_grad_()
    noised, clean = log_shares(NOISE, matrix), log_shares(0 * NOISE, matrix)
    p, q = noised.detach(), clean.detach()
    expected = factor * (p.exp() * (p - clean) + q.exp() * (q - noised)).sum()
    expected.backward()

    model, batch = OneMatrix(), small_batch("sst", rows=ROWS, tokens=TOKENS)
    built = OBJECTIVES.build(OBJECTIVES.choose({"name": "smart", "bregman": 0.0, **options}), model, torch.Generator())
    built.worst_noise = lambda batch, outputs: NOISE
    term = built.term(batch, model(batch))
    term.backward()
    torch.testing.assert_close(term, expected, rtol=1e-4, atol=0)
    torch.testing.assert_close(model.matrix.grad, matrix.grad, atol=1e-5, rtol=0)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_bregman_term_has_the_whole_gradient_of_its_formula(reduction) -> None:
    """Jiang et al., equation 3: theta~ is constant, and both directions of KL have a gradient by theta."""
    average = torch.randn(WIDTH, CLASSES, generator=torch.Generator().manual_seed(2))
    matrix = MATRIX.clone().requires_grad_()
    expected = 0.5 * divergence_between(matrix, average).sum() / (1 if reduction == "sum" else ROWS)
    (gradient,) = torch.autograd.grad(expected, matrix)

    model, batch = OneMatrix(), small_batch("sst", rows=ROWS, tokens=TOKENS)
    chosen = {"name": "smart", "weight": 0.0, "bregman": 0.5, "reduction": reduction}
    built = OBJECTIVES.build(OBJECTIVES.choose(chosen), model, torch.Generator())
    built.average["matrix"] = average
    term = built.term(batch, model(batch))
    term.backward()
    torch.testing.assert_close(term, expected, rtol=1e-4, atol=0)
    torch.testing.assert_close(model.matrix.grad, gradient, atol=1e-5, rtol=1e-4)


def divergence_between(matrix: Tensor, average: Tensor) -> Tensor:
    """KL in both directions between the outputs of two matrices, by example: sum of (p - q) (log p - log q)."""
    ours, theirs = log_shares(0 * NOISE, matrix), log_shares(0 * NOISE, average)
    return ((ours.exp() - theirs.exp()) * (ours - theirs)).sum(dim=-1)
