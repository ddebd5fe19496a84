"""The whole report: its sections as Markdown, files of numbers, pictures, and the page of all of them."""

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mtbert import files
from mtbert.claims import ClaimResult
from mtbert.errors import DataError, first_of
from mtbert.report import beside, claims, costs, curves, data, markdown, misses, page, pictures, published, terminal
from mtbert.report.beside import Table
from mtbert.report.pictures import Picture
from mtbert.report.study import Study
from mtbert.results.tables import Frame, Results

EVIDENCE = "evidence"  # a folder of tables beside a report, which a new report leaves as it is
SCORES, TABLE = "%.6f", "%.6g"
LEADERS = 10


@dataclass
class Report:
    """What the sections are made of."""

    study: Study
    tables: list[Table]
    claims: list[ClaimResult]
    leakage: Frame
    pictures: list[Picture] = field(default_factory=list)


def _tables(report: Report) -> str:
    every = [beside.render(table, report.study) for table in report.tables]
    return "\n\n".join(["## Tables", beside.ABOUT, *(f"#{one}" for one in every)])


def _pictures(report: Report) -> str:
    shown = [f"**{one.title}**\n\n![{one.title}](pictures/{one.name}.png)" for one in report.pictures]
    return "\n\n".join(["## Pictures", *shown]) if shown else ""


# A section is a line here: the name of its file below `details`, and what returns its Markdown; empty text for none.
SECTIONS: dict[str, Callable[[Report], str]] = {
    "claims": lambda report: claims.render(report.study, report.claims),
    "tables": _tables,
    "costs": lambda report: costs.render(report.study),
    "trainings": lambda report: costs.trainings(report.study),
    "data": lambda report: data.render(report.study),
    "leakage": lambda report: data.render_leakage(report.study, report.leakage),
    "misses": lambda report: misses.render(report.study),
    "pictures": _pictures,
}


def write(results: Results, directory: Path, third: Results | None = None) -> str:
    """Write the report of results anew; evidence that lies in its folder stays.

    Args:
        results: of all of the budget.
        directory: the report's folder.
        third: of the same variants at a third of the budget, for the steadiness of claims.

    Returns:
        The tables that have results and what to do next, for the terminal.

    Raises:
        DataError: the directory holds something else than a report, or `third` has no run of a third of the budget.
    """
    _refuse_others(directory)
    study = Study(results)
    judged = claims.judge(study, None if third is None else Study(third))
    report = Report(study, beside.tables(study, published.load()), judged, data.leakage(study))
    report.pictures = list(pictures.all_of(study, report.claims))
    with files.new_directory(directory) as partial:
        for picture in report.pictures:
            picture.write(partial / "pictures")
        _write_numbers(report, partial)
        sections = {name: text for name, render in SECTIONS.items() if (text := render(report))}
        for name, text in sections.items():
            alone = text.replace("](pictures/", "](../pictures/").replace("## ", "# ", 1)
            files.write_text(partial / "details" / f"{name}.md", f"{alone}\n")
        readme = _readme(report, list(sections))
        files.write_text(partial / "README.md", f"{readme}\n")
        title = f"Results: profile {study.profile}"
        summary = readme.partition("\n## The rest")[0].replace("# ", "## ", 1)
        files.write_text(partial / "index.html", page.render(title, {"summary": summary} | sections, partial))
        if (directory / EVIDENCE).is_dir():
            (directory / EVIDENCE).rename(partial / EVIDENCE)
    return terminal.in_short(report.tables)


def _refuse_others(directory: Path) -> None:
    """A report takes the place of its whole folder, so that must be empty or hold a report, or evidence alone."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise DataError(f"{directory} is no folder; --out names a folder")
    there = {file.name for file in directory.iterdir()} if directory.exists() else set()
    if there - {EVIDENCE} and not {"README.md", "index.html", "details"} <= there:
        raise DataError(
            f"{directory} holds {first_of(sorted(there), 3)} and no report; the report would take its place. "
            "--out names another folder"
        )


def _write_numbers(report: Report, directory: Path) -> None:
    means = costs.summary(report.study)
    files.write_json(directory / "summary.json", means)
    _csv(directory / "results.csv", costs.runs(report.study), SCORES)
    _csv(directory / "scores.csv", costs.bars(means))
    _csv(directory / "curves.csv", curves.losses(report.study))
    _csv(directory / "leakage.csv", report.leakage, SCORES)
    if report.claims:
        _csv(directory / "claims.csv", claims.frame(report.claims), TABLE)
    for table in report.tables:
        _csv(directory / "tables" / f"{table.name}.csv", beside.frame(table), TABLE)


def _csv(file: Path, table: Frame, digits: str | None = None) -> None:
    files.write_text(file, table.to_csv(index=False, float_format=digits, lineterminator="\n"))


def _readme(report: Report, sections: list[str]) -> str:
    study = report.study
    start, name = study.results.start, study.results.data.name
    counts = sorted({len(seeds) for seeds in study.seeds.values()})
    seeds = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    ran = f"{len(study.variants)} variants, {seeds} seed{'' if seeds == '1' else 's'} each"
    encoder, folder = markdown.literal(start.name), markdown.literal(name)
    parts = [
        f"# Results: profile `{study.profile}`",
        f"{ran}, trained on {folder} from the encoder {encoder}. Tables hold the reports' numbers beside ours.",
        "\n".join(f"- {note}" for note in _notes(study)),
        _leaders(study),
        "## The rest",
        "**[index.html](index.html)** is the whole report as one page, offline.",
        "\n".join(f"- [{name}](details/{name}.md)" for name in sections),
        "Numbers: [results.csv](results.csv) has a line for each run; [tables](tables) those of each table.",
        f"## To train it again\n\n```\n{command(study)}\n```",
    ]
    return "\n\n".join(filter(None, parts))


def _notes(study: Study) -> Iterator[str]:
    """What to know before reading the scores."""
    data, start, kept = study.results.data, study.results.start, next(iter(study.about.values())).run
    if data.whose == "sample":
        yield "**Generated sentences.** They show that the machinery works, and say nothing of the methods."
    if max(map(len, study.seeds.values())) == 1:
        yield "**One seed.** Another gives other scores; that one variant is better cannot be concluded."
    if start.name != "bert-base-uncased":
        note = f" {markdown.literal(start.note)}" if start.note else ""
        yield f"**Another encoder** than the reports' `bert-base-uncased`: compare differences, not scores.{note}"
    yield KEPT[kept.keep, kept.selection]
    changed = dict.fromkeys(one for row in study.rows for one in row.overrides)
    if changed:
        yield f"**Changed settings** ({beside.CHANGED}): {markdown.code([markdown.literal(one) for one in changed])}."


KEPT = {  # by run.keep and run.selection
    ("last", "whole"): "The last epoch is kept; dev scores are of the whole set.",
    ("last", "half"): "The last epoch is kept; dev scores are of one half of the set.",
    ("last", "cross"): "The last epoch is kept; dev scores are of the whole set.",
    ("best", "cross"): "Each half of dev is scored with the epoch that is the best on the other half.",
    ("best", "half"): "The best epoch on one half of dev is kept; dev scores are of the other half.",
    ("best", "whole"): "The best epoch on dev is kept, as the reports have it, so dev scores are a little too good.",
}


def _leaders(study: Study) -> str:
    lines = [
        {"variants": markdown.code(row.names)}
        | {"overall": f"{markdown.number(mean.mean)} {markdown.interval(mean.low, mean.high)}".rstrip()}
        | {beside.TIMES_BERT: f"{row.weights['times_bert']:.2f}", "seeds": str(len(row.seeds))}
        for row, mean in list(study.leaders())[:LEADERS]
    ]
    about = "On dev. Rows of different reports differ in more than one thing, and near neighbours may be noise."
    return f"## Highest overall scores\n\n{about}\n\n{markdown.lined(lines)}" if lines else ""


def command(study: Study) -> str:
    """Return the commands that train all of it again, one for each set of seeds."""
    by_seeds: dict[tuple[int, ...], list[str]] = {}
    for name in study.variants:
        by_seeds.setdefault(tuple(study.seeds[name]), []).append(name)
    changed = list(dict.fromkeys(one for row in study.rows for one in row.overrides))
    told = []
    for seeds, names in by_seeds.items():
        settings = [f"profile={study.profile}", f"data_dir={study.results.data.name}", f"variants=[{','.join(names)}]"]
        settings += [f"seeds=[{','.join(map(str, seeds))}]", *changed]
        said = " ".join(["dvc exp run", *(f"-S {shlex.quote(one)}" for one in settings)])
        told.append(markdown.CONTROL.sub(" ", said))
    return "\n".join(told)
