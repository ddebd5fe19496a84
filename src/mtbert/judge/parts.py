"""What is compared: two sides, on a metric, with what is expected of their difference."""

from typing import Annotated, Any, Literal

import pydantic

from mtbert.scores.metrics import OVERALLS
from mtbert.settings import Section
from mtbert.tasks import Tasks, main

OVERFITTING = "overfitting"  # overall_normalised on training rows less that on dev
RATE = "learning_rate"  # a profile may set it by what is trained: it differs in some runs, and not in others
Expected = Literal["higher", "lower", "close", "not higher", "not lower"]


def sequence(value: Any) -> Any:
    """Return a YAML list, or the words of a string, as a tuple; anything else as it is, to be refused."""
    if isinstance(value, str):
        return tuple(value.split())
    return tuple(value) if isinstance(value, list) else value


Names = Annotated[tuple[str, ...], pydantic.BeforeValidator(sequence)]


class Part(Section):
    """What is to be compared.

    Attributes:
        ours, other: names of the variants (or an ensemble) of each side; several single-task variants make one row.
        metric: a task, an overall, or `overfitting`.
        expects: `higher`: ours is better by more than nothing; `lower`; `close`: apart by less than the margin;
            `not higher`: ours is better by less than the margin, if at all; or `not lower`.
        margin: the smallest difference that matters.
    """

    ours: Names
    other: Names
    metric: str
    expects: Expected
    margin: float


def margins(tasks: Tasks) -> dict[str, float]:
    """Return by metric the smallest difference that matters: of a mean the largest of its tasks'."""
    task_margins = {name: task.matters for name, task in tasks.items()}
    return task_margins | dict.fromkeys(OVERALLS, max(task_margins[name] for name in main(tasks)))
