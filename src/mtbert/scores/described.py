"""What a row of `runs` says in names and JSON: of the variant, of the data, and of the encoder it starts from."""

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import AliasPath, BeforeValidator, Field, Json, TypeAdapter

from mtbert.scores.schemas import Costs, Count, Lenient
from mtbert.settings import Name, TaskName
from mtbert.tasks import COURSE, Split, Task, load_tasks

CATALOG = "catalog"  # the paper of a variant that names none, as those in params.yaml do
RIVALS = "rivals"  # the paper of what is held against PALs beside the papers
UNTRAINED = "untrained-encoder"  # the variant whose scores are those of the starting weights
UNTRAINED_LABEL = "Untrained encoder"
MAJORITY, TFIDF, FROZEN = "baseline-majority", "baseline-tfidf", "baseline-embeddings"
BASELINES = {  # by variant, the name in reports
    MAJORITY: "Majority class",
    TFIDF: "TF-IDF",
    FROZEN: "Frozen encoder, logistic regression",
}
BY_OTHERS = "other-"  # before the name of who made predictions elsewhere, in the variant of their row


def baseline_label(variant: str) -> str:
    """Return the name in reports of a baseline, or of who made predictions elsewhere."""
    return BASELINES.get(variant) or variant.removeprefix(BY_OTHERS)


class About(Lenient):
    """What `settings` says of a variant or ensemble: the published rows it answers to, its tasks, what it is made of.

    Attributes:
        row: the published row that it answers to.
        also: further ones.
        rival: the row of the alternatives to PALs that it answers to.
        members: those of an ensemble.
        merge: how the members' encoders are joined into one; empty for a vote.
        teachers: the variants whose predictions it learnt from.
        keep: which epoch is kept.
        selection: what the best epoch was chosen on; `cross` in older evidence alone.
        costs: of predictions that others made.
    """

    paper: Annotated[Name, BeforeValidator(lambda paper: paper or CATALOG)] = CATALOG
    row: str = ""
    also: list[str] = []
    rival: str = ""
    tasks: list[TaskName]
    members: list[Name] = []
    merge: str = ""
    teachers: list[Name] = []
    profile: Name = "own"
    keep: Literal["last", "best"] = Field(default="last", validation_alias=AliasPath("run", "keep"))
    selection: Literal["cross", "half", "whole", "spared"] = Field(
        default="whole", validation_alias=AliasPath("run", "selection")
    )
    costs: Costs = Costs()

    @property
    def encoders(self) -> int:
        """How many encoders it has: each member of a vote has its own."""
        return 1 if self.merge else len(self.members) or 1


class RowCounts(Lenient):
    """How many rows a split has, and how many of each class, or of each fifth of a score's range; none if withheld."""

    rows: Count
    labels: list[Count] = []


class Data(Lenient):
    """What `data` says: the folder's name, its kind and tasks, their rows, and what is wrong with its files."""

    name: str = ""
    faults: list[str] = []
    kind: Literal["sample", "course", "own"] = Field(default="own", alias="whose")  # the key of committed evidence
    rows: dict[TaskName, dict[Split, RowCounts]] = {}
    tasks: dict[TaskName, dict[str, Any]] = {}

    @cached_property
    def described_tasks(self) -> dict[str, Task]:
        """The tasks; the course's if the results are from before they were written."""
        return load_tasks(self.tasks) if self.tasks else COURSE


class StartingWeights(Lenient):
    """What `start` says of the encoder that all runs start from.

    Attributes:
        name: its name; of a folder the last part of its path.
        note: what it may know of the tasks, and how it was cut or rounded.
        revision: of a folder, the digest of its files; empty in older evidence.
    """

    name: str = ""
    note: str = ""
    revision: str = ""


class RunDescription(Lenient):
    """The columns of a row of `runs` that hold names and JSON."""

    kind: Literal["variant", "ensemble", "encoder", "baseline"]
    variant: Name
    settings: Json[About]
    data: Json[Data]
    start: Json[StartingWeights]


DESCRIPTIONS = TypeAdapter(list[RunDescription])
