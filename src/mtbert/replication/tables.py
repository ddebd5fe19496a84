"""What was judged as three tables: those of `mtbert.judge.tables`, and `claims.parquet`, a line for each part of one.

Intervals, p of no difference and verdicts stand there for people; they are computed from the other columns when a
table is read.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from mtbert import files
from mtbert.errors import DataError
from mtbert.judge import NO_PLAN, Plan
from mtbert.judge import tables as judged
from mtbert.judge.tables import COMPARISON_COLUMNS, NUMBER, WORD, WORDS, Line
from mtbert.replication.claims import Claim, load
from mtbert.replication.judging import ClaimComparison, ClaimResult, Replication
from mtbert.scores.results import Results

CLAIMS = "claims.parquet"
COLUMNS = pa.schema(
    {"claim": WORD, "claim_verdict": WORD}
    | dict.fromkeys(("claim_p_holds", "claim_p_fails", "claim_p_small"), NUMBER)
    | {name: COMPARISON_COLUMNS.field(name).type for name in COMPARISON_COLUMNS.names}
    | {"published": NUMBER, "differs": WORDS, "confounded": WORDS, "third": NUMBER, "leak_free": NUMBER}
)


def write(replication: Replication, folder: Path) -> None:
    """Write `folder` anew."""
    with files.new_directory(folder) as partial:
        judged.write(replication.judgement, partial)
        judged.put(COLUMNS, _lines(replication), partial / CLAIMS)


def read(folder: Path, results: Results, plan: Plan = NO_PLAN) -> Replication:
    """Read what was judged of these results; DataError if a table is missing or damaged."""
    judgement = judged.read(folder, results, plan)
    lines = judged.by_use(folder / CLAIMS, COLUMNS)
    try:
        every = load()
        return Replication(
            judgement,
            claims=[*_results(lines.get("claims", []), every.claims)],
            questions=[*_results(lines.get("questions", []), every.questions)],
        )
    except (KeyError, ValueError) as error:
        raise DataError(f"{folder} is of other papers ({error!r}); {judged.AGAIN}") from None


def _lines(replication: Replication) -> Iterator[Line]:
    for use, results in (("claims", replication.claims), ("questions", replication.questions)):
        for result in results:
            about = {
                "use": use,
                "claim": result.claim.name,
                "claim_verdict": result.verdict,
                **judged.p_cells(result.p, "claim_p"),
            }
            yield from (about | _cells(comparison) for comparison in result.comparisons)


def _cells(comparison: ClaimComparison) -> Line:
    return {
        **judged.comparison_cells(comparison),
        "published": comparison.published,
        "differs": comparison.differs,
        "confounded": comparison.confounded,
        "third": comparison.third,
        "leak_free": comparison.leak_free,
    }


def _results(lines: Iterable[Line], claims: Mapping[str, Claim]) -> Iterator[ClaimResult]:
    for name, group in itertools.groupby(lines, lambda line: line["claim"]):
        claim_lines = [*group]
        first = claim_lines[0]
        yield ClaimResult(
            claim=claims[name],
            p=judged.p_values(first, "claim_p"),
            comparisons=tuple(_comparison(line) for line in claim_lines),
        )


def _comparison(line: Line) -> ClaimComparison:
    return ClaimComparison(
        **judged.settings_of(line),
        published=line["published"],
        differs=tuple(line["differs"]),
        confounded=tuple(line["confounded"]),
        **judged.result_of(line),
        third=line["third"],
        leak_free=line["leak_free"],
    )
