"""A table for the terminal: one line a row, 100 columns at most with the usual row names."""

from collections.abc import Sequence

import pandas as pd

from mtbert.reporting import markdown
from mtbert.reporting.catalog import Completed
from mtbert.reporting.tables import NO_PART, NOT_RUN, RUN, Cell, Row, Table

LABEL_WIDTH = 18  # leaves room for 5 columns of numbers
CUT = "\N{HORIZONTAL ELLIPSIS}"


def render(table: Table, completed: Completed) -> str:
    """Heading and, for every row that has run, `published → ours` by metric; then what was changed, and has not run."""
    compared = "paper → ours; " if table.published else ""
    about = f"{compared}profile {completed.profile}, encoder {completed.encoder}, {_seeds(table)}"
    rows = [row for row in table.rows if not _absent(row)]
    names = shortened([markdown.label(table, row) for row in rows])
    lines = [
        {"": name} | {markdown.HEADINGS[m]: _shown(row.cells[m], table.published) for m in table.metrics}
        for name, row in zip(names, rows, strict=True)
    ]
    grid = pd.DataFrame(lines).to_markdown(index=False, tablefmt="simple", disable_numparse=True)
    absent = len(table.rows) - len(rows)
    more = [f"{absent} more row{'s' * (absent > 1)} of it: not run"] if absent else []
    return "\n".join(
        [markdown.heading(table), about, "", grid, *markdown.changes(table), *markdown.faults(table), *more]
    )


def _absent(row: Row) -> bool:
    return all(cell.status in (NOT_RUN, NO_PART) for cell in row.cells.values())


def _seeds(table: Table) -> str:
    """Of how many seeds the rows are means."""
    counts = {cell.seeds for row in table.rows for cell in row.cells.values() if cell.seeds}
    if not counts:
        return "not run"
    return "one seed" if counts == {1} else f"means of {markdown.span(counts)} seeds"


def _shown(cell: Cell, published: bool) -> str:
    if cell.status == RUN and published:
        return f"{markdown.number(cell.published)} → {markdown.number(cell.ours)}"
    return markdown.our_cell(cell)


def shortened(names: Sequence[str]) -> list[str]:
    """The names, cut to LABEL_WIDTH or to the first width at which no two of them become the same."""
    width = LABEL_WIDTH
    while len({cut for name in names if (cut := _short(name, width))}) < len(set(names)):
        width += 1
    return [_short(name, width) for name in names]


def _short(name: str, width: int) -> str:
    """Cut in the middle, since names of a table begin alike and those of changed rows end with a mark."""
    half = width // 2
    return name if len(name) <= width else f"{name[: width - half]}{CUT}{name[len(name) - half + 1 :]}"
