"""The loop: a sampler names the tasks, the model gives their losses, objectives add to them, a rule makes the gradient.

The loop knows no technique: all are handed in. A training resumes from its last checkpoint, and is then the same as one
that was never interrupted.
"""

import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mtbert import predictions, seeding
from mtbert.data.batches import Batch, Examples
from mtbert.errors import TrainingError
from mtbert.models.encoder.hardware import Hardware
from mtbert.models.multitask import MultitaskModel
from mtbert.settings import RunSettings
from mtbert.tasks import served
from mtbert.training import evaluation, losses
from mtbert.training.checkpoints import Checkpoint, random_state, set_random_state
from mtbert.training.history import History
from mtbert.training.losses import Loss
from mtbert.training.phases import Phase
from mtbert.training.states import Stateful
from mtbert.training.stopping import Stop, Stopped

SHOWN_EVERY = 1.0 if sys.stderr.isatty() else 30.0  # seconds between two states of the progress bar


@dataclass
class Outcome(Stateful):
    """The result of a training: its steps, the epochs that were kept, and its seconds without evaluations.

    Attributes:
        examples: number of examples, by what the sampler drew.
        epochs, scores: for each choosing part of dev, the epoch that it chose, and its score.
        states: the weights of these epochs; none where none was chosen.
        resumed: how often it went on from a checkpoint.
    """

    changes = ("steps", "examples", "seconds", "epochs", "scores", "states", "resumed")

    steps: int = 0
    examples: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    epochs: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    states: dict[int, dict[str, Tensor]] = field(default_factory=dict)
    resumed: int = 0


@dataclass
class Position(Stateful):
    """Where a training is: phase and epoch (both from 1), steps of the epoch so far, and their losses."""

    changes = ("phase", "epoch", "step", "losses")

    phase: int = 1
    epoch: int = 1
    step: int = 0
    losses: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class Trainer(Stateful):
    """Runs the phases of one training, one after the other.

    Attributes:
        dev: the parts of dev on which epochs are chosen.
        epochs: of all phases so far.
    """

    changes = ("epochs", "position", "outcome", "history", "model")

    model: MultitaskModel
    settings: RunSettings
    hardware: Hardware
    history: History
    dev: Sequence[Mapping[str, Examples]]
    seed: int
    checkpoint: Checkpoint
    stop: Stop
    outcome: Outcome = field(default_factory=Outcome, init=False)
    position: Position = field(default_factory=Position, init=False)
    epochs: int = field(default=0, init=False)

    def run(self, phases: Iterable[Phase], steps: int) -> Outcome:
        """Run the phases (`steps` steps in all), and leave the model with the weights of the kept epoch."""
        torch.manual_seed(seeding.derive(self.seed, "dropout"))
        state = self._resume()
        initial = self.outcome.steps
        with tqdm(total=steps, initial=initial, unit="step", mininterval=SHOWN_EVERY) as bar:
            for phase in phases:
                if phase.number >= self.position.phase:
                    self._phase(phase, state, bar)
                    state = None
        if self.outcome.steps > initial:
            self._save(None)
        if self.outcome.states:
            self.model.load_state_dict(self.outcome.states[self.outcome.epochs[0]])
        else:
            self.outcome.epochs = [self.epochs]
        return self.outcome

    def _phase(self, phase: Phase, state: dict[str, Any] | None, bar: tqdm) -> None:
        """Run a phase, from its start or from a checkpoint's state."""
        if state is None:  # an epoch of an earlier phase is not a result of this variant
            count = len(self.dev)
            self.outcome.epochs, self.outcome.scores, self.outcome.states = [0] * count, [-math.inf] * count, {}
        else:
            phase.restore(state["phase"])
            set_random_state(state["random"], self.hardware.device)
        while self.position.epoch <= phase.settings.epochs:
            self.model.train()
            generator = seeding.stream(self.seed, "sampler", phase.number, self.position.epoch)
            groups = phase.sampler.groups(self.position.epoch, generator)
            for group in groups[self.position.step :]:
                self._step(phase, group, bar)
                if self.position.step < len(groups):  # the last step's rate is set after the epoch's evaluation
                    phase.lr_scheduler.step()
                self._keep(phase)
            self.epochs += 1
            self._end_epoch(phase)
            self.position = Position(phase.number, self.position.epoch + 1)
        self.position = Position(phase.number + 1)

    def _step(self, phase: Phase, group: Sequence[str], bar: tqdm) -> None:
        """Run one step: an update, and its record."""
        started = time.perf_counter()
        self.outcome.steps += 1
        self.position.step += 1
        self._update(phase, {name: phase.streams[name].next().to(self.hardware.device) for name in group})
        last = phase.lr_scheduler.last_epoch + 1 == phase.steps
        rate, more = float(phase.lr_scheduler.get_last_lr()[0]), phase.weighting.values()
        values = self.history.step(phase.number, self.outcome.steps, rate, last, more)
        self.outcome.seconds += time.perf_counter() - started
        bar.update()
        if values:
            bar.set_postfix_str(", ".join(f"{k[5:]} {v:.3f}" for k, v in values.items() if "loss/" in k), refresh=False)

    def _update(self, phase: Phase, batches: Mapping[str, Batch]) -> None:
        """Update the weights, and record the losses; nothing moves where a number is not finite."""
        update = losses.measure(phase, self._gradients(phase, batches))
        losses.check_finite(update, self.outcome.steps, batches)
        losses.clip(phase, update)
        phase.optimiser.step()
        phase.optimiser.zero_grad()
        phase.after_step(update.losses, lambda: self._losses(phase, batches))
        for name, term in update.terms.items():
            self.history.loss(name, term)
        for name, batch in batches.items():
            self.position.losses.setdefault(name, []).append(update.losses[name])
            self.outcome.examples[name] = self.outcome.examples.get(name, 0) + len(batch)

    def _gradients(self, phase: Phase, batches: Mapping[str, Batch]) -> dict[str, Loss]:
        """Compute the losses, and their gradient in the parameters; TrainingError where memory is short."""
        try:
            with self.hardware.autocast():
                of_batches = losses.of_batches(self.model, phase, batches)
                weighted = phase.weighting({name: loss.total for name, loss in of_batches.items()})
            phase.rule(weighted, phase.parameters)
        except torch.OutOfMemoryError as error:
            shapes = ", ".join(f"{name}: {list(batch.input_ids.shape)} tokens" for name, batch in batches.items())
            raise TrainingError(
                f"step {self.outcome.steps} does not fit into the memory ({shapes}); lower training.batch_size, "
                "training.batch_sizes or model.max_tokens"
            ) from error
        return of_batches

    def _losses(self, phase: Phase, batches: Mapping[str, Batch]) -> dict[str, float]:
        """Compute the losses of an update's batches with the weights as they are now."""
        with self.hardware.autocast():
            of_batches = losses.of_batches(self.model, phase, batches)
        return {name: loss.total.item() for name, loss in of_batches.items()}

    def _end_epoch(self, phase: Phase) -> None:
        """Score dev where it is due, call the epoch's hooks, and set the next epoch's first rate.

        All of this is done again where a training resumes from the checkpoint of the epoch's last step.
        """
        scores = self._evaluate(phase)
        if scores and phase.schedule.needs_dev:
            phase.schedule.observe(self._mean(phase, scores))
        phase.weighting.after_epoch({name: float(np.mean(of_task)) for name, of_task in self.position.losses.items()})
        phase.lr_scheduler.step()

    def _mean(self, phase: Phase, scores: Mapping[str, float]) -> float:
        """Return the mean score of the tasks that the phase trains, by which its epochs are compared."""
        return evaluation.mean_score(scores, {served(name): None for name in phase.settings.tasks})

    def _evaluate(self, phase: Phase) -> dict[str, float]:
        """Score dev where it is due, and remember the best weights; return the scores on the first choosing part."""
        settings = self.settings
        if not settings.evaluations or self.epochs % settings.evaluations:
            return {}
        device, rows = self.hardware.device, settings.evaluation_rows
        rows = rows and math.ceil(rows / len(self.dev))
        try:
            with self.stop.at_once(), self.hardware.autocast():
                tables = [
                    {t: evaluation.predict(self.model, e.drawn(rows), device) for t, e in part.items()}
                    for part in self.dev
                ]
        except Stopped:
            self.epochs -= 1  # this epoch ends again after resuming
            self._save(phase)
            raise
        scores = [predictions.scores(of_tasks) for of_tasks in tables]
        means = {f"dev/{name}": float(np.mean([of_part[name] for of_part in scores])) for name in scores[0]}
        self.history.add(phase.number, self.outcome.steps, means)
        if settings.keep == "best":
            self._remember([self._mean(phase, of_part) for of_part in scores])
        return scores[0]

    def _remember(self, scores: Sequence[float]) -> None:
        """Keep this epoch's weights for each choosing part of dev on which it is the best so far."""
        outcome = self.outcome
        for part, score in enumerate(scores):
            if score > outcome.scores[part]:
                outcome.scores[part], outcome.epochs[part] = score, self.epochs
        outcome.states = {epoch: state for epoch, state in outcome.states.items() if epoch in outcome.epochs}
        if self.epochs in outcome.epochs:
            weights = self.model.state_dict()
            outcome.states[self.epochs] = {name: value.detach().clone() for name, value in weights.items()}

    def _keep(self, phase: Phase) -> None:
        """Write a checkpoint where one is due; where the training was asked to stop, write one and leave."""
        every = self.settings.checkpoint_every
        asked = self.stop.asked
        if asked is not None or (every and self.outcome.steps % every == 0):
            self._save(phase)
        if asked is not None:
            raise Stopped(asked)

    def _save(self, phase: Phase | None) -> None:
        """Write all that resuming from here needs; without a phase where all have ended."""
        state = {"random": random_state(self.hardware.device), "phase": phase and phase.state()}
        self.checkpoint.save(state | self.state())

    def _resume(self) -> dict[str, Any] | None:
        """Go on from the checkpoint, where there is one; return its state, whose phase is still to be restored."""
        state = self.checkpoint.load()
        if state is not None:
            self.restore(state)
            self.outcome.resumed += 1
            print(f"going on from the checkpoint of step {self.outcome.steps}")
        return state
