"""`mtbert track`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import tracking


def main(build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build")) -> None:
    """Log every finished run, ensemble and report of a build directory that MLflow lacks, and print their number."""
    print(tracking.bring_in(build))
