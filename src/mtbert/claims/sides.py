"""In what two sides of a comparison differ, by the settings that their runs were resolved to."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

Settings = Mapping[str, Any]  # of a variant, as its plan file has them
MEMBERS = "members"  # a vote differs from all else in this alone
BY_TASK = ("heads", "pooling")  # of section `model`: a value for each task
# What claims name beside settings: how much of each task, or how long, the sides train, and what a technique is for.
BUDGETS = ("examples", "updates")
PURPOSES = ("similarity",)


def differences(settings: Mapping[str, Settings], ours: Sequence[str], other: Sequence[str]) -> set[str]:
    """Return the names of the settings in which any two models of the sides differ.

    Names are those of params.yaml without their section: `adapter` where the adapters are others, `pals.dim` where one
    technique has other options, `training.tasks` for the tasks of a phase, `phases` where their number differs. Heads
    and pooling are compared on tasks that both have, samplers where both have several tasks to choose from. A model
    without settings, such as the untrained encoder, differs in nothing.
    """
    known = {name: of for name, of in settings.items() if "model" in of or of.get("members")}
    pairs = [(known[one], known[two]) for one, two in product(ours, other) if {one, two} <= known.keys()]
    return set().union(*(_of_models(one, two) for one, two in pairs))


def _of_models(one: Settings, two: Settings) -> set[str]:
    if one.get("members") or two.get("members"):
        return {MEMBERS}
    found = _named("tasks", one["tasks"], two["tasks"])
    found |= _in_model(one, two)
    if len(one["phases"]) != len(two["phases"]):
        return found | {"phases"}
    for first, second in zip(one["phases"], two["phases"], strict=True):
        found |= _in_phase(first, second)
    return found


def _in_model(one: Settings, two: Settings) -> set[str]:
    found: set[str] = set()
    for key in one["model"].keys() | two["model"].keys():
        first, second = one["model"].get(key), two["model"].get(key)
        if key in BY_TASK:
            for task in set(one["tasks"]) & set(two["tasks"]):
                found |= _named(key, first[task], second[task])
        else:
            found |= _named(key, first, second)
    return found


def _in_phase(one: Settings, two: Settings) -> set[str]:
    found: set[str] = set()
    has_choice = min(len(one["tasks"]), len(two["tasks"])) > 1
    for key in one.keys() | two.keys():
        if key == "sampler" and not has_choice:
            continue
        found |= _named("training.tasks" if key == "tasks" else key, one.get(key), two.get(key))
    return found


def _named(name: str, one: Any, two: Any) -> set[str]:
    """Return the name of a setting that differs, or those of the options in which one technique does."""
    if one == two:
        return set()
    if isinstance(one, dict) and isinstance(two, dict) and "name" in one and one["name"] == two.get("name"):
        return {f"{one['name']}.{key}" for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
    return {name}
