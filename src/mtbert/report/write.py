"""The whole report: its sections as Markdown, files of numbers, pictures, and the page of all of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mtbert import files
from mtbert.claims import ClaimResult
from mtbert.errors import DataError, first_of
from mtbert.report import (
    answer,
    answer_section,
    claims,
    differences,
    markdown,
    numbers,
    page,
    paper_tables,
    questions,
    terminal,
    training_section,
)
from mtbert.report import confirmation as confirmations
from mtbert.report.answer import Answer, Plan
from mtbert.report.claims import Judged
from mtbert.report.confirmation import Confirmation
from mtbert.report.page import PageSection
from mtbert.report.paper_tables import Table
from mtbert.report.pictures import embeddings, labels, losses, misses
from mtbert.report.pictures import questions as question_picture
from mtbert.report.pictures import tasks as task_pictures
from mtbert.report.scoreboard import Scoreboard
from mtbert.report.sentences import Sentences
from mtbert.report.training_check import TrainingCheck
from mtbert.report.training_section import CheckedRow
from mtbert.scores.columns import Frame
from mtbert.scores.described import KeptEpoch
from mtbert.scores.results import Results

EVIDENCE, THIRD = "evidence", "third"  # folders of tables beside a report, which a new report leaves as they are
OWN_FILES = {"README.md", "index.html", "results.csv"}  # that each report has
BEST_EPOCH = {  # what is said of run.keep `best`, by run.selection
    "cross": "Each half of dev is scored with the epoch that is the best on the other half.",
    "half": "The best epoch on one half of dev is kept; dev scores are of the other half.",
    "spared": "The last epoch within a standard error of the best one is kept, by training rows that no model learns "
    "from; dev chooses nothing.",
    "whole": "The best epoch on dev is kept, as the papers have it, so dev scores are a little too good.",
}
FILES = (
    "## Files\n\n**[index.html](index.html)** is this report as one page, offline. [results.csv](results.csv) has a "
    "line for each run."
)


class Conclusions(NamedTuple):
    """Which way to keep, which rows are trained well enough, and what test says of the way to keep.

    Attributes:
        check: of any row.
        checked: every way and every other row of models.
    """

    check: TrainingCheck
    which_way: Answer | None
    checked: list[CheckedRow]
    confirmation: Confirmation | None


def write(
    results: Results,
    directory: Path,
    third: Results | None = None,
    readme: Path | None = None,
    sentences: Sentences | None = None,
    plan: Plan = answer.UNKNOWN,
    interim: str = "",
) -> str:
    """Write the report of results anew; evidence that lies in its folder stays.

    Args:
        results: of the whole budget.
        directory: the report's folder.
        third: of the same variants at a third of the budget, to show how differences move with it.
        readme: a file that gets the report's first rows, too, between the markers of `mtbert.report.questions`.
        sentences: those of dev, if they may be shown.
        plan: what the results are a part of, if that is known.
        interim: what a report says first while trainings go on; empty once all are done.

    Returns:
        The tables that have results and what to do next, for the terminal.

    Raises:
        DataError: the directory holds something else than a report, `third` has no run of a third of the budget, or
            `readme` has no markers.
    """
    _refuse_others(directory)
    board = Scoreboard(results)
    judged = claims.judge(board, third)
    tables = paper_tables.tables(board)
    conclusions = _conclusions(board, plan)
    with files.new_directory(directory) as partial:
        _write_numbers(board, judged.claims, partial)
        every = [
            *_first_sections(board, tables, judged, conclusions, partial, interim),
            *_sections_of_pictures(board, conclusions.which_way, sentences or {}, partial),
        ]
        sections = [section for section in every if section.body]
        files.write_text(partial / "index.html", page.render(sections, partial))
        text = "\n\n".join([*(section.markdown for section in sections), FILES])
        files.write_text(partial / "README.md", f"{text.removeprefix('#')}\n")
        _keep_evidence(directory, partial)
    if readme is not None:
        questions.put(readme, board, judged.questions, directory)
    return _in_short(board, tables, conclusions, directory, interim)


def in_short(results: Results, directory: Path, plan: Plan = answer.UNKNOWN) -> str:
    """Return what a terminal shows of results: the tables that have any, the answer, and what to do next.

    `directory` is the folder of the report; other arguments as for `write`.
    """
    board = Scoreboard(results)
    return _in_short(board, paper_tables.tables(board), _conclusions(board, plan), directory, "")


def _in_short(
    board: Scoreboard, tables: Sequence[Table], conclusions: Conclusions, directory: Path, interim: str
) -> str:
    _, which_way, checked, confirmation = conclusions
    headlines = [training_section.headline(board, checked)]
    if which_way is not None:
        headlines += answer_section.headlines(which_way, confirmation)
    return terminal.in_short(board, tables, which_way, headlines, directory, interim)


def _conclusions(board: Scoreboard, plan: Plan) -> Conclusions:
    """Draw them; test is looked at once, when all seeds that were asked for are there."""
    check = TrainingCheck(board)
    which_way = answer.of_board(board, check, plan)
    is_last = which_way is not None and not which_way.is_interim
    confirmation = confirmations.look(which_way) if which_way is not None and is_last else None
    return Conclusions(check, which_way, training_section.rows(board, which_way, check), confirmation)


def _refuse_others(directory: Path) -> None:
    """Raise DataError if the folder, which a report replaces whole, holds something else than report or evidence."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise DataError(f"{directory} is no folder; --out names a folder")
    names = {file.name for file in directory.iterdir()} if directory.exists() else set()
    if names - {EVIDENCE, THIRD} and not names >= OWN_FILES:
        raise DataError(
            f"{directory} holds {first_of(sorted(names), 3)} and no report; the report would take its place. "
            "--out names another folder"
        )


def _keep_evidence(directory: Path, partial: Path) -> None:
    """Move the evidence of a report's folder into the one that takes its place."""
    for name in (EVIDENCE, THIRD):
        if (directory / name).is_dir():
            (directory / name).rename(partial / name)


def _first_sections(
    board: Scoreboard,
    tables: Sequence[Table],
    judged: Judged,
    conclusions: Conclusions,
    folder: Path,
    interim: str,
) -> Iterator[PageSection]:
    """Yield the sections of text in order, and draw their pictures; a new one is a line here."""
    check, which_way, checked, confirmation = conclusions
    which_way_text = ""
    if which_way is not None:
        which_way_text = answer_section.render(which_way, folder, confirmation)
        tables = [table for table in tables if table.paper != answer.STUDY]  # the answer has that one
    question_picture.write(judged.questions, folder)
    first = [interim, training_section.headline(board, checked), which_way_text]
    results = _results(board, first, judged.questions)
    yield PageSection("results", f"Results: {_size(board)}, on {board.results.data.name}", results)
    yield PageSection("tables", "Tables", _tables(board, tables, check))
    yield PageSection("claims", "Claims", claims.render(board, judged.claims))
    if which_way is not None:
        tried = answer_section.trials(which_way.plan)
        yield PageSection("tuning", "Learning rates that were tried", tried, folded=True)
    yield PageSection("trained", training_section.TITLE, training_section.render(board, checked), folded=True)
    yield PageSection("costs", "Scores and weights", paper_tables.costs(board), folded=True)


def _sections_of_pictures(
    board: Scoreboard, which_way: Answer | None, sentences: Sentences, folder: Path
) -> Iterator[PageSection]:
    """Yield the sections that are mostly pictures in order, and draw these; a new one is a line here."""
    each_task = task_pictures.render(board, which_way, folder, sentences)
    yield PageSection("tasks", "Each task", each_task, folded=board.is_comparable)
    yield PageSection("training", "Training loss", losses.render(board, folder))
    yield PageSection("misses", "Misses", misses.render(board, folder))
    yield PageSection("embeddings", "Embeddings", embeddings.render(board, folder))
    yield PageSection("data", "Data", labels.render(board, folder))


def _results(board: Scoreboard, first: Sequence[str], questions_judged: Sequence[ClaimResult]) -> str:
    """Return the first section: what comes first, the questions, and what to know before reading the scores."""
    notes = "\n".join(f"- {note}" for note in _notes(board))
    parts = [*first, questions.render(board, questions_judged, "pictures"), _trained(board), notes]
    return "\n\n".join(filter(None, parts))


def _trained(board: Scoreboard) -> str:
    """Return what was trained, on what, from where and by which profile."""
    encoder = markdown.literal(board.results.starting_weights.name)
    data = markdown.literal(board.results.data.name)
    profile = markdown.literal(board.profile)
    return f"{_size(board)} each, trained on {data} from the encoder {encoder}, profile {profile}."


def _size(board: Scoreboard) -> str:
    """Return how many variants were trained, and with how many seeds."""
    variants = sum(not about.members for about in board.about.values())
    counts = [len(seeds) for seeds in board.seeds.values()]
    fewest, most = min(counts), max(counts)
    seeds = str(most) if fewest == most else f"{fewest} to {most}"
    return f"{variants} variant{'s' * (variants > 1)}, {seeds} seed{'s' * (most > 1)}"


def _notes(board: Scoreboard) -> Iterator[str]:
    """Yield what to know before reading the scores."""
    data, encoder = board.results.data, board.results.starting_weights.name
    if data.kind == "sample":
        yield "**Generated sentences.** They show that the machinery works, and say nothing of the methods."
    if data.faults:
        yield f"**Data**: {'; '.join(map(markdown.literal, data.faults))}."
    if max(map(len, board.seeds.values())) == 1:
        yield "**One seed.** Another gives other scores; that one variant is better cannot be concluded."
    if board.is_comparable and encoder != "bert-base-uncased":
        yield "**Another encoder** than the papers' `bert-base-uncased`: compare differences, not scores."
    yield from _kept_epochs(board)
    if origins := _origins(board):
        yield f"**Trained apart**: {'; '.join(origins)}."
    if changes := _changes(board):
        yield f"**Changed settings**: {', '.join(changes)}."


def _kept_epochs(board: Scoreboard) -> Iterator[str]:
    """Yield which epoch is kept and which rows are scored: first what holds for most, then the others by name."""
    names_by_rule: dict[str, list[str]] = {}
    for name, about in board.about.items():
        if not about.members:  # those of an ensemble are named themselves
            names_by_rule.setdefault(_kept_epoch(about.run), []).append(name)
    by_frequency = sorted(names_by_rule.items(), key=lambda item: -len(item[1]))
    for number, (rule, names) in enumerate(by_frequency):
        yield rule if number == 0 else f"**Scored in another way**, {', '.join(names)}: {rule}"


def _kept_epoch(run: KeptEpoch) -> str:
    if run.keep == "best":
        return BEST_EPOCH[run.selection]
    scored_on = "; dev scores are of one half of the set" if run.selection == "half" else ""
    return f"The last epoch is kept{scored_on}."


def _origins(board: Scoreboard) -> list[str]:
    """Return in which precision and on which machine models were trained, those of the most first; none where alike."""
    names_by_origin: dict[str, list[str]] = {}
    for (precision, machine), runs in board.runs.groupby(["precision", "machine"], sort=False):
        origin = f"in {precision} on {markdown.literal(str(machine))}"
        names_by_origin[origin] = list(dict.fromkeys(runs["variant"].astype(str)))
    if len(names_by_origin) < 2:
        return []
    (most, _), *others = sorted(names_by_origin.items(), key=lambda item: -len(item[1]))
    return [f"most {most}", *(f"{', '.join(names)} {origin}" for origin, names in others)]


def _changes(board: Scoreboard) -> list[str]:
    """Return the changed settings; those of some variants alone with their names."""
    variants_by_change: dict[str, list[str]] = {}
    for name, runs in board.runs.groupby(level="variant", sort=False):
        for change in filter(None, runs["overrides"].iloc[0].split("; ")):
            variants_by_change.setdefault(markdown.literal(change), []).append(str(name))
    changes: list[str] = []
    for change, names in variants_by_change.items():
        changes.append(change if len(names) == len(board.about) else f"{change} ({', '.join(names)})")
    return changes


def _tables(board: Scoreboard, tables: Sequence[Table], check: TrainingCheck) -> str:
    """Return the papers' tables with ours, and the differences of one's own variants."""
    texts = [*(paper_tables.render(table, board, check) for table in tables), differences.render(board)]
    texts = [text for text in texts if text]
    return "\n\n".join([paper_tables.about(board.results.tasks), *texts]) if texts else ""


def _write_numbers(board: Scoreboard, judged: Sequence[ClaimResult], directory: Path) -> None:
    means = numbers.means(board)
    files.write_json(directory / "summary.json", numbers.summary(means, board.results.tasks))
    _write_csv(directory / "results.csv", numbers.runs(board), "%.6f")
    _write_csv(directory / "scores.csv", numbers.bars(means))
    if judged:
        _write_csv(directory / "claims.csv", claims.frame(judged), "%.6g")


def _write_csv(file: Path, table: Frame, digits: str | None = None) -> None:
    files.write_text(file, table.to_csv(index=False, float_format=digits, lineterminator="\n"))
