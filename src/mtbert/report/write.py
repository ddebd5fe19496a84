"""The whole report: its sections as Markdown, files of numbers, pictures, and the page of all of them."""

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtbert import files
from mtbert.errors import DataError, first_of
from mtbert.judge import STUDY, Judgement
from mtbert.judge.groups import Groups
from mtbert.report import (
    answer_section,
    catalog_section,
    markdown,
    next_section,
    numbers,
    page,
    paper_tables,
    terminal,
    training_section,
)
from mtbert.report.page import PageSection
from mtbert.report.paper_tables import Table
from mtbert.report.pictures import embeddings, labels, losses, misses
from mtbert.report.pictures import tasks as task_pictures
from mtbert.scores.columns import Frame
from mtbert.scores.described import About
from mtbert.scores.results import Results

EVIDENCE, THIRD = "evidence", "third"  # folders of tables beside a report, which a new report leaves as they are
OWN_FILES = {"README.md", "index.html", "results.csv"}  # that each report has
FILES_OF_REPORTS = OWN_FILES | {"summary.json", "scores.csv", "claims.csv", "pictures"}  # that a report may have
BEST_EPOCH = {  # what is said of run.keep `best`, by run.selection
    # Of older evidence alone.
    "cross": "Each half of dev is scored with the epoch that is the best on the other half.",
    "half": "The best epoch on one half of dev is kept; dev scores are of the other half.",
    "spared": "Held-out training rows choose the epoch: the last one within a standard error of the best. Dev chooses "
    "nothing.",
    "whole": "The best epoch on dev is kept, as the papers have it, so dev scores are a little too good.",
}
FILES = (
    "## Files\n\n**[index.html](index.html)** is this report as one page, offline. [results.csv](results.csv) has a "
    "line for each run."
)


@dataclass(frozen=True)
class Addition:
    """What others than this package add to a report.

    Attributes:
        first: text of the first section, behind the answer.
        sections: those behind the tables.
        numbers: tables by the name of their file.
    """

    first: str = ""
    sections: Sequence[PageSection] = ()
    numbers: Mapping[str, Frame] = field(default_factory=dict)


def write(
    judgement: Judgement,
    directory: Path,
    sentences: Mapping[str, Sequence[str]] | None = None,
    interim: str = "",
    add: Callable[[Path], Addition] = lambda folder: Addition(),
    grouped: Mapping[str, Groups] | None = None,
) -> str:
    """Write the report of what was judged anew; evidence that lies in its folder stays.

    Args:
        judgement: of the whole budget.
        directory: the report's folder.
        sentences: those of dev, if they may be shown.
        interim: what a report says first while trainings go on; empty once all are done.
        add: draws pictures into the report's folder, and returns what is added.
        grouped: groups of dev rows by task, for one's own tasks.

    Returns:
        The tables that have results and what to do next, for the terminal.

    Raises:
        DataError: the directory holds something else than a report.
    """
    _refuse_others(directory)
    with files.new_directory(directory) as partial:
        addition = add(partial)
        _write_numbers(judgement, addition, partial)
        every = [
            *_first_sections(judgement, addition, partial, interim),
            PageSection(
                "next", next_section.TITLE, next_section.render(judgement.results, judgement.answer, grouped or {})
            ),
            *_sections_of_pictures(judgement, sentences or {}, partial),
        ]
        sections = [section for section in every if section.body]
        files.write_text(partial / "index.html", page.render(sections, partial))
        text = "\n\n".join([*(section.markdown for section in sections), FILES])
        files.write_text(partial / "README.md", f"{text.removeprefix('#')}\n")
        _keep_evidence(directory, partial)
    return terminal.in_short(judgement, directory / "index.html", interim)


def _refuse_others(directory: Path) -> None:
    """Raise DataError if the folder, which a report replaces whole, holds something else than report or evidence."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise DataError(f"{directory} is no folder; --out names a folder")
    there = [*directory.iterdir()] if directory.exists() else []
    names = {file.name for file in there if not file.name.startswith(".")} - {EVIDENCE, THIRD}
    if names and not names >= OWN_FILES:
        raise DataError(
            f"{directory} holds {first_of(sorted(names), 3)} and no report; the report would take its place. "
            "--out names another folder"
        )
    if others := sorted(names - FILES_OF_REPORTS):
        raise DataError(
            f"{directory} holds {first_of(others, 3)} beside a report, whose folder is written anew; move them, or "
            "name another folder with --out"
        )


def _keep_evidence(directory: Path, partial: Path) -> None:
    """Copy the evidence of a report's folder into the one that takes its place, which a full disk may yet prevent."""
    for name in (EVIDENCE, THIRD):
        if (directory / name).is_dir():
            shutil.copytree(directory / name, partial / name)


def _first_sections(judgement: Judgement, addition: Addition, folder: Path, interim: str) -> Iterator[PageSection]:
    """Yield the sections of text in order, and draw their pictures; a new one is a line here."""
    results, which_way = judgement.results, judgement.answer
    tables, checked = paper_tables.tables(judgement), training_section.rows(judgement)
    which_way_text = ""
    if which_way is not None:
        which_way_text = answer_section.render(which_way, folder, judgement.confirmation)
        tables = [table for table in tables if table.paper != STUDY]  # the answer has that one
    first = [interim, training_section.headline(results, checked), which_way_text, addition.first]
    title = f"Results: {_size(results)}, on {results.data.name}"
    yield PageSection("results", title, _results(results, first))
    yield PageSection("tables", "Tables", _tables(judgement, tables))
    yield from addition.sections
    if which_way is not None:
        tried = answer_section.trials(which_way.plan)
        yield PageSection("tuning", "Learning rates that were tried", tried, folded=True)
    yield PageSection("trained", training_section.TITLE, training_section.render(results, checked), folded=True)
    yield PageSection("costs", "Scores and weights", paper_tables.costs(judgement), folded=True)


def _sections_of_pictures(
    judgement: Judgement, sentences: Mapping[str, Sequence[str]], folder: Path
) -> Iterator[PageSection]:
    """Yield the sections that are mostly pictures in order, and draw these; a new one is a line here."""
    results = judgement.results
    each_task = task_pictures.render(results, judgement.answer, folder, sentences)
    yield PageSection("tasks", "Each task", each_task, folded=results.is_comparable)
    yield PageSection("training", "Training loss", losses.render(results, folder))
    yield PageSection("misses", "Misses", misses.render(results, folder))
    yield PageSection("embeddings", "Embeddings", embeddings.render(results, folder))
    yield PageSection("data", "Data", labels.render(results, folder))


def _results(results: Results, first: Sequence[str]) -> str:
    """Return the first section: what comes first, and what to know before reading the scores."""
    notes = "\n".join(f"- {note}" for note in _notes(results))
    parts = [*first, _trained(results), notes]
    return "\n\n".join(filter(None, parts))


def _trained(results: Results) -> str:
    """Return what was trained, on what, from where and by which profile."""
    encoder = markdown.literal(results.starting_weights.name)
    data = markdown.literal(results.data.name)
    profile = markdown.literal(results.profile)
    return f"{_size(results)} each, trained on {data} from the encoder {encoder}, profile {profile}."


def _size(results: Results) -> str:
    """Return how many variants were trained, and with how many seeds."""
    variants = sum(not about.members for about in results.about.values())
    counts = [len(seeds) for seeds in results.seeds.values()]
    fewest, most = min(counts), max(counts)
    seeds = str(most) if fewest == most else f"{fewest} to {most}"
    return f"{variants} variant{'s' * (variants > 1)}, {seeds} seed{'s' * (most > 1)}"


def _notes(results: Results) -> Iterator[str]:
    """Yield what to know before reading the scores."""
    data, encoder = results.data, results.starting_weights.name
    if data.kind == "sample":
        yield "**Generated sentences.** They show that the machinery works, and say nothing of the methods."
    if data.faults:
        yield f"**Data**: {'; '.join(map(markdown.literal, data.faults))}."
    if max(map(len, results.seeds.values())) == 1:
        yield "**One seed.** Another gives other scores; that one variant is better cannot be concluded."
    if results.is_comparable and encoder != "bert-base-uncased":
        yield "**Another encoder** than the papers' `bert-base-uncased`: compare differences, not scores."
    yield from _kept_epochs(results)
    if origins := _origins(results):
        yield f"**Trained apart**: {'; '.join(origins)}."
    if changes := _changes(results):
        yield f"**Changed settings**: {', '.join(changes)}."


def _kept_epochs(results: Results) -> Iterator[str]:
    """Yield which epoch is kept and which rows are scored: first what holds for most, then the others by name."""
    names_by_rule: dict[str, list[str]] = {}
    for name, about in results.about.items():
        if not about.members:  # those of an ensemble are named themselves
            names_by_rule.setdefault(_kept_epoch(about), []).append(name)
    by_frequency = sorted(names_by_rule.items(), key=lambda item: -len(item[1]))
    for number, (rule, names) in enumerate(by_frequency):
        yield rule if number == 0 else f"**Scored in another way**, {', '.join(names)}: {rule}"


def _kept_epoch(about: About) -> str:
    if about.keep == "best":
        return BEST_EPOCH[about.selection]
    scored_on = "; dev scores are of one half of the set" if about.selection == "half" else ""
    return f"The last epoch is kept{scored_on}."


def _origins(results: Results) -> list[str]:
    """Return in which precision and on which machine models were trained, those of the most first; none where alike."""
    names_by_origin: dict[str, list[str]] = {}
    for (precision, machine), runs in results.trained.groupby(["precision", "machine"], sort=False):
        origin = f"in {precision} on {markdown.literal(str(machine))}"
        names_by_origin[origin] = list(dict.fromkeys(runs["variant"].astype(str)))
    if len(names_by_origin) < 2:
        return []
    (most, _), *others = sorted(names_by_origin.items(), key=lambda item: -len(item[1]))
    return [f"most {most}", *(f"{', '.join(names)} {origin}" for origin, names in others)]


def _changes(results: Results) -> list[str]:
    """Return the changed settings; those of some variants alone with their names."""
    variants_by_change: dict[str, list[str]] = {}
    for name, runs in results.trained.groupby(level="variant", sort=False):
        for change in filter(None, runs["overrides"].fillna("").iloc[0].split("; ")):
            variants_by_change.setdefault(markdown.literal(change), []).append(str(name))
    changes: list[str] = []
    for change, names in variants_by_change.items():
        changes.append(change if len(names) == len(results.about) else f"{change} ({', '.join(names)})")
    return changes


def _tables(judgement: Judgement, tables: Sequence[Table]) -> str:
    """Return the papers' tables with ours, and the differences of one's own variants."""
    texts = [*(paper_tables.render(table, judgement) for table in tables), catalog_section.render(judgement)]
    texts = [text for text in texts if text]
    return "\n\n".join([paper_tables.about(judgement.results.tasks), *texts]) if texts else ""


def _write_numbers(judgement: Judgement, addition: Addition, directory: Path) -> None:
    means = numbers.means(judgement)
    files.write_json(directory / "summary.json", numbers.summary(means, judgement.results.tasks))
    _write_csv(directory / "results.csv", numbers.runs(judgement.results), "%.6f")
    _write_csv(directory / "scores.csv", numbers.bars(means))
    for name, table in addition.numbers.items():
        _write_csv(directory / name, table, "%.6g")


def _write_csv(file: Path, table: Frame, digits: str | None = None) -> None:
    files.write_text(file, table.to_csv(index=False, float_format=digits, lineterminator="\n"))
