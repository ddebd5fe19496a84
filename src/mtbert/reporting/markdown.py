"""Tables as Markdown: three lines a row (paper, ours, difference), so that numbers to compare are aligned."""

from collections.abc import Collection

import pandas as pd

from mtbert.reporting import submissions
from mtbert.reporting.catalog import Completed
from mtbert.reporting.published import METRICS, OVERALLS, TITLES
from mtbert.reporting.tables import NO_PART, RUN, WITHHELD, Cell, Row, Table
from mtbert.tasks import TASKS

HEADINGS = {metric: TASKS[metric].title if metric in TASKS else metric for metric in METRICS}
DASH, MINUS, TIMES = "\N{EN DASH}", "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
TIMES_BERT = f"{TIMES} BERT"
COUNTS = ("trained", "added", "stored")  # of weights
CHANGED = "\N{DAGGER}"  # marks a row whose settings are not the shipped ones
FAULTY = "\N{DOUBLE DAGGER}"  # marks a row of which code with a known fault trained a model
BELOW = "\N{DOWNWARDS ARROW}"  # marks a score below that of the untrained encoder
DESTROYED = f"{BELOW} Below the untrained encoder: the training destroyed more of what it knew than it taught."
DO_NOT_COMPARE = f"{FAULTY} Trained before a fault in the code was repaired; do not compare with rows without the mark."
KEPT = {  # by run.keep and run.selection
    ("last", "whole"): "the last; dev scores are of the whole set, on which nothing was chosen",
    ("last", "half"): "the last; dev scores are of one half of the set",
    ("last", "cross"): "the last; dev scores are of the whole set, on which nothing was chosen",
    ("best", "cross"): "each half of dev is scored with the epoch that is the best on the other half",
    ("best", "half"): "the best on one half of dev; dev scores are of the other half",
    ("best", "whole"): "the best on dev, as the papers have it, so our dev scores are a little too good",
}
SPREAD = "ours is their mean, ± their sample standard deviation; 95 % is the mean's interval over seeds, Student's t"
SCALES = (
    "`overall_raw` = (SST-5 + QQP + r) / 3, `overall_normalised` = (SST-5 + QQP + (r + 1) / 2) / 3; SST-5 and QQP are "
    "accuracies, r is Pearson's correlation on STS-B."
)


def render(table: Table, completed: Completed) -> str:
    """A table under its heading, with what a reader must know above it and footnotes below."""
    parts = [
        f"## {heading(table)}",
        bullets(about(table, completed)),
        grid(table),
        bullets(footnotes(table, completed) + below(table)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def heading(table: Table) -> str:
    """Such as `Pals for PALs, table 1 (dev)`."""
    title = TITLES.get(table.paper, "Variants of one's own" if table.paper == "own" else table.paper)
    number = f", table {table.number}" if table.number.isdigit() else ", in the text" if table.number == "text" else ""
    return f"{title}{number} ({', '.join(table.splits)})"


def about(table: Table, completed: Completed) -> list[str]:
    """What a reader must know before comparing."""
    data = f", data `{completed.data}`" if completed.data else ""
    paper = " Paper: bert-base-uncased." if table.published else ""
    lines = [f"Ours: profile `{completed.profile}`{data}, encoder `{completed.encoder}`.{paper}"]
    lines += [f"Encoder `{completed.encoder}`: {completed.encoder_note.rstrip('.')}."] if completed.encoder_note else []
    lines += [
        f"Epoch kept: {KEPT[completed.keep, completed.selection]}.{_seeds(table)}",
        SCALES + _printed(table) + _fewer(table),
    ]
    lines += [_tested(table)] if table.baseline else []
    return [
        *lines,
        "Weights in millions. Stored: what has to be kept for all tasks beside the encoder that a row's models start "
        "from, which is what they add and what they train of it. "
        f"{TIMES_BERT}: all their weights over one encoder's, (encoder + added) / encoder.",
    ]


def _seeds(table: Table) -> str:
    """Those that the rows are means of; where a row has fewer, how many the rows have. Empty where none was run."""
    every = sorted({seed for row in table.rows for seed in row.of_seeds})
    if not every:
        return ""
    counts = _counts(table)
    fewer = "" if counts == {len(every)} else f"; a row has {span(counts)} of them, as its line says"
    spread = SPREAD if max(counts) > 1 else "one run each"
    return f" Seeds: {', '.join(map(str, every))}{fewer} ({spread})."


def _counts(table: Table) -> set[int]:
    """The rows' numbers of seeds."""
    return {row.seeds for row in table.rows if row.seeds}


def _printed(table: Table) -> str:
    """Which overall the paper gives, and how the other came about."""
    scales = {row.scale for row in table.rows} - {""}
    if len(scales) != 1:
        return ""
    (printed,) = scales
    other = "normalised" if printed == "raw" else "raw"
    return f" The paper prints `overall_{printed}`; we computed its `overall_{other}` from its parts."


def _fewer(table: Table) -> str:
    """Where the paper averages over the tasks of a row that has not all three."""
    cells = [(row.cells["overall_raw"], row.cells["overall_normalised"]) for row in table.rows]
    if any(raw.published is not None and normalised.status == NO_PART for raw, normalised in cells):
        return " In rows of fewer tasks `overall_raw` is the mean of those, as the paper has it."
    return ""


def _tested(table: Table) -> str:
    """What the column of p values says."""
    shared = {row.against.seeds for row in table.rows if row.against is not None}
    several = max(shared, default=0) > 1
    by = "hierarchical bootstrap" if several else "of the examples alone: one seed shows nothing of training noise"
    told = [
        f"p: of no difference from `{' '.join(table.baseline)}` in the overall score that the paper prints, or in the "
        f"first that both have, corrected by Holm over the table ({by})."
    ]
    if len(_counts(table) | shared) > 1:
        told.append("It is over the seeds that both have, where these were made alike.")
    if table.untested:
        rows = ", ".join(table.untested)
        why = "since one seed shows no noise of training"
        told.append(f"Rows that share only one seed with the baseline have no p, {why}: {rows}.")
    return " ".join([*told, "It is no verdict: see the claims."])


def grid(table: Table) -> str:
    """The numbers."""
    lines = [line for row in table.lines for line in _lines(label(table, row), row, table)]
    sides = ("left", "left", *["right"] * (len(lines[0]) - 2))
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)


def label(table: Table, row: Row) -> str:
    """The row's name, with its split where the table has several, and its marks."""
    name = f"{row.label} ({row.split})" if len(table.splits) > 1 else row.label
    return marked(name, bool(row.departures), row.faulty)


def marked(name: str, changed: bool, faulty: bool) -> str:
    """The name with a mark for each that holds."""
    return " ".join([name, *[CHANGED] * changed, *[FAULTY] * faulty])


def _lines(name: str, row: Row, table: Table) -> list[dict[str, str]]:
    """Paper, ours, its interval and the difference of one row; without those that it has none of."""
    size = _size(row) | ({"p": p_of(row, table)} if table.baseline else {})
    cells = {HEADINGS[metric]: row.cells[metric] for metric in table.metrics}
    paper = {heading: number(cell.published) for heading, cell in cells.items()}
    ours = {heading: our_cell(cell) for heading, cell in cells.items()}
    lines = [{"row": name, " ": "paper", **paper}, {"row": "", " ": "ours", **ours, **size}]
    lines = lines if table.published else [{**lines[1], "row": name}]
    if any(cell.low is not None for cell in cells.values()):
        lines.append(
            {"row": "", " ": "95 %"} | {heading: interval(cell.low, cell.high) for heading, cell in cells.items()}
        )
    if any(cell.difference is not None for cell in cells.values()):
        lines.append({"row": "", " ": "difference"} | {h: number(cell.difference, "+") for h, cell in cells.items()})
    columns = next(line for line in lines if line[" "] == "ours")
    return [{**dict.fromkeys(columns, ""), **line} for line in lines]


def p_of(row: Row, table: Table) -> str:
    """The corrected p, with its metric where that is no overall; empty for a row of faulty code."""
    if row.faulty:
        return ""
    if row.against is None:
        return "baseline" if set(row.variants) == set(table.baseline) else DASH
    metric = row.against.metric
    return p_value(row.against.corrected) + ("" if metric in OVERALLS else f" ({HEADINGS[metric]})")


def _size(row: Row) -> dict[str, str]:
    """Weights and number of seeds."""
    seeds = str(row.seeds or DASH)
    if row.weights is None:
        return {**dict.fromkeys((*COUNTS, TIMES_BERT), DASH), "seeds": seeds}
    millions = {name: f"{getattr(row.weights, name) / 1e6:.2f}" for name in COUNTS}
    return {**millions, TIMES_BERT: f"{row.weights.times_bert:.2f}", "seeds": seeds}


def our_cell(cell: Cell) -> str:
    """Our number with its spread, or why there is none."""
    if cell.status != RUN:
        return DASH if cell.status == NO_PART else cell.status
    return with_spread(cell.ours, cell.spread) + f" {BELOW}" * cell.below


def with_spread(value: float | None, spread: float | None) -> str:
    """Such as `0.512 ± 0.004`; the number alone where there is no spread."""
    return number(value) if spread is None else f"{number(value)} ± {spread:.3f}"


def number(value: float | None, sign: str = "") -> str:
    """Three decimals with a true minus sign, which zero has not, or a dash."""
    return DASH if value is None else f"{round(value, 3) + 0.0:{sign}.3f}".replace("-", MINUS)


def span(counts: Collection[int]) -> str:
    """The fewest and the most, such as `1 to 4`; one number where they agree."""
    return f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"


def interval(low: float | None, high: float | None, sign: str = "") -> str:
    """Such as `[0.483, 0.521]`; a dash without."""
    return DASH if low is None else f"[{number(low, sign)}, {number(high, sign)}]"


def p_value(value: float) -> str:
    """Three decimals, or that it is below the smallest."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def footnotes(table: Table, completed: Completed) -> list[str]:
    """Notes on the paper's rows, and where to find the predictions of what the course scores itself."""
    notes = [f"{row.label}, paper: {row.note}." for row in table.rows if row.note]
    special = _otherwise(table, completed) + _fewer_rows(table, completed)
    return changes(table) + notes + special + _withheld(table, completed)


def changes(table: Table) -> list[str]:
    """What the mark at a row's name says; rows with the same changes share a line."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for row in table.rows:
        if row.departures:
            rows.setdefault(tuple(row.departures), []).append(row.label)
    return [
        f"{CHANGED} {', '.join(labels)}, ours: changed from the shipped settings: "
        f"{', '.join(f'`{departure}`' for departure in departures)}."
        for departures, labels in rows.items()
    ]


def below(table: Table) -> list[str]:
    """What stands below the table on the page, too: which rows have no line, and what marks mean."""
    labels = "; ".join(row.label for row in table.left_out)
    below = any(cell.below for row in table.rows for cell in row.cells.values())
    return [*([f"Not run: {labels}."] if labels else []), *[DESTROYED] * below, *faults(table)]


def faults(table: Table) -> list[str]:
    """What the mark at the name of a row of faulty code says; nothing where there is none."""
    return [DO_NOT_COMPARE] if any(row.faulty for row in table.rows) else []


def _otherwise(table: Table, completed: Completed) -> list[str]:
    """Rows that were trained with another `run.keep` or `run.selection` than what stands above the table."""
    kept = {entry.name: entry.kept for entry in completed.ran}
    ways = {way: [row.label for row in table.rows if way in map(kept.get, row.variants)] for way in KEPT}
    usual = (completed.keep, completed.selection)
    return [f"{', '.join(rows)}, ours: epoch kept: {KEPT[way]}." for way, rows in ways.items() if rows and way != usual]


def _fewer_rows(table: Table, completed: Completed) -> list[str]:
    """Rows that were trained on some training rows alone, as `training.rows` says."""
    limits = {entry.name: entry.rows for entry in completed.ran}
    known = sorted({limit for limit in limits.values() if limit is not None})
    of = {limit: [row.label for row in table.rows if limit in map(limits.get, row.variants)] for limit in known}
    return [f"Trained on {count(limit)} rows of each task: {'; '.join(rows)}." for limit, rows in of.items() if rows]


def _withheld(table: Table, completed: Completed) -> list[str]:
    rows = [row for row in table.rows if WITHHELD in {cell.status for cell in row.cells.values()}]
    if not rows:
        return []
    tasks = [task for task in TASKS if WITHHELD in {row.cells[task].status for row in rows}]
    titles = ", ".join(TASKS[task].title for task in tasks)
    told = f"Withheld: the test labels of {titles} are not public."
    names = ", ".join(f"`{submissions.file_name(task, 'test')}`" for task in tasks if TASKS[task].submission)
    if not names:
        return [told]
    seed = str(completed.seeds[0]) if len(completed.seeds) == 1 else "SEED"
    variants = dict.fromkeys(variant for row in rows for variant in row.variants)
    places = ", ".join(f"`build/submissions/{variant}/{seed}/`" for variant in variants)
    return [f"{told} To have them scored, hand in {names} from {places}."]


def capital(text: str) -> str:
    """The text as a sentence begins."""
    return text[:1].upper() + text[1:]


def bullets(lines: list[str]) -> str:
    """A Markdown list; empty for no lines."""
    return "\n".join(f"- {line}" for line in lines)


def count(value: float | None) -> str:
    """A whole number with commas, or a dash."""
    return DASH if value is None else f"{value:,.0f}"


def lined(lines: list[dict[str, str]], sides: int) -> str:
    """A Markdown table whose first `sides` columns are text; empty for no lines."""
    if not lines:
        return ""
    align = ["left"] * sides + ["right"] * (len(lines[0]) - sides)
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=align)
