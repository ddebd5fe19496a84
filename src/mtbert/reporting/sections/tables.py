"""The papers' tables, ours beside theirs."""

from typing import Any

import pandas as pd

from mtbert.reporting import comparisons, markdown, tables
from mtbert.reporting.catalog import Completed
from mtbert.reporting.figures import NAMES
from mtbert.reporting.sections.base import Numbers, Part, Report, Section, csv_text
from mtbert.reporting.tables import RUN, Cell, Row, Table

DIGITS = "%.6g"


def compared(report: Report) -> pd.DataFrame:
    """Every row that was compared with its table's baseline: none of faulty code, as the last column says."""
    return comparisons.frame(tables.compared(report.tables)).assign(faulty=False)


def files(report: Report) -> dict[str, str]:
    """Each table as Markdown and as numbers."""
    texts: dict[str, str] = {}
    for table in report.tables:
        texts[f"tables/{table.name}.md"] = markdown.render(table, report.completed)
        texts[f"tables/{table.name}.csv"] = csv_text(table.tidy(), DIGITS)
    return texts


def values(report: Report, local: bool) -> dict[str, Any]:
    """What the page shows."""
    return {"tables": [table_of(table, report.completed) for table in report.tables]}


def table_of(table: Table, completed: Completed) -> dict[str, Any]:
    """A paper's table, published beside ours."""
    return {
        "name": table.name,
        "heading": markdown.heading(table),
        "about": markdown.about(table, completed),
        "footnotes": markdown.footnotes(table, completed),
        "below": markdown.below(table),
        "published": table.published,
        "metrics": [NAMES[metric] for metric in table.metrics],
        "rows": [_row(row, table) for row in table.lines],
        "run": table.run,
        "baseline": " ".join(table.baseline),
    }


def _row(row: Row, table: Table) -> dict[str, Any]:
    cells = [_cell(row.cells[metric]) for metric in table.metrics]
    return {
        "label": markdown.label(table, row),
        "p": markdown.p_of(row, table) if table.baseline and row.variants else "",
        "p_value": row.against.corrected if row.against else "",
        "variants": ", ".join(row.variants),
        "changed": ", ".join(row.departures),
        "run": bool(row.variants) or row in table.untrained,
        "cells": cells,
        "weights": row.weights,
        "seeds": row.seeds,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "published": cell.published,
        "ours": cell.ours if cell.status == RUN else None,
        "instead": "" if cell.status == RUN else markdown.our_cell(cell),
        "spread": cell.spread,
        "interval": None if cell.low is None else markdown.interval(cell.low, cell.high),
        "difference": cell.difference,
        "mark": markdown.BELOW if cell.below else "",
    }


SECTION = Section(
    name="tables",
    title="Tables",
    numbers=(Numbers("comparisons.csv", compared, DIGITS, "compared"),),
    files=files,
    part=Part("tables.html", values),
)
