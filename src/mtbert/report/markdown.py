"""Numbers and tables as Markdown; text of foreign files so that it stays text."""

import html
import re
from collections.abc import Mapping, Sequence

from tabulate import tabulate

from mtbert.scores.metrics import means
from mtbert.stats import Estimate
from mtbert.tasks import COURSE, Tasks

HEADINGS = {"overall_raw": "overall", "overall_normalised": "normalised"}
MEAN = "mean"  # what tables call the only mean over tasks
DASH, MINUS, TIMES = "\N{EN DASH}", "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
MARKS = re.compile(r"[\\`*_\[\]|~&]")  # what Markdown takes for its own within a line
ESCAPED = re.compile(r"\\(.)|\*")
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def heading(metric: str, tasks: Tasks = COURSE) -> str:
    """Return what tables call a metric: a task's name, or a mean over tasks."""
    if metric in tasks:
        return tasks[metric].display_name
    return MEAN if means(tasks) == (metric,) else HEADINGS.get(metric, metric)


def lined(lines: Sequence[Mapping[str, str]], texts: int = 1) -> str:
    """Return a table of lines with the same keys, whose first `texts` columns are not numbers; empty for none."""
    if not lines:
        return ""
    sides = ["left"] * texts + ["right"] * (len(lines[0]) - texts)
    rows = [list(line.values()) for line in lines]
    return tabulate(rows, list(lines[0]), tablefmt="pipe", colalign=sides, disable_numparse=True)


def number(value: float | None, sign: str = "", decimals: int = 3) -> str:
    """Return the decimals with a true minus sign, which zero has not, or a dash."""
    if value is None or value != value:
        return DASH
    return f"{round(value, decimals) + 0.0:{sign}.{decimals}f}".replace("-", MINUS)


def count(number: int) -> str:
    """Return a number of things as it stands in a sentence: `three`, but `13`."""
    return COUNTS[number] if number < len(COUNTS) else str(number)


def estimate(estimated: Estimate | None, sign: str = "") -> str:
    """Return such as `0.502 [0.483, 0.521]`; the mean alone where there is no interval, a dash for None."""
    if estimated is None:
        return DASH
    interval = estimated.interval
    ends = f" [{number(interval[0], sign)}, {number(interval[1], sign)}]" if interval else ""
    return number(estimated.mean, sign) + ends


def plain(text: str) -> str:
    """Return any text as one line without control characters."""
    return " ".join(CONTROL.sub(" ", text).split())


def bare(text: str) -> str:
    """Return a paragraph of Markdown without emphasis, and without the signs that keep `literal` text as it is."""
    return html.unescape(ESCAPED.sub(r"\1", text))


def literal(text: str) -> str:
    """Return any text so that Markdown and HTML show it as it is, in one cell of a table."""
    return MARKS.sub(r"\\\g<0>", plain(text)).replace("<", "&lt;").replace(">", "&gt;")
