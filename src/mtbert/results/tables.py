"""The three tables: what they hold, how they are written, and how files of strangers are checked.

`runs` has a row for each training and vote, `predictions` one for each row that a run predicted, `history` one for each
value that a training logged. A folder of them is a build's results (build/results) or a report's evidence.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BeforeValidator, Field, Json, TypeAdapter, ValidationError

from mtbert import files
from mtbert.errors import DataError, first_of, in_words
from mtbert.results import predictions
from mtbert.results.metrics import OVERALLS, means
from mtbert.results.schemas import Lenient
from mtbert.settings import Name, TaskName
from mtbert.tasks import COURSE, SPLITS, Split, Task, Tasks, restored

WEIGHTS = ("encoder", "added", "trained", "stored")
KEY = ["variant", "seed"]
UNIQUE = {  # which no two rows of a table share
    "runs": KEY,
    "predictions": [*KEY, "task", "split", "row"],
    "history": [*KEY, "phase", "step", "name"],
}
PICTURED = "sst"  # the task whose dev sentences have places in a picture
SURE = "sure"  # the column of the predicted class's probability, which evidence does without
OWN = "catalog"  # the paper of a variant that names none, as those in params.yaml do
UNTRAINED = "untrained-encoder"  # the row of runs that holds the scores of the starting weights
ROUNDING = 1e-9  # by which two sums of the same numbers may differ

Frame = Any  # a pandas.DataFrame: the types of its selections name four kinds at once, which no checker tells apart
_WORD = pa.dictionary(pa.int32(), pa.string())


def _columns(names: Iterable[str], kind: pa.DataType, optional: bool = False) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=optional) for name in names]


def metrics(tasks: Tasks) -> tuple[str, ...]:
    """Return all that runs are scored by: the tasks, and the mean over them on both scales."""
    return (*(name for name, task in tasks.items() if not task.serves), *OVERALLS)


def shown(tasks: Tasks) -> tuple[str, ...]:
    """Return what reports show of `metrics`."""
    return tuple(metric for metric in metrics(tasks) if metric in {*tasks, *means(tasks)})


def scores(tasks: Tasks) -> tuple[str, ...]:
    """Return the columns of `runs` that hold scores, such as `dev_sst`."""
    return tuple(f"{split}_{metric}" for split in SPLITS for metric in metrics(tasks))


def counted(tasks: Tasks) -> tuple[str, ...]:
    """Return the columns of `runs` that count training examples, such as `examples_sst`."""
    return tuple(f"examples_{name}" for name, task in tasks.items() if not task.serves)


def schema(name: str, tasks: Tasks) -> pa.Schema:
    """Return the columns of a table; those of `runs` depend on the tasks."""
    return _of_runs(tasks) if name == "runs" else SCHEMAS[name]


def _of_runs(tasks: Tasks) -> pa.Schema:
    return pa.schema(
        _columns(("kind", "variant"), pa.string())
        + _columns(("seed",), pa.int64())
        + _columns(("steps", "epoch", "threads", *WEIGHTS, *counted(tasks)), pa.int64(), optional=True)
        + _columns(("epochs", "device", "precision", "machine", "code"), pa.string(), optional=True)
        + _columns(("overrides",), pa.string(), optional=True)
        + _columns(("seconds", "milliseconds"), pa.float64(), optional=True)
        + _columns(("settings", "data", "start"), pa.string())
        + _columns(scores(tasks), pa.float64(), optional=True)
    )


NAMES = ("runs", "predictions", "history")
SCHEMAS = {
    "predictions": pa.schema(
        _columns(("task", "split"), _WORD)
        + _columns(("row",), pa.int32())
        + _columns(("variant",), _WORD)
        + _columns(("seed",), pa.int64())
        + _columns(("id",), _WORD)
        + _columns(("label", "prediction"), pa.float64(), optional=True)
        + _columns(("scored",), pa.bool_())
        + _columns(("cluster",), pa.int32())
        + _columns(("in_train", "shares"), pa.bool_())
        + _columns(("x", "y", "x2", "y2", SURE), pa.float32(), optional=True)
    ),
    "history": pa.schema(
        _columns(("variant",), _WORD)
        + _columns(("seed",), pa.int64())
        + _columns(("phase", "step"), pa.int32())
        + _columns(("name",), _WORD)
        + _columns(("value",), pa.float64())
    ),
}


class Kept(Lenient):
    """Which epoch a run kept, and what it was chosen on."""

    keep: Literal["last", "best"] = "last"
    selection: Literal["cross", "half", "whole"] = "whole"


class About(Lenient):
    """What `settings` of a run says: the published rows it answers to, its tasks, what it is made of."""

    paper: Annotated[Name, BeforeValidator(lambda paper: paper or OWN)] = OWN
    row: str = ""
    also: list[str] = []
    rival: str = ""
    tasks: list[TaskName]
    members: list[Name] = []
    merge: str = ""
    profile: Name = "own"
    run: Kept = Kept()

    @property
    def encoders(self) -> int:
        """How many encoders it has: each member of a vote has its own."""
        return 1 if self.merge else len(self.members) or 1


class Rows(Lenient):
    """How many rows a split has, and how many of each class, or of each fifth of a score's range; none if withheld."""

    rows: Annotated[int, Field(ge=0)]
    labels: list[Annotated[int, Field(ge=0)]] = []


class Data(Lenient):
    """What `data` of a run says: its folder, kind and tasks, their rows, and what is wrong with its files."""

    name: str = ""
    faults: list[str] = []
    kind: Literal["sample", "course", "own"] = Field(default="own", alias="whose")  # the key of committed evidence
    rows: dict[TaskName, dict[Split, Rows]] = {}
    tasks: dict[TaskName, dict[str, Any]] = {}

    @cached_property
    def described(self) -> dict[str, Task]:
        """The tasks; the course's where results are from before they were written."""
        return restored(self.tasks) if self.tasks else COURSE


class Start(Lenient):
    """What `start` of a run says of the starting weights."""

    name: str = ""
    note: str = ""


class Run(Lenient):
    """The columns of `runs` that hold names and JSON."""

    kind: Literal["variant", "ensemble", "encoder"]
    variant: Name
    settings: Json[About]
    data: Json[Data]
    start: Json[Start]


_RUNS = TypeAdapter(list[Run])


@dataclass
class Results:
    """The three tables; `runs` is small, `predictions` may have millions of rows."""

    runs: Frame
    predictions: Frame
    history: Frame

    @cached_property
    def typed(self) -> list[Run]:
        """The rows of `runs`; DataError, with the number of a row from 0, where one holds a value of another kind."""
        try:
            return _RUNS.validate_python(self.runs.to_dict("records"))
        except ValidationError as error:
            raise DataError(f"runs: {in_words(error)[:300]}") from None

    @cached_property
    def about(self) -> dict[str, About]:
        """What the settings say of each variant or ensemble, by name, in the tables' order."""
        return {run.variant: run.settings for run in self.typed if run.kind != "encoder"}

    @cached_property
    def trained(self) -> Frame:
        """The runs without the untrained encoder."""
        return self.runs[self.runs["kind"] != "encoder"]

    @cached_property
    def untrained(self) -> dict[str, float]:
        """Dev scores of the starting weights without any training, by task; empty where nobody computed them."""
        rows = self.runs[self.runs["kind"] == "encoder"]
        return {task: float(score) for task in metrics(self.tasks) for score in rows[f"dev_{task}"].dropna()}

    @property
    def tasks(self) -> Tasks:
        """The tasks of the data, by name in their order."""
        return self.data.described

    @cached_property
    def data(self) -> Data:
        """The data that all runs were trained on."""
        return self.typed[0].data

    @cached_property
    def start(self) -> Start:
        """The encoder that all runs start from."""
        return self.typed[0].start

    @cached_property
    def by_run(self) -> dict[tuple[str, int, str], dict[str, Frame]]:
        """Predictions by variant, seed and split, then by task; the rows in the order of the data."""
        found: dict[tuple[str, int, str], dict[str, Frame]] = {}
        groups = self.predictions.groupby([*KEY, "split", "task"], observed=True, sort=False)
        for (variant, seed, split, task), table in groups:
            found.setdefault((variant, int(seed), split), {})[task] = table.sort_values("row")
        return found


def write(results: Results, folder: Path) -> None:
    """Write `folder` anew: runs.parquet, predictions.parquet and history.parquet."""
    with files.new_directory(folder) as partial:
        for name in NAMES:
            table, columns = getattr(results, name), schema(name, results.tasks)
            if name == "predictions":  # equal values beside one another
                table = table.sort_values(["task", "split", "row", *KEY], kind="stable")
            packed = pa.Table.from_pandas(table[columns.names], columns, preserve_index=False).replace_schema_metadata()
            out = partial / f"{name}.parquet"
            pq.write_table(packed, out, compression="zstd", compression_level=12, row_group_size=2**24)


def read(folder: Path) -> Results:
    """Read and check a folder's tables; DataError where they contradict themselves or one another."""
    tasks = _tasks(folder / "runs.parquet")
    results = Results(*(_read(folder / f"{name}.parquet", name, tasks) for name in NAMES))
    check(results, str(folder))
    return results


def _tasks(file: Path) -> Tasks:
    """Return the tasks that runs.parquet describes; where it is missing or empty the course's: its reader tells."""
    if not file.is_file():
        return COURSE
    try:
        told = files.read_parquet(file, ["data"])["data"]
        return Data.model_validate_json(told.iloc[0]).described if len(told) else COURSE
    except (ValidationError, TypeError):
        raise DataError(f"{file} is not a table of results: its `data` does not describe tasks") from None


def _read(file: Path, name: str, tasks: Tasks) -> Frame:
    if not file.is_file():
        raise DataError(f"{file} is missing; `dvc repro collect` writes build/results, `mtbert evidence` an evidence")
    try:
        return joined([files.read_parquet(file)], name, tasks)
    except (pa.ArrowException, ValueError) as error:  # ValueError: an empty value where none may be
        raise DataError(f"{file} is not a table of results: {str(error)[:200]}") from None


def joined(tables: Iterable[Frame], name: str, tasks: Tasks) -> Frame:
    """Return the tables as one with all columns of its schema, in its types."""
    columns = schema(name, tasks)
    whole = pd.concat([table.reindex(columns=columns.names) for table in tables], ignore_index=True)
    typed = pa.Table.from_pandas(whole, columns, preserve_index=False)
    return typed.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).astype({"seed": "int64"})


def check(results: Results, where: str) -> None:
    """Raise DataError, naming the run, where a value is of another kind than its column or tables contradict."""
    try:
        for what, table, faulty in _checks(results):
            runs = table[faulty][KEY].drop_duplicates()
            if names := [f"{run.variant}, seed {run.seed}" for run in runs.itertuples()]:
                raise DataError(f"{what}: {first_of(names, 3)}")
    except DataError as error:
        raise DataError(f"{where}: {error}") from None


def _checks(results: Results) -> Iterator[tuple[str, Frame, Any]]:
    """Yield faults: what is wrong, a table, and which of its rows have it [rows]."""
    runs, predicted, typed = results.trained, results.predictions, results.typed
    for what, values in (
        ("profile", [run.settings.profile for run in typed]),
        ("data", [run.data.name for run in typed]),
        ("encoder", [run.start.name for run in typed]),
    ):
        yield f"runs of more than one {what}; a report is of one", results.runs, np.array(values) != values[0]
    unlike = "settings or code of another seed of the variant are others; `dvc repro` trains what is out of date"
    trainings = runs.drop_duplicates(["variant", "settings", "code"])
    yield unlike, trainings, trainings.duplicated("variant")
    for name, columns in UNIQUE.items():
        table = getattr(results, name)
        yield f"{name} twice, or unlike in two sources", table, table.duplicated(columns)
    named = [{*run.settings.tasks} <= {*results.tasks} for run in typed]
    yield "tasks that its data do not describe", results.runs, ~np.array(named)
    for column, known in (("task", results.tasks), ("split", SPLITS)):
        yield f"unknown {column}; known: {', '.join(known)}", predicted, ~predicted[column].isin([*known])
    shared = predicted[predicted["split"] != "train"]  # each run draws its own training rows
    rows = shared.drop_duplicates(["task", "split", "row", "id", "label"])
    unlike = "rows or labels that are others in another run; train both on the same data (`dvc repro`)"
    yield unlike, rows, rows.duplicated(["task", "split", "row"])
    by_run = computed_scores(results)
    if not by_run:  # all labels are withheld
        return
    computed = pd.DataFrame.from_dict(by_run, orient="index").rename_axis(KEY)
    told, computed = runs.set_index(KEY)[[*scores(results.tasks)]].align(computed)
    differ = ((told - computed).abs() > ROUNDING) | (told.isna() != computed.isna())
    what = f"{', '.join(differ.columns[differ.any()])} not as the predictions say"
    remedy = "`dvc repro --force --single-item train@VARIANT-SEED` makes both"
    yield f"{what}; {remedy}", told.index.to_frame(), differ.any(axis=1)


def computed_scores(results: Results) -> dict[tuple[str, int], dict[str, float]]:
    """Return every score by run, then by column such as `dev_sst`; none where labels are withheld."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for (variant, seed, split), tables in results.by_run.items():
        of_split = {f"{split}_{metric}": value for metric, value in predictions.scores(tables, results.tasks).items()}
        found.setdefault((variant, seed), {}).update(of_split)
    return found
