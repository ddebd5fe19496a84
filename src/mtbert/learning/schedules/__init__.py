"""Learning rates over time: every schedule is one line here and one file beside this one. No torch."""

from mtbert.learning.schedules import reduce_on_plateau, slanted_triangular
from mtbert.learning.schedules.base import Schedule
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

SCHEDULES: Registry[[], Schedule] = Registry(
    "schedule",
    {
        "constant": Technique(NoOptions, Schedule),  # the learning rate as it is
        "slanted_triangular": Technique(slanted_triangular.Settings, slanted_triangular.SlantedTriangular),
        "reduce_on_plateau": Technique(reduce_on_plateau.Settings, reduce_on_plateau.ReduceOnPlateau),
    },
    default="slanted_triangular",
)
