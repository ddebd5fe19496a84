"""`mtbert grid`."""

from typing import Annotated

import typer


def main(
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 1,
    variants: Annotated[
        str | None, typer.Option(help="Set `variants` in params.yaml first: 'pals slap-smart', or all.")
    ] = None,
) -> None:
    """Run the pipeline, `dvc repro`, with its trainings side by side."""
    from mtbert import grid

    grid.start(jobs, variants)
