"""`mtbert evidence`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import files, starting

SOURCES = [Path("build")]


def main(
    sources: Annotated[
        list[Path] | None, typer.Argument(help="Build directories and evidences; without any, `build`.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder to write; without, that of the first build's report.")
    ] = None,
) -> None:
    """Write the results of all sources to one folder of tables: small enough to commit, and without any sentence."""
    with starting.imports():
        from mtbert.results import merge
    given = sources or SOURCES
    merge.write(merge.merge(given), out or files.report_directory(given[0], Path("reports")) / "evidence")
