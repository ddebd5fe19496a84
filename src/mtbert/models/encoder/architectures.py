"""Every architecture that an encoder may have: each is one line here and one file beside this one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from mtbert.errors import EncoderError, first_of
from mtbert.layout import MLM_HEAD, WEIGHTS, remedy
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.bert import Bert
from mtbert.models.encoder.config import CONFIG, Config, content_of, parsed
from mtbert.models.encoder.deberta import Deberta
from mtbert.models.encoder.modernbert import ModernBert
from mtbert.models.encoder.roberta import Roberta

POOLER = "pooler.dense.weight"
SHOWN = 5  # most names in a message
FLOATS = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
ARCHITECTURES: dict[str, type[Backbone]] = {  # by `model_type` of config.json
    "bert": Bert,
    "roberta": Roberta,
    "xlm-roberta": Roberta,
    "camembert": Roberta,
    "modernbert": ModernBert,
    "deberta-v2": Deberta,
}


class Undrawn(TorchFunctionMode):
    """Leave the weights of new modules undrawn: no time, and no memory until they are written.

    PyTorch's device `meta` does the same for a second and a half, since drawing there imports its compiler.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Skip the functions of torch.nn.init."""
        if getattr(func, "__module__", None) == "torch.nn.init":
            return None
        return func(*args, **(kwargs or {}))


def read_config(directory: Path) -> tuple[type[Backbone], Config]:
    """Return the architecture and config.json of an encoder's directory; EncoderError where it is none of these."""
    content = content_of(directory)
    model_type = content.get("model_type", "bert")
    if model_type not in ARCHITECTURES:
        allowed = ", ".join(map(repr, ARCHITECTURES))
        raise EncoderError(f"{directory / CONFIG}: model_type is {model_type!r}; allowed: {allowed}")
    architecture = ARCHITECTURES[model_type]
    return architecture, parsed(architecture.config_type, content, directory / CONFIG)


def backbone(directory: Path, weights: Mapping[str, Tensor]) -> Backbone:
    """Build the encoder of a directory's config.json with these weights, by the names that it has here."""
    architecture, config = read_config(directory)
    with Undrawn():  # all are replaced at once
        encoder = architecture(config, pooler=architecture.has_pooler and POOLER in weights)
    names = encoder.state_dict().keys()
    if missing := sorted(names - weights.keys()):
        raise EncoderError(f"{directory} lacks weights of {encoder.title}: {first_of(missing, SHOWN)}")
    encoder.load_state_dict({name: weights[name] for name in names}, assign=True)
    return encoder


def check_finite(weights: Mapping[str, Tensor], source: str, what_to_do: str) -> None:
    """Raise EncoderError where a weight is NaN, or infinite in fp32.

    Args:
        weights: tensors of any type, by name.
        source: where they come from, at the start of the message.
        what_to_do: the message's end.
    """
    if names := sorted(name for name, value in weights.items() if not value.float().isfinite().all()):
        raise EncoderError(f"{source}: {first_of(names, SHOWN)} holds numbers that are NaN or infinite; {what_to_do}")


def read(directory: Path) -> Backbone:
    """Read the encoder of a directory, in fp32.

    EncoderError where the files hold another architecture, or a weight is NaN or infinite.
    """
    architecture, _ = read_config(directory)
    weights = {name: value.float() for name, value in load_file(directory / WEIGHTS).items()}
    check_finite(weights, str(directory / WEIGHTS), f"`{remedy(directory)}` makes it again")
    encoder = backbone(directory, architecture.from_hugging_face(weights))
    if (directory / MLM_HEAD).is_file():
        encoder.mlm_head = load_file(directory / MLM_HEAD)
    return encoder.requires_grad_()
