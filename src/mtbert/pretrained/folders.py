"""Which files of an encoder's folder are read; imports no torch or transformers.

They are config.json, tokenizer.json and the weights: one file, or an index and the shards that it names, as
`save_pretrained` writes what is large.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.data.tokens import TOKENIZER
from mtbert.errors import EncoderError, first_of
from mtbert.layout import WEIGHTS
from mtbert.models.encoder.config import CONFIG

INDEX = f"{WEIGHTS}.index.json"
WHOLE = (CONFIG, WEIGHTS, TOKENIZER)  # of a folder without shards
SENTENCEPIECE = ("spm.model", "sentencepiece.bpe.model")  # of DeBERTa-v3, and of XLM-R and CamemBERT
SHARD = re.compile(r"[\w-][\w.-]*\.safetensors")  # a file of the same folder, and no pickle
SHOWN = 5  # most names in a message


def digest(folder: Path) -> str:
    """Return the SHA-256 of all files that are read from a folder, as `encoder.revision` states it.

    EncoderError where one of them is missing, or the index is faulty.
    """
    indexed = shards(folder)
    names = sorted({*WHOLE, INDEX, *indexed} - {WEIGHTS}) if indexed else WHOLE
    check(folder, names)
    lines = "".join(f"{files.sha256(folder / name)}  {name}\n" for name in names)  # as sha256sum prints them
    return files.sha256_of(lines.encode())


def check(folder: Path, names: Sequence[str]) -> None:
    """Raise EncoderError where a folder lacks one of these files."""
    if not folder.is_dir():
        raise EncoderError(f"encoder.name is {folder}, which is no folder")
    missing = [name for name in names if not (folder / name).is_file()]
    pieces = [name for name in SENTENCEPIECE if (folder / name).is_file()]
    if missing == [TOKENIZER] and pieces:
        raise EncoderError(
            f"the encoder's folder {folder} lacks {TOKENIZER}; docs/encoders.md says how one is made of {pieces[0]}"
        )
    if missing:
        raise EncoderError(
            f"the encoder's folder {folder} lacks {first_of(missing, SHOWN)}; weights in .bin files are pickles, which "
            "may run code: they are refused"
        )


def check_config(folder: Path) -> None:
    """Raise EncoderError where a folder lacks the file that says what the encoder is."""
    check(folder, (CONFIG,))


def shards(folder: Path) -> dict[str, set[str]]:
    """Return the shards that a folder's index names, and the names of the weights of each; none without an index.

    A folder with model.safetensors has no shards: transformers reads that file alone, too. EncoderError for a faulty
    index.
    """
    index = folder / INDEX
    if (folder / WEIGHTS).is_file() or not index.is_file():
        return {}
    content = files.read_json(index, "fetch the folder again")
    weights: Any = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(weights, dict) or not weights:
        raise EncoderError(f"{index}: weight_map is missing or empty; allowed: the shard of each weight, by its name")
    weights_of: dict[str, set[str]] = {}
    for weight, shard in weights.items():
        if not isinstance(shard, str) or not SHARD.fullmatch(shard):
            raise EncoderError(
                f"{index} has {weight} in {shard!r}; allowed: a file of the same folder that ends in .safetensors"
            )
        weights_of.setdefault(shard, set()).add(weight)
    return weights_of
