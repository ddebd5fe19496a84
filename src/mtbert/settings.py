"""The typed settings: what each section of params.yaml may hold, and one variant with everything resolved.

A technique's own section is typed in the technique's file or its kind's base.py. Every section refuses unknown keys.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    field_serializer,
    model_validator,
)

from mtbert import tasks
from mtbert.errors import UnknownNameError
from mtbert.tasks import Task

Choice = dict[str, Any]  # {"name": technique, option: value, ...}; the technique's own settings type checks the options


def one_of(kind: str, known: Iterable[str] | None = None) -> AfterValidator:
    """Return the check that a name is one of these, or of the validation context's names of that kind."""

    def check(name: str, info: ValidationInfo) -> str:
        names = (info.context or {})[kind] if known is None else known
        if name not in names:
            raise UnknownNameError(kind, name, names)
        return name

    return AfterValidator(check)


def known_task(name: str, info: ValidationInfo) -> str:
    """Check the name of a task: of those in the context, as where params.yaml is read, else that it leads nowhere."""
    known = (info.context or {}).get("task")
    if known is not None and name not in known:
        raise UnknownNameError("task", name, known)
    if not re.fullmatch(tasks.NAME, name):
        raise ValueError("a task's name has small letters, digits and _")
    return name


def _word(word: str, value: Any) -> Any:
    """Return None for the word that stands for it in params.yaml, where null means that the value is not set."""
    if isinstance(value, str) and value != word:
        raise ValueError(f"allowed: a number, or {word}")
    return None if value == word else value


ALL, NONE, OWN, BATCH = (BeforeValidator(partial(_word, word)) for word in ("all", "none", "own", "batch"))


def _each_once(values: list[Any]) -> list[Any]:
    if twice := [value for number, value in enumerate(values) if value in values[:number]]:
        raise ValueError(f"{twice[0]!r} is listed twice; allowed: each once")
    return values


ONCE = AfterValidator(_each_once)
TaskName = Annotated[str, AfterValidator(known_task)]  # also one that serves another, where a phase trains it
# Names become folders and stage names, so they may hold nothing that leads elsewhere.
NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Name = Annotated[str, Field(pattern=NAME, max_length=60)]
PARTS = (
    "encoder", "embeddings", "layers", "attention", "feed_forward", "output_norms", "pooler", "biases",
    "features", "adapters", "connector", "heads",
)  # fmt: skip


def _known_part(name: str) -> str:
    if name not in PARTS and not re.fullmatch(r"layer_[1-9]\d?", name):
        raise UnknownNameError("part", name, (*PARTS, "layer_1", "layer_2", "... of the encoder"))
    return name


PartName = Annotated[str, AfterValidator(_known_part)]
Pooling = Literal["pooler", "cls", "mean"]
Batching = Literal["by_length", "shuffled"]


LENGTHS = ("steps_per_epoch", "examples_per_task", "share_of_examples")  # ways to set an epoch's length


class Section(BaseModel):
    """Base of all settings: refuses unknown keys and NaN, converts nothing silently, and cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _knows_its_keys(cls, values: Any) -> Any:
        known = [field.alias or name for name, field in cls.model_fields.items()]
        for key in values if isinstance(values, dict) else ():
            if key not in known and cls.model_config.get("extra") == "forbid":
                raise UnknownNameError("key", key, known)
        return values


def undivided(width: str, size: int, heads: int) -> str:
    """Return the message for attention heads that do not divide a width."""
    return f"{width} is {size} and heads {heads}, which does not divide it; allowed: a multiple of {heads}"


class NoOptions(Section):
    """Settings of a technique that has none."""


class RunSettings(Section):
    """Section `run`: what holds for a whole run; params.yaml says what the other keys are.

    Attributes:
        device: `auto` is CUDA, else Apple's, else the CPU.
        threads: CPU threads of a training. Another number sums in another order, and so changes scores.
        keep: `best` is that of the last phase by the tasks' mean score on what `selection` says.
        selection: `cross` keeps two epochs, each chosen on one half of dev and scored on the other; weights, test
            scores and embeddings are those of the epoch that the first half chose. `half` keeps that epoch alone and
            scores on the second half. `whole` chooses and scores on all of dev, as the papers do: such scores are a
            little too good. A schedule that watches dev sees the first half.
    """

    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "bf16", "fp32"] = "auto"
    threads: int = Field(default=1, ge=1, le=256)
    keep: Literal["last", "best"] = "best"
    selection: Literal["cross", "half", "whole"] = "cross"
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
        return self


class ModelSettings(Section):
    """Section `model`: how sentences become embeddings and embeddings become predictions; see params.yaml.

    Attributes:
        max_tokens: longest sequence; longer ones lose tokens from the end of the longer sentence.
        token_types: of a pair in one sequence: `zeros` for all its tokens, as in the course's BERT, or `by_sentence`: 1
            for the second sentence, as BERT was trained. An encoder without types has neither.
    """

    encoder: Name = "base"
    pair_encoding: Literal["cross", "bi"] = "cross"
    max_tokens: int = Field(default=128, ge=8, le=8192)
    token_types: Literal["zeros", "by_sentence"] = "zeros"
    dropout: Annotated[float | None, OWN] = Field(default=None, ge=0, lt=1)
    features: Choice
    adapter: Choice
    connector: Choice
    pooling: dict[TaskName, Pooling]
    heads: dict[TaskName, Choice]


class PhaseSettings(Section):
    """Section `training`: one phase of a run, with its tasks, losses, schedule and what is trained; see params.yaml.

    Attributes:
        tasks: the tasks of this phase, and the corpora that are reused for them.
        trainable: the named parts of the model that are trained; see `MultitaskModel.parts`.
        supervised: whether the tasks' labels are trained on; if not, only the objectives are.
        batch_size: examples of one task in a batch.
        epochs: with each the sampler starts over, dev is scored and annealing moves on.
        steps_per_epoch: steps of an epoch; `all`: as many as see as many examples as the phase's tasks have together.
        examples_per_task: in place of that, examples of each task in an epoch, or `all`.
        share_of_examples: in place of both, the share of the tasks' examples that an epoch sees, or `all`.
        spared: the share of each task's training rows, drawn at random, that is not trained on: a merge chooses on it.
    """

    tasks: list[TaskName] = Field(min_length=1)
    sampler: Choice
    objectives: list[Choice] = []
    weighting: Choice
    gradients: Choice
    schedule: Choice
    trainable: Annotated[list[PartName], Field(min_length=1), ONCE] = [
        "encoder", "features", "adapters", "connector", "heads",
    ]  # fmt: skip
    frozen: Annotated[list[PartName], ONCE] = []
    supervised: bool = True
    batch_size: int = Field(default=16, ge=1, le=65536)
    batch_sizes: dict[TaskName, Annotated[int, Field(ge=1, le=65536)]] = {}
    epochs: int = Field(default=10, ge=1, le=10000)
    steps_per_epoch: Annotated[int | None, ALL] = Field(default=None, ge=1)
    examples_per_task: Annotated[int | None, ALL] = Field(default=None, ge=1)
    share_of_examples: Annotated[float | None, ALL] = Field(default=None, gt=0, lt=1)
    rows: Annotated[int | None, ALL] = Field(default=None, ge=1)
    spared: float = Field(default=0.0, ge=0, le=0.5, exclude_if=lambda share: not share)
    batching: Batching = "by_length"
    learning_rate: float = Field(default=2e-5, gt=0, le=100)
    adapter_rate: float | None = Field(default=None, gt=0, le=100, exclude_if=lambda rate: rate is None)
    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field(default=[0.9, 0.999], min_length=2, max_length=2)
    eps: float = Field(default=1e-6, gt=0, le=100)
    weight_decay: float = Field(default=0.0, ge=0, le=100)
    clip: Annotated[float | None, NONE] = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _one_length(self) -> "PhaseSettings":
        stated = [name for name in LENGTHS if getattr(self, name) is not None]
        if len(stated) > 1:
            raise ValueError(f"{' and '.join(stated)} all set how long an epoch is; allowed: one of them")
        return self

    @model_validator(mode="after")
    def _something_to_learn(self) -> "PhaseSettings":
        if not self.supervised and not self.objectives:
            raise ValueError("supervised is false and objectives is empty, so nothing would be learnt")
        return self


Kind = Literal["encoder", "adapters", "heads", "encoder_constant", "adapters_constant", "heads_constant"]
Rate = Annotated[float, Field(gt=0, le=100)]
# As written in section `training`. Where a constant schedule has none, that of the others of its kind holds.
LearningRate = Annotated[
    Annotated[Rate, Tag("[number]")] | Annotated[dict[Kind | Literal["others"], Rate | None], Tag("[by kind]")],
    Discriminator(lambda value: "[by kind]" if isinstance(value, dict) else "[number]"),
]


class Answers(Section):
    """The published rows that a variant is compared with.

    Attributes:
        paper, row: the paper and the row of its table; a variant of your own may have none.
        also: further rows of that paper that the same model answers to.
        rival: its row among PALs' rivals, where it answers to a report and is listed there, too.
    """

    paper: Name | None = None
    row: str = ""
    also: list[str] = []
    rival: str = ""


class VariantSettings(Answers):
    """One resolved variant: all that its training depends on, and nothing else.

    Attributes:
        variant: its name.
        described: by name, what its model needs to know of its tasks, and of those that serve them.
        profile: which profile it was resolved for.
        phases: its phases in order; none for a model that is scored without training.
        sources: SHA-256 of the files that its techniques use, so that a change of a technique is a change here.
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
        return values | {"described": tasks.restored(described)}

    @model_validator(mode="after")
    def _knows_its_tasks(self) -> "VariantSettings":
        if unknown := [name for name in self.tasks if name not in self.described]:
            raise UnknownNameError("task", unknown[0], self.described)
        return self

    @field_serializer("described")
    def _stated(self, described: dict[str, Task]) -> dict[str, dict[str, Any]]:
        return {name: tasks.stated(task) for name, task in described.items()}

    def trains(self, name: str) -> Task:
        """Return the task that a phase's entry trains: itself, or the one that it serves."""
        return self.described[self.described[name].trains]
