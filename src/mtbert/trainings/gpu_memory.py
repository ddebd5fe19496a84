"""How much of a GPU's memory a training needs, computed before it runs, so that nobody has to try numbers of trainings.

The rule is simple, and gives more than is needed: benchmarks/results.json has what each variant of the papers needs.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import safe_open

from mtbert.layout import WEIGHTS
from mtbert.learning.samplers import SAMPLERS
from mtbert.models.heads import HEADS

GIB = 2**30
CONTEXT = 0.6 * GIB  # of CUDA, for each process
# Bytes of an encoder's weight, its gradient and two moments, in fp32, and 15 % more for adapters and heads.
BY_WEIGHT = 16 * 1.15
BY_KEPT = 4 * 1.15  # bytes of a weight in fp32, and 15 % more, in each epoch that is kept
# Bytes that each number of a hidden state keeps in a layer for the backward pass, its attention included, on a CPU.
BY_STATE = 150
BY_EVALUATED = 24  # bytes that predictions take for each number of a hidden state, all layers together, as for BERT
PASSES = 2  # more forward passes for each objective


def weights(encoder: Path) -> int:
    """Return the number of an encoder's weights, of which nothing is read but the shapes."""
    with safe_open(encoder / WEIGHTS, "pt") as content:
        return sum(math.prod(content.get_slice(name).get_shape()) for name in content.offset_keys())


def needed(plan: Mapping[str, Any], count: int, config: Mapping[str, Any]) -> float:
    """Return the bytes that a training needs at most, by a rule that counts each sequence as if it had `max_tokens`.

    Counted are CUDA's context; the weights with gradients and moments; the weights of each epoch that is kept; and what
    the largest step keeps for its backward pass, or a batch of predictions where that is more. What recorded steps hold
    beside those that run kernel by kernel is not counted apart: a GPU's attention keeps less than a CPU's.

    Args:
        plan: a variant's settings.
        count: the encoder's weights.
        config: its config.json.
    """
    from mtbert.training import evaluation

    model = plan["model"]
    compares = any(HEADS.class_of(HEADS.choose(head)).compares for head in model["heads"].values())
    sequences = 2 if compares or model["pair_encoding"] == "bi" else 1
    state = sequences * model["max_tokens"] * config["hidden_size"]  # numbers of a hidden state of an example
    step = max(map(_rows, plan["phases"]), default=0) * config["num_hidden_layers"] * state * BY_STATE
    predictions = evaluation.GPU_BATCH * state * BY_EVALUATED
    return CONTEXT + count * (BY_WEIGHT + _kept(plan["run"]) * BY_KEPT) + max(step, predictions)


def _kept(run: Mapping[str, Any]) -> int:
    """Return how many epochs' weights are kept at most."""
    return 0 if run["keep"] == "last" else 1


def _rows(phase: Mapping[str, Any]) -> int:
    """Return the examples of a step that a backward pass goes through the encoder for, times its passes."""
    if set(phase["trainable"]) == {"heads"}:
        return 0
    batch_sizes = [phase["batch_sizes"].get(task, phase["batch_size"]) for task in phase["tasks"]]
    sampler: Any = SAMPLERS[phase["sampler"]["name"]].build  # a class
    examples = sum(batch_sizes) if sampler.several_tasks else max(batch_sizes)
    return examples * (1 + PASSES * len(phase["objectives"]))
