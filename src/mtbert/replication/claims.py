"""Read the claims of papers/*.yaml: comparisons of variants, each with what the paper expects of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import pydantic

from mtbert import files
from mtbert.config import papers
from mtbert.errors import DataError, UnknownNameError, in_words
from mtbert.judge.budget_runs import OVERFITTING
from mtbert.judge.rule import Expected, margins
from mtbert.judge.settings_diff import RATE
from mtbert.scores.metrics import OVERALLS
from mtbert.settings import Section
from mtbert.tasks import COURSE

QUESTIONS = Path(__file__).with_name("questions.yaml")  # those of the report, and margins, for all papers
METRICS = (*COURSE, *OVERALLS, OVERFITTING)


def sequence(value: Any) -> Any:
    """Return a YAML list, or the words of a string, as a tuple; anything else as it is, to be refused."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], pydantic.BeforeValidator(sequence)]


class ClaimPart(Section):
    """One comparison that a claim makes: the first five as of `Comparison`.

    Attributes:
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


def are_always_confounders(names: Sequence[str]) -> bool:
    """Return whether sides that differ in these settings differ in more than a claim says, under every profile."""
    return bool({*names} - {RATE})


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
    parts: Annotated[tuple[ClaimPart, ...], pydantic.BeforeValidator(sequence)]

    @pydantic.model_validator(mode="after")
    def _has_known_metrics(self) -> "Claim":
        for part in self.parts:
            if part.metric not in METRICS:
                raise UnknownNameError("metric", part.metric, METRICS)
        return self

    @pydantic.model_validator(mode="after")
    def _has_parts_that_decide(self) -> "Claim":
        if all(are_always_confounders(part.confounded) for part in self.parts):
            raise ValueError("every part is confounded; at least one has to decide")
        return self


class Claims(Section):
    """All claims by name.

    Attributes:
        claims: in the papers' order.
        questions: what the report begins with.
    """

    claims: dict[str, Claim]
    questions: dict[str, Claim]


def load(folder: Path = papers.FOLDER) -> Claims:
    """Read and check the papers' claims; DataError with every key that is missing, unknown or wrong."""
    claims = {name: claim for paper in papers.load(folder).values() for name, claim in paper.claims.items()}
    try:
        common = files.read_yaml(QUESTIONS)
        margin_by_metric = margins(COURSE) | common["margins"]
        return Claims(
            claims=_completed(claims, margin_by_metric), questions=_completed(common["questions"], margin_by_metric)
        )
    except pydantic.ValidationError as error:
        raise DataError(f"papers/*.yaml: {in_words(error)}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"papers/*.yaml have to hold claims with parts: {error!r}") from None


def _completed(claims: Mapping[str, dict[str, Any]], margins: Mapping[str, float]) -> dict[str, Any]:
    """Give each claim its name, and each part what it lacks: what the claim says for all of them, and a margin."""
    completed: dict[str, Any] = {}
    for name, claim in claims.items():
        shared = {key: value for key, value in claim.items() if key in ClaimPart.model_fields}
        of_claim_alone = {key: value for key, value in claim.items() if key not in ClaimPart.model_fields}
        parts: list[dict[str, Any]] = []
        for stated in claim.get("parts", [{}]):
            part = shared | stated
            metric = part.get("metric", "")
            margin = margins.get(metric) if metric in METRICS else 0.0  # `Claim` refuses another metric
            parts.append({"margin": margin} | part)
        completed[name] = of_claim_alone | {"name": name, "parts": parts}
    return completed
