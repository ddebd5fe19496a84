"""Starting weights in half the bytes: each is rounded to fp16, and training continues from it in fp32.

fp16 has 11 significant bits, so a weight changes by at most 1/2,048 of itself, and by 3e-8 where it is below 6e-5.
Training from such weights gives another result than from those in fp32, which the plan reports.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from mtbert import files
from mtbert.errors import EncoderError

WEIGHTS, CARD = "model.safetensors", "encoder.json"
NOTE = "Its weights are rounded to fp16."


def to_fp16(directory: Path) -> None:
    """Round the weights of an encoder's directory, and note it in its card.

    Raises: EncoderError where a weight is too large for fp16.
    """
    weights = {name: value.half() if value.is_floating_point() else value for name, value in _read(directory).items()}
    if large := [name for name, value in weights.items() if not torch.isfinite(value).all()]:
        raise EncoderError(
            f"encoder.weights is fp16, which holds numbers up to 65,504, but some are larger: {', '.join(large)}; "
            "allowed here: fp32"
        )
    card = files.read_json(directory / CARD)
    with files.new_file(directory / WEIGHTS) as partial:
        save_file(weights, partial, {"format": "pt"})
    note = " ".join(filter(None, [card["note"], NOTE]))
    files.write_json(directory / CARD, {**card, "note": note, "sha256": files.sha256(directory / WEIGHTS)})


def _read(directory: Path) -> dict[str, torch.Tensor]:
    return load_file(directory / WEIGHTS)
