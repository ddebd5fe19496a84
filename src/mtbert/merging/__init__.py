"""Methods to merge: one model of several that start from the same encoder and learn a task each, without training.

A method is one file, registered here.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from mtbert.errors import SettingsError
from mtbert.merging import mean, task_arithmetic, ties
from mtbert.merging.base import Merge
from mtbert.variants.settings import VariantSettings

MERGES: dict[str, Merge] = {  # they have no settings
    "mean": mean.Mean(),
    "task_arithmetic": task_arithmetic.TaskArithmetic(),
    "ties": ties.Ties(),
}
PLAIN = {"adapter": "none", "connector": "direct", "features": "words"}  # parts without weights


def settings_of(name: str, merge: str, members: Sequence[VariantSettings], **about: Any) -> VariantSettings:
    """Return the settings of a merged model: those that the members share, and each member's task, head and pooling.

    Raises:
        SettingsError: these members cannot be merged; why, and what is allowed.
    """
    if fault := next(_faults(merge, members), None):
        raise SettingsError(fault)
    first = members[0]
    tasks: list[str] = []
    heads, pooling, described, sources = {}, {}, {}, {}
    for member in members:
        tasks += member.tasks
        heads |= member.model.heads
        pooling |= member.model.pooling
        described |= member.described
        sources |= member.sources
    return first.model_copy(
        update={
            "variant": name,
            "also": [],
            "rival": "",
            "tasks": tasks,
            "model": first.model.model_copy(update={"heads": heads, "pooling": pooling}),
            "phases": [],
            "teachers": [],
            "described": described,
            "sources": sources,
            "members": [member.variant for member in members],
            "merge": merge,
            **about,
        }
    )


def _faults(merge: str, members: Sequence[VariantSettings]) -> Iterator[str]:
    """Yield why models of these settings cannot be merged."""
    learners: dict[str, str] = {}  # by task, the member that learns it
    chooses = len(MERGES[merge].scales) > 1
    for member in members:
        for task in member.tasks:
            if task in learners:
                yield f"{learners[task]} and {member.variant} both learn {task}; allowed: members of different tasks"
            learners[task] = member.variant
        yield from _faults_of(member, members[0])
        spared = members[0].phases[0].spared
        needed = " above 0, and" if chooses else ""
        if any(phase.spared != spared for phase in member.phases) or (chooses and not spared):
            yield (
                f"{merge} is fitted on training rows that no member has seen, but training.spared of "
                f"{member.variant} is {member.phases[0].spared:g}; allowed:{needed} alike in all members"
            )


def _faults_of(member: VariantSettings, first: VariantSettings) -> Iterator[str]:
    """Yield why a member cannot be merged with the first."""
    name = member.variant
    for part, plain in PLAIN.items():
        technique = getattr(member.model, part)
        if technique.name != plain:
            yield f"model.{part} of {name} is {technique.name}, whose weights no merge joins; allowed: {plain}"
    if unlike := [key for key, value in _shared(first).items() if value != _shared(member)[key]]:
        yield f"{first.variant} and {name} differ in {', '.join(unlike)}; allowed: members that start alike"
    if member.run.keep == "best" and member.run.selection != "spared":
        yield f"run.keep of {name} is best, which is chosen on dev; allowed: last, or run.selection: spared"
    if not member.phases:
        yield f"{name} is not trained; allowed: members that are"


def _shared(member: VariantSettings) -> dict[str, Any]:
    """Return the settings in which members have to be alike."""
    return member.model.model_dump(exclude={"heads", "pooling"}) | {"run": member.run.model_dump()}
