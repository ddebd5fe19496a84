"""Types of the JSON files that one stage writes and others read: scores, logs, encoders.

Each is read with `mtbert.files.read_as`, which reports what is wrong with an altered file.
"""

from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, model_validator

from mtbert import files, layout
from mtbert.provenance.inputs import Machine
from mtbert.settings import Section

Count = Annotated[int, Field(ge=0, lt=2**63)]


class Lenient(Section):
    """Base of files that may have more keys than are read here."""

    model_config = ConfigDict(extra="ignore")


class ModelMetrics(Lenient):
    """metrics.json of any model; scores by task, and the overalls.

    Attributes:
        beside: what else dev is scored by, such as `moods/macro_f1`: only of several labels a row.
        parameters: numbers of weights of a run or vote, as `MultitaskModel.sizes` returns them.
        weights: of a baseline, how many numbers it has to keep beside the encoder; None where nobody knows.
    """

    variant: str
    seed: Count
    dev: dict[str, float]
    test: dict[str, float]
    train: dict[str, float] = {}
    beside: dict[str, float] = {}
    parameters: dict[str, Count] = {}
    weights: Count | None = None

    def content(self) -> dict[str, Any]:
        """Return what is written: what the model has."""
        return self.model_dump(exclude_defaults=True)


class RunMetrics(ModelMetrics):
    """metrics.json of a run.

    Attributes:
        epoch: the epoch whose weights are kept.
        examples: number of training examples, by what the sampler drew.
        temperatures: what logits are divided by, by task with classes; none where no training rows were held out.
    """

    steps: Count
    epoch: Count
    examples: dict[str, Count] | None = None
    temperatures: dict[str, Annotated[float, Field(gt=0)]] = {}
    device: str | None = None
    precision: str | None = None


class Elsewhere(Lenient):
    """elsewhere.json of a run that came from elsewhere, with or without its weights: the machine that it ran on."""

    machine: Machine


class RunLog(Lenient):
    """The part of run.json of a model's log that is read; `machine` is what `training.logs.machine` returns."""

    started: str | None = Field(default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00)?$")
    seconds: float = Field(ge=0)
    examples_per_second: float | None = None
    peak_memory_mb: int | float | None = None
    peak_gpu_memory_mb: int | float | None = None
    machine: dict[str, Any] | None = None
    versions: dict[str, str] = {}


def read_log(model: Path) -> RunLog | None:
    """Return what the log of a model says; None where it is missing; DataError where it is damaged."""
    file = layout.log(model) / layout.LOG
    if not file.is_file():
        return None
    return files.read_as(RunLog, file, f"dvc repro --force --single-item {layout.stage(model)}")


class EncoderCard(Lenient):
    """encoder.json of an encoder's directory."""

    name: str
    source: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    note: str
    layers: int
    width: int
    positions: int
    pooler: bool


class Costs(Section):
    """What it costs to run a model: measured here, or as costs.yaml says of predictions that others made.

    Attributes:
        milliseconds: that a text takes for all tasks of the model; a pair as well if it has tasks of pairs.
        batch_milliseconds: the same where 32 texts are predicted together.
        megabytes: of the files that are read, 10^6 bytes each.
        price: of 1,000 rows.
        currency: of it.
    """

    milliseconds: float | None = Field(default=None, ge=0)
    batch_milliseconds: float | None = Field(default=None, ge=0)
    megabytes: float | None = Field(default=None, ge=0)
    price: float | None = Field(default=None, ge=0)
    currency: str = Field(default="", max_length=12)

    @model_validator(mode="after")
    def _has_a_currency_of_its_price(self) -> "Costs":
        if self.currency and self.price is None:
            raise ValueError("`currency` without `price`: add the price of 1,000 rows, or remove the currency")
        if self.currency != self.currency.strip() or not self.currency.isprintable():
            raise ValueError(f"`currency` is {self.currency!r}: write a word, such as EUR")
        return self


class Speed(Section):
    """build/speed/speed.json: the costs of each model, and seconds of each training by variant and seed.

    Attributes:
        models: by variant and seed, `layout.log_key` of each model that was there: of another one these are no costs.
    """

    machine: str
    models: dict[str, dict[str, str]]
    costs: dict[str, Costs]
    seconds: dict[str, dict[str, float]]

    def is_of(self, model: Path) -> bool:
        """Return whether the costs by a model's name, and the seconds, are those of the model in this folder."""
        return self.models.get(model.parent.name, {}).get(model.name) == layout.log_key(model)
