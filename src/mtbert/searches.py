"""The searches for learning rates and one further setting: what `mtbert search` has left for a profile."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert.errors import DataError

SEARCHES = Path("data/searches")  # committed; a file for each profile that was searched for
COLUMNS = ("kind", "variant", "rate", "seed", "mean", "chosen", "rows", "steps")
SETTING = ("variant", "setting", "value", "rate", "seed", "mean", "chosen", "rows", "steps")


def of_setting(profile: str, directory: Path = SEARCHES) -> Path:
    """Where the result of the one setting beside the rates lies."""
    return directory / f"{profile}-setting.csv"


def read(profile: str, directory: Path = SEARCHES) -> pd.DataFrame | None:
    """The rates of a profile; None where there was no search, DataError where the file is something else."""
    return _read(directory / f"{profile}.csv", COLUMNS)


def read_setting(profile: str, directory: Path = SEARCHES) -> pd.DataFrame | None:
    """The same for the one setting beside them."""
    return _read(of_setting(profile, directory), SETTING)


def _read(file: Path, columns: Iterable[str]) -> pd.DataFrame | None:
    if not file.is_file():
        return None
    try:
        table = pd.read_csv(file)
    except ValueError as error:
        raise DataError(f"{file} is not a table: {error}; `mtbert search` makes it again") from None
    if missing := [name for name in columns if name not in table]:
        raise DataError(f"{file} lacks {', '.join(missing)}; `mtbert search` makes it again")
    return table


def in_words(value: Any) -> str:
    """A setting's value, such as `sst 1.5, qqp 0.75`; two are the same where their words are."""
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)


def at_the_end(table: pd.DataFrame) -> list[str]:
    """The kinds whose best rate is the smallest or the largest that was tried."""
    best, by_kind = table[table["chosen"]].set_index("kind")["rate"], table.groupby("kind", sort=False)["rate"]
    ends = pd.DataFrame({"first": by_kind.min(), "last": by_kind.max()})
    return [str(kind) for kind, rate in best.items() if rate in tuple(ends.loc[kind])]
