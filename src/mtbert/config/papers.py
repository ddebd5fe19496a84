"""Read papers/*.yaml: all of one paper in one file, its settings, variants, published numbers and claims."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any

import pydantic
from pydantic import Field

import mtbert
from mtbert import files
from mtbert.errors import SettingsError, in_words
from mtbert.scores import metrics
from mtbert.scores.metrics import OVERALLS
from mtbert.settings import Name, Section, one_of
from mtbert.tasks import COURSE, Split

FOLDER = Path(mtbert.__file__).parents[2] / "papers"
Scores = dict[Annotated[str, one_of("metric", (*COURSE, *OVERALLS))], Annotated[float, Field(ge=-1, le=1)]]


class PublishedRow(Section):
    """A row of a paper's table: scores by metric, where an overall is in the scale that is printed, and a note."""

    dev: Scores = {}
    train: Scores = {}
    test: Scores = {}
    note: str = ""

    @property
    def splits(self) -> dict[Split, Scores]:
        """The scores of the splits that have any; with both overalls where all three tasks are there."""
        by_split: dict[Split, Scores] = {"dev": self.dev, "train": self.train, "test": self.test}
        return {split: metrics.overall(scores, COURSE) | scores for split, scores in by_split.items() if scores}


class Paper(Section):
    """One paper; `mtbert.config.sections` checks its presets, variants and ensembles, `mtbert.replication` its claims.

    Attributes:
        title: the name that tables have for it.
        order: its place among the papers, from 1.
        profile: the one profile that its variants are trained with; empty where they are with any.
        presets: by name, what it does in every variant: one of the paper's own name, and others that variants name.
        variants: by name, as entries of `catalog` in params.yaml; here and below the file states no `paper`.
        ensembles: by name.
        tables: their rows by number and label; number `text` for numbers from its text.
        claims: by name, as `mtbert.replication.claims` has them.
    """

    title: str
    order: int = Field(ge=1)
    profile: str = ""
    presets: dict[Name, Any] = {}
    variants: dict[Name, dict[str, Any]] = {}
    ensembles: dict[Name, dict[str, Any]] = {}
    tables: dict[str, dict[str, PublishedRow]] = {}
    claims: dict[Name, dict[str, Any]] = {}


def load(folder: Path = FOLDER) -> dict[str, Paper]:
    """Return the papers by name, in their order; SettingsError with file and key of a fault."""
    return _load(folder.resolve())


@cache
def _load(folder: Path) -> dict[str, Paper]:
    papers: dict[str, Paper] = {}
    for file in sorted(folder.glob("*.yaml")):
        try:
            paper = Paper.model_validate(files.read_yaml(file, "correct it", aliases=True))
        except pydantic.ValidationError as error:
            raise SettingsError(f"{file}: {in_words(error)}") from None
        for key in ("variants", "ensembles", "claims"):
            for name, entry in getattr(paper, key).items():
                if "paper" in entry:
                    raise SettingsError(
                        f"{file}: {key}.{name}.paper: it is {file.stem} by the file's name; leave it out"
                    )
                entry["paper"] = file.stem
        papers[file.stem] = paper
    papers = dict(sorted(papers.items(), key=lambda item: item[1].order))
    _refuse_doubles(folder, papers)
    return papers


def _refuse_doubles(folder: Path, papers: dict[str, Paper]) -> None:
    """Raise SettingsError where two papers have a preset, variant, ensemble or claim of one name."""
    for key in ("presets", "variants", "ensembles", "claims"):
        owners: dict[str, str] = {}
        for paper, content in papers.items():
            for name in getattr(content, key):
                owner = owners.setdefault(name, paper)
                if owner != paper:
                    raise SettingsError(f"{folder / paper}.yaml: {key}.{name}: {owner}.yaml has one of this name, too")
