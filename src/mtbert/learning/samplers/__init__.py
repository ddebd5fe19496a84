"""Which task next: every sampler is one line here and one file beside this one. No torch."""

from mtbert.learning.samplers import (
    annealed,
    interleaved,
    proportional,
    round_robin,
    round_robin_shortest,
    sequential,
    square_root,
)
from mtbert.learning.samplers.base import RandomSettings, Sampler, Workload
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions

SAMPLERS: Registry[[Workload], Sampler] = Registry(
    "sampler",
    {
        "sequential": Technique(sequential.Settings, sequential.Sequential),
        "round_robin": Technique(NoOptions, round_robin.RoundRobin),
        "round_robin_shortest": Technique(round_robin_shortest.Settings, round_robin_shortest.RoundRobinShortest),
        "interleaved": Technique(NoOptions, interleaved.Interleaved),
        "proportional": Technique(RandomSettings, proportional.Proportional),
        "square_root": Technique(RandomSettings, square_root.SquareRoot),
        "annealed": Technique(annealed.Settings, annealed.Annealed),
    },
    default="annealed",
)
