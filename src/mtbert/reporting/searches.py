"""The searches for learning rates and one further setting: what `mtbert search` has left for a profile."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert.errors import DataError
from mtbert.reporting import markdown
from mtbert.tasks import TASKS

SEARCHES = Path("data/searches")  # committed; a file for each profile that was searched for
COLUMNS = ("kind", "variant", "rate", "seed", "mean", "chosen", "rows", "steps")
SETTING = ("variant", "setting", "value", "rate", "seed", "mean", "chosen", "rows", "steps")
ABOUT = (
    "Each kind of training was tried with the same rates, by one variant, on training rows less those held out; the "
    "scores are of these, dev was not opened. Chosen is the rate with the highest mean."
)
ABOUT_SETTING = (
    "A further setting was looked for in the same way, of this variant alone and with the rate that was found for it. "
    "Chosen is the value with the highest mean."
)


def place(build: Path) -> Path:
    """Where the searches lie: in a build directory made of evidence, or in the repository."""
    return build / "searches" if (build / "searches").is_dir() else SEARCHES


def of_setting(profile: str, directory: Path = SEARCHES) -> Path:
    """Where the result of the one setting beside the rates lies."""
    return directory / f"{profile}-setting.csv"


def files_of(profile: str, directory: Path = SEARCHES) -> list[Path]:
    """The results of a profile that are there."""
    return [file for file in (directory / f"{profile}.csv", of_setting(profile, directory)) if file.is_file()]


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


def render(table: pd.DataFrame | None) -> str:
    """The rates as Markdown; empty where there was no search."""
    if table is None:
        return ""
    lines = [
        {"kind": f"{row['kind']} (`{row['variant']}`)", "rate": f"{row['rate']:.1e}", **_scores(row)}
        for row in table.to_dict("records")
    ]
    ends = at_the_end(table)
    beyond = (
        f"The best rate is at the end of the list, and one beyond may be better: {', '.join(ends)}." if ends else ""
    )
    return "\n\n".join(filter(None, ["## Learning rates", ABOUT, markdown.lined(lines, sides=1), beyond]))


def render_setting(table: pd.DataFrame | None) -> str:
    """The same for the one setting beside them."""
    if table is None:
        return ""
    lines = [
        {row["setting"]: row["value"], "rate": f"{row['rate']:.1e}", **_scores(row)} for row in table.to_dict("records")
    ]
    heading = f"## `{table['setting'][0]}` of `{table['variant'][0]}`"
    return "\n\n".join([heading, ABOUT_SETTING, markdown.lined(lines, sides=1)])


def _scores(row: dict[Any, Any]) -> dict[str, str]:
    return {
        **{TASKS[name].title: markdown.number(row[name]) for name in row if name in TASKS},
        "mean": markdown.number(row["mean"]),
        "rows": markdown.count(row["rows"]),
        "steps": markdown.count(row["steps"]),
        "chosen": "yes" if row["chosen"] else "",
    }
