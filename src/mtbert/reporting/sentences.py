"""The texts of dev rows, and where they may be shown.

The course's corpora are licensed for research and not to be handed on, so that no report that is committed may hold
their sentences: it names rows by their ids. The report below build, which stays on the machine, holds them.
"""

from collections.abc import Collection
from pathlib import Path

from mtbert import files
from mtbert.reporting.catalog import Completed


def may_be_committed(completed: Completed) -> bool:
    """Whether the sentences are this project's own."""
    return completed.whose == "sample"


def read(build: Path, task: str, ids: Collection[str]) -> dict[str, list[str]]:
    """One or two sentences of dev rows, by id; of those rows that the corpus has."""
    file = build / "data" / task / "dev.parquet"
    if not file.is_file():
        return {}
    table = files.read_parquet(file, ["id", "sentence1", "sentence2"])
    table = table.loc[table["id"].isin(list(ids))]
    return {
        row: [text for text in texts if isinstance(text, str)]
        for row, *texts in table.itertuples(index=False, name=None)
    }
