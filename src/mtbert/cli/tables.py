"""`mtbert tables`."""

from pathlib import Path
from typing import Annotated

import typer


def main(build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build")) -> None:
    """Print the tables that have results, and what to do next."""
    from mtbert.report import terminal
    from mtbert.results import tables

    print(terminal.of_results(tables.read(build / "results")))
