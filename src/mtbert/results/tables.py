"""The three tables: what they hold, how they are written, and how files of strangers are checked.

`runs` has a row for each training and vote, `predictions` one for each row that a run predicted, `history` one for each
value that a training logged. A folder of them is a build's results (build/results) or a report's evidence.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Json, TypeAdapter, ValidationError, model_validator

from mtbert import files, predictions
from mtbert.errors import DataError, first_of, in_words
from mtbert.metrics import OVERALLS
from mtbert.schemas import DataReport, Lenient
from mtbert.settings import Name, TaskName
from mtbert.tasks import SPLITS, TASKS

METRICS = (*TASKS, *OVERALLS)
SCORES = tuple(f"{split}_{metric}" for split in SPLITS for metric in METRICS)
EXAMPLES = tuple(f"examples_{task}" for task in TASKS)
WEIGHTS = ("encoder", "added", "trained", "stored")
KEY = ["variant", "seed"]
UNIQUE = {  # the columns that no two rows of a table share
    "runs": KEY,
    "predictions": [*KEY, "task", "split", "row"],
    "history": [*KEY, "phase", "step", "name"],
}
CLASSES = max(task.classes for task in TASKS.values())
PROBABILITIES = tuple(f"probability_{label}" for label in range(CLASSES))
UNTRAINED = "untrained-encoder"  # the row of runs that holds the scores of the starting weights
ROUNDING = 1e-9  # by which two sums of the same numbers may differ

Frame = Any  # a pandas.DataFrame: the types of its selections name four kinds at once, which no checker tells apart
_WORD = pa.dictionary(pa.int32(), pa.string())


def _columns(names: Iterable[str], kind: pa.DataType, optional: bool = False) -> list[pa.Field]:
    return [pa.field(name, kind, nullable=optional) for name in names]


SCHEMAS = {
    "runs": pa.schema(
        _columns(("kind", "variant"), pa.string())
        + _columns(("seed",), pa.int64())
        + _columns(("steps", "epoch", "threads", *WEIGHTS, *EXAMPLES), pa.int64(), optional=True)
        + _columns(("epochs", "device", "precision", "machine", "code"), pa.string(), optional=True)
        + _columns(("data_digest", "start_digest", "overrides"), pa.string(), optional=True)
        + _columns(("settings", "data", "start"), pa.string())
        + _columns(SCORES, pa.float64(), optional=True)
    ),
    "predictions": pa.schema(
        _columns(("task", "split"), _WORD)
        + _columns(("row",), pa.int32())
        + _columns(("variant",), _WORD)
        + _columns(("seed",), pa.int64())
        + _columns(("id",), _WORD)
        + _columns(("label", "prediction"), pa.float64(), optional=True)
        + _columns(PROBABILITIES, pa.float32(), optional=True)
        + _columns(("scored",), pa.bool_())
        + _columns(("cluster",), pa.int32())
        + _columns(("in_train", "shares", "in_pretraining"), pa.bool_())
        + _columns(("x", "y", "x2", "y2"), pa.float32(), optional=True)
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
    """What `settings` of a run says: the published rows it answers to, its tasks, and the members of a vote."""

    paper: Name = "own"
    row: str = ""
    also: list[str] = []
    rival: str = ""
    tasks: list[TaskName]
    members: list[Name] = []
    profile: Name = "own"
    run: Kept = Kept()

    @model_validator(mode="before")
    @classmethod
    def _without_empty(cls, came: Any) -> Any:
        return {key: value for key, value in came.items() if value is not None} if isinstance(came, dict) else came


class Data(Lenient):
    """What `data` of a run says: the folder, whose data, and the check's counts."""

    name: str = ""
    whose: Literal["sample", "course", "own"] = "own"
    report: DataReport | None = None


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

    @model_validator(mode="after")
    def _is_of_its_kind(self) -> "Run":
        kind = "encoder" if self.variant == UNTRAINED else "ensemble" if self.settings.members else "variant"
        if self.kind != kind:
            raise ValueError(f"kind is {self.kind}; by its settings: {kind}")
        return self


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
        """By variant or ensemble, in the tables' order."""
        return {run.variant: run.settings for run in self.typed if run.kind != "encoder"}

    @cached_property
    def trained(self) -> Frame:
        """The runs without the untrained encoder."""
        return self.runs[self.runs["kind"] != "encoder"]

    @cached_property
    def untrained(self) -> dict[str, float]:
        """Dev scores of the starting weights without any training, by task; empty where nobody computed them."""
        rows = self.runs[self.runs["kind"] == "encoder"]
        return {task: float(score) for task in TASKS for score in rows[f"dev_{task}"].dropna()}

    @cached_property
    def data(self) -> Data:
        """The data that all runs were trained on."""
        return self.typed[self.runs["data"].str.len().argmax()].data

    @cached_property
    def start(self) -> Start:
        """The encoder that all runs start from."""
        return self.typed[self.runs["start"].str.len().argmax()].start

    @cached_property
    def by_run(self) -> dict[tuple[str, int, str], dict[str, Frame]]:
        """Predictions by variant, seed and split, then by task; the rows in the order of the data."""
        found: dict[tuple[str, int, str], dict[str, Frame]] = {}
        groups = self.predictions.groupby([*KEY, "split", "task"], observed=True, sort=False)
        for (variant, seed, split, task), table in groups:
            found.setdefault((variant, int(seed), split), {})[task] = table.sort_values("row")
        return found

    def of(self, task: str, split: str) -> Iterator[tuple[str, int, Frame]]:
        """Yield variant, seed and predictions of each run that has some, in the order of `runs`."""
        for variant, seed in zip(self.runs["variant"], self.runs["seed"], strict=True):
            if (table := self.by_run.get((variant, seed, split), {}).get(task)) is not None:
                yield variant, seed, table


def write(results: Results, folder: Path) -> None:
    """Write `folder` anew: runs.parquet, predictions.parquet and history.parquet."""
    with files.new_directory(folder) as partial:
        for name, schema in SCHEMAS.items():
            table = getattr(results, name)
            if name == "predictions":  # equal values beside one another
                table = table.sort_values(["task", "split", "row", *KEY], kind="stable")
            packed = pa.Table.from_pandas(table[schema.names], schema, preserve_index=False).replace_schema_metadata()
            out = partial / f"{name}.parquet"
            pq.write_table(packed, out, compression="zstd", compression_level=12, row_group_size=2**24)


def read(folder: Path) -> Results:
    """Read and check a folder's three tables; DataError for anything that `collect` would not have written."""
    if (folder / files.DIGESTS).is_file():  # of a build's results; evidence is three files
        files.check_sealed(folder, "dvc repro collect")
    results = Results(*(_read(folder / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()))
    check(results, str(folder))
    return results


def _read(file: Path, schema: pa.Schema) -> Frame:
    if not file.is_file():
        raise DataError(f"{file} is missing; `dvc repro collect` writes build/results, `mtbert evidence` an evidence")
    try:
        with pq.ParquetFile(file) as opened:
            table = opened.read().replace_schema_metadata()
        for field in schema:  # of a task that was added since
            if field.name not in table.column_names and field.name in (*SCORES, *EXAMPLES, *PROBABILITIES):
                table = table.append_column(field.name, pa.nulls(len(table), field.type))
        return _frame(table.select(schema.names).cast(schema))
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:  # ValueError: an empty value where none may be
        said = " ".join(str(error).split())
        raise DataError(f"{file} is not a table of results: {said[:200]}") from None


def _frame(table: pa.Table) -> Frame:
    return table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).astype({"seed": "int64"})


def joined(tables: Iterable[Frame], name: str) -> Frame:
    """Return the tables as one with all columns of its schema, in its types."""
    schema = SCHEMAS[name]
    every = [table.reindex(columns=schema.names) for table in tables if len(table)]
    whole = pd.concat(every, ignore_index=True) if every else pd.DataFrame(columns=schema.names)
    return _frame(pa.Table.from_pandas(whole, schema, preserve_index=False))


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
    runs, typed = results.trained, [run for run in results.typed if run.kind != "encoder"]
    for what, values in (
        ("profile", [run.settings.profile for run in typed]),
        ("data", [run.data.name for run in typed]),
        ("encoder", [run.start.name for run in typed]),
    ):
        number_of_value, _ = pd.factorize(np.array(values, dtype=object))
        yield f"runs of more than one {what}; a report is of one", runs, number_of_value > 0
    yield "no numbers of weights", runs, runs[[*WEIGHTS]].isna().any(axis=1) | (runs["encoder"] == 0)
    unlike = "settings or code of another seed of the variant are others; `dvc repro` trains what is out of date"
    trainings = runs.drop_duplicates(["variant", "settings", "code"])
    yield unlike, trainings, trainings.duplicated("variant")
    for name, schema in SCHEMAS.items():
        table = getattr(results, name)
        for field in schema:
            if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
                most = 1 if field.name in SCORES else sys.float_info.max
                least = -1 if field.name == "cluster" else 0 if pa.types.is_integer(field.type) else -most
                faulty = table[field.name].notna() & ~table[field.name].astype(float).between(least, most)
                yield f"{field.name} of {name} is no finite number from {least:g} to {most:g}", table, faulty
        yield f"{name} twice, or unlike in two sources", table, table.duplicated(UNIQUE[name])
        there = table[KEY].drop_duplicates().astype({"variant": str})
        known = pd.MultiIndex.from_frame(there).isin(pd.MultiIndex.from_frame(results.runs[KEY]))
        yield f"{name} hold runs that runs.parquet does not list", there, ~known
    predicted = results.predictions
    for column, known in (("task", TASKS), ("split", SPLITS)):
        yield f"unknown {column}; known: {', '.join(known)}", predicted, ~predicted[column].isin([*known])
    faulty = predicted["scored"] & predicted["prediction"].isna()
    for name, task in TASKS.items():
        if task.kind != "score":
            for column in ("label", "prediction"):
                is_class: Frame = predicted[column].isna() | predicted[column].isin(range(max(task.classes, 2)))
                faulty |= (predicted["task"] == name) & ~is_class
    yield "labels or predictions that the task has not", predicted, faulty
    shared = predicted[predicted["split"] != "train"]  # each run draws its own training rows
    rows = shared.drop_duplicates(["task", "split", "row", "id", "label"])
    unlike = "rows or labels that are others in another run; train both on the same data (`dvc repro`)"
    yield unlike, rows, rows.duplicated(["task", "split", "row"])
    told = runs.set_index(KEY)[[*SCORES]]
    computed = pd.DataFrame.from_dict(scores(results), orient="index").reindex(told.index, columns=told.columns)
    differ = ((told - computed).abs() > ROUNDING) | (told.isna() != computed.isna())
    what = f"{', '.join(differ.columns[differ.any()])} not as the predictions say"
    remedy = "`dvc repro --force --single-item train@VARIANT-SEED` makes both"
    yield f"{what}; {remedy}", runs, differ.any(axis=1).to_numpy()


def scores(results: Results) -> dict[tuple[str, int], dict[str, float]]:
    """Return every score by run, then by column such as `dev_sst`; none where labels are withheld."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for (variant, seed, split), tables in results.by_run.items():
        of_split = {f"{split}_{metric}": value for metric, value in predictions.scores(tables).items()}
        found.setdefault((variant, seed), {}).update(of_split)
    return found
