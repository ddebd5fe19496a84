"""What all models of a build folder share."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.scores.schemas import Speed
from mtbert.tasks import Tasks, read_build


@dataclass(frozen=True)
class Source:
    """What all models of a build folder share; `speed` is None if nobody has measured it."""

    build: Path
    catalog: Mapping[str, Any]
    tasks: Tasks
    speed: Speed | None

    @property
    def data(self) -> Path:
        """The folder of all examples."""
        return layout.data(self.build)


def read_catalog(build: Path) -> dict[str, Any]:
    """Return the plan's catalog; DataError if it is missing or lacks a key that is read."""
    return layout.read_catalog(build, "profile", "seeds", "variants", "ensembles", "data_dir", "encoder")


def source_of(build: Path) -> Source:
    """Read what all models of a build folder share; DataError if a file of it is missing or damaged."""
    file = layout.speed(build)
    speed = files.read_as(Speed, file, "dvc repro speed") if file.is_file() else None
    return Source(build, read_catalog(build), read_build(build), speed)
