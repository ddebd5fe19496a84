"""Read the claims of papers/*.yaml: comparisons of variants, each with what the paper expects of it."""

from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from mtbert import files
from mtbert.config import papers
from mtbert.errors import DataError, UnknownNameError, in_words
from mtbert.scores.metrics import OVERALLS
from mtbert.settings import Section, one_of
from mtbert.tasks import COURSE, Tasks, main

COMMON = Path(__file__).with_name("common.yaml")  # margins and questions, for all papers
OVERFITTING = "overfitting"  # overall_normalised on training rows less that on dev
METRICS = (*COURSE, *OVERALLS, OVERFITTING)
RATE = "learning_rate"  # a profile may set it by what is trained: it confounds in some runs, and not in others
Expected = Literal["higher", "lower", "close", "not higher", "not lower"]


def _sequence(value: Any) -> Any:
    """Return a YAML list, or the words of a string, as a tuple; anything else as it is, to be refused."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(value) if isinstance(value, list) else value


Metric = Annotated[str, one_of("metric", METRICS)]
Names = Annotated[tuple[str, ...], pydantic.BeforeValidator(_sequence)]


class Part(Section):
    """One comparison that a claim makes.

    Attributes:
        ours, other: names of the variants (or an ensemble) of each side; several single-task variants make one row.
        metric: a task, an overall, or `overfitting`; `Claim` checks it.
        expects: `higher`: ours is better by more than nothing; `lower`; `close`: apart by less than the margin;
            `not higher`: ours is better by less than the margin, if at all; or `not lower`.
        margin: the smallest difference that matters.
        published: the difference that the paper prints; None if it prints none.
        differs: the settings in which the sides differ because the claim says so. Also allowed: `examples` if it is
            about how much of each task they train, `updates` if it is about how long, `similarity` if it is about a
            technique for similarity.
        confounded: further settings in which they may differ; a part whose runs do is shown, and decides nothing.
    """

    ours: Names
    other: Names
    metric: str
    expects: Expected
    margin: float
    published: float | None = None
    differs: Names = ()
    confounded: Names = ()

    @property
    def is_always_confounded(self) -> bool:
        """Whether the sides differ in more than the claim says under every profile."""
        return bool({*self.confounded} - {RATE})

    @property
    def is_about_similarity(self) -> bool:
        """Whether it is about similarity, which some encoders were trained for: STS, or a technique for similarity."""
        return self.metric == "sts" or "similarity" in self.differs


class Claim(Section):
    """A paper's claim, or one of the questions that the report begins with.

    Attributes:
        source: whose claim it is, where it is not one of the papers'.
        doubt: why what the paper prints may have another cause than the claim says.
    """

    name: str
    paper: str
    source: str = ""
    doubt: str = ""
    section: str = ""
    statement: str
    parts: Annotated[tuple[Part, ...], pydantic.BeforeValidator(_sequence)]

    @property
    def deciding(self) -> list[Part]:
        """The parts that decide on it where no learning rate confounds them."""
        return [part for part in self.parts if not part.is_always_confounded]

    @pydantic.model_validator(mode="after")
    def _has_known_metrics(self) -> "Claim":
        for part in self.parts:
            if part.metric not in METRICS:
                raise UnknownNameError("metric", part.metric, METRICS)
        return self

    @pydantic.model_validator(mode="after")
    def _has_parts_that_decide(self) -> "Claim":
        if not self.deciding:
            raise ValueError("every part is confounded; at least one has to decide")
        return self


class Claims(Section):
    """All claims, and what they have in common.

    Attributes:
        margins: by metric, the smallest difference that matters if a part says nothing else.
        claims: by name, in the papers' order.
        questions: by name, what the report begins with.
    """

    margins: dict[Metric, float]
    claims: dict[str, Claim]
    questions: dict[str, Claim] = {}


def margins(tasks: Tasks) -> dict[str, float]:
    """Return by metric the smallest difference that matters: of a mean the largest of its tasks'."""
    task_margins = {name: task.matters for name, task in tasks.items()}
    return task_margins | dict.fromkeys(OVERALLS, max(task_margins[name] for name in main(tasks)))


def load(folder: Path = papers.FOLDER) -> Claims:
    """Read and check the papers' claims; DataError with every key that is missing, unknown or wrong."""
    claims = {name: claim for paper in papers.load(folder).values() for name, claim in paper.claims.items()}
    try:
        common = files.read_yaml(COMMON)
        every = margins(COURSE) | common["margins"]
        return Claims(**_with_defaults({**common, "margins": every, "claims": claims}))
    except pydantic.ValidationError as error:
        raise DataError(f"papers/*.yaml: {in_words(error)}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"papers/*.yaml have to hold claims with parts: {error!r}") from None


def _with_defaults(content: dict[str, Any]) -> dict[str, Any]:
    """Complete all claims and questions."""
    margins = content["margins"]
    claims = {name: _completed(name, claim, margins) for name, claim in content.get("claims", {}).items()}
    questions = {name: _completed(name, claim, margins) for name, claim in content.get("questions", {}).items()}
    return content | {"claims": claims, "questions": questions}


def _completed(name: str, claim: dict[str, Any], margins: dict[str, float]) -> dict[str, Any]:
    """Give a claim its name, and each part what it lacks: what the claim says for all of them, and a margin."""
    shared = {key: value for key, value in claim.items() if key in Part.model_fields}
    of_claim_alone = {key: value for key, value in claim.items() if key not in Part.model_fields}
    parts: list[dict[str, Any]] = []
    for stated in claim.get("parts", [{}]):
        part = shared | stated
        metric = part.get("metric", "")
        margin = margins.get(metric) if metric in METRICS else 0.0  # `Claim` refuses another metric
        parts.append({"margin": margin} | part)
    return of_claim_alone | {"name": name, "parts": parts}
