"""Learning rates for each kind of training.

What is trained decides which rate fits: a fresh head needs a hundred times the rate of a whole encoder. So does the
schedule: a rate that an encoder bears as the peak of a warm-up is too high for it from the first step to the last.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from mtbert.learning.schedules import SCHEDULES
from mtbert.settings import Section
from mtbert.variants.settings import PhaseSettings

ENCODER_PARTS = {"encoder", "embeddings", "layers", "attention", "feed_forward"}  # parts that hold most of its weights
HEAD_PARTS = {"heads", "pooler"}
STEPS = 1000  # of a phase, to ask a schedule for its first step's factor

_Kind = Literal["encoder", "adapters", "heads", "encoder_constant", "adapters_constant", "heads_constant", "others"]
_Rate = Annotated[float, Field(gt=0, le=100)]
# As written in section `training`: a number, or numbers by kind. A `_constant` kind without one has its plain kind's.
LearningRate = Annotated[
    Annotated[_Rate, Tag("[number]")] | Annotated[dict[_Kind, _Rate | None], Tag("[by kind]")],
    Discriminator(lambda value: "[by kind]" if isinstance(value, dict) else "[number]"),
]


class Trial(Section):
    """A model at other rates, and what came of it.

    Attributes:
        factor: of its usual rates.
        score: the mean over tasks on spared training rows; None where the loss was not finite.
        seconds: that it took.
    """

    factor: float
    score: float | None
    seconds: float


def of_phase(phase: dict[str, Any]) -> str:
    """Return the kind of training of a phase whose schedule is resolved, by the parts of the model that it trains.

    `encoder`: it trains the encoder's layers or embeddings. `heads`: it trains heads and pooler alone. `adapters`: all
    else, such as adapters or a connector on a frozen encoder, or its biases. `_constant` is appended where the first
    step has the full rate.
    """
    trainable = trained_parts(phase)
    kind = "heads" if trainable <= HEAD_PARTS else "adapters"
    if any(part in ENCODER_PARTS or part.startswith("layer_") for part in trainable):
        kind = "encoder"
    at_full_rate = SCHEDULES.build(phase["schedule"]).factor(0, STEPS) == 1
    return f"{kind}_constant" if at_full_rate else kind


def trained_parts(phase: dict[str, Any]) -> set[str]:
    """Return the parts of the model that a phase trains; where it names none, the default's."""
    trainable = phase.get("trainable") or PhaseSettings.model_fields["trainable"].default
    return {*trainable} - {*(phase.get("frozen") or [])}


def with_rate(phase: dict[str, Any]) -> dict[str, Any]:
    """Return a phase whose schedule is resolved, with the rate of its kind in place of those by kind."""
    rates = phase.get("learning_rate")
    if not isinstance(rates, dict):
        return phase
    kind = of_phase(phase)
    rate = rates.get(kind) or rates.get(kind.removesuffix("_constant")) or rates.get("others")
    rest = {key: value for key, value in phase.items() if key != "learning_rate"}
    return rest if rate is None else {**rest, "learning_rate": rate}
