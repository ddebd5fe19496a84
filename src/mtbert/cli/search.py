"""`mtbert search`."""

from typing import Annotated

import typer


def main(jobs: Annotated[int, typer.Option(min=1, help="Trainings at a time.")] = 1) -> None:
    """Search the learning rate of each kind of training; docs/settings.md describes how."""
    from mtbert import search

    search.start(jobs)
