"""The loop: a sampler names the tasks, the model gives their losses, objectives add to them, a rule makes the gradient.

No technique is known here; whatever they are, they were handed in.
"""

import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor
from tqdm import tqdm

from mtbert import seeding
from mtbert.data.batches import Batch, Examples
from mtbert.errors import TrainingError
from mtbert.model import MultitaskModel
from mtbert.settings import RunSettings
from mtbert.training import evaluation, processes
from mtbert.training.history import History
from mtbert.training.phases import Phase


@dataclass
class Outcome:
    """What a training ended with: how far it went, which epoch was kept, how long it took without evaluations."""

    steps: int = 0
    epoch: int = 0
    examples: int = 0
    seconds: float = 0.0
    score: float = -math.inf
    state: dict[str, Tensor] = field(default_factory=dict)


class Trainer:
    """Runs the phases of one training, one after the other."""

    def __init__(
        self,
        model: MultitaskModel,
        settings: RunSettings,
        accelerator: Accelerator,
        history: History,
        dev: Mapping[str, Examples],
        seed: int,
    ) -> None:
        self.model = model
        self.settings = settings
        self.accelerator = accelerator
        self.history = history
        self.dev = dev
        self.seed = seed
        self.outcome = Outcome()
        self.epochs = 0  # of all phases so far

    def run(self, phases: Iterable[Phase], steps: int) -> Outcome:
        """Run the phases (`steps` in all), and leave the model with the weights that are kept."""
        torch.manual_seed(seeding.derive(self.seed, "dropout", *processes.purpose()))
        quiet = not self.accelerator.is_main_process
        with tqdm(total=steps, unit="step", mininterval=1.0, dynamic_ncols=True, disable=quiet) as progress:
            for phase in phases:
                self._phase(phase, progress)
        if self.outcome.state:
            self.model.load_state_dict(self.outcome.state)
        else:
            self.outcome.epoch = self.epochs
        return self.outcome

    def _phase(self, phase: Phase, progress: tqdm) -> None:
        optimiser, schedule = phase.optimiser()
        self.model.train()
        for epoch in range(1, phase.settings.epochs + 1):
            generator = seeding.stream(self.seed, "sampler", phase.number, epoch)
            started, groups = time.perf_counter(), phase.sampler.groups(epoch, generator)
            losses: defaultdict[str, list[float]] = defaultdict(list)
            for number, group in enumerate(groups, start=1):
                for name, loss in self._step(phase, optimiser, {t: phase.streams[t].next() for t in group}).items():
                    losses[name].append(loss)
                last = schedule.last_epoch + 1 == phase.steps
                rate, more = float(schedule.get_last_lr()[0]), phase.weighting.values()
                values = self.history.step(phase.number, self.outcome.steps, rate, last, more)
                if number == len(groups):  # before the schedule moves on to the next epoch's first step
                    phase.schedule.observe(mean_of_tasks(losses))
                schedule.step()
                progress.update()
                if values:
                    progress.set_postfix_str(", ".join(f"{k[5:]} {v:.3f}" for k, v in values.items() if "loss/" in k))
            self.outcome.seconds += time.perf_counter() - started
            self.epochs += 1
            self._evaluate(phase)

    def _step(self, phase: Phase, optimiser: torch.optim.Optimizer, batches: dict[str, Batch]) -> dict[str, float]:
        """One update; the loss of each batch with its terms, before it was weighted."""
        self.outcome.steps += 1
        losses = {name: self._loss(phase, name, batch.to(self.accelerator.device)) for name, batch in batches.items()}
        weighted = {name: phase.weighting(name, loss) for name, loss in losses.items()}
        phase.rule(weighted, phase.parameters, processes.averaged(self.accelerator, phase.parameters))
        norm = torch.nn.utils.clip_grad_norm_(phase.parameters, phase.settings.clip or math.inf)
        if not torch.isfinite(norm):
            raise TrainingError(self._not_finite("gradient", batches.values()))
        optimiser.step()
        optimiser.zero_grad()
        for objective in phase.objectives.values():
            objective.after_step()
        return {name: processes.mean(self.accelerator, loss) for name, loss in losses.items()}

    def _loss(self, phase: Phase, name: str, batch: Batch) -> Tensor:
        with self.accelerator.autocast():
            outputs = self.model(batch)
            loss = self.model.loss(batch, outputs)
            terms = {kind: objective.term(batch, outputs) for kind, objective in phase.objectives.items()}
        examples = round(len(batch) * self.accelerator.num_processes / batch.weight)
        self.history.loss(name, processes.mean(self.accelerator, loss * batch.weight), examples)
        self.outcome.examples += examples
        loss = loss if phase.settings.supervised else 0 * loss
        for kind, term in terms.items():
            self.history.loss(f"{kind}/{name}", processes.mean(self.accelerator, term * batch.weight))
            loss = loss + term
        loss = loss * batch.weight
        if not torch.isfinite(loss):
            raise TrainingError(self._not_finite("loss", [batch]))
        return loss

    def _not_finite(self, what: str, batches: Iterable[Batch]) -> str:
        where = "; ".join(f"{batch.task}: {', '.join(batch.ids)}" for batch in batches)
        return (
            f"the {what} of step {self.outcome.steps} is not finite, so the weights were left as they were; the batch "
            f"was {where}. A lower training.learning_rate, training.clip: 1.0 or run.precision: fp32 may help"
        )

    def _evaluate(self, phase: Phase) -> None:
        """Score dev after every `evaluations` epochs, and remember the weights where they are the best so far."""
        settings = self.settings
        if not settings.evaluations or self.epochs % settings.evaluations:
            return
        with self.accelerator.autocast():
            device, rows = self.accelerator.device, settings.evaluation_rows
            tables = {t: evaluation.predict(self.model, e, device, rows) for t, e in self.dev.items()}
        scores = evaluation.scores(tables, self.dev)
        self.history.add(phase.number, self.outcome.steps, {f"dev/{name}": value for name, value in scores.items()})
        self.history.pause()
        mean = evaluation.mean_score(scores, self.dev)
        if settings.keep == "best" and mean > self.outcome.score:
            self.outcome.score, self.outcome.epoch = mean, self.epochs
            self.outcome.state = {name: value.detach().clone() for name, value in self.model.state_dict().items()}


def mean_of_tasks(losses: Mapping[str, Sequence[float]]) -> float:
    """The mean over tasks of the mean of each one's losses, so that it does not move with how often each was drawn."""
    return float(np.mean([np.mean(of_task) for of_task in losses.values()]))
