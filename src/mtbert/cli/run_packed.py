"""`mtbert run-packed`."""

from pathlib import Path
from typing import Annotated

import typer


def main(
    archive: Annotated[Path, typer.Argument(help="A pack that `mtbert pack` wrote.")],
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time; several share a GPU.")] = 1,
    minutes: Annotated[float | None, typer.Option(min=0, help="Stop in time for these to be over.")] = None,
    weights: Annotated[bool, typer.Option("--weights", help="Bring the trained weights back, too.")] = False,
    out: Annotated[Path, typer.Option(help="The archive of runs.")] = Path("runs.tar"),
) -> None:
    """Train what a pack holds; the same command goes on where it was stopped. Without mtbert: docs/machines.md."""
    from mtbert.parcels import running

    running.start(running.of_archive(archive), out, jobs, minutes, weights)
