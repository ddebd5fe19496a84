"""`mtbert grid`."""

from typing import Annotated

import typer


def main(
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Trainings at a time: 1, or as many as a cluster has room for.")
    ] = None,
    variants: Annotated[
        str | None, typer.Option(help="Set `variants` in params.yaml first: 'pals slap-smart', or all.")
    ] = None,
    address: Annotated[str | None, typer.Option(help="Of a running Ray cluster, such as 10.0.0.1:6379.")] = None,
    gpus: Annotated[float | None, typer.Option(help="Part of a GPU for each training, such as 0.25.")] = None,
    storage: Annotated[str | None, typer.Option(help="A folder that all nodes share, for checkpoints.")] = None,
) -> None:
    """Run the pipeline, `dvc repro`, with its trainings side by side: on this machine, or on a cluster."""
    from mtbert.scale import grid

    grid.run(jobs, variants, address, gpus, storage)
