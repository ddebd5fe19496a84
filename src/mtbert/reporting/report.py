"""The whole report, written: tables, index, summary, curves and every run's scores."""

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import files
from mtbert.reporting import (
    analysis,
    archive,
    claimed,
    claims,
    comparisons,
    costs,
    curves,
    details,
    findings,
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
from mtbert.reporting.analysis import Analysis
from mtbert.reporting.claims import Verdict
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.findings import Standing
from mtbert.reporting.results import Score

TRY = ". .venv/bin/activate; dvc exp run -S pals.dim=276"


@dataclass(frozen=True)
class Found:
    """All that a report is made of: the plan, what its claims and tables come to, its runs, and what pictures show."""

    plan: catalogs.Catalog
    scores: list[Score]
    tables: list[tables.Table]
    judged: list[Verdict]
    standings: list[Standing]
    runs: list[dict[str, Any]]
    seen: pd.DataFrame
    shown: Analysis


def write(build: Path, directory: Path, submitted: Path) -> str:
    """Write the report and the submission files anew from a build directory.

    Args:
        build: holds plan, runs, ensembles, logs and, where they are there, data and encoders.
        directory: of the report that may be committed, such as reports/sample; evidence that lies there stays. The
            report with sentences, times and memory is written to report below build.
        submitted: of the submission files, such as build/submissions.

    Returns:
        The tables that have results and what to do next, for the terminal.

    Raises:
        SettingsError: no catalog.
        DataError: nothing has run, or what lies there is damaged. What was asked for and has not run yet is left out,
            and listed with the command that makes it.
    """
    found = gather(build)
    submissions.write(build, found.plan, submitted)
    _write_committed(build, directory, found)
    with files.new_directory(build / "report") as local:  # stays on this machine
        pd.DataFrame(found.runs).to_csv(local / "runs.csv", index=False, lineterminator="\n")
        files.write_text(local / "index.html", _page(build, found, local=True))
    return in_short(found.tables, found.plan, build / "report" / "index.html")


def anew(evidence: Path, directory: Path) -> str:
    """Write the report of evidence alone: without data, runs, DVC or training, to the bytes that `write` wrote.

    Args:
        evidence: as `archive.pack` leaves it, such as reports/laptop/evidence.
        directory: of the report, which is written anew but for evidence that lies there.

    Returns:
        As `write`.

    Raises:
        DataError: the evidence is altered or not whole, or the scores that it names are not those of its predictions.
    """
    with tempfile.TemporaryDirectory() as temporary:
        build = Path(temporary) / "build"
        archive.unpack(evidence, build)
        found = gather(build)
        _write_committed(build, directory, found)
        return in_short(found.tables, found.plan, directory / "index.html")


def gather(build: Path) -> Found:
    """Read and compute all that the report of a build directory shows."""
    plan = catalogs.there(catalogs.read(build / "plan" / "catalog.yaml"), build)
    scores, weights = results.scores(build, plan), results.weights(build, plan)
    evidence, every = Evidence(build, plan), claims.load()
    found = tables.against(tables.compare(published.load(), plan, scores, weights), evidence, every.baselines)
    asked = [claims.without_published(one) if plan.own_data else one for one in every.claims.values()]
    runs = results.runs(build, plan)
    shown = analysis.of(build, plan, scores, weights, runs)
    seen = leakage.scores(build, plan, evidence)
    judged = verdicts.judge(evidence, asked)
    standings = findings.standings(every.contradictions.values(), judged)
    return Found(plan, scores, found, judged, standings, runs, seen, shown)


def _write_committed(build: Path, directory: Path, found: Found) -> None:
    plan, judged, shown = found.plan, found.judged, found.shown
    with files.new_directory(directory) as partial:
        _write_tables(partial / "tables", plan, found.tables)
        _write_numbers(partial / "claims.csv", claimed.frame(judged))
        _write_numbers(partial / "comparisons.csv", comparisons.frame(tables.compared(found.tables)))
        results.settled(found.runs).to_csv(partial / "runs.csv", index=False, lineterminator="\n")
        results.wide(build, plan, found.scores).to_csv(
            partial / "results.csv", index=False, lineterminator="\n", float_format="%.6f"
        )
        curves.losses(build, plan).to_csv(partial / "curves.csv", index=False, lineterminator="\n")
        summary = results.summary(plan, found.scores)
        files.write_json(partial / "summary.json", summary)
        _write_numbers(partial / "scores.csv", results.bars(summary))
        found.seen.to_csv(partial / "leakage.csv", index=False, lineterminator="\n", float_format="%.6f")
        made = pictures.write(build, plan, shown, partial / "pictures", judged)
        files.write_text(
            partial / "README.md", page.render(plan, found.tables, judged, costs.leaders(shown.costs), found.standings)
        )
        for name, text in details.render(build, plan, judged, found.runs, made, found.seen, shown.answers).items():
            files.write_text(partial / "details" / f"{name}.md", text)
        files.write_text(partial / "index.html", _page(build, found, local=False))
        if (directory / archive.NAME).is_dir():
            shutil.copytree(directory / archive.NAME, partial / archive.NAME)


def _page(build: Path, found: Found, local: bool) -> str:
    about = found.plan, found.tables, found.judged, found.runs, found.seen, found.shown
    return site.render(build, *about, local=local, standings=found.standings)


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


def in_short(found: Sequence[tables.Table], plan: catalogs.Catalog, html: Path) -> str:
    """What a run of the pipeline ends with: the tables that have results, then what to do next."""
    shown = [terminal.render(table, plan) for table in found if table.scored]
    if absent := len(found) - len(shown):
        shown.append(f"Without a result of ours, and in the report alone: {absent} more table{'s' * (absent > 1)}.")
    return "\n\n".join([*shown, next_steps(html)])


def next_steps(html: Path) -> str:
    """Three lines: the page to open, the runs to compare, the setting to try."""
    return f"Open the page:     {html.resolve().as_uri()}\nCompare the runs:  make mlflow\nChange something:  {TRY}"
