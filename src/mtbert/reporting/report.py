"""The whole report, written: tables, index, summary, curves and every run's scores."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from mtbert import files
from mtbert.reporting import (
    analysis,
    claimed,
    claims,
    comparisons,
    costs,
    curves,
    details,
    leakage,
    markdown,
    page,
    pictures,
    published,
    results,
    site,
    submissions,
    tables,
    terminal,
    verdicts,
)
from mtbert.reporting import catalog as catalogs
from mtbert.reporting.evidence import Evidence

TRY = ". .venv/bin/activate; dvc exp run -S pals.dim=276"


def write(build: Path, directory: Path, submitted: Path) -> str:
    """Write the report and the submission files anew from a build directory.

    Args:
        build: holds plan, runs, ensembles, logs and, where they are there, data and encoders.
        directory: of the report that may be committed, such as reports/sample; the one with sentences, times and
            memory is written to report below build.
        submitted: of the submission files, such as build/submissions.

    Returns:
        The tables that have results and what to do next, for the terminal.

    Raises:
        SettingsError: no catalog.
        DataError: nothing has run, or what lies there is damaged. What was asked for and has not run yet is left out,
            and listed with the command that makes it.
    """
    plan = catalogs.there(catalogs.read(build / "plan" / "catalog.yaml"), build)
    scores, weights = results.scores(build, plan), results.weights(build, plan)
    found = tables.compare(published.load(), plan, scores, weights)
    evidence, every = Evidence(build, plan), claims.load()
    found = tables.against(found, evidence, every.baselines)
    asked = [claims.without_published(one) if plan.own_data else one for one in every.claims.values()]
    judged = verdicts.judge(evidence, asked)
    submissions.write(build, plan, submitted)
    runs = results.runs(build, plan)
    shown = analysis.of(build, plan, scores, weights, runs)
    seen = leakage.scores(build, plan, evidence)
    with files.new_directory(directory) as partial:
        _write_tables(partial / "tables", plan, found)
        _write_numbers(partial / "claims.csv", claimed.frame(judged))
        _write_numbers(partial / "comparisons.csv", comparisons.frame(tables.compared(found)))
        results.settled(runs).to_csv(partial / "runs.csv", index=False, lineterminator="\n")
        results.wide(build, plan, scores).to_csv(
            partial / "results.csv", index=False, lineterminator="\n", float_format="%.6f"
        )
        curves.losses(build, plan).to_csv(partial / "curves.csv", index=False, lineterminator="\n")
        summary = results.summary(plan, scores)
        files.write_json(partial / "summary.json", summary)
        _write_numbers(partial / "scores.csv", results.bars(summary))
        seen.to_csv(partial / "leakage.csv", index=False, lineterminator="\n", float_format="%.6f")
        made = pictures.write(build, plan, shown, partial / "pictures")
        files.write_text(partial / "README.md", page.render(plan, found, judged, costs.leaders(shown.costs)))
        for name, text in details.render(build, plan, judged, runs, made, seen, shown.answers).items():
            files.write_text(partial / "details" / f"{name}.md", text)
        files.write_text(partial / "index.html", site.render(build, plan, found, judged, runs, seen, shown))
    with files.new_directory(build / "report") as local:  # stays on this machine
        pd.DataFrame(runs).to_csv(local / "runs.csv", index=False, lineterminator="\n")
        files.write_text(local / "index.html", site.render(build, plan, found, judged, runs, seen, shown, local=True))
    return in_short(found, plan, build)


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


def in_short(found: Sequence[tables.Table], plan: catalogs.Catalog, build: Path) -> str:
    """What a run of the pipeline ends with: the tables that have results, then what to do next."""
    shown = [terminal.render(table, plan) for table in found if table.scored]
    if absent := len(found) - len(shown):
        shown.append(f"Without a result of ours, and in the report alone: {absent} more table{'s' * (absent > 1)}.")
    return "\n\n".join([*shown, next_steps(build)])


def next_steps(build: Path) -> str:
    """Three lines: the page to open, the runs to compare, the setting to try."""
    return (
        f"Open the page:     {(build / 'report' / 'index.html').resolve().as_uri()}\n"
        "Compare the runs:  make mlflow\n"
        f"Change something:  {TRY}"
    )
