"""Learning rates for each kind of training, and the settings of the search for them.

What is trained decides which rate fits: a fresh head needs a hundred times the rate of a whole encoder. So does the
schedule: a rate that an encoder bears as the peak of a warm-up is too high for it from the first step to the last.
"""

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from mtbert.errors import SettingsError
from mtbert.schedules import SCHEDULES
from mtbert.settings import Name, Section

Kind = Literal["encoder", "adapters", "heads", "encoder_constant", "adapters_constant", "heads_constant"]
ENCODER = ("encoder", "embeddings", "layers", "attention", "feed_forward")  # parts that hold most of its weights
HEADS = ("heads", "pooler")
STEPS = 1000  # of a phase, to ask a schedule for its first step's factor
RATE = ("training", "learning_rate")
Rate = Annotated[float, Field(gt=0)]


class LearningRates(Section):
    """Key of section `training`: the learning rate of each kind of training, in place of `learning_rate`.

    Where none is stated for a constant schedule, that of the other schedules holds.
    """

    encoder: Rate | None = None
    adapters: Rate | None = None
    heads: Rate | None = None
    encoder_constant: Rate | None = None
    adapters_constant: Rate | None = None
    heads_constant: Rate | None = None


def _each_once(rates: list[float]) -> list[float]:
    if rates != sorted(set(rates)):
        raise ValueError("allowed: rates from small to large, each once")
    return rates


def _different(values: list[Any]) -> list[Any]:
    if any(value in values[:number] for number, value in enumerate(values)):
        raise ValueError("allowed: each value once")
    return values


class OneSetting(Section):
    """A setting beside the rates that is looked for, in the same way, for one variant.

    Attributes:
        variant: what is trained with each of the values.
        name: of the setting: section and key, with a dot between.
        values: what is tried; of equally good ones the first is chosen.
    """

    variant: Name
    name: Annotated[str, Field(pattern=r"^\w+\.\w+$")]
    values: Annotated[list[Any], AfterValidator(_different)] = Field(min_length=2)


class SearchSettings(Section):
    """Section `search`: how settings are searched on rows held out of the training sets.

    Attributes:
        rates: the rates that each kind of training is tried with, from small to large.
        kinds: the variant that is trained for each kind.
        setting: a further one, looked for with the rates that were found.
        held_out: training rows of each task that are scored and not trained on; fewer where whole clusters do not fit.
        seed: draws these rows, and seeds the trainings.
    """

    rates: Annotated[list[Rate], AfterValidator(_each_once)] = Field(min_length=2)
    kinds: dict[Kind, Name] = Field(min_length=1)
    setting: OneSetting | None = None
    held_out: int = Field(ge=2)
    seed: int = Field(default=1, ge=0)


def kind_of(trainable: Collection[str], at_full_rate: bool) -> Kind:
    """Return the kind of training that trains these parts of a model.

    `encoder` where the encoder's layers or embeddings are among them; `heads` for heads and pooler alone;
    `adapters` for all in between, such as adapters or a connector beside a frozen encoder, or its biases. `_constant`
    stands behind it where training starts `at_full_rate`.
    """
    if any(part in ENCODER or part.startswith("layer_") for part in trainable):
        return "encoder_constant" if at_full_rate else "encoder"
    if set(trainable) <= set(HEADS):
        return "heads_constant" if at_full_rate else "heads"
    return "adapters_constant" if at_full_rate else "adapters"


def starts_at_full_rate(schedule: dict[str, Any]) -> bool:
    """Return whether the first step has the full rate by this schedule: its name and its options."""
    try:
        return SCHEDULES.build(schedule).factor(0, STEPS) == 1
    except SettingsError:  # reported as a fault of its section
        return False


def of_phase(phase: dict[str, Any]) -> Kind:
    """Return the kind of training of a phase whose schedule is resolved."""
    frozen = phase.get("frozen") or []
    trainable = [part for part in phase.get("trainable") or [] if part not in frozen]
    return kind_of(trainable, starts_at_full_rate(phase["schedule"]))


def settled(phase: dict[str, Any]) -> dict[str, Any]:
    """Return a phase whose schedule is resolved, with its kind's `learning_rate` in place of the rates of all kinds."""
    rest = {key: value for key, value in phase.items() if key != "learning_rates"}
    rates, kind = phase.get("learning_rates") or {}, of_phase(phase)
    rate = rates.get(kind) or rates.get(kind.removesuffix("_constant"))
    return rest if rate is None else {**rest, "learning_rate": rate}
