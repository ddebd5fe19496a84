"""Variants that are written once for any tasks: of all tasks of the data folder, or one for each of them."""

from collections.abc import Mapping, Sequence
from typing import Any

Entries = dict[str, dict[str, Any]]
ALL, EACH = "all", "each"  # what `tasks` of an entry may be, beside a list


def named(entry: str, task: str) -> str:
    """Return the name of the variant that an entry makes for a task: a variant's name has no underscores."""
    return f"{entry}-{task.replace('_', '-')}"


def expanded(entries: Mapping[str, dict[str, Any]], tasks: Sequence[str]) -> Entries:
    """Return entries with lists of tasks: where `tasks` is `all`, these; where it is `each`, an entry for each."""
    found = Entries()
    for name, entry in entries.items():
        if entry.get("tasks") == EACH:
            found |= {named(name, task): entry | {"tasks": [task]} for task in tasks}
        elif entry.get("tasks") == ALL:
            found[name] = entry | {"tasks": [*tasks]}
        else:
            found[name] = entry
    return found


def members(ensembles: Mapping[str, dict[str, Any]], entries: Mapping[str, Any], tasks: Sequence[str]) -> Entries:
    """Return ensembles whose members are variants: those of every task where one names an entry for each."""
    each = {name for name, entry in entries.items() if isinstance(entry, dict) and entry.get("tasks") == EACH}
    return {
        name: entry | {"members": [one for member in entry["members"] for one in _of(member, each, tasks)]}
        if isinstance(entry.get("members"), list)
        else entry
        for name, entry in ensembles.items()
    }


def _of(member: str, each: set[str], tasks: Sequence[str]) -> list[str]:
    return [named(member, task) for task in tasks] if member in each else [member]
