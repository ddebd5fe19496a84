"""The tables of results as files: how they are written, read and joined.

A folder of them is a build's results (build/results) or a report's evidence.
"""

from collections.abc import Iterable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from mtbert import files
from mtbert.errors import DataError
from mtbert.scores import checks
from mtbert.scores.columns import KEY, OLD_NAMES, PLACES, TABLES, Frame, schema
from mtbert.scores.described import Data
from mtbert.scores.results import Results
from mtbert.tasks import COURSE, Tasks

SORTED_BY = {"predictions": ["task", "split", "row", *KEY], "points": ["task", "row", *KEY]}


def write(results: Results, folder: Path) -> None:
    """Write `folder` anew: runs.parquet, predictions.parquet, history.parquet and points.parquet."""
    with files.new_directory(folder) as partial:
        for name in TABLES:
            table, columns = getattr(results, name), schema(name, results.tasks)
            if name in SORTED_BY:  # equal values beside one another pack well
                table = table.sort_values(SORTED_BY[name], kind="stable")
            typed = pa.Table.from_pandas(table[columns.names], columns, preserve_index=False).replace_schema_metadata()
            file = partial / f"{name}.parquet"
            pq.write_table(typed, file, compression="zstd", compression_level=12, row_group_size=2**24)


def read(folder: Path) -> Results:
    """Read and check a folder's tables; DataError if they contradict themselves or one another, or hold no run."""
    tasks = _tasks(folder / "runs.parquet")
    read_tables = {name: _read(folder / f"{name}.parquet", name, tasks) for name in TABLES if name != "points"}
    results = Results(**read_tables, points=_points(folder, tasks))
    checks.check(results, str(folder))
    if not results.about:
        raise DataError(f"{folder}: no run of a variant; a report needs one")
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


def _points(folder: Path, tasks: Tasks) -> Frame:
    """Return the table `points`; in older evidence its columns are among those of the predictions'."""
    file, predictions = folder / "points.parquet", folder / "predictions.parquet"
    if file.is_file():
        return _read(file, "points", tasks)
    places = [name for name in PLACES if name in pq.read_schema(predictions).names]  # some evidence has none of pairs
    if not places:
        return joined([], "points", tasks)
    table = files.read_parquet(predictions, [*KEY, "task", "row", *places])
    return joined([table[table[places[0]].notna()]], "points", tasks)


def joined(parts: Iterable[Frame], name: str, tasks: Tasks) -> Frame:
    """Return the parts of a table as one with all columns of its schema, in its types; no parts make no rows."""
    columns = schema(name, tasks)
    in_order = [part.rename(columns=OLD_NAMES).reindex(columns=columns.names) for part in parts]
    whole = pd.concat(in_order, ignore_index=True) if in_order else pd.DataFrame(columns=columns.names)
    typed = pa.Table.from_pandas(whole, columns, preserve_index=False)
    return typed.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get).astype({"seed": "int64"})
