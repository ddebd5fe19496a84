"""A training, told once: how a batch becomes an update, and updates become a model. Read it from top to bottom.

    for each phase of the variant:                                    Trainer.run
        for each epoch:                                               Trainer._run_phase
            for each step that the sampler draws:                     Trainer._step
                take the next batch of each of its tasks
                on the device, in steps.py's way:                     Trainer._compute
                    compute its loss: the task's own, and what objectives add
                    weigh the losses, and let the gradient rule make one gradient of them
                    clip it, and update the weights where all numbers are finite
                let the techniques follow the update, and set the next step's learning rate
                read the numbers, log them, write a checkpoint, where these are due
            score the model, and keep its weights if they are good    Trainer._end_epoch
            end the phase where scores have stopped to rise           Trainer._is_patient
    go on with the weights that were kept

No technique is known here: all are handed in by `assembly`. No step waits for the device: losses and the length of the
gradient stay there until they are read, which is when they are logged, saved, or summed up. A training resumes from its
last checkpoint, and is then the same as one that was never interrupted.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from mtbert import seeding
from mtbert.data.batches import Batch, Examples
from mtbert.errors import DivergedError, TrainingError
from mtbert.learning.states import Stateful
from mtbert.machine import hardware, starting
from mtbert.machine.hardware import Hardware
from mtbert.machine.streams import own_stream
from mtbert.models.multitask import MultitaskModel
from mtbert.scores import predictions
from mtbert.tasks import Tasks
from mtbert.training import evaluation
from mtbert.training.checkpoints import Checkpoint, random_state, set_random_state
from mtbert.training.history import History
from mtbert.training.phases import Phase
from mtbert.training.steps import StepRunner, runner_of
from mtbert.training.stopping import Stop, Stopped
from mtbert.variants.settings import RunSettings

if TYPE_CHECKING:
    import pandas as pd

GIVE_BACK_MEMORY_EVERY = 50  # steps: a thousandth of their time


@dataclass
class Loss:
    """A batch's loss.

    Attributes:
        total: what is trained on, with its graph.
        terms: its summands, without a graph; the task's own loss under the name of what the sampler drew.
    """

    total: Tensor
    terms: dict[str, Tensor]


def loss_of(model: MultitaskModel, phase: Phase, name: str, batch: Batch) -> Loss:
    """Compute the loss of a batch that the sampler drew under that name."""
    outputs = model(batch)
    task_loss = model.loss(batch, outputs)
    terms = {f"{kind}/{name}": objective.term(batch, outputs) for kind, objective in phase.objectives.items()}
    # Times 0, so that the head has a gradient, and its weights decay.
    total = task_loss if phase.settings.supervised else 0 * task_loss
    for term in terms.values():
        total = total + term
    return Loss(total, {term_name: term.detach() for term_name, term in {name: task_loss, **terms}.items()})


@dataclass(frozen=True)
class Numbers:
    """The numbers of an update, which lie on the device until they are read.

    Attributes:
        tasks: names of the losses that are trained on, not weighted: what the sampler drew.
        terms: names of their summands.
        values: the losses, their summands, and the length of the gradient before it was clipped: float32 [numbers].
    """

    tasks: tuple[str, ...]
    terms: tuple[str, ...]
    values: Tensor

    @classmethod
    def of(cls, losses: Mapping[str, Loss], norm: Tensor) -> "Numbers":
        """Return the numbers of these losses and this length."""
        terms = {name: term for loss in losses.values() for name, term in loss.terms.items()}
        numbers = [*(loss.total.detach() for loss in losses.values()), *terms.values(), norm]
        return cls(tuple(losses), tuple(terms), torch.stack([number.float() for number in numbers]))

    def losses(self) -> dict[str, Tensor]:
        """Return the losses, scalars on the device."""
        return {name: self.values[number] for number, name in enumerate(self.tasks)}

    def is_finite(self) -> Tensor:
        """Return whether all terms and the norm are finite: bool [], on the device."""
        return torch.isfinite(self.values[len(self.tasks) :]).all()

    def copied(self) -> "Numbers":
        """Return them in memory of their own."""
        return replace(self, values=self.values.clone())


@dataclass(frozen=True)
class Update:
    """An update whose numbers have not been read.

    Attributes:
        step: counts from 1.
        examples: of its batches, in words.
        numbers: on the device.
    """

    step: int
    examples: str
    numbers: Numbers


@dataclass
class Outcome(Stateful):
    """The result of a training: its steps, and the epoch that was kept.

    Attributes:
        seconds: of the steps, until their numbers were read from the device; without evaluations and checkpoints.
        examples: number of examples, by what the sampler drew.
        epoch, score: the epoch of the phase that is kept so far, and its score; epoch 0 where none was scored.
        kept_state: the weights of that epoch; None where none was chosen.
        highest: the highest score of the phase so far, whether that epoch is kept or not.
        resumed: how often it went on from a checkpoint.
    """

    changes = ("steps", "examples", "seconds", "epoch", "score", "kept_state", "highest", "resumed")

    steps: int = 0
    examples: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    epoch: int = 0
    score: float = -math.inf
    kept_state: dict[str, Tensor] | None = None
    highest: float = -math.inf
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
        described: the run's tasks, and those that serve them.
        choosing: the examples of each task on which epochs are chosen and scores are watched.
        epochs: of all phases so far.
        unread: updates whose numbers have not been read.
        failed: 0 on the device, or 1 after a number that was not finite; the weights do not move any more then.
        runner: computes the phase's steps.
        clock: when the seconds of the outcome were last counted.
    """

    changes = ("epochs", "position", "outcome", "history", "model")

    model: MultitaskModel
    settings: RunSettings
    described: Tasks
    hardware: Hardware
    history: History
    choosing: Mapping[str, Examples]
    seed: int
    checkpoint: Checkpoint
    stop: Stop
    outcome: Outcome = field(default_factory=Outcome, init=False)
    position: Position = field(default_factory=Position, init=False)
    epochs: int = field(default=0, init=False)
    unread: list[Update] = field(default_factory=list, init=False)
    failed: Tensor = field(init=False)
    runner: StepRunner = field(init=False)
    clock: float = field(init=False)

    def __post_init__(self) -> None:
        self.failed = torch.zeros((), device=self.hardware.device)
        self.runner = StepRunner()
        self.clock = time.perf_counter()

    # The training, its phases and their epochs.

    def run(self, phases: Sequence[Callable[[], Phase]], steps: int) -> Outcome:
        """Run the phases (`steps` steps in all), and leave the model with the weights of the kept epoch.

        Each phase is built when its turn comes, so that its objectives find the model as the phase before left it.
        """
        torch.manual_seed(seeding.derive(self.seed, "dropout"))
        saved = self._resume()
        initial = self.outcome.steps
        with (
            own_stream(self.hardware.device),
            tqdm(total=steps, initial=initial, unit="step", mininterval=starting.SHOWN_EVERY, disable=not steps) as bar,
        ):
            for build in phases[self.position.phase - 1 :]:
                with self.stop.at_once():  # a frozen encoder's pass over all examples may take minutes
                    phase = build()
                if saved:
                    self._restore_phase(phase, saved)
                    saved = None
                else:
                    self._begin_phase()
                self._run_phase(phase, bar)
            if saved:  # all phases had ended: predictions need the last one's memos, metrics its frozen parts
                with self.stop.at_once():
                    phases[-1]()
        if self.outcome.steps > initial:
            self._save(None)  # so that a stop during the last predictions repeats no step
        if self.outcome.kept_state is not None:
            self.model.load_state_dict(self.outcome.kept_state)
        else:
            self.outcome.epoch = self.epochs
        return self.outcome

    def _begin_phase(self) -> None:
        """Forget the chosen epoch: one of an earlier phase is not a result of this variant."""
        self.outcome.epoch = 0
        self.outcome.score = -math.inf
        self.outcome.kept_state = None
        self.outcome.highest = -math.inf

    def _is_patient(self) -> bool:
        """Return whether the epoch of one of the last `run.patience` evaluations was kept; True without patience."""
        patience = self.settings.patience
        if patience is None or not self.outcome.epoch:
            return True
        return (self.epochs - self.outcome.epoch) // self.settings.evaluations < patience

    def _run_phase(self, phase: Phase, bar: tqdm) -> None:
        """Run a phase from where it is to its end."""
        self.runner = runner_of(phase, self.hardware, self.model)
        while self.position.epoch <= phase.settings.epochs and self._is_patient():
            self.model.train()
            generator = seeding.stream(self.seed, "sampler", phase.number, self.position.epoch)
            groups = phase.sampler.groups(self.position.epoch, generator)
            self.clock = time.perf_counter()
            for group in groups[self.position.step :]:
                self._step(phase, group, bar)
                if self.position.step < len(groups):  # _end_epoch sets the rate after the last: it may need a dev score
                    phase.lr_scheduler.step()
                self._checkpoint_where_due(phase)
                if self.outcome.steps % GIVE_BACK_MEMORY_EVERY == 0:
                    hardware.give_back_memory()
            self._read_numbers()
            self.epochs += 1
            self._end_epoch(phase)
            self.position = Position(phase.number, self.position.epoch + 1)
        self.position = Position(phase.number + 1)

    # A step.

    def _step(self, phase: Phase, group: Sequence[str], bar: tqdm) -> None:
        """Update the weights once, by a batch of each task of the group, and log where that is due."""
        self.outcome.steps += 1
        self.position.step += 1
        drawn = self.runner.padded({name: phase.streams[name].next() for name in group})
        batches = {name: batch.to(self.hardware.device) for name, batch in drawn.items()}

        try:
            numbers = self.runner.run(batches, partial(self._compute, phase))
            phase.after_step(numbers.losses(), lambda: self._losses_again(phase, batches))
        except torch.OutOfMemoryError as error:
            raise TrainingError(
                f"step {self.outcome.steps} does not fit into the memory ({_shapes(batches)}); lower "
                "training.batch_size, training.batch_sizes or model.max_tokens"
            ) from error

        self.unread.append(Update(self.outcome.steps, in_words(batches), numbers))
        for name, batch in batches.items():
            self.outcome.examples[name] = self.outcome.examples.get(name, 0) + len(batch)
        self._log(phase, bar)
        bar.update()

    def _compute(self, phase: Phase, batches: Mapping[str, Batch]) -> Numbers:
        """Make an update of batches, and read no number back: a GPU may record this and repeat it."""
        losses = self._backward(phase, batches)
        return self._update(phase, losses)

    def _backward(self, phase: Phase, batches: Mapping[str, Batch]) -> dict[str, Loss]:
        """Compute the losses, and leave their gradient in the parameters."""
        with self.hardware.autocast():
            losses = {name: loss_of(self.model, phase, name, batch) for name, batch in batches.items()}
            weighted = phase.weighting({name: loss.total for name, loss in losses.items()})
        phase.rule(weighted, phase.parameters)
        return losses

    def _update(self, phase: Phase, losses: Mapping[str, Loss]) -> Numbers:
        """Clip the gradient and move the weights, unless a number was not finite; return the numbers."""
        norm = torch.nn.utils.get_total_norm([p.grad for p in phase.parameters if p.grad is not None])
        numbers = Numbers.of(losses, norm)
        self.failed.copy_(torch.maximum(self.failed, 1 - numbers.is_finite().float()))
        _clip(phase, norm)
        # Where `found_inf` is 1 a fused optimiser skips its step; torch's GradScaler sets the same attribute.
        phase.optimiser.found_inf = self.failed  # type: ignore[attr-defined]
        phase.optimiser.step()
        phase.optimiser.zero_grad()
        return numbers

    def _losses_again(self, phase: Phase, batches: Mapping[str, Batch]) -> dict[str, Tensor]:
        """Compute the losses of an update's batches with the weights as they are now."""
        with self.hardware.autocast():
            losses = {name: loss_of(self.model, phase, name, batch) for name, batch in batches.items()}
        return {name: loss.total.detach() for name, loss in losses.items()}

    def _log(self, phase: Phase, bar: tqdm) -> None:
        """Where an entry is due, read the numbers of the steps so far, and add them to the history and the bar."""
        last = phase.lr_scheduler.last_epoch + 1 == phase.steps
        due = self.history.is_due(self.outcome.steps) or last
        if due or not self.hardware.is_asynchronous:
            self._read_numbers()
        if due:
            values = self.history.log(phase.number, self.outcome.steps, phase.rate, phase.weighting.values())
            losses = {name.removeprefix("loss/"): value for name, value in values.items() if name.startswith("loss/")}
            bar.set_postfix_str(", ".join(f"{name} {value:.3f}" for name, value in losses.items()), refresh=False)

    def _read_numbers(self) -> None:
        """Bring the numbers of all updates from the device, in one transfer; DivergedError where one is not finite."""
        if not self.unread:
            return
        values = iter(torch.cat([update.numbers.values for update in self.unread]).tolist())
        for update in self.unread:
            losses = {name: next(values) for name in update.numbers.tasks}
            terms = {name: next(values) for name in update.numbers.terms}
            check_finite(update, terms, next(values))
            for name, term in terms.items():
                self.history.loss(name, term)
            for name, loss in losses.items():
                self.position.losses.setdefault(name, []).append(loss)
        self.unread.clear()
        now = time.perf_counter()
        self.outcome.seconds += now - self.clock
        self.clock = now

    # The end of an epoch.

    def _end_epoch(self, phase: Phase) -> None:
        """Score the model where it is due, call the epoch's hooks, and set the next epoch's first rate.

        All of this is done again where a training resumes from the checkpoint of the epoch's last step.
        """
        scores = self._evaluate(phase)
        losses = {name: float(np.mean(step_losses)) for name, step_losses in self.position.losses.items()}
        dev = self._mean(phase, scores) if scores and phase.schedule.needs_dev else None
        phase.schedule.observe(dev, float(np.mean([*losses.values()])))
        phase.weighting.after_epoch(losses)
        phase.lr_scheduler.step()

    def _evaluate(self, phase: Phase) -> dict[str, float]:
        """Score the choosing examples where it is due, and keep the weights if they are good; return the scores."""
        settings = self.settings
        if not settings.evaluations or self.epochs % settings.evaluations:
            return {}
        try:
            with self.stop.at_once(), self.hardware.autocast():
                tables = self._predictions(settings.evaluation_rows)
        except Stopped:
            self.epochs -= 1  # this epoch ends again after resuming
            self._save(phase)
            raise
        scores = predictions.scores(tables, self.described)
        name_of_rows = "spared" if settings.selection == "spared" else "dev"
        self.history.add(
            phase.number, self.outcome.steps, {f"{name_of_rows}/{name}": score for name, score in scores.items()}
        )
        if settings.keep == "best":
            trained = {self.described[name].trains for name in phase.settings.tasks}
            is_spared = settings.selection == "spared"
            error = evaluation.error_of_mean(tables, self.described, trained) if is_spared else None
            self._keep_if_good(self._mean(phase, scores), error)
        return scores

    def _predictions(self, rows: int | None) -> dict[str, "pd.DataFrame"]:
        """Return the predictions for the choosing examples of each task, or for so many; held-out ones fit thresholds.

        Dev fits none: it is what is scored.
        """
        device, is_held_out = self.hardware.device, self.settings.selection == "spared"
        return {
            name: evaluation.predict(self.model, examples.drawn(rows), device, is_held_out)
            for name, examples in self.choosing.items()
        }

    def _mean(self, phase: Phase, scores: Mapping[str, float]) -> float:
        """Return the mean score of the tasks that the phase trains, by which its epochs are compared."""
        return evaluation.mean_score(scores, {self.described[name].trains: None for name in phase.settings.tasks})

    def _keep_if_good(self, score: float, error: float | None) -> None:
        """Keep this epoch's weights where no earlier one is better by more than a standard error.

        Spared rows are few, so which of two epochs is better is mostly chance; the later one learnt at a lower rate.

        Source: the rule of one standard error of Breiman et al. (1984), "Classification and Regression Trees", section
        3.4.3, with the later epoch for the smaller tree. The error is this epoch's, since that of a perfect score is 0.

        Args:
            score: of this epoch.
            error: its standard error; None where an epoch has to be better than all before.
        """
        outcome = self.outcome
        is_kept = score > outcome.highest if error is None else score + error >= outcome.highest
        outcome.highest = max(outcome.highest, score)
        if is_kept:
            outcome.score = score
            outcome.epoch = self.epochs
            outcome.kept_state = {name: value.detach().clone() for name, value in self.model.state_dict().items()}

    # Checkpoints.

    def _checkpoint_where_due(self, phase: Phase) -> None:
        """Write a checkpoint where one is due; where a signal asked to stop, write one and raise Stopped."""
        every = self.settings.checkpoint_every
        asked = self.stop.asked
        if asked is not None or (every and self.outcome.steps % every == 0):
            self._save(phase)
        if asked is not None:
            raise Stopped(asked)

    def _save(self, phase: Phase | None) -> None:
        """Write all that resuming from here needs; `phase` is None after the last one."""
        self._read_numbers()
        state = {"random": random_state(self.hardware.device), "phase": phase and phase.state()}
        self.checkpoint.save(state | self.state())
        self.clock = time.perf_counter()

    def _resume(self) -> dict[str, Any] | None:
        """Go on from the checkpoint, where there is one; return its state, whose phase is still to be restored."""
        state = self.checkpoint.load()
        if state is not None:
            self.restore(state)
            self.outcome.resumed += 1
            print(f"going on from the checkpoint of step {self.outcome.steps}")
        return state

    def _restore_phase(self, phase: Phase, saved: Mapping[str, Any]) -> None:
        phase.restore(saved["phase"])
        set_random_state(saved["random"], self.hardware.device)


def in_words(batches: Mapping[str, Batch]) -> str:
    """Return the examples of batches by task, for messages."""
    return "; ".join(f"{batch.task}: {', '.join(batch.ids)}" for batch in batches.values())


def _shapes(batches: Mapping[str, Batch]) -> str:
    """Return the sizes of batches by task, for messages: rows, and tokens of the longest."""
    return ", ".join(f"{name}: {list(batch.input_ids.shape)} tokens" for name, batch in batches.items())


def _clip(phase: Phase, norm: Tensor) -> None:
    """Shorten the gradient, whose length is `norm`, to `training.clip`, where that is set."""
    limit = phase.settings.clip
    if limit is None:
        return
    if norm.device.type == "cpu" and norm <= limit:  # where a comparison is free, and a pass over the gradients is not
        return
    torch.nn.utils.clip_grads_with_norm_(phase.parameters, limit, norm)


def check_finite(update: Update, terms: Mapping[str, float], norm: float) -> None:
    """Raise DivergedError, with the update's examples, where a loss or the gradient's length is not finite."""
    faulty = [f"loss {name}" for name, value in terms.items() if not math.isfinite(value)]
    if not faulty and math.isfinite(norm):
        return
    raise DivergedError(
        f"the {', '.join(faulty) or 'gradient'} of step {update.step} is not finite, so the weights were left as they "
        f"were; the batch was {update.examples}. A lower training.learning_rate, training.clip: 1.0 or "
        "run.precision: fp32 may help"
    )
