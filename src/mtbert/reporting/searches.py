"""The search for learning rates: what `python -m mtbert.search` has left for a profile."""

from pathlib import Path

import pandas as pd

from mtbert.errors import DataError
from mtbert.reporting import markdown
from mtbert.tasks import TASKS

SEARCHES = Path("data/searches")  # committed; a file for each profile that was searched for
COLUMNS = ("kind", "variant", "rate", "seed", "mean", "chosen", "rows", "steps")
ABOUT = (
    "Each kind of training was tried with the same rates, by one variant, on training rows without those held out; the "
    "scores are of these, dev was not opened. Chosen is the rate with the highest mean."
)


def place(build: Path) -> Path:
    """Where the searches lie: in a build directory made of evidence, or in the repository."""
    return build / "searches" if (build / "searches").is_dir() else SEARCHES


def read(profile: str, directory: Path = SEARCHES) -> pd.DataFrame | None:
    """The result of a profile's search; None where there was none, DataError where the file is something else."""
    file = directory / f"{profile}.csv"
    if not file.is_file():
        return None
    try:
        found = pd.read_csv(file)
    except ValueError as error:
        raise DataError(f"{file} is no table: {error}; `python -m mtbert.search` makes it again") from None
    if missing := [name for name in COLUMNS if name not in found]:
        raise DataError(f"{file} lacks {', '.join(missing)}; `python -m mtbert.search` makes it again")
    return found


def at_the_end(found: pd.DataFrame) -> list[str]:
    """The kinds whose best rate is the smallest or the largest that was tried."""
    best, by_kind = found[found["chosen"]].set_index("kind")["rate"], found.groupby("kind", sort=False)["rate"]
    ends = pd.DataFrame({"first": by_kind.min(), "last": by_kind.max()})
    return [str(kind) for kind, rate in best.items() if rate in tuple(ends.loc[kind])]


def render(found: pd.DataFrame | None) -> str:
    """The same as Markdown; empty where there was none."""
    if found is None:
        return ""
    tasks = [name for name in found if name in TASKS]
    lines = [
        {
            "kind": f"{row['kind']} (`{row['variant']}`)",
            "rate": f"{row['rate']:.1e}",
            **{TASKS[task].title: markdown.number(row[task]) for task in tasks},
            "mean": markdown.number(row["mean"]),
            "rows": markdown.count(row["rows"]),
            "steps": markdown.count(row["steps"]),
            "chosen": "yes" if row["chosen"] else "",
        }
        for row in found.to_dict("records")
    ]
    ends = at_the_end(found)
    beyond = (
        f"The best rate is at the end of the list, and one beyond may be better: {', '.join(ends)}." if ends else ""
    )
    return "\n\n".join(filter(None, ["## Learning rates", ABOUT, markdown.lined(lines, sides=1), beyond]))
