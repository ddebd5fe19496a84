"""Which task next: every sampler is one line here and one file beside this one. No torch."""

from mtbert.registry import Registry, Technique
from mtbert.samplers import annealed, proportional, round_robin, square_root
from mtbert.samplers.base import Sampler
from mtbert.settings import NoOptions

SAMPLERS: Registry[Sampler] = Registry(
    "sampler",
    {
        "round_robin": Technique(NoOptions, round_robin.RoundRobin),
        "proportional": Technique(NoOptions, proportional.Proportional),
        "square_root": Technique(NoOptions, square_root.SquareRoot),
        "annealed": Technique(annealed.Settings, annealed.Annealed),
    },
)
