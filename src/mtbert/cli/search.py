"""`mtbert search`."""

from typing import Annotated, Literal

import typer


def main(
    jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 1,
    only: Annotated[
        Literal["rates", "setting"] | None,
        typer.Option(help="Search for the rates alone, or for the setting alone, with the rates of params.yaml."),
    ] = None,
) -> None:
    """Search the learning rate of each kind of training, and one further setting; docs/settings.md describes how."""
    from mtbert.scale import search

    search.start(jobs, only)
