"""`mtbert evidence`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import starting


def main(
    build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build"),
    reports: Annotated[Path, typer.Argument(help="Where the report's folder lies.")] = Path("reports"),
) -> None:
    """Pack what every number of a report comes from: small enough to commit, and without any sentence."""
    with starting.imports():
        from mtbert.reporting import archive
    archive.main(build, reports)
