"""The three tables: what they hold, how they are written, and how files of strangers are checked.

`runs` has a row for each training and vote, `predictions` one for each row that a run predicted, `history` one for each
value that a training logged. A folder of them is a build's results (build/results) or a report's evidence.
"""

import itertools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, Field, Json, ValidationError, model_validator

from mtbert import files, metrics, predictions
from mtbert.errors import DataError, first_of, in_words
from mtbert.schemas import DataReport, MlmMetrics, SbertMetrics
from mtbert.settings import Name, TaskName
from mtbert.tasks import SPLITS, TASKS

OVERALLS = ("overall_raw", "overall_normalised")
METRICS = (*TASKS, *OVERALLS)
SCORES = tuple(f"{split}_{metric}" for split in SPLITS for metric in METRICS)
EXAMPLES = tuple(f"examples_{task}" for task in TASKS)
WEIGHTS = ("encoder", "added", "trained", "stored")
KEY = ["variant", "seed"]
CLASSES = max(task.classes for task in TASKS.values())
PROBABILITIES = tuple(f"probability_{label}" for label in range(CLASSES))
UNTRAINED = "untrained-encoder"  # the row of runs that holds the scores of the starting weights
ROUNDING = 1e-9  # by which two sums of the same numbers may differ
SAME = "train both on the same data (`dvc repro`)"

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
        + _columns(("scored", "overall"), pa.bool_())
        + _columns(("cluster",), pa.int32())
        + _columns(("in_train", "shares", "in_pretraining"), pa.bool_())
        + _columns(("x", "y", "x2", "y2"), pa.float32(), optional=True)
        + _columns(("text",), _WORD, optional=True)
    ),
    "history": pa.schema(
        _columns(("variant",), _WORD)
        + _columns(("seed",), pa.int64())
        + _columns(("phase", "step"), pa.int32())
        + _columns(("name",), _WORD)
        + _columns(("value",), pa.float64())
    ),
}


class _Lenient(BaseModel, extra="ignore"):
    """May have more keys than are read here."""


class Kept(_Lenient):
    """Which epoch a run kept, what it was chosen on, and with how many threads it trained."""

    keep: Literal["last", "best"] = "last"
    selection: Literal["cross", "half", "whole"] = "whole"


class About(_Lenient):
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


class Data(_Lenient):
    """What `data` of a run says: the folder, whose data, the check's counts, and how often each label comes."""

    name: str = ""
    whose: Literal["sample", "course", "own"] = "own"
    report: DataReport | None = None
    labels: dict[TaskName, dict[Literal["train", "dev"], dict[str, int]]] = {}


class Start(_Lenient):
    """What `start` of a run says: the starting weights, and what each pretraining came to."""

    name: str = ""
    note: str = ""
    sbert: SbertMetrics | None = None
    mlm: MlmMetrics | None = None


@dataclass
class Results:
    """The three tables; `runs` is small, `predictions` may have millions of rows."""

    runs: Frame
    predictions: Frame
    history: Frame

    @cached_property
    def about(self) -> dict[str, About]:
        """By variant or ensemble, in the tables' order."""
        rows = self.runs.drop_duplicates("variant")
        return {row["variant"]: About.model_validate_json(row["settings"]) for row in rows.to_dict("records")}

    @cached_property
    def data(self) -> Data:
        """The data that all runs were trained on."""
        return Data.model_validate_json(max(self.runs["data"], key=len))

    @cached_property
    def start(self) -> Start:
        """The encoder that all runs start from."""
        return Start.model_validate_json(max(self.runs["start"], key=len))

    @cached_property
    def _of_runs(self) -> dict[tuple[str, str], dict[tuple[str, int], Frame]]:
        """By task and split, then variant and seed: views of one sorted copy, since there may be millions of rows."""
        table = self.predictions.sort_values(["task", "split", *KEY, "row"], kind="stable", ignore_index=True)
        keys = table[["task", "split", *KEY]]
        starts = np.flatnonzero((keys != keys.shift()).any(axis=1).to_numpy()) if len(table) else np.zeros(0, int)
        found: dict[tuple[str, str], dict[tuple[str, int], Frame]] = {}
        for start, end in zip(starts, [*starts[1:], len(table)], strict=True):
            task, split, variant, seed = keys.iloc[start]
            found.setdefault((task, split), {})[variant, int(seed)] = table.iloc[start:end]
        return found

    def of(self, task: str, split: str) -> Iterator[tuple[str, int, Frame]]:
        """Yield variant, seed and predictions of each run in the order of `runs`, the rows in that of the data."""
        by_run = self._of_runs.get((task, split), {})
        for key in zip(self.runs["variant"], self.runs["seed"], strict=True) if by_run else ():
            if key in by_run:
                yield *key, by_run[key]


def write(results: Results, folder: Path) -> None:
    """Write runs.parquet, predictions.parquet and history.parquet to `folder`, in as few bytes as Parquet can."""
    for name, schema in SCHEMAS.items():
        table = getattr(results, name)
        if name == "predictions":  # equal values beside one another
            table = table.sort_values(["task", "split", "row", *KEY], kind="stable")
        packed = pa.Table.from_pandas(table[schema.names], schema, preserve_index=False).replace_schema_metadata()
        words: Any = [field.name for field in schema if field.name != "prediction"]
        split: Any = ["prediction"] if name == "predictions" else False
        with files.new_file(folder / f"{name}.parquet") as partial:
            pq.write_table(
                packed, partial, compression="zstd", compression_level=12, row_group_size=2**24, use_dictionary=words,
                use_byte_stream_split=split,
            )  # fmt: skip


def read(folder: Path) -> Results:
    """Read and check a folder's three tables; DataError for anything that `collect` would not have written."""
    results = Results(*(_read(folder / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()))
    check(results, str(folder))
    return results


def _read(file: Path, schema: pa.Schema) -> Frame:
    if not file.is_file():
        raise DataError(f"{file} is missing; `dvc repro collect` writes build/results, `mtbert evidence` an evidence")
    try:
        with pq.ParquetFile(file) as opened:
            table = opened.read()
        for field in schema:  # of a task that was added since
            if field.name not in table.column_names and field.name in (*SCORES, *EXAMPLES, *PROBABILITIES):
                table = table.append_column(field.name, pa.nulls(len(table), field.type))
        table = table.replace_schema_metadata().select(schema.names).cast(schema)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:  # ValueError: an empty value where none may be
        said = " ".join(str(error).split())
        raise DataError(f"{file} is not a table of results: {said[:200]}") from None
    for field in schema:
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            _check_numbers(table[field.name].drop_null(), field, file)
    return table.to_pandas().astype(_nullable(schema))


def _check_numbers(column: pa.ChunkedArray, field: pa.Field, file: Path) -> None:
    lowest = -1 if field.name == "cluster" else 0 if pa.types.is_integer(field.type) else -sys.float_info.max
    low, high = pc.call_function("min_max", [column]).as_py().values()  # both None of an empty column
    if low is not None and not lowest <= low <= high <= sys.float_info.max:
        raise DataError(f"{file}: {field.name} holds {low} to {high}; allowed: finite numbers, and no counts below 0")


def _nullable(schema: pa.Schema) -> dict[str, str]:
    return {field.name: "Int64" for field in schema if field.type == pa.int64() and field.name != "seed"}


def check(results: Results, where: str) -> None:
    """Raise DataError, naming the run, where a value is of another kind than its column or tables contradict."""
    runs, predicted, history = results.runs, results.predictions, results.history
    for row in runs.to_dict("records"):
        _check_run(row, where)
    if (runs[[*SCORES]].abs() > 1).any(axis=None):
        raise DataError(f"{where}: runs hold scores beyond 1")
    weights = runs.loc[runs["kind"] != "encoder", [*WEIGHTS]]
    if weights.isna().any(axis=None) or (weights["encoder"] == 0).any():
        raise DataError(f"{where}: runs lack numbers of weights ({', '.join(WEIGHTS)}), or hold an encoder without any")
    if doubled := _named(runs[runs.duplicated(KEY)]):
        raise DataError(f"{where}: runs twice: {first_of(doubled, 3)}")
    for name, table in (("predictions", predicted), ("history", history)):
        known = pd.MultiIndex.from_frame(runs[KEY])
        there = table[KEY].drop_duplicates().astype({"variant": str})
        if unknown := _named(there[~pd.MultiIndex.from_frame(there).isin(known)]):
            raise DataError(f"{where}: {name} hold runs that runs.parquet does not list: {first_of(unknown, 3)}")
    if not np.isfinite(history["value"].to_numpy(float)).all():
        raise DataError(f"{where}: the history holds values that are no numbers")
    _check_predictions(predicted, where)
    _check_alike(results, where)
    _check_scores(results, where)


class _Run(_Lenient):
    kind: Literal["variant", "ensemble", "encoder"]
    variant: Name
    seed: Annotated[int, Field(ge=0)]
    settings: Json[About]
    data: Json[Data]
    start: Json[Start]


def _check_run(row: dict[str, Any], where: str) -> None:
    try:
        run = _Run.model_validate(row)
    except ValidationError as error:
        told = f"run {str(row['variant'])[:80]!r}, seed {row['seed']}"
        raise DataError(f"{where}, {told}: {in_words(error)[:300]}") from None
    kind = "encoder" if run.variant == UNTRAINED else "ensemble" if run.settings.members else "variant"
    if run.kind != kind:
        raise DataError(f"{where}, run {run.variant!r}, seed {run.seed}: kind is {run.kind}; by its settings: {kind}")


def _named(table: Frame) -> list[str]:
    return [f"{name}, seed {seed}" for name, seed in zip(table["variant"], table["seed"], strict=True)]


def _check_predictions(predicted: Frame, where: str) -> None:
    for column, known in (("task", TASKS), ("split", SPLITS)):
        if unknown := [str(name)[:40] for name in predicted[column].unique() if name not in known]:
            raise DataError(f"{where}: unknown {column} {first_of(unknown, 3)}; known: {', '.join(known)}")
    if (doubled := predicted.duplicated(["task", "split", "row", *KEY])).any():
        raise DataError(f"{where}: predictions twice: {first_of(_named(predicted[doubled].drop_duplicates(KEY)), 3)}")
    label, said = (predicted[name].to_numpy(float) for name in ("label", "prediction"))
    faulty = np.isinf(label) | np.isinf(said) | (np.isnan(said) & predicted["scored"].to_numpy(bool))
    for name, task in TASKS.items():
        if task.kind != "score":
            for values in (label, said):
                allowed = np.isnan(values) | np.isin(values, np.arange(max(task.classes, 2)))
                faulty |= (predicted["task"] == name).to_numpy() & ~allowed
    if faulty.any():
        named = _named(predicted[faulty].drop_duplicates(KEY))
        raise DataError(f"{where}: labels or predictions that the task has not: {first_of(named, 3)}")


def _check_alike(results: Results, where: str) -> None:
    """All runs are of one profile, encoder and data, seeds of a variant of one training, and rows mean the same."""
    runs = results.runs[results.runs["kind"] != "encoder"]
    found = {
        "profile": {about.profile for name, about in results.about.items() if name != UNTRAINED},
        "data": {Data.model_validate_json(text).name for text in runs["data"].unique()},
        "encoder": {Start.model_validate_json(text).name for text in runs["start"].unique()},
    }
    for what, names in found.items():
        if len(names) > 1:
            raise DataError(f"{where}: runs of more than one {what}: {first_of(sorted(names), 3)}; a report is of one")
    for variant, seeds in runs.groupby("variant", sort=False):
        if len(seeds.drop_duplicates(["settings", "code"])) > 1:
            raise DataError(
                f"{where}: seeds of {variant} were trained with different settings or by different code, so they "
                "repeat no one training; `dvc repro` trains those anew that are out of date"
            )
    shared = results.predictions[results.predictions["split"] != "train"]  # each run draws its own training rows
    place = ["task", "split", "row"]
    rows = shared[[*place, "id", "label"]].drop_duplicates()
    if (unlike := rows.duplicated(place)).any():
        row = rows[unlike].iloc[0]
        raise DataError(f"{where}: two runs hold other rows or labels of {row['task']} {row['split']}; {SAME}")


def _check_scores(results: Results, where: str) -> None:
    """Scores are those of the predictions."""
    computed = scores(results)
    for row in results.runs[results.runs["kind"] != "encoder"].itertuples():
        for column in SCORES:
            told, found = getattr(row, column), computed.get((row.variant, row.seed), {}).get(column, np.nan)
            if not (pd.isna(told) and pd.isna(found)) and not abs(told - found) <= ROUNDING:
                raise DataError(
                    f"{where}: {column} of {row.variant}, seed {row.seed}, is {told:.6f}, of its predictions "
                    f"{found:.6f}; `dvc repro --force --single-item train@{row.variant}-{row.seed}` makes both again"
                )


def scores(results: Results) -> dict[tuple[str, int], dict[str, float]]:
    """Return every score by run, then by column such as `dev_sst`; none where labels are withheld."""
    found: dict[tuple[str, int], dict[str, float]] = {}
    for (variant, seed, split), values in _by_task(results, "scored").items():
        of_run = found.setdefault((variant, seed), {})
        of_run |= {f"{split}_{task}": value for task, value in values.items()}
    for (variant, seed, split), values in parts(results).items():
        found[variant, seed] |= {f"{split}_{name}": value for name, value in metrics.overall(values).items()}
    return found


def parts(results: Results) -> dict[tuple[str, int, str], dict[str, float]]:
    """Return each task's score on the rows that overall scores are computed on, by run and split."""
    return _by_task(results, "overall")


def _by_task(results: Results, counting: str) -> dict[tuple[str, int, str], dict[str, float]]:
    found: dict[tuple[str, int, str], dict[str, float]] = {}
    for task, split in itertools.product(TASKS, SPLITS):
        for variant, seed, table in results.of(task, split):
            value = predictions.score(table[table[counting]], TASKS[task])
            if value is not None:
                found.setdefault((variant, seed, split), {})[task] = value
    return found


def joined(tables: Iterable[Frame], name: str) -> Frame:
    """Return the tables as one with all columns of its schema, in its types."""
    schema = SCHEMAS[name]
    every = [table.reindex(columns=schema.names) for table in tables if len(table)]
    whole = pd.concat(every, ignore_index=True) if every else pd.DataFrame(columns=schema.names)
    kinds = {pa.int64(): "Int64", pa.int32(): "int32", pa.float64(): float, pa.float32(): "float32", pa.bool_(): bool}
    types = {field.name: kinds.get(field.type, "category" if field.type == _WORD else "object") for field in schema}
    return whole.astype(types | {"seed": "int64"})
