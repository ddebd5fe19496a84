"""The whole report, written: one loop over its sections, then README.md and the page."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mtbert import files
from mtbert.errors import DataError, first_of
from mtbert.reporting import archive, page, readme, submissions, terminal
from mtbert.reporting.catalog import Completed
from mtbert.reporting.sections import SECTIONS
from mtbert.reporting.sections.base import Report, Section
from mtbert.reporting.tables import Table

TRY = ". .venv/bin/activate; dvc exp run -S pals.dim=276"
NOTHING = "These runs have left nothing to tell here.\n"


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
    report = Report.read(build, SECTIONS)
    submissions.write(build, report.completed, submitted)
    _write_committed(report, directory)
    _write_local(report, build / "report")
    return in_short(report.tables, report.completed, build / "report" / "index.html")


def anew(evidence: Path, directory: Path) -> str:
    """Write the report of evidence alone: without data, runs, DVC or training, to the bytes that `write` wrote.

    Args:
        evidence: as `archive.pack` leaves it, such as reports/laptop/evidence.
        directory: of the report, which is written anew but for evidence that lies there.

    Returns:
        As `write`.

    Raises:
        DataError: the evidence is altered or not whole, the scores that it names are not those of its predictions, or
            the directory holds something else than a report.
    """
    _refuse_others(directory)
    with tempfile.TemporaryDirectory() as temporary:
        build = Path(temporary) / "build"
        archive.unpack(evidence, build)
        report = Report.read(build, SECTIONS)
        _write_committed(report, directory)
        return in_short(report.tables, report.completed, directory / "index.html")


def _refuse_others(directory: Path) -> None:
    """A report takes the place of its whole folder, so that must be empty or hold a report, or evidence alone."""
    if directory.is_file():
        raise DataError(f"{directory} is a file; --out names a folder")
    there = {file.name for file in directory.iterdir()} if directory.exists() else set()
    if there - {archive.NAME} and not {"README.md", "index.html", "details"} <= there:
        raise DataError(
            f"{directory} holds {first_of(sorted(there), 3)} and no report; the report would take its place. "
            "--out names another folder"
        )


def _write_committed(report: Report, directory: Path) -> None:
    with files.new_directory(directory) as partial:
        for section in report.sections:
            _write_section(section, report, partial)
        files.write_text(partial / "README.md", readme.render(report))
        files.write_text(partial / "index.html", page.render(report, local=False))
        if (directory / archive.NAME).is_dir():
            shutil.copytree(directory / archive.NAME, partial / archive.NAME)


def _write_section(section: Section, report: Report, directory: Path) -> None:
    for numbers in section.numbers:
        numbers.write(report, directory)
    for path, text in section.files(report).items():
        files.write_text(directory / path, text)
    for picture in section.pictures(report):
        picture.write(directory / "pictures")
    if section.about:
        files.write_text(directory / "details" / f"{section.name}.md", _alone(section.markdown(report)))


def _alone(markdown: str) -> str:
    """A section as a file of its own, whose title the first heading is."""
    return markdown.replace("## ", "# ", 1) + "\n" if markdown else NOTHING


def _write_local(report: Report, directory: Path) -> None:
    """What stays on this machine."""
    with files.new_directory(directory) as partial:
        for section in report.sections:
            for numbers in section.local_numbers:
                numbers.write(report, partial)
        files.write_text(partial / "index.html", page.render(report, local=True))


def for_dvc(directory: Path, reports: Path) -> None:
    """Put what DVC's own views show at a place that does not depend on profile and data, which dvc.yaml names."""
    for numbers in (numbers for section in SECTIONS for numbers in section.numbers):
        if numbers.for_dvc:
            files.write_text(reports / numbers.name, (directory / numbers.name).read_text(encoding="utf-8"))


def in_short(tables: Sequence[Table], completed: Completed, html: Path) -> str:
    """What a run of the pipeline ends with: the tables that have results, then what to do next."""
    shown = [terminal.render(table, completed) for table in tables if table.scored]
    if absent := len(tables) - len(shown):
        shown.append(f"Without a result of ours, and in the report alone: {absent} more table{'s' * (absent > 1)}.")
    return "\n\n".join([*shown, next_steps(html)])


def next_steps(html: Path) -> str:
    """Three lines: the page to open, the runs to compare, the setting to try."""
    return f"Open the page:     {html.resolve().as_uri()}\nCompare the runs:  make mlflow\nChange something:  {TRY}"
