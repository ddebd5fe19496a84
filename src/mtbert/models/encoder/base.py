"""What every architecture of an encoder is: weights that turn word embeddings into hidden states, with slots.

Legend: rows sequences of a batch; tokens the longest of them; width the hidden size.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from mtbert.models.encoder.config import Config
from mtbert.models.encoder.slot import LinearName, Slot

Slots = Callable[[int], Slot]  # from a layer's number
Compute = Callable[[int, Tensor, Slot], Tensor]  # a layer's output, from its number, its input and a slot
TOKENS = 8192  # of a batch, padding counted: more are trained on in parts


class Layer(nn.Module):
    """A layer of an encoder."""

    def linears(self) -> dict[LinearName, nn.Linear]:
        """Return the linear maps by the names that a slot uses."""
        raise NotImplementedError

    def parts(self) -> dict[str, list[nn.Module]]:
        """Return its `attention`, `feed_forward` and `output_norms`, as `training.trainable` names them."""
        raise NotImplementedError


class Backbone(nn.Module):
    """An encoder's weights by Hugging Face's names. Subclasses take (config, pooler), and define what follows.

    Attributes:
        title: its name, for people.
        config_type: what its config.json states.
        has_pooler: whether checkpoints may bring a pooler: a dense layer that is read behind tanh.
        layers_at: where Hugging Face's model has its layers.
        gated: whether the map `intermediate` makes the feed-forward's inner values and a gate of them.
        config: what config.json states.
        embeddings: makes the first layer's input [rows, tokens, width] of word embeddings of the same shape and token
            types [rows, tokens].
        pooler: empty where there is none.
        mlm_head: MLM_PARTS of the masked language model that the weights were trained as; no part of the model, and
            empty where there is none.
    """

    title = ""
    config_type = Config
    has_pooler = False
    layers_at = "encoder.layer"
    gated = False

    def __init__(self, config: Any, pooler: bool = False) -> None:
        super().__init__()
        self.config = config
        self.mlm_head: dict[str, Tensor] = {}
        self.embeddings: nn.Module
        self.pooler = nn.ModuleDict()
        if pooler:
            self.pooler["dense"] = nn.Linear(config.hidden_size, config.hidden_size)

    @property
    def word_embeddings(self) -> nn.Embedding:
        """The words' embeddings."""
        raise NotImplementedError

    def layer_modules(self) -> list[Any]:
        """Return the layers, the lowest first."""
        raise NotImplementedError

    def first_input(self, words: Tensor, token_types: Tensor) -> Tensor:
        """Return the first layer's input; shapes as of `forward`.

        It is in autocast's precision: else the residuals stay fp32, and each layer casts them. That serves where
        LayerNorm follows the sum with the residual, so that no sum passes more than one sub-layer.
        """
        first = self.embeddings(words, token_types)
        device_type = first.device.type
        if not torch.is_autocast_enabled(device_type):
            return first
        return first.to(torch.get_autocast_dtype(device_type))

    def computing(self, mask: Tensor) -> Compute:
        """Return what computes a layer for rows of this mask; shapes as of `forward`."""
        raise NotImplementedError

    def end(self, hidden: Tensor) -> Tensor:
        """Return the model's result, from the last layer's output; here, the same."""
        return hidden

    def forward(self, words: Tensor, token_types: Tensor, mask: Tensor, slots: Sequence[Slots]) -> list[Tensor]:
        """Return the last layer's hidden states for each of `slots`, the adapter's for a task.

        Slots map a layer's number (0, 1, ...) to a slot. Tasks share what a layer computes as long as their slots are
        the same objects: without an adapter, all of it; with one in upper layers alone, the lower layers.

        Shapes: words [rows, tokens, width], token_types [rows, tokens], mask [rows, 1, 1, tokens], results like words.
        """
        first = self.first_input(words, token_types)
        if self.training and first.device.type == "cpu" and first.shape[0] * first.shape[1] > TOKENS:
            return self._states_in_parts(first, mask, slots)
        return self._states(first, self.computing(mask), slots)

    def _states_in_parts(self, first: Tensor, mask: Tensor, slots: Sequence[Slots]) -> list[Tensor]:
        """Return the same as `_states`, with 0 for padding, in less memory.

        Each part of the rows is as long as its longest row, so that one long text pads no others. Only the layers'
        outputs are kept, and each layer is computed once more in the backward pass: Chen et al. (2016), "Training Deep
        Nets with Sublinear Memory Cost". On a GPU too little memory is an error; on a CPU the system ends the training.
        """
        states_by_part: list[list[Tensor]] = []
        for rows, longest in parts_of_rows([int(length) for length in mask.sum(dim=(1, 2, 3))]):
            compute = partial(checkpoint, self.computing(mask[rows, ..., :longest]), use_reentrant=False)
            states = self._states(first[rows, :longest], compute, slots)
            padding = first.shape[1] - longest
            states_by_part.append([F.pad(state, (0, 0, 0, padding)) for state in states])
        return [torch.cat(states) for states in zip(*states_by_part, strict=True)]

    def _states(self, first: Tensor, compute: Compute, slots: Sequence[Slots]) -> list[Tensor]:
        """Return the last layer's hidden states for each of `slots`, from the first layer's input."""
        states = [first] * len(slots)  # of each task
        for number in range(len(self.layer_modules())):
            computed: list[tuple[Tensor, Slot, Tensor]] = []  # inputs, slots and outputs in this layer
            for task, of_task in enumerate(slots):
                state, slot = states[task], of_task(number)
                output = next((out for given, other, out in computed if given is state and other is slot), None)
                if output is None:
                    output = compute(number, state, slot)
                    computed.append((state, slot, output))
                states[task] = output
        return [self.end(state) for state in states]

    def norms(self) -> list[nn.Module]:
        """Return the LayerNorms behind the last layer; here, none."""
        return []

    @classmethod
    def mlm_heads(cls, stated: Mapping[str, Any]) -> tuple[tuple[str | None, ...], ...]:
        """Return the names of a checkpoint's MLM_PARTS by its config.json, a tuple for each form that is known.

        None stands for a bias that the form does without, which starts as 0.
        """
        return ()

    @classmethod
    def from_hugging_face(cls, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return weights by their names here, from those of Hugging Face's model; here, they are the same."""
        return dict(weights)


def parts_of_rows(lengths: Sequence[int]) -> Iterator[tuple[slice, int]]:
    """Yield parts of a batch's rows, with their longest, so that each has at most TOKENS tokens, or is one row."""
    start, longest = 0, 0
    for row, length in enumerate(lengths):
        if row > start and max(longest, length) * (row + 1 - start) > TOKENS:
            yield slice(start, row), longest
            start, longest = row, 0
        longest = max(longest, length)
    yield slice(start, len(lengths)), longest
