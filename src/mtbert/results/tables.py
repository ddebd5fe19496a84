"""The three tables of results: what they say, and how they are written, read and joined.

`runs` has a row for each training and vote, `predictions` one for each row that a run predicted, `history` one for each
value that a training logged. A folder of them is a build's results (build/results) or a report's evidence.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from mtbert import files
from mtbert.errors import DataError, in_words
from mtbert.results import checks
from mtbert.results.columns import KEY, TABLES, Frame, PredictionsByTask, metric_names, schema
from mtbert.results.described import DESCRIPTIONS, About, Data, RunDescription, StartingWeights
from mtbert.tasks import COURSE, Tasks


@dataclass
class Results:
    """The three tables; `runs` is small, `predictions` may have millions of rows."""

    runs: Frame
    predictions: Frame
    history: Frame

    @cached_property
    def descriptions(self) -> list[RunDescription]:
        """What each row of `runs` says; DataError, with the number of a row from 0, for a value of another kind."""
        try:
            return DESCRIPTIONS.validate_python(self.runs.to_dict("records"))
        except ValidationError as error:
            raise DataError(f"runs: {in_words(error)[:300]}") from None

    @cached_property
    def about(self) -> dict[str, About]:
        """What the settings say of each variant or ensemble, by name, in the tables' order."""
        return {run.variant: run.settings for run in self.descriptions if run.kind != "encoder"}

    @cached_property
    def trained(self) -> Frame:
        """The runs without the untrained encoder."""
        return self.runs[self.runs["kind"] != "encoder"]

    @cached_property
    def untrained(self) -> dict[str, float]:
        """Dev scores of the starting weights without any training, by task; empty if nobody computed them."""
        rows = self.runs[self.runs["kind"] == "encoder"]
        scores: dict[str, float] = {}
        for metric in metric_names(self.tasks):
            for score in rows[f"dev_{metric}"].dropna():
                scores[metric] = float(score)
        return scores

    @property
    def tasks(self) -> Tasks:
        """The tasks of the data, by name in their order."""
        return self.data.described_tasks

    @cached_property
    def data(self) -> Data:
        """The data that all runs were trained on."""
        return self.descriptions[0].data

    @cached_property
    def starting_weights(self) -> StartingWeights:
        """The encoder that all runs start from."""
        return self.descriptions[0].start

    @cached_property
    def by_run(self) -> dict[tuple[str, int, str], PredictionsByTask]:
        """Predictions by variant, seed and split, then by task; the rows in the order of the data."""
        by_run: dict[tuple[str, int, str], PredictionsByTask] = {}
        groups = self.predictions.groupby([*KEY, "split", "task"], observed=True, sort=False)
        for (variant, seed, split, task), table in groups:
            by_run.setdefault((variant, int(seed), split), {})[task] = table.sort_values("row")
        return by_run


def write(results: Results, folder: Path) -> None:
    """Write `folder` anew: runs.parquet, predictions.parquet and history.parquet."""
    with files.new_directory(folder) as partial:
        for name in TABLES:
            table, columns = getattr(results, name), schema(name, results.tasks)
            if name == "predictions":  # equal values beside one another pack well
                table = table.sort_values(["task", "split", "row", *KEY], kind="stable")
            typed = pa.Table.from_pandas(table[columns.names], columns, preserve_index=False).replace_schema_metadata()
            file = partial / f"{name}.parquet"
            pq.write_table(typed, file, compression="zstd", compression_level=12, row_group_size=2**24)


def read(folder: Path) -> Results:
    """Read and check a folder's tables; DataError if they contradict themselves or one another."""
    tasks = _tasks(folder / "runs.parquet")
    results = Results(*(_read(folder / f"{name}.parquet", name, tasks) for name in TABLES))
    checks.check(results, str(folder))
    return results


def _tasks(file: Path) -> Tasks:
    """Return the tasks that runs.parquet describes; the course's if it is missing or empty, which `_read` refuses."""
    if not file.is_file():
        return COURSE
    try:
        data = files.read_parquet(file, ["data"])["data"]
        return Data.model_validate_json(data.iloc[0]).described_tasks if len(data) else COURSE
    except (ValidationError, TypeError):
        raise DataError(f"{file} is not a table of results: its `data` does not describe tasks") from None


def _read(file: Path, name: str, tasks: Tasks) -> Frame:
    if not file.is_file():
        raise DataError(f"{file} is missing; `dvc repro collect` writes build/results, `mtbert evidence` an evidence")
    try:
        return joined([files.read_parquet(file)], name, tasks)
    except (pa.ArrowException, ValueError) as error:  # ValueError: an empty value where none may be
        raise DataError(f"{file} is not a table of results: {str(error)[:200]}") from None


def joined(parts: Iterable[Frame], name: str, tasks: Tasks) -> Frame:
    """Return the parts of a table as one with all columns of its schema, in its types; no parts make no rows."""
    columns = schema(name, tasks)
    in_order = [part.reindex(columns=columns.names) for part in parts]
    whole = pd.concat(in_order, ignore_index=True) if in_order else pd.DataFrame(columns=columns.names)
    typed = pa.Table.from_pandas(whole, columns, preserve_index=False)
    return typed.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).astype({"seed": "int64"})
