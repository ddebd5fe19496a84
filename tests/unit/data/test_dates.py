"""Dates: ISO is read, any other format is asked for."""

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from mtbert.data import dates
from mtbert.errors import DataError
from mtbert.tasks import COURSE

TASK = replace(COURSE["sst"], name="topic", time_on="sent")


def read(*values: Any, time_format: str = "") -> list[datetime]:
    task = replace(TASK, time_format=time_format)
    return [*dates.read(Path("a.csv"), task, dict(enumerate(values, start=2))).values()]


def test_iso_dates_are_read() -> None:
    assert read("2024-01-05", date(2024, 1, 6)) == [datetime(2024, 1, 5), datetime(2024, 1, 6)]
    assert read("2024-01-05 10:30", "2024-01-05T10:30:00.5") == [
        datetime(2024, 1, 5, 10, 30),
        datetime(2024, 1, 5, 10, 30, 0, 500_000),
    ]


def test_dates_with_time_zones_are_compared_in_utc() -> None:
    assert read("2024-01-05T01:00:00+02:00", "2024-01-04T23:30:00Z") == [
        datetime(2024, 1, 4, 23, tzinfo=UTC),
        datetime(2024, 1, 4, 23, 30, tzinfo=UTC),
    ]


def test_the_last_day_of_the_calendar_stands_for_never() -> None:
    assert read("9999-12-31T23:59:59-05:00") == [datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]


def test_other_formats_are_read_as_they_are_said() -> None:
    assert read("05/01/2024", time_format="%d/%m/%Y") == [datetime(2024, 1, 5)]


@pytest.mark.parametrize(
    ("values", "time_format", "message"),
    [
        (
            ["05/01/2024", "06/01/2024"],
            "",
            "a.csv, line 2: its sent is '05/01/2024'; allowed: 2024-01-05, or its format, which only you know, as "
            '`time_format` of topic in tasks.yaml: "%d/%m/%Y" or "%m/%d/%Y"',
        ),
        (
            ["05/01/24", "16/01/24"],
            "",
            "a.csv, line 2: its sent is '05/01/24'; allowed: 2024-01-05, or its format, as `time_format` of topic in "
            'tasks.yaml: "%d/%m/%y"',
        ),
        (
            ["5 Jan 2024 10:05 AM"],
            "",
            "a.csv, line 2: its sent is '5 Jan 2024 10:05 AM'; allowed: 2024-01-05, or its format, as `time_format` of "
            'topic in tasks.yaml: "%d %b %Y %I:%M %p"',
        ),
        (
            ["05/01/2024", "16/01/2024"],
            "",
            "a.csv, line 2: its sent is '05/01/2024'; allowed: 2024-01-05, or its format, as `time_format` of topic in "
            'tasks.yaml: "%d/%m/%Y"',
        ),
        (
            ["45296", "45297.5"],
            "",
            "a.csv, line 2: its sent is '45296'; allowed: a date such as 2024-01-05; convert numbers of days or "
            "seconds into dates",
        ),
        (
            ["soon"],
            "",
            "a.csv, line 2: its sent is 'soon'; allowed: 2024-01-05, or its format, as `time_format` of topic in "
            'tasks.yaml: such as "%d/%m/%Y"',
        ),
        (
            ["05/01/2024", "", "16/01/2024"],
            "",
            "a.csv, line 2: its sent is '05/01/2024'; allowed: 2024-01-05, or its format, as `time_format` of topic in "
            'tasks.yaml: "%d/%m/%Y"',
        ),
        (
            ["05/01/2024", "06/01/2024", "2024-01-07"],
            "",
            "a.csv, line 2: its sent is '05/01/2024'; allowed: one format in a column, and no usual format reads both "
            "'05/01/2024' and '2024-01-07'; write them alike",
        ),
        (
            ["05/01/2024", "13/01/2024", "01/13/2024"],
            "",
            "a.csv, line 2: its sent is '05/01/2024'; allowed: one format in a column, and no usual format reads all "
            "dates; write them alike",
        ),
        (
            ["2024-01-05", "06/01/2024"],
            "",
            "a.csv, line 3: its sent is '06/01/2024'; allowed: a date such as 2024-01-05, as in the rows before it",
        ),
        (
            ["2024-01-05", "2024-02-30"],
            "",
            "a.csv, line 3: its sent is '2024-02-30'; allowed: a date such as 2024-01-05, as in the rows before it",
        ),
        (
            ["2024-01-05", "2024-01-05 10:00"],
            "",
            "a.csv, line 3: its sent is '2024-01-05 10:00', and the first row has '2024-01-05'; allowed: one format in "
            "a column",
        ),
        (
            ["2024-01-05 10:00", "2024-01-05 10:00Z"],
            "",
            "a.csv, line 3: its sent is '2024-01-05 10:00Z', and the first row has '2024-01-05 10:00'; allowed: one "
            "format in a column",
        ),
        (
            ["05/01/2024", "1/5/24"],
            "%d/%m/%Y",
            "a.csv, line 3: its sent is '1/5/24'; allowed: dates as `time_format` of topic says, \"%d/%m/%Y\"",
        ),
        (
            ["2024-01-05", None],
            "",
            "a.csv, line 3: its sent is empty; allowed: a date in each row, since `time_on` of topic draws by it",
        ),
    ],
)
def test_what_cannot_be_read_is_told(values: list[Any], time_format: str, message: str) -> None:
    with pytest.raises(DataError) as error:
        read(*values, time_format=time_format)
    assert str(error.value) == message
