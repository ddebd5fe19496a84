"""SMART's worst noise and its term against restatements: of one matrix in NumPy, of a BERT as smart-pytorch has it."""

import numpy as np
import pytest
import torch
from models import ours, small_batch, small_hugging_face_bert, small_model
from torch import nn

from mtbert.models.heads import HEADS
from mtbert.tasks import TASKS
from mtbert.training.objectives import OBJECTIVES

ROWS, TOKENS, WIDTH, CLASSES = 2, 3, 4, 5
WORDS = np.random.default_rng(0).normal(size=(ROWS, TOKENS, WIDTH))
MATRIX = np.random.default_rng(1).normal(size=(WIDTH, CLASSES))
SIGMA, ETA, STEPS = 0.1, 0.3, 2


class OneMatrix(nn.Module):
    """Logits are the mean of the words, each behind a LayerNorm, times a matrix."""

    width = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.encoder = self.bert = self
        self.embeddings = nn.LayerNorm(WIDTH, eps=0.0)
        self.matrix = nn.Parameter(torch.tensor(MATRIX, dtype=torch.float32))
        self.classes = HEADS.build({"name": "linear"}, TASKS["sst"], 1, 1)

    def head(self, task: str):
        return self.classes

    def forward(self, batch) -> torch.Tensor:
        return self.embeddings(torch.tensor(WORDS, dtype=torch.float32)).mean(dim=1) @ self.matrix


def features(noise: np.ndarray) -> np.ndarray:
    centred = WORDS - WORDS.mean(axis=-1, keepdims=True)
    return (centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True)) + noise).mean(axis=1)


def softmax(noise: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    logits = features(noise) @ matrix
    return np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)


def log_softmax(noise: np.ndarray) -> np.ndarray:
    return np.log(softmax(noise, MATRIX))


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
    model, batch = OneMatrix(), small_batch("sst", rows=ROWS, tokens=TOKENS)
    drawn = torch.randn(ROWS, TOKENS, WIDTH, generator=torch.Generator().manual_seed(0)).numpy().astype(float)
    expected = worst(form, SIGMA * drawn, epsilon, length)
    objective = OBJECTIVES.build({"name": "smart", "form": form, **options}, model, torch.Generator().manual_seed(0))
    np.testing.assert_allclose(objective.worst_noise(batch, model(batch)).numpy(), expected, atol=2e-4)
    objective.generator.manual_seed(0)
    term = objective.term(batch, model(batch)).item()
    assert term == pytest.approx(symmetrised(expected).mean(), rel=2e-3)


NOISE = np.random.default_rng(2).normal(size=WORDS.shape)


def of_both(matrix: np.ndarray) -> float:
    noised, clean = softmax(NOISE, matrix), softmax(0 * NOISE, matrix)
    return float(((noised - clean) * (np.log(noised) - np.log(clean))).sum())


def gradient_of_both() -> np.ndarray:
    """Of the divergences' sum over examples by the matrix, by central differences: attached."""
    found = np.zeros_like(MATRIX)
    for place in np.ndindex(MATRIX.shape):
        step = np.zeros_like(MATRIX)
        step[place] = 1e-6
        found[place] = (of_both(MATRIX + step) - of_both(MATRIX - step)) / 2e-6
    return found


def gradient_of_detached() -> np.ndarray:
    """The same with targets held fixed: KL(p | softmax(z)) has the gradient softmax(z) - p by z."""
    noised, clean = softmax(NOISE, MATRIX), softmax(0 * NOISE, MATRIX)
    return features(NOISE).T @ (noised - clean) + features(0 * NOISE).T @ (clean - noised)


@pytest.mark.parametrize(
    ("options", "factor", "gradient"),
    [
        ({"weight": 0.02, "reduction": "sum"}, 0.02, gradient_of_detached),  # smart-pytorch's sym_kl_loss, its example
        ({}, 1 / ROWS, gradient_of_detached),  # MT-DNN's SymKlCriterion
        ({"targets": "attached"}, 1 / ROWS, gradient_of_both),  # as Jiang et al.'s formula has it
    ],
)
def test_the_term_and_its_gradient_are_those_of_both_codes_and_of_the_formula(options, factor, gradient) -> None:
    model, batch = OneMatrix(), small_batch("sst", rows=ROWS, tokens=TOKENS)
    built = OBJECTIVES.build({"name": "smart", "bregman": 0.0, **options}, model, torch.Generator())
    built.worst_noise = lambda batch, outputs: torch.tensor(NOISE, dtype=torch.float32)
    term = built.term(batch, model(batch))
    term.backward()
    assert term.item() == pytest.approx(factor * of_both(MATRIX), rel=1e-4)
    np.testing.assert_allclose(model.matrix.grad.numpy(), factor * gradient(), atol=1e-5)


def test_a_berts_noise_is_that_of_the_codes() -> None:
    """x is the output of the embeddings module, f all that comes after it, by Hugging Face's BERT."""
    theirs, model, batch = small_hugging_face_bert(), small_model().eval(), small_batch("sst")
    model.encoder.bert.load_state_dict(ours(theirs).state_dict())
    head = model.head("sst")
    hidden_from_attention = torch.where(batch.mask.bool(), 0.0, -1e9)[:, None, None, :]

    def f(x: torch.Tensor) -> torch.Tensor:
        hidden = theirs.encoder(x, attention_mask=hidden_from_attention)[0]
        return head(theirs.pooler(hidden)).log_softmax(dim=-1)

    x = theirs.embeddings(batch.input_ids, batch.token_types).detach()
    clean = f(x).detach()
    noise = SIGMA * torch.randn(x.shape, generator=torch.Generator().manual_seed(0))
    for _ in range(STEPS):
        noise = noise.detach().requires_grad_()
        (uphill,) = torch.autograd.grad(divergence(f(x + noise), clean).sum(), noise)
        moved = noise + ETA * uphill
        noise = moved / (moved.abs().amax(dim=-1, keepdim=True) + 1e-6)

    options = {"noise": SIGMA, "step_size": ETA, "steps": STEPS, "bregman": 0.0}
    objective = OBJECTIVES.build({"name": "smart", **options}, model, torch.Generator().manual_seed(0))
    torch.testing.assert_close(objective.worst_noise(batch, model(batch)), noise.detach(), rtol=1e-3, atol=1e-4)
    objective.generator.manual_seed(0)
    term = objective.term(batch, model(batch)).item()
    assert term == pytest.approx(divergence(f(x + noise), clean).mean().item(), rel=1e-3)


def divergence(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """KL in both directions between log-probabilities, by example."""
    return ((first.exp() - second.exp()) * (first - second)).sum(dim=-1)
