"""Read a column of dates. Any format but ISO is asked for: 05/01/2024 may be in January or in May."""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from mtbert.errors import DataError
from mtbert.tasks import Task

ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}\S*)?")  # not 20240105, which may be any number
NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")  # as spreadsheets count days, and computers seconds
DAYS = (
    "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d", "%d/%m/%y", "%m/%d/%y",
    "%d.%m.%y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y",
)  # fmt: skip
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p")
USUAL = [f"{day}{clock}" for day in DAYS for clock in CLOCKS]  # formats that a message names


def read(file: Path, task: Task, values_by_line: Mapping[int, Any]) -> dict[int, datetime]:
    """Return the date of each line; those with a time zone in UTC.

    Raises:
        DataError: a date is empty or cannot be read, some have a time or a time zone and others have none, or the
            format has to be said.
    """
    texts = {line: _text(value) for line, value in values_by_line.items()}
    dates: dict[int, datetime] = {}
    first_form = ""
    for line, text in texts.items():
        place = f"{file}, line {line}: its {task.time_on}"
        if not text:
            raise DataError(
                f"{place} is empty; allowed: a date in each row, since `time_on` of {task.name} draws by it"
            )
        moment = _moment(text, task.time_format)
        if moment is None:
            raise DataError(f"{place} is {text!r}; {_remedy(task, texts.values(), is_first=not dates)}")
        form = "" if task.time_format else _form(text, moment)
        first_form = form if not dates else first_form
        if form != first_form:
            first = next(iter(texts.values()))
            raise DataError(f"{place} is {text!r}, and the first row has {first!r}; allowed: one format in a column")
        dates[line] = _in_utc(moment) if moment.tzinfo else moment
    return dates


def _in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC; on the first and last day of the calendar, its offset may not count."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # 9999-12-31 stands for never in databases
        return moment.replace(tzinfo=UTC)


def _text(value: Any) -> str:
    """Return a value as a file of text has it: Parquet holds dates."""
    if isinstance(value, date):
        return value.isoformat()
    return "" if value is None else str(value).strip()


def _moment(text: str, time_format: str) -> datetime | None:
    try:
        if time_format:
            return datetime.strptime(text, time_format)
        return datetime.fromisoformat(text) if ISO.fullmatch(text) else None
    except ValueError:
        return None


def _form(text: str, moment: datetime) -> str:
    """Return which parts an ISO date has, since a date without a time, or without a zone, is no certain moment."""
    if len(text) == len("2024-01-05"):
        return "date"
    return "zone" if moment.tzinfo else "time"


def _remedy(task: Task, texts: Iterable[str], is_first: bool) -> str:
    """Return what to do about a date that cannot be read; `is_first`: of the first row."""
    if task.time_format:
        return f'allowed: dates as `time_format` of {task.name} says, "{task.time_format}"'
    if not is_first:
        return "allowed: a date such as 2024-01-05, as in the rows before it"
    texts = [*filter(None, texts)]
    fitting = [f'"{usual}"' for usual in USUAL if all(_moment(text, usual) for text in texts)]
    if not fitting and all(NUMBER.fullmatch(text) for text in texts):
        return "allowed: a date such as 2024-01-05; convert numbers of days or seconds into dates"
    of_first = [usual for usual in USUAL if _moment(texts[0], usual)]
    if of_first and not fitting:
        others = [text for text in texts if not any(_moment(text, usual) for usual in of_first)]
        which = f"both {texts[0]!r} and {others[0]!r}" if others else "all dates"
        return f"allowed: one format in a column, and no usual format reads {which}; write them alike"
    formats = " or ".join(fitting) or '"%d/%m/%Y"'
    which = "which only you know, " if len(fitting) > 1 else ""
    example = "" if fitting else "such as "
    return (
        f"allowed: 2024-01-05, or its format, {which}as `time_format` of {task.name} in tasks.yaml: {example}{formats}"
    )
