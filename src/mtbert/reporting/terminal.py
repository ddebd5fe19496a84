"""A table for the terminal: one line a row, 100 columns at most with the usual row names."""

import pandas as pd

from mtbert.reporting import markdown
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.tables import RUN, Cell, Table

LABEL_WIDTH = 18  # leaves room for 5 columns of numbers


def render(table: Table, catalog: Catalog) -> str:
    """Heading and, for every row, `published → ours` by metric."""
    about = f"profile {catalog.profile}, encoder {catalog.encoder}, {_seeds(table)}"
    title = f"{markdown.heading(table)}\npaper → ours; {about}\n"
    lines = [
        {"": _short(markdown.label(table, row))} | {markdown.HEADINGS[m]: _shown(row.cells[m]) for m in table.metrics}
        for row in table.rows
    ]
    return f"{title}\n{pd.DataFrame(lines).to_markdown(index=False, tablefmt='simple', disable_numparse=True)}"


def _seeds(table: Table) -> str:
    """Of how many seeds the rows are means."""
    counts = {cell.seeds for row in table.rows for cell in row.cells.values() if cell.seeds}
    if not counts:
        return "not run"
    return "one seed" if counts == {1} else f"means of {markdown.span(counts)} seeds"


def _shown(cell: Cell) -> str:
    if cell.status == RUN:
        return f"{markdown.number(cell.published)} → {markdown.number(cell.ours)}"
    return markdown.mine(cell)


def _short(name: str) -> str:
    return name if len(name) <= LABEL_WIDTH else f"{name[: LABEL_WIDTH - 1]}…"
