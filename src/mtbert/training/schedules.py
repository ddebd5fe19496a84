"""Learning-rate schedules: step by step, a factor on the phase's learning rate."""

from typing import Protocol

from pydantic import Field

from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions, Section


class Schedule(Protocol):
    """A factor for each step."""

    def factor(self, step: int, steps: int) -> float:
        """The factor for step `step` (0, 1, ...) of `steps`."""
        ...


class Constant:
    """The learning rate as it is."""

    def __init__(self, settings: NoOptions) -> None:
        pass

    def factor(self, step: int, steps: int) -> float:
        """1."""
        return 1.0


class SlantedTriangularSettings(Section):
    """Section `slanted_triangular`: share of the steps that the learning rate rises for."""

    warmup: float = Field(default=0.1, ge=0, lt=1)


class SlantedTriangular:
    """Linear rise from 0 over the first `warmup` of the steps, then linear fall to 0 at the end.

    Source: "Pals for PALs", section 5.3; "My PAL BERT" names it after Howard and Ruder (2018).
    """

    def __init__(self, settings: SlantedTriangularSettings) -> None:
        self.warmup = settings.warmup

    def factor(self, step: int, steps: int) -> float:
        """Rising, then falling."""
        rise = self.warmup * steps
        return step / rise if step < rise else (steps - step) / max(1.0, steps - rise)


SCHEDULES: Registry[Schedule] = Registry(
    "schedule",
    {
        "constant": Technique(NoOptions, Constant),
        "slanted_triangular": Technique(SlantedTriangularSettings, SlantedTriangular),
    },
)
