"""Learning rates over time: every schedule is one line here and one file beside this one. No torch."""

from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions
from mtbert.training.schedules import reduce_on_plateau, slanted_triangular
from mtbert.training.schedules.base import Schedule

SCHEDULES: Registry[[], Schedule] = Registry(
    "schedule",
    {
        "constant": Technique(NoOptions, Schedule),  # the learning rate as it is
        "slanted_triangular": Technique(slanted_triangular.Settings, slanted_triangular.SlantedTriangular),
        "reduce_on_plateau": Technique(reduce_on_plateau.Settings, reduce_on_plateau.ReduceOnPlateau),
    },
    default="slanted_triangular",
)
