"""Gradient surgery: what one task's gradient undoes of another's is taken out of it (PCGrad).

What it does: where the gradients of two tasks conflict (their product is negative), each is projected onto the plane on
which the other is not harmed; the projected gradients are summed.

Formula: for each task i and each other j in random order: if g_i' . g_j < 0, g_i' = g_i' - (g_i' . g_j / |g_j|^2) g_j;
g = sum_i g_i'. g_j is always the gradient as it was, g_i' starts as g_i.

Source: Yu et al. (2020), algorithm 1; SlapBERT, section 4.5, equation 2.

Symbols: g_i the gradient of task i over the shared parameters: those that more than one task of the step reaches.
A task's own parameters (heads, adapters) keep its gradient: no other task can be harmed through them.

Prefer `total` with a sampler whose steps hold one task: there is nothing to project.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from mtbert.gradients.base import GradientRule

Gradients = list[Tensor | None]  # one a parameter; None where a task does not reach it


class PcGrad(GradientRule):
    """Projects conflicting gradients."""

    several_tasks = True

    def __call__(
        self, losses: Mapping[str, Tensor], parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]
    ) -> None:
        """Gradients of each task, projected over the shared parameters, summed."""
        of = [gradients(loss, parameters, backward) for loss in losses.values()]
        reached = [[g for g in column if g is not None] for column in zip(*of, strict=True)]
        shared = [number for number, column in enumerate(reached) if len(column) > 1]
        summed: Gradients = [torch.stack(column).sum(dim=0) if column else None for column in reached]
        if shared:
            for number, part in zip(shared, self._surgery(of, parameters, shared), strict=True):
                summed[number] = part
        for parameter, gradient in zip(parameters, summed, strict=True):
            parameter.grad = gradient

    def _surgery(self, of: list[Gradients], parameters: Sequence[nn.Parameter], shared: list[int]) -> list[Tensor]:
        """The sum of the projected gradients, by shared parameter."""
        vectors = torch.stack([flat(gradients, parameters, shared) for gradients in of])  # [tasks, weights]
        summed = project(vectors, self.generator).sum(dim=0)
        parts = summed.split([parameters[number].numel() for number in shared])
        return [part.view_as(parameters[number]) for part, number in zip(parts, shared, strict=True)]


def gradients(loss: Tensor, parameters: Sequence[nn.Parameter], backward: Callable[[Tensor], None]) -> Gradients:
    """One task's gradient in each parameter."""
    for parameter in parameters:
        parameter.grad = None
    backward(loss)
    return [parameter.grad for parameter in parameters]


def flat(gradients: Gradients, parameters: Sequence[nn.Parameter], shared: list[int]) -> Tensor:
    """One task's gradient over the shared parameters as a vector; 0 where it reaches none."""
    parts = [(gradients[number], parameters[number]) for number in shared]
    return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in parts])


def project(vectors: Tensor, generator: torch.Generator) -> Tensor:
    """Each task's vector [tasks, weights] with its conflicts taken out, the others in random order."""
    projected = vectors.clone()
    for i, vector in enumerate(projected):
        for j in torch.randperm(len(vectors), generator=generator).tolist():
            conflict = vector @ vectors[j]
            if j != i and conflict < 0:
                vector -= conflict / vectors[j].square().sum() * vectors[j]
    return projected
