"""The typed settings of one variant with everything resolved: all that its training depends on.

A technique's own section is typed in the technique's file or its kind's base.py.
"""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator, field_serializer, model_validator

from mtbert import tasks
from mtbert.errors import UnknownNameError
from mtbert.learning.gradients import GRADIENTS
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.samplers import SAMPLERS
from mtbert.learning.schedules import SCHEDULES
from mtbert.learning.weightings import WEIGHTINGS
from mtbert.models.adapters import ADAPTERS
from mtbert.models.connectors import CONNECTORS
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.registry import Choice, Registry
from mtbert.settings import ALL, NONE, ONCE, OWN, Name, PartName, Pooling, Published, Section, TaskName
from mtbert.tasks import Task

TECHNIQUE_KEYS: dict[str, dict[str, Registry[..., Any]]] = {  # by section, the keys that hold one technique of a kind
    "model": {"features": FEATURES, "adapter": ADAPTERS, "connector": CONNECTORS},
    "training": {"sampler": SAMPLERS, "weighting": WEIGHTINGS, "gradients": GRADIENTS, "schedule": SCHEDULES},
}


@dataclass(frozen=True)
class Length:
    """How long an epoch is. Where nothing is set, it sees as many examples as the phase's tasks have together.

    Attributes:
        steps: steps of an epoch.
        examples: examples of each task.
        share: the share of all examples of the tasks.
        by_task: a task's steps, at least 1: so many, so many more for each class, and so many passes over its rows.
    """

    steps: int | None = None
    examples: int | None = None
    share: float | None = None
    by_task: tuple[float, float, float] | None = None

    @classmethod
    def read(cls, text: "str | Length") -> "Length":
        """Return the length that settings state; a ValueError, which pydantic takes for a fault of the value."""
        if isinstance(text, Length):
            return text
        parts = FORM.fullmatch(text) if isinstance(text, str) else None
        if parts is None:
            raise ValueError(
                "allowed: all, `100 steps`, `1000 examples of each task`, `0.5 of all examples`, "
                "`25 steps + 0.5 a class + 0.25 passes of each task`"
            )
        if parts["steps"]:
            return cls(steps=_in_an_epoch(parts["steps"]))
        if parts["examples"]:
            return cls(examples=_in_an_epoch(parts["examples"]))
        if parts["share"]:
            return cls(share=_below_all(parts["share"]))
        if parts["base"]:
            return cls(by_task=(float(parts["base"]), float(parts["a_class"]), float(parts["passes"])))
        return cls()

    def turns(self, classes: int, batches: float, batch_size: int) -> int:
        """Return the batches of a task in an epoch; each row, or a share of the rows, comes once by default.

        Args:
            classes: of the task; 0 for a score.
            batches: in which every row comes once.
            batch_size: examples of a batch.
        """
        if self.examples is not None:
            return math.ceil(self.examples / batch_size)
        if self.by_task is not None:
            base, a_class, passes = self.by_task
            return max(1, math.ceil(base + a_class * classes + passes * batches))
        return math.ceil(batches * (self.share or 1))

    def times(self, share: float) -> "Length":
        """Return a share of it, at least a step or an example."""
        by_task = None
        if self.by_task is not None:
            base, a_class, passes = (round(share * part, 6) for part in self.by_task)
            by_task = base, a_class, passes
        return Length(
            steps=self.steps and max(1, round(share * self.steps)),
            examples=self.examples and max(1, round(share * self.examples)),
            share=None if self.steps or self.examples or self.by_task else share * (self.share or 1),
            by_task=by_task,
        )

    def dump(self) -> str:
        """Return it as settings state it."""
        if self.steps is not None:
            return f"{self.steps} steps"
        if self.examples is not None:
            return f"{self.examples} examples of each task"
        if self.share is not None:
            return f"{Decimal(str(self.share)):f} of all examples"  # 0.00001, where a float is written 1e-05
        if self.by_task is not None:
            base, a_class, passes = (f"{Decimal(str(part)).normalize():f}" for part in self.by_task)
            return f"{base} steps + {a_class} a class + {passes} passes of each task"
        return "all"


NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
FORM = re.compile(
    r"all|(?P<steps>[0-9]+) steps|(?P<examples>[0-9]+) examples of each task|(?P<share>[0-9]*\.?[0-9]+) of all examples"
    rf"|(?P<base>{NUMBER}) steps \+ (?P<a_class>{NUMBER}) a class \+ (?P<passes>{NUMBER}) passes of each task"
)
MOST_IN_EPOCH = 2**31 - 1


def _in_an_epoch(digits: str) -> int:
    is_short = len(digits) <= len(str(MOST_IN_EPOCH))  # Python reads no number of thousands of digits
    if not is_short or not 1 <= int(digits) <= MOST_IN_EPOCH:
        raise ValueError(f"allowed: a number from 1 to {MOST_IN_EPOCH}")
    return int(digits)


def _below_all(digits: str) -> float:
    share = float(digits)
    if not 0 < share < 1:
        raise ValueError("allowed: a share above 0 and below 1, or all")
    return share


class RunSettings(Section):
    """Section `run`: what holds for a whole run; params.yaml says what the other keys are.

    Attributes:
        device: `auto` is CUDA, else Apple's, else the CPU.
        threads: CPU threads of a training. Another number sums in another order, and so changes scores.
        keep: `best` is the epoch of the last phase with the highest mean score over tasks, on the rows that `selection`
            names.
        selection: `half` chooses on one half of dev and scores on the other. `whole` chooses and scores on all of dev,
            as the papers do: such scores are a little too good. `spared` chooses on the training rows that
            `training.spared` keeps out, and scores on all of dev. Since these rows are few, it keeps the last epoch
            whose score is within a standard error of the best one. A schedule that watches scores sees the same rows;
            it is refused where they are scored, unless the best epoch is chosen on them, too.
        patience: a phase ends after so many evaluations in a row whose epoch is not kept; None trains all epochs.
    """

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    threads: int = Field(default=1, ge=1, le=256)
    keep: Literal["last", "best"] = "best"
    selection: Literal["half", "whole", "spared"] = "half"
    patience: Annotated[int | None, NONE] = Field(default=None, ge=1, exclude_if=lambda patience: patience is None)
    evaluations: int = Field(default=1, ge=0)
    evaluation_rows: Annotated[int | None, ALL] = Field(default=None, ge=1)
    predict_test: bool = True
    train_rows: int = Field(default=0, ge=0)
    log_every: int = Field(default=10, ge=1)
    checkpoint_every: int = Field(default=100, ge=0)
    record_steps: bool = True

    @model_validator(mode="after")
    def _best_of_something(self) -> "RunSettings":
        if self.keep == "best" and not self.evaluations:
            raise ValueError("keep is best, which needs dev scores: evaluations has to be 1 or more")
        if self.patience is not None and self.keep != "best":
            raise ValueError("patience ends a phase behind its best epoch: keep has to be best")
        return self


class ModelSettings(Section):
    """Section `model`: how sentences become embeddings and embeddings become predictions; see params.yaml.

    Attributes:
        max_tokens: longest sequence; longer ones lose tokens from the end of the longer sentence.
        pair_encoding: `cross` puts both sentences of a pair into one sequence, `bi` encodes each apart. A head that
            compares two embeddings has those of its task apart in either case.
        token_types: of a pair in one sequence: `zeros` for all its tokens, as in the course's BERT, or `by_sentence`: 1
            for the second sentence, as BERT was trained. An encoder without types has neither.
    """

    encoder: Name = "base"
    pair_encoding: Literal["cross", "bi"] = "cross"
    max_tokens: int = Field(default=128, ge=8, le=8192)
    token_types: Literal["zeros", "by_sentence"] = "zeros"
    dropout: Annotated[float | None, OWN] = Field(default=None, ge=0, lt=1)
    features: Annotated[Choice[Any], FEATURES]
    adapter: Annotated[Choice[Any], ADAPTERS]
    connector: Annotated[Choice[Any], CONNECTORS]
    pooling: dict[TaskName, Pooling]
    heads: dict[TaskName, Annotated[Choice[Any], HEADS]]

    def is_apart(self, task: Task) -> bool:
        """Return whether the two sentences of a task's pairs are encoded apart."""
        return task.is_pair and (self.pair_encoding == "bi" or HEADS.class_of(self.heads[task.name]).compares)


RATES = ("learning_rate", "adapter_rate", "head_rate")  # keys of PhaseSettings


class PhaseSettings(Section):
    """Section `training`: one phase of a run, with its tasks, losses, schedule and what is trained; see params.yaml.

    Attributes:
        tasks: the tasks of this phase, and the corpora that are reused for them.
        trainable: the named parts of the model that are trained; see `MultitaskModel.parts`.
        supervised: whether the tasks' labels are trained on; if not, only the objectives are.
        batch_size: examples of one task in a batch.
        epochs: with each the sampler starts over, dev is scored and annealing moves on.
        epoch_length: in steps, in examples or steps of each task, or in a share of all their examples; see `Length`.
        spared: the share of each task's training rows, drawn at random, that is not trained on: merges choose their
            scale on these rows, and with `run.selection: spared` a training its epoch.
    """

    tasks: list[TaskName] = Field(min_length=1)
    sampler: Annotated[Choice[Any], SAMPLERS]
    objectives: list[Annotated[Choice[Any], OBJECTIVES]] = []
    weighting: Annotated[Choice[Any], WEIGHTINGS]
    gradients: Annotated[Choice[Any], GRADIENTS]
    schedule: Annotated[Choice[Any], SCHEDULES]
    trainable: Annotated[list[PartName], Field(min_length=1), ONCE] = [
        "encoder", "features", "adapters", "connector", "heads",
    ]  # fmt: skip
    frozen: Annotated[list[PartName], ONCE] = []
    supervised: bool = True
    batch_size: int = Field(default=16, ge=1, le=65536)
    batch_sizes: dict[TaskName, Annotated[int, Field(ge=1, le=65536)]] = {}
    epochs: int = Field(default=10, ge=1, le=10000)
    epoch_length: Annotated[Length, PlainValidator(Length.read), PlainSerializer(Length.dump)] = Length()
    rows: Annotated[int | None, ALL] = Field(default=None, ge=1)
    spared: float = Field(default=0.0, ge=0, le=0.5, exclude_if=lambda share: not share)
    batching: Literal["by_length", "shuffled"] = "by_length"
    learning_rate: float = Field(default=2e-5, gt=0, le=100)
    adapter_rate: float | None = Field(default=None, gt=0, le=100, exclude_if=lambda rate: rate is None)
    head_rate: float | None = Field(default=None, gt=0, le=100, exclude_if=lambda rate: rate is None)
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field(default=[0.9, 0.999], min_length=2, max_length=2)
    eps: float = Field(default=1e-6, gt=0, le=100)
    weight_decay: float = Field(default=0.0, ge=0, le=100)
    clip: Annotated[float | None, NONE] = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _something_to_learn(self) -> "PhaseSettings":
        if not self.supervised and not self.objectives:
            raise ValueError("supervised is false and objectives is empty, so nothing would be learnt")
        return self

    def turns(self, task: Task, rows: float) -> int:
        """Return about how many batches of a task an epoch has, by the task's training rows."""
        classes = 0 if task.kind == "score" else task.classes
        return self.epoch_length.turns(classes, rows / self.batch_size, self.batch_size)


class VariantSettings(Published):
    """One resolved variant: all that its training depends on, and nothing else.

    Attributes:
        variant: its name.
        described: by name, what its model needs to know of its tasks, and of those that serve them.
        profile: which profile it was resolved for.
        phases: its phases in order; none for a model that is scored without training.
        sources: SHA-256 of the files that its techniques use, so that a change of a technique is a change here.
        share: of each task's training rows, what it reads, in whole clusters; each seed draws others. A corpus that
            serves a task is read whole.
        teachers: the variants whose models of the same seed predict what an objective learns from.
        members, merge: of a merged model, which is not trained: whose encoders were joined, and how.
        scale: the scale that the merge chose.
    """

    variant: Name
    profile: str
    tasks: list[TaskName] = Field(min_length=1)
    model: ModelSettings
    phases: list[PhaseSettings]
    run: RunSettings
    sources: dict[str, str]
    share: float = Field(default=1.0, gt=0, le=1, exclude_if=lambda share: share == 1)
    teachers: list[Name] = Field(default=[], exclude_if=lambda teachers: not teachers)
    members: list[Name] = Field(default=[], exclude_if=lambda members: not members)
    merge: str = Field(default="", exclude_if=lambda merge: not merge)
    scale: float | None = Field(default=None, exclude_if=lambda scale: scale is None)
    described: dict[str, Task] = {}

    @model_validator(mode="before")
    @classmethod
    def _describes_its_tasks(cls, values: Any) -> Any:
        """Restore descriptions; a run from before they were written is of the course's tasks."""
        if not isinstance(values, dict) or not isinstance(values.get("tasks"), list):
            return values
        described = values.get("described") or {name: tasks.COURSE[name] for name in tasks.COURSE}
        return values | {"described": tasks.load_tasks(described)}

    @model_validator(mode="after")
    def _knows_its_tasks(self) -> "VariantSettings":
        if unknown := [name for name in self.tasks if name not in self.described]:
            raise UnknownNameError("task", unknown[0], self.described)
        return self

    @field_serializer("described")
    def _stated(self, described: dict[str, Task]) -> dict[str, dict[str, Any]]:
        return {name: tasks.dump_task(task) for name, task in described.items()}

    def task_of(self, name: str) -> Task:
        """Return the task that a phase's entry trains: itself, or the one that it serves."""
        return self.described[self.described[name].trains]
