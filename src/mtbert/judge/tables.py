"""What was judged as two tables, which a report is made of.

`rows.parquet` has a line for each metric of each row, `comparisons.parquet` one for each comparison. Their column `use`
says what a line is for: it is the name of a part of `Judgement` or `Answer`. The rows' column `results` says which
results were judged. Intervals, p of no difference and verdicts stand there for people; they are computed from the other
columns when a table is read.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from mtbert import files
from mtbert.errors import DataError
from mtbert.judge.answer import (
    NO_PLAN,
    Answer,
    Plan,
    comparisons_with_best,
    comparisons_with_single_task,
)
from mtbert.judge.confirmation import Confirmation
from mtbert.judge.judgement import Judgement
from mtbert.judge.rows import MayGain, Row
from mtbert.judge.rule import Comparison, PValues
from mtbert.scores.columns import COSTS, WEIGHTS
from mtbert.scores.results import Results
from mtbert.stats import Estimate

ROWS, COMPARISONS = "rows.parquet", "comparisons.parquet"
AGAIN = "`dvc repro judge` makes it again"
ROW_WEIGHTS = (*WEIGHTS, "times_bert")
Line = dict[str, Any]

WORD, NUMBER, COUNT = pa.string(), pa.float64(), pa.int64()
WORDS = pa.list_(WORD)
ESTIMATE = {
    "mean": NUMBER, "low": NUMBER, "high": NUMBER, "error": NUMBER, "freedom": NUMBER, "our_seeds": COUNT,
    "other_seeds": COUNT, "rows": COUNT, "clusters": COUNT, "lowest": NUMBER, "highest": NUMBER,
    "row_variance": NUMBER,
}  # fmt: skip
SETTINGS = ("ours", "other", "metric", "expects", "margin")  # of a comparison, before it is made
ROW_USES = ("rows", "baselines", "paper_rows", "ways", "confirmation")
ROW_COLUMNS = pa.schema(
    {"use": WORD, "results": WORD, "row": COUNT, "paper": WORD, "table": WORD, "label": WORD, "models": WORDS}
    | {"split": WORD, "seeds": pa.list_(COUNT), "metric": WORD, "published": NUMBER}
    | ESTIMATE
    | {"below": WORDS, "may_gain": WORDS}
    | dict.fromkeys((*ROW_WEIGHTS, "seconds", *COSTS), NUMBER)
    | {"note": WORD}
)
COMPARISON_COLUMNS = pa.schema(
    {"use": WORD, "ours": WORDS, "other": WORDS, "metric": WORD, "expects": WORD, "margin": NUMBER}
    | {"verdict": WORD, "mismatches": pa.map_(WORD, WORDS), "missing": WORD}
    | ESTIMATE
    | dict.fromkeys(("p", "p_holds", "p_fails", "p_small"), NUMBER)
)


def write(judgement: Judgement, folder: Path) -> None:
    """Write both tables into a folder that is there."""
    put(ROW_COLUMNS, _row_lines(judgement), folder / ROWS)
    put(COMPARISON_COLUMNS, _comparison_lines(judgement), folder / COMPARISONS)


def put(columns: pa.Schema, lines: Iterable[Line], file: Path) -> None:
    """Write a table."""
    pq.write_table(pa.Table.from_pylist([*lines], columns), file, compression="zstd")


def read(folder: Path, results: Results, plan: Plan = NO_PLAN) -> Judgement:
    """Read what was judged of these results; DataError if a table is missing, damaged or of other results."""
    rows_by_use = by_use(folder / ROWS, ROW_COLUMNS)
    if {line["results"] for lines in rows_by_use.values() for line in lines} - {results.digest}:
        raise DataError(f"{folder} was judged from other results than there are now; {AGAIN}")
    if unknown := sorted(rows_by_use.keys() - {*ROW_USES}):
        raise DataError(f"{folder / ROWS} has rows of another version than this one ({unknown[0]}); {AGAIN}")
    lines_by_use = by_use(folder / COMPARISONS, COMPARISON_COLUMNS)
    try:
        return _judgement(results, plan, rows_by_use, lines_by_use)
    except (KeyError, ValueError) as error:
        raise DataError(f"{folder} is of other results or papers ({error!r}); {AGAIN}") from None


def by_use(file: Path, columns: pa.Schema) -> dict[str, list[Line]]:
    """Return the lines of a table by their column `use`; DataError if it has other columns."""
    table = files.read_arrow(file)
    if table.schema.names != columns.names:
        raise DataError(f"{file} has other columns than this version writes; {AGAIN}")
    lines_by_use: dict[str, list[Line]] = {}
    for line in table.to_pylist():
        lines_by_use.setdefault(line["use"], []).append(line)
    return lines_by_use


def _row_lines(judgement: Judgement) -> Iterator[Line]:
    """Yield the lines of all rows, numbered through."""
    answer, confirmation = judgement.answer, judgement.confirmation
    rows: list[tuple[str, Row]] = [("rows", row) for row in judgement.rows]
    rows += [("baselines", row) for row in judgement.baselines]
    rows += [("paper_rows", row) for row in judgement.paper_rows]
    if answer is not None:
        rows += [("ways", row) for row in answer.ways]
    if confirmation is not None:
        rows += [("confirmation", row) for row in confirmation.rows]
    for number, (use, row) in enumerate(rows):
        about = {"use": use, "results": judgement.results.digest, "row": number, **_about_row(row)}
        metrics = dict.fromkeys([*row.scores, *row.published, *row.below, *row.may_gain])
        yield from (about | _metric_cells(row, metric) for metric in metrics)
        if not metrics:
            yield about


def _about_row(row: Row) -> Line:
    return {
        "paper": row.paper,
        "table": row.table,
        "label": row.label,
        "models": [*row.names],
        "split": row.split,
        "seeds": [*row.seeds],
        **{name: row.weights.get(name) for name in ROW_WEIGHTS},
        "seconds": row.seconds,
        **{name: row.costs.get(name) for name in COSTS},
        "note": row.note,
    }


def _metric_cells(row: Row, metric: str) -> Line:
    return {
        "metric": metric,
        "published": row.published.get(metric),
        **_estimate_cells(row.scores.get(metric)),
        "below": [*row.below.get(metric, ())],
        "may_gain": [*row.may_gain.get(metric, ())],
    }


def _rows(lines: Iterable[Line]) -> list[Row]:
    return [_row([*of_row]) for _, of_row in itertools.groupby(lines, lambda line: line["row"])]


def _row(lines: Sequence[Line]) -> Row:
    first = lines[0]
    by_metric = {line["metric"]: line for line in lines if line["metric"] is not None}
    scores = {metric: estimate(line) for metric, line in by_metric.items()}
    return Row(
        label=first["label"],
        names=tuple(first["models"]),
        scores={metric: score for metric, score in scores.items() if score is not None},
        seeds=tuple(first["seeds"]),
        weights={name: first[name] for name in ROW_WEIGHTS if first[name] is not None},
        seconds=first["seconds"],
        costs={name: first[name] for name in COSTS if first[name] is not None},
        below={metric: line["below"] for metric, line in by_metric.items() if line["below"]},
        may_gain={metric: [*map(MayGain, line["may_gain"])] for metric, line in by_metric.items() if line["may_gain"]},
        split=first["split"],
        paper=first["paper"],
        table=first["table"],
        published={metric: line["published"] for metric, line in by_metric.items() if line["published"] is not None},
        note=first["note"],
    )


def _comparison_lines(judgement: Judgement) -> Iterator[Line]:
    answer, confirmation = judgement.answer, judgement.confirmation
    comparisons_by_use: dict[str, Sequence[Comparison]] = {"catalog": judgement.catalog}
    if answer is not None:
        comparisons_by_use |= {"against_single_task": answer.against_single_task, "against_best": answer.against_best}
        comparisons_by_use |= {"by_task": answer.by_task}
    if confirmation is not None:
        comparisons_by_use |= {"on_test": confirmation.on_test, "on_dev": confirmation.on_dev}
    for use, comparisons in comparisons_by_use.items():
        yield from ({"use": use, **comparison_cells(comparison)} for comparison in comparisons)


def comparison_cells(comparison: Comparison) -> Line:
    """Return the cells of COMPARISON_COLUMNS but `use`."""
    difference = comparison.difference
    return {
        **{name: getattr(comparison, name) for name in SETTINGS},
        "verdict": comparison.verdict,
        "mismatches": [*comparison.mismatches.items()],
        "missing": comparison.missing,
        **_estimate_cells(difference),
        "p": difference and difference.p,
        **p_cells(comparison.p, "p"),
    }


def _comparison(line: Line) -> Comparison:
    return Comparison(
        **settings_of(line),
        **result_of(line),
    )


def settings_of(line: Line) -> dict[str, Any]:
    """Return what is compared, as `comparison_cells` has it."""
    names = {"ours": tuple(line["ours"]), "other": tuple(line["other"])}
    return {**{name: line[name] for name in SETTINGS}, **names}


def result_of(line: Line) -> dict[str, Any]:
    """Return what the runs say of a comparison, as `comparison_cells` has it."""
    return {
        "difference": estimate(line),
        "mismatches": {name: tuple(names) for name, names in line["mismatches"]},
        "missing": line["missing"],
        "p": p_values(line, "p"),
    }


def p_cells(p: PValues, name: str) -> Line:
    """Return the cells of p values, whose columns begin with `name`."""
    return {f"{name}_holds": p.holds, f"{name}_fails": p.fails, f"{name}_small": p.small}


def p_values(line: Line, name: str) -> PValues:
    """Return the p values of a line, as `p_cells` has them."""
    return PValues(line[f"{name}_holds"], line[f"{name}_fails"], line[f"{name}_small"])


def _estimate_cells(estimate: Estimate | None) -> Line:
    if estimate is None:
        return {}
    low, high = estimate.interval or (None, None)
    return {
        "mean": estimate.mean,
        "low": low,
        "high": high,
        "error": estimate.error,
        "freedom": estimate.freedom,
        "our_seeds": estimate.seeds[0],
        "other_seeds": estimate.seeds[1],
        "rows": estimate.rows,
        "clusters": estimate.clusters,
        "lowest": estimate.bounds[0],
        "highest": estimate.bounds[1],
        "row_variance": estimate.row_variance,
    }


def estimate(line: Line) -> Estimate | None:
    """Return the difference or score of a line; None where it has none."""
    if line["mean"] is None:
        return None
    return Estimate(
        mean=line["mean"],
        error=line["error"],
        freedom=line["freedom"],
        seeds=(line["our_seeds"], line["other_seeds"]),
        rows=line["rows"],
        clusters=line["clusters"],
        bounds=(line["lowest"], line["highest"]),
        row_variance=line["row_variance"],
    )


def _check_compared(answer: Answer) -> None:
    """Raise ValueError where other ways are compared than may be kept, as by another limit than was judged by."""
    there = (*answer.against_single_task, *answer.against_best)
    asked = (*comparisons_with_single_task(answer), *comparisons_with_best(answer))
    if [(one.ours, one.other) for one in there] != [(one.ours, one.other) for one in asked]:
        raise ValueError("the ways or the limit are others than were judged")


def _judgement(
    results: Results, plan: Plan, rows_by_use: dict[str, list[Line]], lines_by_use: dict[str, list[Line]]
) -> Judgement:
    rows = {use: _rows(lines) for use, lines in rows_by_use.items()}
    comparisons = {use: [_comparison(line) for line in lines] for use, lines in lines_by_use.items()}
    baselines = rows.get("baselines", [])
    answer = confirmation = None
    if "ways" in rows:
        answer = Answer(
            results=results,
            ways=rows["ways"],
            plan=plan,
            baselines=baselines,
            against_single_task=comparisons.get("against_single_task", ()),
            against_best=comparisons.get("against_best", ()),
            by_task=comparisons.get("by_task", ()),
        )
        _check_compared(answer)
    if "confirmation" in rows:
        confirmation = Confirmation(rows["confirmation"], comparisons["on_test"], comparisons["on_dev"])
    return Judgement(
        results=results,
        rows=rows.get("rows", []),
        baselines=baselines,
        paper_rows=rows.get("paper_rows", []),
        answer=answer,
        confirmation=confirmation,
        catalog=comparisons.get("catalog", []),
    )
