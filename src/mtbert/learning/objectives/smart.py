"""SMART: smoothness-inducing adversarial regularisation with the momentum Bregman proximal point method.

What it does: the outputs should change little when the tokens' embeddings are moved a little in the worst direction
(the adversarial term), and when the weights move on from a moving average of themselves (the Bregman term).

Formula: term = weight * l_s(f(x; theta), f(x~; theta)) + bregman * l_s(f(x; theta), f(x; theta~)), where
    x is the output of the embeddings: words, positions and types together, behind LayerNorm and dropout,
    x~ = x + v, v ~ N(0, sigma^2), and `steps` times, with g the gradient by v of l_s summed over the examples,
    `normalised`: v = r (v + eta g) / (|v + eta g| + epsilon)
    `projected`: v = v + eta g / |g| with every coordinate cut to at most epsilon
and theta~ = (1 - beta) theta + beta theta~ after each update, with beta `momentum` for the first `early` of the
phase's updates, then `momentum_later`. |v| is a token's largest coordinate. l_s is for classes KL(p | q) + KL(q | p),
and with `reduction: sum` a sum over the batch in place of its mean. For several labels a row it is the mean of this KL
over the labels, each yes or no, as the head's own loss is a mean over the labels. For scores it is the mean squared
error on the scale of the head's own loss. In the adversarial term the p of KL(p | q) and the q of KL(q | p) get no
gradient.

Source: Jiang et al. (2020), "SMART", section 3 and Algorithm 1 for `projected`, section 4.1 for lambda_s, mu and beta;
"Pals for PALs", appendix A.1; SlapBERT, section 4.6, whose equation 3 has the adversarial term alone (`bregman: 0`).
Both papers build on code: SlapBERT on that of MT-DNN (perturbation.py), "Pals for PALs" on smart-pytorch (SMARTLoss)
and MT-DNN's. Both codes have the `normalised` form: their epsilon keeps a division finite and bounds nothing, their eta
weighs the gradient against the random start, and every token's v ends with the length r = 1. Both detach the targets
of KL (SymKlCriterion, sym_kl_loss) and leave the squared error as it is. MT-DNN's takes the mean over the batch, with
weight 1; smart-pytorch's takes the sum, with weight 0.02 in its example. Both take x from the embeddings module, as
here; on the words, before their LayerNorm, a v of length 1 would drown them: docs/papers.md has both measured. Neither
has the Bregman term: here its gradient is that of Jiang et al.'s formula, with theta~ as a constant.

Symbols: sigma `noise`, eta `step_size`, epsilon `radius`, r `length`, T_x~ `steps`, lambda_s `weight`, mu `bregman`.
The papers name T_x~ 1, sigma 1e-5, eta 1e-3, epsilon 1e-6.

Shapes: noise and its gradient [rows, tokens, width].

Mind that with dropout on, as in the authors' code, the two passes have masks of their own, so that both terms also
reward agreement between dropout masks. Both codes hand x~ to a library that adds positions, types and LayerNorm a
second time (MT-DNN's not before 2021); here x~ goes to the first layer, which reads it rounded in bf16: 98 % of a start
of 1e-5 are lost.
"""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from mtbert.data.batches import Batch
from mtbert.learning.objectives.base import Objective
from mtbert.models.multitask import MultitaskModel
from mtbert.settings import Section

TINY = 1e-12  # keeps a gradient of zero from being divided by zero


class Settings(Section):
    """Section `smart`; see the module's symbols.

    Attributes:
        form: how noise becomes the worst noise.
        reduction: of the divergence between classes.
        momentum, momentum_later, early: beta, beta after the share `early` of the phase's updates.
    """

    form: Literal["normalised", "projected"] = "normalised"
    weight: float = Field(default=1.0, ge=0)
    bregman: float = Field(default=1.0, ge=0)
    momentum: float = Field(default=0.99, ge=0, lt=1)
    momentum_later: float = Field(default=0.999, ge=0, lt=1)
    early: float = Field(default=0.1, ge=0, le=1)
    noise: float = Field(default=1e-5, gt=0)
    step_size: float = Field(default=1e-3, gt=0)
    radius: float = Field(default=1e-6, gt=0)
    length: float = Field(default=1.0, gt=0)
    steps: int = Field(default=1, ge=1, le=256)
    reduction: Literal["mean", "sum"] = "mean"


def symmetrised_kl(first: Tensor, second: Tensor, detached: bool = False) -> Tensor:
    """Return KL(p | q) + KL(q | p), a mean over the batch; log-probabilities [batch, ..., classes] are summed.

    With `detached`, what each is the divergence from, p in the first and q in the second, gets no gradient.
    """
    p, q = (first.detach(), second.detach()) if detached else (first, second)
    forward = F.kl_div(second, p, reduction="batchmean", log_target=True)
    return forward + F.kl_div(first, q, reduction="batchmean", log_target=True)


def largest(vectors: Tensor) -> Tensor:
    """Return the size of each vector's largest coordinate: [..., width] -> [..., 1]."""
    return vectors.abs().amax(dim=-1, keepdim=True)


class Smart(Objective):
    """Adds the term to one model's loss; holds theta~."""

    changes = (*Objective.changes, "average")

    def __init__(self, settings: Settings, model: MultitaskModel, generator: torch.Generator) -> None:
        super().__init__(settings, model, generator)
        self.average = {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}

    def term(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return the weighted sum of the adversarial and the Bregman term."""
        settings = self.settings
        noised = self.noised(batch, self.worst_noise(batch, outputs))
        term = settings.weight * self._penalty(batch, noised, outputs, detached=True)
        if settings.bregman:
            with torch.no_grad():
                average = torch.func.functional_call(self.model, self.average, (batch,))
            term = term + settings.bregman * self._penalty(batch, average, outputs)
        return term

    def _penalty(self, batch: Batch, first: Tensor, second: Tensor, detached: bool = False) -> Tensor:
        """Return l_s by `reduction`, with targets `detached` or not."""
        change = self.difference(batch.task, first, second, detached)
        predicts_classes = self.model.head(batch.task).task.kind != "score"
        if self.settings.reduction == "sum" and predicts_classes:
            return change * len(batch)
        return change

    def noised(self, batch: Batch, noise: Tensor) -> Tensor:
        """Return the model's outputs f(x + v) for noise v [rows, tokens, width]."""

        def added(module: nn.Module, inputs: Any, x: Tensor) -> Tensor:
            return x + noise

        with self.model.encoder.backbone.embeddings.register_forward_hook(added):  # for this one pass
            return self.model(batch)

    def difference(self, task: str, first: Tensor, second: Tensor, detached: bool = False) -> Tensor:
        """Return the mean l_s between two outputs [batch, size] of a task, with targets `detached` or not."""
        head = self.model.head(task)
        if head.task.kind == "score":
            return head.squared_error(head.scores(first), head.scores(second))
        divergence = symmetrised_kl(head.log_probabilities(first), head.log_probabilities(second), detached)
        return divergence / head.task.classes if head.task.kind == "sets" else divergence

    def worst_noise(self, batch: Batch, outputs: Tensor) -> Tensor:
        """Return x~ - x: random noise moved uphill `steps` times, by `form`. Weights get no gradient from this."""
        settings = self.settings
        shape = (*batch.input_ids.shape, self.model.encoder.width)
        noise = settings.noise * torch.randn(shape, generator=self.generator, device=batch.input_ids.device)
        for _ in range(settings.steps):
            noise.requires_grad_()
            change = self.difference(batch.task, self.noised(batch, noise), outputs.detach()) * len(batch)
            (gradient,) = torch.autograd.grad(change, noise)
            noise = self._moved(noise.detach(), gradient)
        return noise

    def _moved(self, noise: Tensor, gradient: Tensor) -> Tensor:
        """Move the noise one step uphill."""
        settings = self.settings
        if settings.form == "normalised":
            noise = noise + settings.step_size * gradient
            return settings.length * noise / (largest(noise) + settings.radius)
        moved = noise + settings.step_size * gradient / largest(gradient).clamp_min(TINY)
        return moved.clamp(-settings.radius, settings.radius)

    def after_step(self, done: float) -> None:
        """Set theta~ to (1 - beta) theta + beta theta~."""
        settings = self.settings
        momentum = settings.momentum if done <= settings.early else settings.momentum_later
        parameters: list[Tensor] = [p for name, p in self.model.named_parameters() if name in self.average]
        get_ema_multi_avg_fn(momentum)([*self.average.values()], parameters, None)
