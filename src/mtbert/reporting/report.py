"""The whole report, written: tables, index, summary, curves and every run's scores."""

from pathlib import Path

import pandas as pd

from mtbert import files
from mtbert.reporting import (
    analysis,
    claimed,
    claims,
    comparisons,
    curves,
    leakage,
    markdown,
    page,
    pictures,
    published,
    results,
    sentences,
    site,
    submissions,
    tables,
    terminal,
    verdicts,
)
from mtbert.reporting import catalog as catalogs
from mtbert.reporting.evidence import Evidence


def write(build: Path, directory: Path, submitted: Path) -> str:
    """Write the report and the submission files anew from a build directory.

    Args:
        build: holds plan, runs, ensembles, logs and, where they are there, data and encoders.
        directory: of the report, such as reports/sample.
        submitted: of the submission files, such as build/submissions.

    Returns:
        The first table of every paper and where the report lies, for the terminal.

    Raises:
        SettingsError: no catalog. DataError: nothing has run, or what lies there is damaged. What was asked for and
        has not run yet is left out, and listed with the command that makes it.
    """
    plan = catalogs.there(catalogs.read(build / "plan" / "catalog.yaml"), build)
    scores, weights = results.scores(build, plan), results.weights(build, plan)
    found = tables.compare(published.load(), plan, scores, weights)
    evidence, every = Evidence(build, plan), claims.load()
    found = tables.against(found, evidence, every.baselines)
    judged = verdicts.judge(evidence, every.claims.values())
    submissions.write(build, plan, submitted)
    with files.new_directory(directory) as partial:
        _write_tables(partial / "tables", plan, found)
        _write_numbers(partial / "claims.csv", claimed.frame(judged))
        _write_numbers(partial / "comparisons.csv", comparisons.frame(tables.compared(found)))
        runs = results.runs(build, plan)
        pd.DataFrame(runs).to_csv(partial / "runs.csv", index=False, lineterminator="\n")
        results.wide(build, plan, scores).to_csv(
            partial / "results.csv", index=False, lineterminator="\n", float_format="%.6f"
        )
        curves.losses(build, plan).to_csv(partial / "curves.csv", index=False, lineterminator="\n")
        summary = results.summary(plan, scores)
        files.write_json(partial / "summary.json", summary)
        _write_numbers(partial / "scores.csv", results.bars(summary))
        shown = analysis.of(build, plan, scores, weights, runs)
        made = pictures.write(build, plan, shown, partial / "pictures")
        seen = leakage.scores(build, plan, evidence)
        seen.to_csv(partial / "leakage.csv", index=False, lineterminator="\n", float_format="%.6f")
        files.write_text(
            partial / "README.md", page.render(build, plan, found, runs, made, seen, judged, shown.answers)
        )
        whole = site.render(build, plan, found, judged, runs, seen, shown, with_sentences=True)
        files.write_text(build / "report" / "index.html", whole)
        if not sentences.may_be_committed(plan):
            whole = site.render(build, plan, found, judged, runs, seen, shown, with_sentences=False)
        files.write_text(partial / "index.html", whole)
    return in_short(found, plan, directory)


def _write_tables(directory: Path, plan: catalogs.Catalog, found: list[tables.Table]) -> None:
    directory.mkdir()
    for table in found:
        files.write_text(directory / f"{table.name}.md", markdown.render(table, plan))
        _write_numbers(directory / f"{table.name}.csv", table.tidy())


def _write_numbers(file: Path, table: pd.DataFrame) -> None:
    table.to_csv(file, index=False, lineterminator="\n", float_format="%.6g")


def for_dvc(directory: Path, reports: Path) -> None:
    """Put what DVC's own views show at a place that does not depend on profile and data, which dvc.yaml names."""
    for name in ("summary.json", "curves.csv", "scores.csv"):
        files.write_text(reports / name, (directory / name).read_text(encoding="utf-8"))


def in_short(found: list[tables.Table], plan: catalogs.Catalog, directory: Path) -> str:
    """The first table of every paper and where the report lies."""
    first = {table.paper: table for table in reversed(found)}
    shown = [terminal.render(table, plan) for table in found if first[table.paper] is table]
    return "\n\n".join([*shown, f"The whole report: {directory / 'README.md'}"])
