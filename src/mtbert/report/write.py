"""The whole report: its sections as Markdown, files of numbers, pictures, and the page of all of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mtbert import files
from mtbert.claims import ClaimResult
from mtbert.errors import DataError, first_of
from mtbert.report import answer, claims, differences, markdown, numbers, page, paper_tables, questions, terminal
from mtbert.report.page import PageSection
from mtbert.report.paper_tables import Table
from mtbert.report.pictures import embeddings, labels, losses, misses
from mtbert.report.pictures import questions as question_picture
from mtbert.report.pictures import tasks as task_pictures
from mtbert.report.sentences import Sentences
from mtbert.report.study import Study
from mtbert.results.tables import Frame, Results

EVIDENCE, THIRD = "evidence", "third"  # folders of tables beside a report, which a new report leaves as they are
KEPT = {  # by run.selection, where run.keep is `best`
    "cross": "Each half of dev is scored with the epoch that is the best on the other half.",
    "half": "The best epoch on one half of dev is kept; dev scores are of the other half.",
    "whole": "The best epoch on dev is kept, as the reports have it, so dev scores are a little too good.",
}
FILES = (
    "## Files\n\n**[index.html](index.html)** is this report as one page, offline. [results.csv](results.csv) has a "
    "line for each run."
)


def write(
    results: Results,
    directory: Path,
    third: Results | None = None,
    readme: Path | None = None,
    sentences: Sentences | None = None,
) -> str:
    """Write the report of results anew; evidence that lies in its folder stays.

    Args:
        results: of the whole budget.
        directory: the report's folder.
        third: of the same variants at a third of the budget, for the steadiness of claims.
        readme: a file that gets the report's first rows, too, between the markers of `mtbert.report.questions`.
        sentences: those of dev, where they may be shown.

    Returns:
        The tables that have results and what to do next, for the terminal.

    Raises:
        DataError: the directory holds something else than a report, `third` has no run of a third of the budget, or
            `readme` has no markers.
    """
    _refuse_others(directory)
    study = Study(results)
    judged, answered = claims.judge(study, None if third is None else Study(third))
    tables = paper_tables.tables(study)
    with files.new_directory(directory) as partial:
        _write_numbers(study, judged, partial)
        question_picture.write(answered, partial)
        which_way = answer.of_study(study)
        first = ""
        further_tables = tables
        if which_way is not None:
            first = answer.render(which_way, partial)
            further_tables = [table for table in tables if table.paper != answer.STUDY]  # the answer has that one
        each_task = task_pictures.render(study, which_way, partial, sentences or {})
        every = [
            *_sections(study, further_tables, judged, _results(study, answered, first)),
            PageSection("tasks", "Each task", each_task, study.is_comparable),
            *_drawn(study, partial),
        ]
        sections = [section for section in every if section.body]
        files.write_text(partial / "index.html", page.render(sections, partial))
        text = "\n\n".join([*(section.markdown for section in sections), FILES])
        files.write_text(partial / "README.md", f"{text.removeprefix('#')}\n")
        for kept in (EVIDENCE, THIRD):
            if (directory / kept).is_dir():
                (directory / kept).rename(partial / kept)
    if readme is not None:
        questions.put(readme, study, answered, directory)
    return terminal.in_short(study, tables, which_way, directory)


def _refuse_others(directory: Path) -> None:
    """Raise DataError where the folder, which a report replaces whole, holds something else than report or evidence."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise DataError(f"{directory} is no folder; --out names a folder")
    there = {file.name for file in directory.iterdir()} if directory.exists() else set()
    if there - {EVIDENCE, THIRD} and not {"README.md", "index.html", "results.csv"} <= there:
        raise DataError(
            f"{directory} holds {first_of(sorted(there), 3)} and no report; the report would take its place. "
            "--out names another folder"
        )


def _sections(
    study: Study,
    tables: Sequence[Table],
    judged: Sequence[ClaimResult],
    first: str,
) -> Iterator[PageSection]:
    """Yield the sections of text in order; a new one is a line here. Those without text are left out."""
    where = "" if study.is_comparable else f", {study.results.data.name}"
    yield PageSection("results", f"Results: profile {study.profile}{where}", first)
    yield PageSection("tables", "Tables", _tables(study, tables))
    yield PageSection("claims", "Claims", claims.render(study, judged))
    yield PageSection("costs", "Scores and weights", paper_tables.costs(study), folded=True)


def _drawn(study: Study, folder: Path) -> Iterator[PageSection]:
    """Yield the sections of pictures in order, and draw these into the report's folder."""
    yield PageSection("training", "Training loss", losses.render(study, folder))
    yield PageSection("misses", "Misses", misses.render(study, folder))
    yield PageSection("embeddings", "Embeddings", embeddings.render(study, folder))
    yield PageSection("data", "Data", labels.render(study, folder))


def _tables(study: Study, tables: Sequence[Table]) -> str:
    """Return the papers' tables with ours, and the differences of one's own variants."""
    rendered = [paper_tables.render(table, study) for table in tables]
    shown = [*filter(None, [*rendered, differences.render(study)])]
    return "\n\n".join([paper_tables.about(study.results.tasks), *shown]) if shown else ""


def _write_numbers(study: Study, judged: Sequence[ClaimResult], directory: Path) -> None:
    means = numbers.means(study)
    files.write_json(directory / "summary.json", numbers.summary(means, study.results.tasks))
    _csv(directory / "results.csv", numbers.runs(study), "%.6f")
    _csv(directory / "scores.csv", numbers.bars(means))
    if judged:
        _csv(directory / "claims.csv", claims.frame(judged), "%.6g")


def _csv(file: Path, table: Frame, digits: str | None = None) -> None:
    files.write_text(file, table.to_csv(index=False, float_format=digits, lineterminator="\n"))


def _results(study: Study, answered: Sequence[ClaimResult], kept: str) -> str:
    """Return the first section: which way to keep, the questions, and what to know before reading the scores."""
    counts = sorted(map(len, study.seeds.values()))
    seeds = " to ".join(dict.fromkeys([str(counts[0]), str(counts[-1])])) + f" seed{'s' * (counts[-1] > 1)}"
    encoder, folder = markdown.literal(study.results.start.name), markdown.literal(study.results.data.name)
    variants = sum(not about.members for about in study.about.values())
    ran = f"{variants} variants, {seeds} each, trained on {folder} from the encoder {encoder}."
    notes = "\n".join(f"- {note}" for note in _notes(study))
    return "\n\n".join(filter(None, [kept, questions.render(study, answered, "pictures"), ran, notes]))


def _notes(study: Study) -> Iterator[str]:
    data, start = study.results.data, study.results.start
    kept = next(iter(study.about.values())).run
    if data.kind == "sample":
        yield "**Generated sentences.** They show that the machinery works, and say nothing of the methods."
    if data.faults:
        yield f"**Data**: {'; '.join(map(markdown.literal, data.faults))}."
    if max(map(len, study.seeds.values())) == 1:
        yield "**One seed.** Another gives other scores; that one variant is better cannot be concluded."
    if study.is_comparable and start.name != "bert-base-uncased":
        yield "**Another encoder** than the reports' `bert-base-uncased`: compare differences, not scores."
    scored_on = "; dev scores are of one half of the set" if kept.selection == "half" else ""
    yield KEPT[kept.selection] if kept.keep == "best" else f"The last epoch is kept{scored_on}."
    if changes := _changes(study):
        yield f"**Changed settings**: {', '.join(changes)}."


def _changes(study: Study) -> list[str]:
    """Return the changed settings; those of some variants alone with their names."""
    changed: dict[str, list[str]] = {}
    for name, runs in study.runs.groupby(level="variant", sort=False):
        for change in filter(None, runs["overrides"].iloc[0].split("; ")):
            changed.setdefault(markdown.literal(change), []).append(str(name))
    lines: list[str] = []
    for change, names in changed.items():
        lines.append(change if len(names) == len(study.about) else f"{change} ({', '.join(names)})")
    return lines
