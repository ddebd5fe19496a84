"""run.json of a model's log: what its training took."""

from pathlib import Path

from mtbert import files, layout
from mtbert.scores.schemas import RunLog


def read(model: Path) -> RunLog | None:
    """Return what the log of a model says; None where it is missing; DataError where it is damaged."""
    file = layout.log(model) / layout.LOG
    if not file.is_file():
        return None
    return files.read_as(RunLog, file, f"dvc repro --force --single-item {layout.stage(model)}")
