"""What a report holds, and what one section shows of it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import pandas as pd

from mtbert import files
from mtbert.outputs import Untrained
from mtbert.reporting import catalog, claims, costs, mistakes, published, results, sentences, tables, verdicts
from mtbert.reporting.catalog import Completed
from mtbert.reporting.claims import Claims, Verdict
from mtbert.reporting.costs import Cost
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.pictures import DATA, EVERYTHING, Picture
from mtbert.reporting.results import Run, Score, Weights
from mtbert.reporting.tables import Table

Made = TypeVar("Made")


class Report:
    """Everything that a report shows of a build directory; each value is read or computed once, when it is asked for.

    Attributes:
        build: holds plan, runs, ensembles, logs and, where they are there, data and encoders.
        completed: what was asked for, and what has run of it.
        sections: what the report is made of, in order.
        made: by function, what `once` keeps.
    """

    def __init__(self, build: Path, completed: Completed, sections: Sequence["Section"]) -> None:
        self.build, self.completed, self.sections = build, completed, sections
        self.made: dict[Callable[[Report], Any], Any] = {}

    @classmethod
    def read(cls, build: Path, sections: Sequence["Section"]) -> Self:
        """The report of a build directory; the errors are those of `catalog.read_completed`."""
        return cls(build, catalog.read_completed(build), sections)

    @cached_property
    def scores(self) -> list[Score]:
        """Every score of every run."""
        return results.scores(self.build, self.completed)

    @cached_property
    def weights(self) -> dict[str, Weights]:
        """Numbers of weights by variant or ensemble."""
        return results.weights(self.build, self.completed)

    @cached_property
    def runs(self) -> list[Run]:
        """How each training went."""
        return results.runs(self.build, self.completed)

    @cached_property
    def evidence(self) -> Evidence:
        """Dev scores with their resamples."""
        return Evidence(self.build, self.completed)

    @cached_property
    def faulty(self) -> frozenset[str]:
        """The variants and ensembles of which code with a known fault trained a model."""
        return self.evidence.conducts.of_faulty_code()

    @cached_property
    def claims(self) -> Claims:
        """What the papers claim."""
        return claims.load()

    @cached_property
    def tables(self) -> list[Table]:
        """Ours beside the papers', each row of no faulty code compared with its table's baseline."""
        beside = tables.compare(published.load(), self.completed, self.scores, self.weights)
        compared = tables.against(tables.marked(beside, self.faulty), self.evidence, self.claims.baselines)
        return tables.beside_untrained(compared, self.untrained)

    @cached_property
    def untrained(self) -> Untrained | None:
        """What the encoder knows before any training; None where it was not measured."""
        return results.untrained(self.build)

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """What our runs say of each claim."""
        asked = list(self.claims.claims.values())
        if self.completed.own_data:
            asked = [claims.without_published(claim) for claim in asked]
        return verdicts.judge(self.evidence, asked)

    @cached_property
    def costs(self) -> list[Cost]:
        """Weights, time and scores of each variant and ensemble."""
        return costs.of(self.completed, self.scores, self.weights, self.runs, self.faulty)

    @cached_property
    def answers(self) -> dict[str, dict[str, Answers]]:
        """What was said of dev rows, by task and variant or ensemble."""
        return mistakes.answers(self.build, self.completed)

    @cached_property
    def pictures(self) -> list[Picture]:
        """Of all sections: those of everything, then paper by paper, then those of the data."""
        papers = dict.fromkeys(entry.paper for entry in self.completed.ran)
        order = [EVERYTHING, *papers, DATA]
        pictures = [picture for section in self.sections for picture in section.pictures(self)]
        return sorted(pictures, key=lambda picture: order.index(picture.of))

    def marked(self, lines: pd.DataFrame) -> pd.DataFrame:
        """The lines, each of a variant or ensemble, with a last column that says whether it is `faulty`."""
        return lines.assign(faulty=lines["variant"].isin(list(self.faulty)))

    def with_sentences(self, local: bool) -> bool:
        """Whether sentences of the data may be shown; on a page that stays on this machine they always may."""
        return local or sentences.may_be_committed(self.completed)


def once(make: Callable[[Report], Made]) -> Callable[[Report], Made]:
    """Decorate a function that a section calls in several places: it is run once for each report."""

    @wraps(make)
    def kept(report: Report) -> Made:
        if make not in report.made:
            report.made[make] = make(report)
        return report.made[make]

    return kept


@dataclass(frozen=True)
class Numbers:
    """A file of numbers.

    Attributes:
        name: of the file, which ends in `.csv`, or in `.json` where `make` gives no table.
        make: what it holds.
        digits: how fractions are written, such as `%.6f`; empty for all digits.
        kind: `measured` where the numbers are of runs, `compared` where they come of holding runs against one another;
            `plotted` where they are for DVC's plots alone, so that the README does not list them.
        for_dvc: whether DVC's views show the file, so that dvc.yaml names it.
    """

    name: str
    make: Callable[[Report], pd.DataFrame | Mapping[str, Any]]
    digits: str = ""
    kind: Literal["measured", "compared", "plotted"] = "measured"
    for_dvc: bool = False

    def write(self, report: Report, directory: Path) -> None:
        """Write the file."""
        content = self.make(report)
        if isinstance(content, pd.DataFrame):
            files.write_text(directory / self.name, csv_text(content, self.digits))
        else:
            files.write_json(directory / self.name, content)


def csv_text(table: pd.DataFrame, digits: str) -> str:
    """A table as CSV, with fractions as `Numbers.digits` says."""
    return table.to_csv(index=False, lineterminator="\n", float_format=digits or None)


@dataclass(frozen=True)
class Part:
    """A section's part of the page. Where the page stays on this machine, the functions are called with `local`.

    Attributes:
        template: name of the HTML template beside the section's file; empty to show the section's Markdown.
        values: what the template shows, by name.
        figures: what page.js draws, by the name that the template's `plot` has.
        choices: the tables that page.js shows one of, by the name in the template's `data-table`.
        rows: ids of dev rows, by task, of which page.js shows the sentences.
    """

    template: str = ""
    values: Callable[[Report, bool], Mapping[str, Any]] = lambda _, __: {}
    figures: Callable[[Report, bool], Mapping[str, Any]] = lambda _, __: {}
    choices: Callable[[Report], Mapping[str, Any]] = lambda _: {}
    rows: Callable[[Report], Mapping[str, Collection[str]]] = lambda _: {}


@dataclass(frozen=True)
class Section:
    """One section of the report. All but its name can be left out.

    Attributes:
        name: of its file below `details`, and of its place in the page.
        title: in the page's list of sections; empty for a section that has no place of its own there.
        about: what its file below `details` holds, for the README; empty where there is no such file.
        markdown: what that file holds, from a heading `## ` on; empty where there is nothing to tell.
        numbers: its files of numbers.
        local_numbers: those beside the page that stays on this machine, which may tell of the clock.
        files: further files, by their path in the report, and their text.
        readme: its paragraphs in the README.
        pictures: what it draws.
        part: of the page.
        inside: name of the section in whose part of the page its Markdown stands, too.
    """

    name: str
    title: str = ""
    about: str = ""
    markdown: Callable[[Report], str] = lambda _: ""
    numbers: tuple[Numbers, ...] = ()
    local_numbers: tuple[Numbers, ...] = ()
    files: Callable[[Report], Mapping[str, str]] = lambda _: {}
    readme: Callable[[Report], Sequence[str]] = lambda _: ()
    pictures: Callable[[Report], Iterable[Picture]] = lambda _: ()
    part: Part = field(default_factory=Part)
    inside: str = ""
