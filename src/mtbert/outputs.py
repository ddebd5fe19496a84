"""What one stage leaves as JSON and others read, typed: scores of runs and votes, logs, encoders, the check of data.

Each class is read with `mtbert.files.read_as`, which says what is wrong with a file that was altered.
"""

import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mtbert import files
from mtbert.errors import DataError
from mtbert.settings import Section


class Sizes(Section):
    """Numbers of weights, as `MultitaskModel.sizes` gives them."""

    encoder: int = Field(ge=1)
    added: int = Field(ge=0)
    trained: int = Field(ge=0)
    stored: int = Field(ge=0)


class RunMetrics(Section):
    """metrics.json of a run; scores by task, and the overalls.

    Attributes:
        epoch: whose weights are kept.
        epochs: those that each choosing part of dev chose.
        examples: how many were trained on, by what the sampler drew.
    """

    variant: str
    seed: int
    steps: int = Field(ge=0)
    epoch: int = Field(ge=0)
    epochs: list[int] = []
    examples: dict[str, int] | None = None
    device: str | None = None
    precision: str | None = None
    parameters: Sizes
    dev: dict[str, float]
    test: dict[str, float]
    train: dict[str, float] = {}


class VoteMetrics(Section):
    """metrics.json of an ensemble."""

    ensemble: str
    seed: int
    members: list[str] = Field(min_length=1)
    dev: dict[str, float]
    test: dict[str, float]
    train: dict[str, float] = {}


class Kept(BaseModel):
    """Of settings.yaml: which epoch a run kept, on what it was chosen, and how many threads it ran with."""

    keep: Literal["last", "best"]
    selection: Literal["cross", "half", "whole"]
    threads: int | None = None


class Trained(BaseModel):
    """settings.yaml of a run, as far as the report reads it."""

    run: Kept


class Lenient(Section):
    """Base of what may tell more than is read here."""

    model_config = ConfigDict(extra="ignore")


class Machine(Lenient):
    """Of a log: what `training.logs.machine` tells."""

    processor: str
    cores: int | None
    memory_gb: int | float
    accelerator: str


class Origin(Section):
    """What a run's numbers depend on beside its inputs, as `training.logs.origin` tells: build/machine.json."""

    processor: str
    accelerator: str
    torch: str


class Elsewhere(Section):
    """elsewhere.json of a run that another machine has made, or that came without its weights.

    Attributes:
        machine: on which it ran.
        left: files that stayed there, such as model.safetensors, and the SHA-256 of each.
    """

    machine: Origin
    left: dict[str, str]


class RunLog(Lenient):
    """run.json of a run's log; what is None was not logged."""

    started: str | None = Field(default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00)?$")
    seconds: float = Field(ge=0)
    training_seconds: float | None = Field(default=None, ge=0)
    resumed: int = 0
    examples: int | None = None
    parts: int = 1
    examples_per_second: float | None = None
    peak_memory_mb: int | float | None = None
    device: str | None = None
    precision: str | None = None
    machine: Machine | None = None
    versions: dict[str, str] = {}


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
    fetched: dict[str, str]


class SbertMetrics(Section):
    """metrics.json of build/encoders/sbert."""

    sts_dev_pearson_before: float
    sts_dev_pearson_after: float
    pairs: int
    steps: int


class MlmMetrics(Section):
    """metrics.json of build/encoders/mlm."""

    mlm_dev_loss_before: float
    mlm_dev_loss_after: float
    sentences: int
    steps: int


PRETRAINED: dict[str, type[SbertMetrics] | type[MlmMetrics]] = {"sbert": SbertMetrics, "mlm": MlmMetrics}


class Counts(Section):
    """Rows that two sets share, or that come twice, by how closely they are compared."""

    exact: int
    folded: int
    bare: int


class CheckedFile(Section):
    """Of report.json: one corpus file."""

    file: str = ""
    labelled: bool
    read: int
    kept: int
    refused: list[dict[str, Any]]
    duplicates: Counts
    conflicts: list[Any]


class Overlap(Counts):
    """Of report.json: rows of one file that are in another, or share a sentence with it."""

    of: str
    with_: str = Field(alias="with")
    rows: int
    sharing: int


class DataReport(Section):
    """build/data/report.json."""

    files: dict[str, CheckedFile]
    whose: str = ""
    missing: list[str] = []
    overlaps: list[Overlap] = []
    overlaps_with_pretraining: list[Overlap] = Field(default=[], alias="overlaps with pretraining")


class InitEncoder(Section):
    """Of a manifest: where the starting weights lie, and the digest of each file there."""

    path: str
    weights: str = Field(alias="model.safetensors")
    config: str = Field(alias="config.json")
    tokenizer: str = Field(alias="tokenizer.json")
    marks: str = Field(alias="tokenizer_config.json")


class Manifest(Lenient):
    """build/init/<variant>.json."""

    encoder: InitEncoder
    data: dict[str, str] = Field(min_length=1)
    code: str


def log(directory: Path) -> RunLog | None:
    """A run's log; None where it was not written. A damaged one is told and left out: no score depends on it."""
    file = directory / "run.json"
    try:
        return files.read_as(RunLog, file, "dvc repro") if file.is_file() else None
    except DataError as error:
        print(f"warning: {error}; the report goes on without its times and memory", file=sys.stderr)
        return None
