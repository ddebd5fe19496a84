"""Evidence: the results of several builds, machines or weeks as one folder of tables, small enough to commit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mtbert import layout
from mtbert.errors import DataError, first_of
from mtbert.results import tables
from mtbert.results.tables import NAMES, SURE, Results


def merge(sources: Sequence[Path]) -> Results:
    """Return the runs of all sources, each a build directory or a folder of tables.

    Raises:
        DataError: a source holds no results, a run is in two of them and differs, or they do not fit together.
    """
    of_builds = {source: layout.results(source) for source in sources}
    folders = [of_build if of_build.is_dir() else source for source, of_build in of_builds.items()]
    several = [packed(tables.read(folder)) for folder in folders]
    tasks = several[0].tasks
    joined = (tables.joined([getattr(one, name) for one in several], name, tasks) for name in NAMES)
    results = Results(*(table.drop_duplicates(ignore_index=True) for table in joined))
    tables.check(results, ", ".join(map(str, sources)))
    return results


def packed(results: Results) -> Results:
    """Return the results without what evidence need not hold: rows without labels, and how sure the models were."""
    known = results.predictions[results.predictions["label"].notna()]
    known = known.astype({"variant": str, "id": str})  # as categories they would still name the dropped rows'
    return Results(results.runs, known.assign(**{SURE: np.float32("nan")}), results.history)


def write(results: Results, folder: Path) -> None:
    """Write a folder of tables anew; DataError where it holds anything else."""
    there = {file.name for file in folder.iterdir()} if folder.is_dir() else set()
    if others := sorted(there - {f"{name}.parquet" for name in NAMES}):
        raise DataError(f"{folder} holds {first_of(others, 3)}, which no evidence does; name another folder")
    tables.write(results, folder)
