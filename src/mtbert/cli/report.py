"""`mtbert report`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import files, starting


def main(
    build: Annotated[Path, typer.Argument(help="The build directory.")] = Path("build"),
    reports: Annotated[Path, typer.Argument(help="Gets a folder for the report, by profile and data.")] = (
        Path("reports")
    ),
    evidence: Annotated[
        Path | None,
        typer.Option(help="Make the report from this folder alone, such as reports/laptop/evidence."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="With --evidence: the report's folder; else that around it.")] = None,
) -> None:
    """Write the report and the course's submission files from the finished runs, and print the tables."""
    with starting.imports():
        from mtbert.report import submissions, write
        from mtbert.results import collect, tables
    if evidence is not None:
        if out is None and evidence.resolve().name != write.EVIDENCE:
            raise typer.BadParameter(f"is needed, since {evidence} is not called evidence", param_hint="--out")
        print(write.write(tables.read(evidence), out or evidence.resolve().parent))
        return
    if out is not None:
        raise typer.BadParameter("needs --evidence; the report of a build is written below REPORTS", param_hint="--out")
    folder = files.report_directory(build, reports)
    collect.write(build, build / "results", build / "ensembles")
    results = tables.read(build / "results")
    shown = write.write(results, folder)
    submissions.write(results, build / "submissions")
    write.for_dvc(folder, reports)
    print(shown)
