"""Types of the JSON files that one stage writes and others read: scores, logs, encoders, the check of the data.

Each is read with `mtbert.files.read_as`, which reports what is wrong with an altered file.
"""

from typing import Any

from pydantic import ConfigDict, Field

from mtbert.settings import Section


class Sizes(Section):
    """Numbers of weights, as `MultitaskModel.sizes` returns them."""

    encoder: int = Field(ge=1)
    added: int = Field(ge=0)
    trained: int = Field(ge=0)
    stored: int = Field(ge=0)


class RunMetrics(Section):
    """metrics.json of a run; scores by task, and the overalls.

    Attributes:
        epoch: the epoch whose weights are kept.
        epochs: the epochs that each choosing part of dev chose.
        examples: number of training examples, by what the sampler drew.
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


class Lenient(Section):
    """Base of files that may have more keys than are read here."""

    model_config = ConfigDict(extra="ignore")


class Machine(Lenient):
    """Part of a log, of what `training.logs.machine` returns."""

    processor: str
    accelerator: str


class Origin(Section):
    """build/machine.json: what a run's numbers depend on beside its inputs, as `training.logs.origin` returns it."""

    processor: str
    accelerator: str
    torch: str


class Elsewhere(Section):
    """elsewhere.json of a run that was made on another machine, or came without its weights.

    Attributes:
        machine: the machine that it ran on.
        left: files that stayed there, such as model.safetensors, and the SHA-256 of each.
    """

    machine: Origin
    left: dict[str, str]


class RunLog(Lenient):
    """The part of run.json of a run's log that is read; what is None was not logged."""

    started: str | None = Field(default=None, pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00)?$")
    seconds: float = Field(ge=0)
    examples_per_second: float | None = None
    peak_memory_mb: int | float | None = None
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


class Untrained(Section):
    """untrained.json of build/encoders/base: what the encoder knows before any training; None where it was not asked.

    Attributes:
        sts: Pearson's r of cosine and label on dev.
        qqp: accuracy on dev of a cosine that reaches `threshold`.
        rows: how many were used, by task and split, such as `qqp/train`.
    """

    sts: float | None
    qqp: float | None
    threshold: float | None
    rows: dict[str, int]


class SbertMetrics(Section):
    """metrics.json of build/encoders/sbert."""

    sts_dev_pearson_before: float
    sts_dev_pearson_after: float
    pairs: int
    steps: int


class MlmMetrics(Section):
    """metrics.json of build/encoders/mlm.

    mlm_dev_loss_of_frequencies: what a guess by how frequent each token is would have; None in those of before.
    """

    mlm_dev_loss_before: float
    mlm_dev_loss_after: float
    mlm_dev_loss_of_frequencies: float | None = None
    sentences: int
    steps: int


PRETRAINED: dict[str, type[SbertMetrics] | type[MlmMetrics]] = {"sbert": SbertMetrics, "mlm": MlmMetrics}


class Counts(Section):
    """Numbers of rows that two sets share, or that occur twice, by form of comparison."""

    exact: int
    folded: int
    bare: int


class CheckedFile(Section):
    """Part of report.json: one corpus file."""

    file: str = ""
    labelled: bool
    read: int
    kept: int
    refused: list[dict[str, Any]]
    duplicates: Counts
    conflicts: list[Any]


class Overlap(Counts):
    """Part of report.json: rows of one file that are in another, or share a sentence with it."""

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
    """Part of a manifest: the folder of the starting weights, and the digest of each of its files."""

    path: str
    weights: str = Field(alias="model.safetensors")
    config: str = Field(alias="config.json")
    tokenizer: str = Field(alias="tokenizer.json")
    special_tokens: str = Field(alias="tokenizer_config.json")
    mlm_head: str | None = Field(default=None, alias="mlm_head.safetensors")


class Manifest(Lenient):
    """build/init/<variant>.json."""

    encoder: InitEncoder
    data: dict[str, str] = Field(min_length=1)
    code: str
