"""Merge an adapter into the encoder's weights, where other weights can have the same effect."""

import copy
import inspect

import torch

from mtbert.errors import SettingsError, UnknownNameError
from mtbert.models.adapters.base import Adapter, Mergeable
from mtbert.models.encoder.bert import Bert, Encoder
from mtbert.models.encoder.slot import PLAIN


def merge(encoder: Encoder, adapter: Adapter, task: str) -> Bert:
    """Return a copy of the encoder that computes without the adapter what `encoder` computes with it, in evaluation.

    Where token types do not count, the copy has the first one's embedding for all, so that it may be given any.
    SettingsError for an adapter that cannot be merged, and for a task that it does not serve.
    """
    if task not in adapter.tasks:
        raise SettingsError(str(UnknownNameError("task of the adapter", task, adapter.tasks)))
    merged = Encoder(copy.deepcopy(encoder.bert))
    for number, layer in enumerate(merged.layer_modules()):
        slot = adapter.slot(task, number)
        if slot is PLAIN:
            continue
        if not isinstance(slot, Mergeable):
            raise SettingsError(
                f"model.adapter {inspect.getmodulename(inspect.getfile(type(adapter)))} cannot be merged into the "
                "encoder: it does more than change the weights of linear maps; allowed: an adapter that does only that"
            )
        with torch.no_grad():
            for name, dense in layer.linears().items():
                weight, bias = slot.merged(name, dense)
                dense.weight.copy_(weight)
                dense.bias.copy_(bias)
    if not encoder.typed:
        types = merged.bert.embeddings.token_type_embeddings.weight
        types.data[:] = types.data[0]
    return merged.bert
