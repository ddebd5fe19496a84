"""`mtbert track`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import tracking


def main(build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build")) -> None:
    """Bring every finished run, vote and report of a build directory into MLflow, and say how many it lacked."""
    print(tracking.bring_in(build))
