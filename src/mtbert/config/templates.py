"""Variants that are written once for any tasks: of all tasks of the data folder, or one for each of them.

An entry with `tasks: each` is a template, which becomes a variant for each task. Its name in `members` of an ensemble,
or in `teachers` of a variant, stands for all of these. An entry with `part` is another variant, trained on a share of
its rows.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mtbert.settings import Published

ALL, EACH = "all", "each"  # what `tasks` of an entry may be, beside a list


def variant_name(entry: str, task: str) -> str:
    """Return the name of the variant that an entry makes for a task: a variant's name has no underscores."""
    return f"{entry}-{task.replace('_', '-')}"


def is_template(entry: Any) -> bool:
    """Return whether an entry becomes a variant for each task."""
    return isinstance(entry, dict) and entry.get("tasks") == EACH


def expand(entries: Mapping[str, dict[str, Any]], tasks: Sequence[str]) -> dict[str, Any]:
    """Return entries whose `tasks` are lists: all tasks in place of `all`, an entry a task in place of `each`."""
    variants: dict[str, Any] = {}
    one_per_task = _one_per_task(entries)
    for name, entry in entries.items():
        teachers = entry.get("teachers") if isinstance(entry, dict) else None
        if isinstance(teachers, list):  # anything else is refused later
            entry = entry | {"teachers": _variants(teachers, one_per_task, tasks)}
        if is_template(entry):
            variants |= {variant_name(name, task): entry | {"tasks": [task]} for task in tasks}
        elif isinstance(entry, dict) and entry.get("tasks") == ALL:
            variants[name] = entry | {"tasks": [*tasks]}
        else:
            variants[name] = entry
    return variants


def with_parts(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return entries of which each that has a `part` holds what the entry of the whole variant says, too."""
    variants: dict[str, Any] = {}
    for name, entry in entries.items():
        variants[name] = entry
        whole = entries.get(whole_of(entry) or name)
        if isinstance(whole, dict) and whole is not entry:
            variants[name] = {key: value for key, value in whole.items() if key not in Published.model_fields} | entry
    return variants


def whole_of(entry: Any) -> str | None:
    """Return the variant of whose rows an entry reads a part; None of an entry without `part`."""
    part = entry.get("part") if isinstance(entry, dict) else None
    of = part.get("of") if isinstance(part, dict) else None
    return of if isinstance(of, str) else None  # anything else is refused later


def members(
    ensembles: Mapping[str, dict[str, Any]], entries: Mapping[str, Any], tasks: Sequence[str]
) -> dict[str, Any]:
    """Return ensembles whose members are variants: a member with `tasks: each` becomes its variants, one a task."""
    one_per_task = _one_per_task(entries)
    expanded_ensembles: dict[str, Any] = {}
    for name, entry in ensembles.items():
        expanded_ensembles[name] = entry
        if isinstance(entry.get("members"), list):  # anything else is refused later
            expanded_ensembles[name] = entry | {"members": _variants(entry["members"], one_per_task, tasks)}
    return expanded_ensembles


def _one_per_task(entries: Mapping[str, Any]) -> set[str]:
    return {name for name, entry in entries.items() if is_template(entry)}


def _variants(names: Sequence[Any], one_per_task: Collection[str], tasks: Sequence[str]) -> list[Any]:
    """Return names of variants: one a task for each name in `one_per_task`, and all others as they are."""
    variants: list[Any] = []
    for name in names:
        is_expanded = isinstance(name, str) and name in one_per_task
        variants += [variant_name(name, task) for task in tasks] if is_expanded else [name]
    return variants
