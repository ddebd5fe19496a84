"""In what two sides of a comparison differ, by the settings that their runs were resolved to."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

RATE = "learning_rate"  # a profile may set it by what is trained: it differs in some runs, and not in others
MEMBERS = "members"  # a vote differs from all else in this alone
BY_TASK = ("heads", "pooling")  # of section `model`: a value for each task
# What claims name beside settings: how much of each task, or how long, the sides train, and what a technique is for.
BUDGETS = ("examples", "updates")
PURPOSES = ("similarity",)


def differing_settings(
    settings: Mapping[str, Mapping[str, Any]], ours: Sequence[str], other: Sequence[str]
) -> set[str]:
    """Return the names of the settings in which any two models of the sides differ.

    Names are those of params.yaml without their section: `adapter` where the adapters are others, `pals.dim` where one
    technique has other options, `training.tasks` for the tasks of a phase, `phases` where their number differs. There
    of the phases' settings their rates alone are compared. Heads and pooling are compared on tasks that both have,
    samplers where both have several tasks to choose from. A model without settings, such as the untrained encoder,
    differs in nothing.
    """
    comparable = {name: values for name, values in settings.items() if "model" in values or values.get("members")}
    differing: set[str] = set()
    for our_model, other_model in product(ours, other):
        if our_model in comparable and other_model in comparable:
            differing |= _between_models(comparable[our_model], comparable[other_model])
    return differing


def _between_models(ours: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    if ours.get("members") or other.get("members"):
        return {MEMBERS}
    differing = _between_values("tasks", ours["tasks"], other["tasks"])
    differing |= _between_model_sections(ours, other)
    if len(ours["phases"]) != len(other["phases"]):
        our_rates, other_rates = ({phase.get(RATE) for phase in side["phases"]} for side in (ours, other))
        differ = our_rates and other_rates and our_rates != other_rates  # what trains nothing has no rate
        return differing | {"phases"} | ({RATE} if differ else set())
    for our_phase, other_phase in zip(ours["phases"], other["phases"], strict=True):
        differing |= _between_phases(our_phase, other_phase)
    return differing


def _between_model_sections(ours: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    shared_tasks = {*ours["tasks"]} & {*other["tasks"]}
    differing: set[str] = set()
    for key in ours["model"].keys() | other["model"].keys():
        our_value, other_value = ours["model"].get(key), other["model"].get(key)
        if key in BY_TASK:
            for task in shared_tasks:
                differing |= _between_values(key, our_value[task], other_value[task])
        else:
            differing |= _between_values(key, our_value, other_value)
    return differing


def _between_phases(ours: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    differing: set[str] = set()
    has_choice = min(len(ours["tasks"]), len(other["tasks"])) > 1
    for key in ours.keys() | other.keys():
        if key == "sampler" and not has_choice:
            continue
        differing |= _between_values("training.tasks" if key == "tasks" else key, ours.get(key), other.get(key))
    return differing


def _between_values(name: str, ours: Any, other: Any) -> set[str]:
    """Return the name of a setting that differs, or those of the options in which one technique does."""
    if ours == other:
        return set()
    if isinstance(ours, dict) and isinstance(other, dict) and "name" in ours and ours["name"] == other.get("name"):
        return {f"{ours['name']}.{key}" for key in ours.keys() | other.keys() if ours.get(key) != other.get(key)}
    return {name}
