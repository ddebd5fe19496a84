"""How to make a report again, and what is missing in it."""

import shlex
from collections.abc import Iterable, Sequence

from mtbert.reporting.catalog import Completed


def command(completed: Completed) -> str:
    """The command that makes all that was asked for, in a checkout as shipped; it trains what is missing."""
    settings = [
        f"profile={completed.profile}",
        *([f"data_dir={completed.data}"] if completed.data else []),
        f"variants=[{','.join(completed.asked)}]",
        f"seeds=[{','.join(map(str, completed.seeds))}]",
        *completed.overrides,
    ]
    return " ".join(["dvc exp run", *(f"-S {shlex.quote(setting)}" for setting in settings)])


def absent(completed: Completed) -> list[str]:
    """What was asked for and is not there, as `by_seeds`."""
    return by_seeds(completed.missing)


def by_seeds(runs: Iterable[tuple[str, int]]) -> list[str]:
    """Runs, each a variant and a seed: a line for each set of seeds with the variants that have it."""
    seeds: dict[str, list[int]] = {}
    for name, seed in runs:
        seeds.setdefault(name, []).append(seed)
    names: dict[tuple[int, ...], list[str]] = {}
    for name, several in seeds.items():
        names.setdefault(tuple(several), []).append(name)
    return [
        f"seed{'s' if len(several) > 1 else ''} {', '.join(map(str, several))}: {code(those)}"
        for several, those in names.items()
    ]


def not_asked(completed: Completed) -> str:
    """How many variants of the catalog the command leaves out, as a paragraph; empty where it trains all."""
    count = sum(not (entry.selected or entry.members) for entry in completed.entries)
    told = f"{count} more variants of the catalog are" if count > 1 else "One more variant of the catalog is"
    return f"\n\n{told} not asked for: see `catalog` in params.yaml." if count else ""


def code(words: Sequence[str]) -> str:
    """Words as Markdown shows code."""
    return ", ".join(f"`{word}`" for word in words)
