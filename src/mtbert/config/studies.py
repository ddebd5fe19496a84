"""Variants that are written once for any tasks: of all tasks of the data folder, or one for each of them."""

from collections.abc import Mapping, Sequence
from typing import Any

Entries = dict[str, dict[str, Any]]
ALL, EACH = "all", "each"  # what `tasks` of an entry may be, beside a list


def named(entry: str, task: str) -> str:
    """Return the name of the variant that an entry makes for a task: a variant's name has no underscores."""
    return f"{entry}-{task.replace('_', '-')}"


def is_template(entry: Any) -> bool:
    """Return whether an entry becomes a variant for each task."""
    return isinstance(entry, dict) and entry.get("tasks") == EACH


def expanded(entries: Mapping[str, dict[str, Any]], tasks: Sequence[str]) -> Entries:
    """Return entries whose `tasks` are lists: all tasks in place of `all`, an entry a task in place of `each`."""
    variants = Entries()
    for name, entry in entries.items():
        if is_template(entry):
            variants |= {named(name, task): entry | {"tasks": [task]} for task in tasks}
        elif isinstance(entry, dict) and entry.get("tasks") == ALL:
            variants[name] = entry | {"tasks": [*tasks]}
        else:
            variants[name] = entry
    return variants


def members(ensembles: Mapping[str, dict[str, Any]], entries: Mapping[str, Any], tasks: Sequence[str]) -> Entries:
    """Return ensembles whose members are variants: a member with `tasks: each` becomes its variants, one a task."""
    one_per_task = {name for name, entry in entries.items() if is_template(entry)}
    expanded_ensembles = Entries()
    for name, entry in ensembles.items():
        expanded_ensembles[name] = entry
        if isinstance(entry.get("members"), list):  # anything else is refused later
            variants: list[str] = []
            for member in entry["members"]:
                is_expanded = isinstance(member, str) and member in one_per_task
                variants += [named(member, task) for task in tasks] if is_expanded else [member]
            expanded_ensembles[name] = entry | {"members": variants}
    return expanded_ensembles
