"""Evidence: the results of several builds, machines or weeks as one folder of tables, small enough to commit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mtbert import layout
from mtbert.errors import DataError, first_of
from mtbert.scores import checks, tables
from mtbert.scores.columns import CONFIDENCE, TABLES, UNCALIBRATED
from mtbert.scores.results import Results


def merged(sources: Sequence[Path]) -> Results:
    """Return the runs of all sources, each a build directory or a folder of tables.

    Raises:
        DataError: a source holds no results, a run is in two of them and differs, or they do not fit together.
    """
    several = [compact(tables.read(_folder(source))) for source in sources]
    tasks = several[0].tasks
    joined = [tables.joined([getattr(results, name) for results in several], name, tasks) for name in TABLES]
    results = Results(*(table.drop_duplicates(ignore_index=True) for table in joined))
    checks.check(results, ", ".join(map(str, sources)))
    return results


def _folder(source: Path) -> Path:
    """Return the folder of a source's tables: its results, if it is a build directory."""
    results = layout.results(source)
    return results if results.is_dir() else source


def compact(results: Results) -> Results:
    """Return the results without what evidence need not hold: rows without labels, and the confidence of the models."""
    labelled = results.predictions[results.predictions["label"].notna()]
    labelled = labelled.astype({"variant": str, "id": str})  # as categories they would still name the dropped rows'
    return replace(results, predictions=labelled.assign(**dict.fromkeys((CONFIDENCE, UNCALIBRATED), np.float32("nan"))))


def write(results: Results, folder: Path) -> None:
    """Write a folder of tables anew; DataError if it holds anything else."""
    names = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    if others := sorted(names - {f"{table}.parquet" for table in TABLES}):
        raise DataError(f"{folder} holds {first_of(others, 3)}, which no evidence does; name another folder")
    tables.write(results, folder)
