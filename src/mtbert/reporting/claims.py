"""What the five papers claim, read from claims.yaml beside this file, and what our runs say of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from mtbert import files
from mtbert.errors import DataError, in_words
from mtbert.report.published import RIVALS, TITLES
from mtbert.results.tables import METRICS
from mtbert.settings import Section

FILE = Path(__file__).with_name("claims.yaml")
OVERFITTING = "overfitting"  # overall_normalised on training rows less that on dev
Expected = Literal["higher", "lower", "close", "not higher"]
Answer = Literal[
    "holds", "real, but smaller than what matters", "does not hold", "cannot be told from these runs",
    "cannot be told: trained by faulty code", "cannot be told: still learning",
    "cannot be told: unequal budgets", "cannot be compared", "not run",
]  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """One row of a table against another on one metric, over the seeds that both have.

    Attributes:
        ours, other: the variants of each side; several where single-task models make one row.
        metric: of `published.METRICS`, or `overfitting`.
        difference: mean over seeds of ours - other; low and high: its 95 % interval.
        p: of no difference; corrected: the same by Holm over all comparisons made beside it. Of several seeds it is
            that of the hierarchical bootstrap; of one seed the cluster bootstrap's, which sees no seeds. In a verdict p
            is the part's own, one-sided, that it does not hold, and corrected that of its claim, over all of its paper;
            both are NaN before the first look.
        seeds, examples: how many both sides share; examples are those scored, of all the metric's tasks.
        detectable: the smallest difference that these runs would have found in four of five repetitions; in a verdict
            the smallest that its rule would find so at the last planned look, None of one seed.
        tests: p of every single test by its name, such as `sign flip`.
        seed_sd: standard deviation of single seeds' differences; of one seed None.
        example_sd: standard deviation of the mean difference by the choice of examples.
        unshared: the difference without the rows that share a sentence with a training row; None where none does.
        refuted: in a verdict, the p that its claim fails, corrected like the other.
    """

    ours: tuple[str, ...]
    other: tuple[str, ...]
    metric: str
    difference: float
    low: float
    high: float
    p: float
    corrected: float
    seeds: int
    examples: int
    detectable: float | None
    tests: dict[str, float]
    seed_sd: float | None = None
    example_sd: float = 0.0
    unshared: float | None = None
    refuted: float | None = None


def _known(names: Iterable[str]) -> pydantic.AfterValidator:
    def check(name: str) -> str:
        if name not in names:
            raise ValueError(f"unknown name; known: {', '.join(names)}")
        return name

    return pydantic.AfterValidator(check)


def _sequence(came: Any) -> Any:
    """YAML's lists, and words in one string, as a tuple."""
    return tuple(came.split() if isinstance(came, str) else came) if isinstance(came, str | list) else came


Metric = Annotated[str, _known((*METRICS, OVERFITTING))]
Paper = Annotated[str, _known(TITLES)]
Names = Annotated[tuple[str, ...], pydantic.BeforeValidator(_sequence)]


class Part(Section):
    """One comparison that a claim makes.

    Attributes:
        ours, other: names of the variants (or an ensemble) of each side.
        metric: of `published.METRICS`, or `overfitting`.
        expects: `higher`: ours is better by more than nothing; `lower`; `close`: apart by less than what matters;
            or `not higher`: ours is better by less than what matters, if at all.
        matters: the smallest difference that matters.
        published: the difference that the paper prints; None where it prints none.
        differs: the settings in which the two differ because the claim says so; `examples` and `updates` among them
            where it is about how much of each task, or how long, they train.
        confounded: those in which they differ besides; such a part is shown and decides nothing.
    """

    ours: Names
    other: Names
    metric: Metric
    expects: Expected
    matters: float
    published: float | None = None
    differs: Names = ()
    confounded: Names = ()


class Claim(Section):
    """A paper's claim: name, paper, where in the paper, the statement in a sentence, and what it compares.

    source: who says so, where it is not one of the five reports; such claims have `rivals` for their paper.
    """

    name: str
    paper: Paper
    source: str = ""
    section: str
    statement: str
    parts: Annotated[tuple[Part, ...], pydantic.BeforeValidator(_sequence)]

    @pydantic.model_validator(mode="after")
    def _says_who(self) -> "Claim":
        if (self.paper == RIVALS) != bool(self.source):
            raise ValueError(f"a claim has a source where its paper is {RIVALS}, and nowhere else")
        return self

    @property
    def told_by(self) -> str:
        """Whose claim it is, for people."""
        return self.source or TITLES[self.paper]


class Side(Section):
    """One side of a contradiction: what it says, and the names of the claims that say so.

    all_of: whether it says several things, a claim each, and stands only if all of them do.
    only: of a claim that compares more than the question asks for, which of its comparisons answer it, from 1. If it
        fails by another alone, that says nothing here.
    """

    says: str
    claims: Names
    all_of: bool = False
    only: dict[str, list[int]] = {}


class Contradiction(Section):
    """Where two reports claim opposite things: the question, and its two sides."""

    question: str
    sides: Annotated[tuple[Side, Side], pydantic.BeforeValidator(_sequence)]


class Claims(Section):
    """What claims.yaml holds.

    Attributes:
        words: for a newcomer, what the words of the claims mean.
        matters: by metric, the smallest difference that matters where a part says nothing else.
        baselines: by table name, the variants of the row that its others are tested against.
        claims: by name, in the papers' order.
        contradictions: by name.
    """

    words: str = ""
    matters: dict[Metric, float]
    baselines: dict[str, Names]
    claims: dict[str, Claim]
    contradictions: dict[str, Contradiction] = {}

    @pydantic.model_validator(mode="after")
    def _are_known(self) -> "Claims":
        for name, one in self.contradictions.items():
            papers = [{self.claims[claim].paper for claim in side.claims if claim in self.claims} for side in one.sides]
            unknown = [claim for side in one.sides for claim in side.claims if claim not in self.claims]
            if unknown or papers[0] & papers[1]:
                fault = f"unknown claims {', '.join(unknown)}" if unknown else "one paper on both sides"
                raise ValueError(f"contradictions.{name}: {fault}; its sides are claims of different papers")
            for claims, of, asked in ((side.claims, *pair) for side in one.sides for pair in side.only.items()):
                parts = self.claims[of].parts if of in claims else ()
                counting = [at for at, part in enumerate(parts, 1) if not part.confounded]
                if not asked or not set(asked) <= set(counting):
                    raise ValueError(
                        f"contradictions.{name}: only.{of} is {asked}; allowed: a claim of this side, with some of its "
                        f"comparisons that count, from 1: {counting}"
                    )
        return self


@dataclass(frozen=True)
class Verdict:
    """What our runs say of a claim.

    Attributes:
        answer, why: the verdict, and a sentence for people.
        answers: what each part comes to by itself, not corrected.
        comparisons: each part's at its last look; None where it was not run.
        gates: what keeps each part from being judged, in words; empty where nothing does.
        look: the number of seeds of the look that decided it; None where it is open.
        deciding: which parts did, from 0, that which tells most first; none where it is open.
        beside: what a reader has to know of its numbers, in sentences: other budgets, other machines.
    """

    claim: Claim
    answer: Answer
    why: str
    answers: tuple[Answer, ...]
    comparisons: tuple[Comparison | None, ...]
    gates: tuple[str, ...] = ()
    look: int | None = None
    deciding: tuple[int, ...] = ()
    beside: str = ""


def load(file: Path = FILE) -> Claims:
    """Read and check the claims; DataError where a key is missing, unknown or of the wrong kind, with every fault."""
    content = files.read_yaml(file)
    try:
        return Claims(**_with_defaults(content))
    except pydantic.ValidationError as error:
        raise DataError(f"{file}: {in_words(error)}") from None
    except (AttributeError, KeyError, TypeError) as error:
        raise DataError(f"{file} has to hold matters, baselines, and claims with parts: {error!r}") from None


def without_published(claim: Claim) -> Claim:
    """The claim without the papers' numbers, for data that these do not speak of."""
    parts = tuple(part.model_copy(update={"published": None}) for part in claim.parts)
    return claim.model_copy(update={"parts": parts})


def _with_defaults(content: Any) -> dict[str, Any]:
    """Each claim with its name; each part with its claim's values where it has none of its own, and what matters."""
    shared = Part.model_fields.keys()
    claims: dict[str, Any] = {}
    for name, claim in content["claims"].items():
        own = {key: claim[key] for key in claim.keys() & shared}
        parts = [own | part for part in claim["parts"]]
        parts = [{"matters": content["matters"].get(part.get("metric"))} | part for part in parts]
        claims[name] = {key: claim[key] for key in claim.keys() - shared} | {"name": name, "parts": parts}
    return {**content, "claims": claims}
