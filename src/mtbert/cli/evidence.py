"""`mtbert evidence`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import starting


def main(
    build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build"),
    reports: Annotated[Path, typer.Argument(help="The folder of reports.")] = Path("reports"),
    add: Annotated[bool, typer.Option("--add", help="Keep the runs that the evidence holds already.")] = False,
    anew: Annotated[
        bool, typer.Option("--anew", help="As --add, but of a variant in both keep none of its earlier runs.")
    ] = False,
) -> None:
    """Pack the files that a report's numbers come from: small enough to commit, and without any sentence."""
    with starting.imports():
        from mtbert import ensembling
        from mtbert.reporting import archive
    archive.main(build, reports, add, ensembling.ensemble, anew)
