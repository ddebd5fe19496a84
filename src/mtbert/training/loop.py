"""The loop: a sampler names the tasks, the model gives their losses, objectives add to them, a rule makes the gradient.

No technique is known here; whatever they are, they were handed in. A training goes on where its last checkpoint left
it, and is then the same as one that was never interrupted.
"""

import math
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils.memory import clear_device_cache, should_reduce_batch_size
from torch import Tensor
from tqdm import tqdm

from mtbert import seeding
from mtbert.data.batches import Batch, Examples
from mtbert.errors import TrainingError
from mtbert.model import MultitaskModel
from mtbert.settings import RunSettings
from mtbert.training import evaluation, losses, processes, progress
from mtbert.training.checkpoints import Checkpoints, random_state, set_random_state
from mtbert.training.history import History
from mtbert.training.losses import Loss
from mtbert.training.phases import Phase
from mtbert.training.stopping import Stop, Stopped


@dataclass
class Outcome:
    """What a training ended with: how far it went, which epoch was kept, how long it took without evaluations.

    Attributes:
        parts: into how many parts batches had to be split for want of memory.
        resumed: how often it went on from a checkpoint.
    """

    steps: int = 0
    epoch: int = 0
    examples: int = 0
    seconds: float = 0.0
    score: float = -math.inf
    state: dict[str, Tensor] = field(default_factory=dict)
    parts: int = 1
    resumed: int = 0


@dataclass
class Place:
    """Where a training is: the phase, the epoch of it (both from 1), and the losses of the epoch's steps so far."""

    phase: int = 1
    epoch: int = 1
    step: int = 0
    losses: dict[str, list[float]] = field(default_factory=dict)


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
        checkpoints: Checkpoints,
        stop: Stop,
    ) -> None:
        self.model = model
        self.settings = settings
        self.accelerator = accelerator
        self.history = history
        self.dev = dev
        self.seed = seed
        self.checkpoints = checkpoints
        self.stop = stop
        self.outcome = Outcome()
        self.place = Place()
        self.epochs = 0  # of all phases so far

    def run(self, phases: Iterable[Phase], steps: int) -> Outcome:
        """Run the phases (`steps` in all), and leave the model with the weights that are kept."""
        torch.manual_seed(seeding.derive(self.seed, "dropout", *processes.purpose()))
        state = self._resume()
        quiet = not self.accelerator.is_main_process
        initial = self.outcome.steps
        with progress.bar(steps, initial, quiet) as bar:
            for phase in phases:
                if phase.number >= self.place.phase:
                    self._phase(phase, state, bar)
                    state = None
        if self.outcome.steps > initial:
            self._save(None)
        if self.outcome.state:
            self.model.load_state_dict(self.outcome.state)
        else:
            self.outcome.epoch = self.epochs
        return self.outcome

    def _phase(self, phase: Phase, state: dict[str, Any] | None, bar: tqdm) -> None:
        """Run a phase, from its start or from a checkpoint's state."""
        if state is None:  # what an earlier phase did best is not what this variant is
            self.outcome.score, self.outcome.state = -math.inf, {}
        else:
            phase.load_state_dict(state["phase"])
            set_random_state(state["random"], self.accelerator.device)
        self.model.train()
        while self.place.epoch <= phase.settings.epochs:
            generator = seeding.stream(self.seed, "sampler", phase.number, self.place.epoch)
            groups = phase.sampler.groups(self.place.epoch, generator)
            for group in groups[self.place.step :]:
                self._step(phase, group, len(groups), bar)
                self._keep(phase)
            self.epochs += 1
            self._evaluate(phase)
            self.place = Place(phase.number, self.place.epoch + 1)
        self.place = Place(phase.number + 1)

    def _step(self, phase: Phase, group: Sequence[str], steps: int, bar: tqdm) -> None:
        """One step of the epoch's `steps`: an update, what is told of it, and the learning rate of the next."""
        started = time.perf_counter()
        self.outcome.steps += 1
        self.place.step += 1
        self._update(phase, {name: phase.streams[name].next().to(self.accelerator.device) for name in group})
        last = phase.rates.last_epoch + 1 == phase.steps
        rate, more = float(phase.rates.get_last_lr()[0]), phase.weighting.values()
        values = self.history.step(phase.number, self.outcome.steps, rate, last, more)
        if self.place.step == steps:  # before the schedule moves on to the next epoch's first step
            phase.schedule.observe(mean_of_tasks(self.place.losses))
        phase.rates.step()
        self.outcome.seconds += time.perf_counter() - started
        bar.update()
        if values:
            bar.set_postfix_str(", ".join(f"{k[5:]} {v:.3f}" for k, v in values.items() if "loss/" in k), refresh=False)

    def _update(self, phase: Phase, batches: Mapping[str, Batch]) -> None:
        """One update of the weights; nothing moves where a number is not finite."""
        found = self._gradients(phase, batches)
        norm = torch.nn.utils.get_total_norm([p.grad for p in phase.parameters if p.grad is not None])
        terms = {
            name: value * batches[task].weight for task, loss in found.items() for name, value in loss.terms.items()
        }
        totals = [loss.total * batches[name].weight for name, loss in found.items()]
        *values, length = processes.means(self.accelerator, [*terms.values(), *totals, norm])
        numbers = dict(zip(terms, values, strict=False))
        self._check_finite(numbers, length, batches)
        if phase.settings.clip and length > phase.settings.clip:
            torch.nn.utils.clip_grads_with_norm_(phase.parameters, phase.settings.clip, norm)
        phase.optimiser.step()
        phase.optimiser.zero_grad()
        for objective in phase.objectives.values():
            objective.after_step()
        for (name, batch), total in zip(batches.items(), values[len(terms) :], strict=True):
            self.place.losses.setdefault(name, []).append(total)
            examples = round(len(batch) * self.accelerator.num_processes / batch.weight)
            self.outcome.examples += examples
            self.history.loss(name, numbers.pop(name), examples)
        for name, value in numbers.items():
            self.history.loss(name, value)

    def _gradients(self, phase: Phase, batches: Mapping[str, Batch]) -> dict[str, Loss]:
        """The losses, with their gradient in the parameters; of smaller parts where the memory does not hold them."""
        while True:
            try:
                with self.accelerator.autocast():
                    found = {name: self._loss(phase, name, batch) for name, batch in batches.items()}
                    weighted = {
                        name: phase.weighting(name, loss.total * batches[name].weight) for name, loss in found.items()
                    }
                phase.rule(weighted, phase.parameters, processes.averaged(self.accelerator, phase.parameters))
                return found
            except RuntimeError as error:
                if not should_reduce_batch_size(error):
                    raise
                self._split(phase, batches)
            phase.optimiser.zero_grad()
            clear_device_cache(garbage_collection=True)

    def _loss(self, phase: Phase, name: str, batch: Batch) -> Loss:
        if self.outcome.parts == 1:
            return losses.of_batch(self.model, phase, name, batch)
        return losses.of_parts(self.model, phase, name, batch, self.outcome.parts)

    def _split(self, phase: Phase, batches: Mapping[str, Batch]) -> None:
        """Have the batches computed in twice as many parts from now on; TrainingError where that is no help."""
        whole = [name for name, batch in batches.items() if not losses.can_be_parted(self.model, phase, batch)]
        largest = max(len(batch) for batch in batches.values())
        shapes = ", ".join(f"{name}: {list(batch.input_ids.shape)} tokens" for name, batch in batches.items())
        said = f"step {self.outcome.steps} does not fit into the memory ({shapes})"
        remedy = "lower training.batch_size, training.batch_sizes or model.max_tokens"
        if whole:
            raise TrainingError(f"{said}, and batches of {', '.join(whole)} cannot be split, since their examples are "
                                f"compared with one another; {remedy}")  # fmt: skip
        if self.accelerator.num_processes > 1:
            raise TrainingError(f"{said} of one of the processes; {remedy}")
        if self.outcome.parts >= largest:
            raise TrainingError(f"{said}, not even one example at a time; {remedy}")
        self.outcome.parts *= 2
        print(
            f"warning: {said}; from here on batches are computed in {self.outcome.parts} parts, which are one update",
            file=sys.stderr,
        )

    def _check_finite(self, numbers: Mapping[str, float], norm: float, batches: Mapping[str, Batch]) -> None:
        faulty = [f"loss {name}" for name, value in numbers.items() if not math.isfinite(value)]
        if not faulty and math.isfinite(norm):
            return
        where = "; ".join(f"{batch.task}: {', '.join(batch.ids)}" for batch in batches.values())
        raise TrainingError(
            f"the {', '.join(faulty) or 'gradient'} of step {self.outcome.steps} is not finite, so the weights were "
            f"left as they were; the batch was {where}. A lower training.learning_rate, training.clip: 1.0 or "
            "run.precision: fp32 may help"
        )

    def _evaluate(self, phase: Phase) -> None:
        """Score dev after every `evaluations` epochs, and remember the weights that are the phase's best so far."""
        settings = self.settings
        if not settings.evaluations or self.epochs % settings.evaluations:
            return
        device, rows = self.accelerator.device, settings.evaluation_rows
        try:
            with self.stop.at_once(), self.accelerator.autocast():
                tables = {t: evaluation.predict(self.model, e, device, rows) for t, e in self.dev.items()}
        except Stopped:
            self.epochs -= 1  # it comes again
            self._save(phase)
            raise
        scores = evaluation.scores(tables, self.dev)
        self.history.add(phase.number, self.outcome.steps, {f"dev/{name}": value for name, value in scores.items()})
        self.history.pause()
        if settings.keep == "best" and (mean := evaluation.mean_score(scores, self.dev)) > self.outcome.score:
            self.outcome.score, self.outcome.epoch = mean, self.epochs
            self.outcome.state = {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    def _keep(self, phase: Phase) -> None:
        """Make a checkpoint where it is time for one, or where the training was asked to stop; then leave."""
        every = self.settings.checkpoint_every
        asked = processes.any_of(self.accelerator, self.stop.asked is not None)
        if asked or (every and self.outcome.steps % every == 0):
            self._save(phase)
        if asked:
            raise Stopped(self.stop.asked or signal.SIGTERM)  # none here: it was another process that was asked

    def _save(self, phase: Phase | None) -> None:
        """Write all that it takes to go on from here; without a phase where all have ended."""
        state = {
            "place": asdict(self.place),
            "epochs": self.epochs,
            "outcome": vars(self.outcome),
            "history": self.history.state_dict(),
            "model": self.model.state_dict(),
            "random": random_state(self.accelerator.device),
            "phase": phase and phase.state_dict(),
        }
        self.checkpoints.save(self.outcome.steps, state)
        self.history.pause()

    def _resume(self) -> dict[str, Any] | None:
        """Load the newest checkpoint that all processes have; its state, of which the phase's is still to be loaded."""
        steps = processes.shared_by_all(self.checkpoints.steps())
        if not steps:
            return None
        state = self.checkpoints.load(steps[-1])
        self.place, self.epochs, self.outcome = Place(**state["place"]), state["epochs"], Outcome(**state["outcome"])
        self.outcome.resumed += 1
        self.history.load_state_dict(state["history"])
        self.model.load_state_dict(state["model"])
        if self.accelerator.is_main_process:
            print(f"going on from the checkpoint of step {self.outcome.steps}")
        return state


def mean_of_tasks(losses: Mapping[str, Sequence[float]]) -> float:
    """The mean over tasks of the mean of each one's losses, so that it does not move with how often each was drawn."""
    return float(np.mean([np.mean(of_task) for of_task in losses.values()]))
