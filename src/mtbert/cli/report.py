"""`mtbert report`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import files, starting


def main(
    build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build"),
    reports: Annotated[Path, typer.Argument(help="In it, the report gets a folder named after profile and data.")] = (
        Path("reports")
    ),
) -> None:
    """Write the report and the course's submission files from the runs that are there, and print the tables."""
    with starting.imports():
        from mtbert.reporting import report
    out = files.report_directory(build, reports)
    shown = report.write(build, out, build / "submissions")
    report.for_dvc(out, reports)
    print(shown)
