"""Starting weights in half the bytes: each is rounded to fp16, and trained on in fp32 from there.

fp16 has 11 significant bits, so a weight moves by 1 in 2,048 of itself at most, and by 3e-8 where it is smaller than
6e-5. What is trained from such weights is another result than from those in fp32, and the plan says so.
"""

from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from mtbert import files
from mtbert.errors import EncoderError

WEIGHTS, CARD = "model.safetensors", "encoder.json"
NOTE = "Its weights are rounded to fp16."


def to_fp16(directory: Path) -> None:
    """Round the weights of an encoder's directory, and have its card say so.

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
