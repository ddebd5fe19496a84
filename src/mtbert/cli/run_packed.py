"""`mtbert run-packed`."""

from pathlib import Path
from typing import Annotated

import typer


def main(
    archive: Annotated[Path, typer.Argument(help="A pack that `mtbert pack` wrote.")],
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time; several share a GPU.")] = 1,
    minutes: Annotated[float | None, typer.Option(min=0, help="Stop before these minutes are over.")] = None,
    weights: Annotated[bool, typer.Option("--weights", help="Bring the trained weights back, too.")] = False,
    out: Annotated[Path, typer.Option(help="The archive of runs.")] = Path("runs.tar"),
) -> None:
    """Run the trainings of a pack; the same command resumes where it was stopped. Without mtbert: docs/machines.md."""
    from mtbert.parcels import running

    running.start(running.of_archive(archive), out, jobs, minutes, weights)
