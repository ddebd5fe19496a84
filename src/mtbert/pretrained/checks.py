"""Whether an encoder's files agree with each other, and whether it computes here what transformers computes of them.

A setting of config.json that nobody here knows may change the outputs. So each encoder that is fetched is computed both
ways, on random tokens, before it is used.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtbert import files
from mtbert.data import tokens
from mtbert.errors import EncoderError, first_of, one_line
from mtbert.models.encoder.config import CONFIG, content_of
from mtbert.pretrained import folders

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor
    from transformers import PreTrainedModel

BATCHES = ((3, 12), (1, 512))  # rows and tokens of what is compared; the long one shows what distance does
EQUAL = 1e-4  # largest difference of outputs, as a share of the largest output: both add up in other orders
INERT = {  # what config.json may state without a change of the outputs, so that no message names it
    "architectures", "dtype", "torch_dtype", "transformers_version", "model_type", "id2label", "label2id",
    "pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id", "initializer_range",
    "_name_or_path",
}  # fmt: skip


def check_tokenizer(folder: Path, tokenizer: "Tokenizer", config: Any) -> None:
    """Raise EncoderError where a folder's tokenizer does not fit the model's config, or its own settings.

    Sentences are split by tokenizer.json; transformers goes by tokenizer_config.json where that says otherwise.
    """
    ids = tokenizer.get_vocab()
    highest = max(ids.values())
    if highest >= config.vocab_size:
        raise EncoderError(f"{folder}: the tokenizer has a piece {highest}, but the weights are of {config.vocab_size}")
    padding = tokens.names_of_special(tokenizer)["pad_token"]
    if config.model_type in ("roberta", "xlm-roberta", "camembert") and config.pad_token_id != ids[padding]:
        raise EncoderError(  # positions begin behind it
            f"{folder / CONFIG}: pad_token_id is {config.pad_token_id}; allowed: {ids[padding]}, which is {padding} in "
            f"{tokens.TOKENIZER}"
        )
    file = folder / tokens.TOKENIZER_CONFIG
    if not file.is_file():
        return
    settings = files.read_json(file, "fetch the folder again")
    if not isinstance(settings, dict):
        raise EncoderError(f"{file} holds {type(settings).__name__}; allowed: settings by name")
    for name, value in _settings(tokenizer).items():
        if isinstance(settings.get(name), bool) and settings[name] != value:
            raise EncoderError(
                f"{file}: {name} is {settings[name]}, but {tokens.TOKENIZER} has {value}, which is what counts here; "
                "allowed: the same in both, or no such key"
            )
    _check_added(file, settings.get("added_tokens_decoder"), ids)


def _settings(tokenizer: "Tokenizer") -> dict[str, bool]:
    """Return what a tokenizer does, by the names of tokenizer_config.json."""
    content = json.loads(tokenizer.to_str())
    settings: dict[str, bool] = {}
    for part in _parts(content["normalizer"]):
        if part["type"] == "BertNormalizer":
            lowers, strips = part["lowercase"], part["strip_accents"]
            settings["strip_accents"] = lowers if strips is None else strips
            settings["tokenize_chinese_chars"] = part["handle_chinese_chars"]
    normalised = tokenizer.normalizer.normalize_str("A") if tokenizer.normalizer else "A"
    settings["do_lower_case"] = "A" not in normalised
    for part in _parts(content["pre_tokenizer"]):
        if part["type"] == "ByteLevel":
            settings["add_prefix_space"] = part["add_prefix_space"]
        elif part["type"] == "Metaspace":
            settings["add_prefix_space"] = part["prepend_scheme"] != "never"
    return settings


def _parts(content: Any) -> Iterator[dict[str, Any]]:
    """Yield each part of a normalizer or pre-tokenizer, which may be a sequence of them."""
    if isinstance(content, dict):
        if "type" in content:
            yield content
        content = [*content.values()]
    if isinstance(content, list):
        for part in content:
            yield from _parts(part)


def _check_added(file: Path, added: Any, ids: dict[str, int]) -> None:
    """Raise EncoderError where tokenizer_config.json adds tokens that tokenizer.json has not, or has elsewhere."""
    for number, token in (added if isinstance(added, dict) else {}).items():
        content = str(token.get("content") if isinstance(token, dict) else token)
        if str(ids.get(content)) != number:
            raise EncoderError(
                f"{file}: added_tokens_decoder has {content!r} at {number}, but {tokens.TOKENIZER} has it at "
                f"{ids.get(content)}; allowed: the same in both"
            )


def check_outputs(folder: Path, theirs: "PreTrainedModel", written: Path) -> None:
    """Raise EncoderError where the encoder that was written computes other hidden states than transformers does.

    Args:
        folder: where it comes from, for messages.
        theirs: transformers' model of it.
        written: the folder from which trainings read it.
    """
    import torch

    from mtbert.models.encoder import architectures
    from mtbert.models.encoder.encoder import Encoder

    ours = Encoder(architectures.read(written)).eval()
    for rows, longest in BATCHES:
        batch = _batch(rows, min(longest, ours.backbone.config.positions), theirs.config, ours.typed)
        with torch.no_grad():
            try:
                expected = _theirs(theirs, batch)
                outputs = _ours(ours, batch, pooler=len(expected) > 1)
            except Exception as error:  # both compute with settings that nobody may have tried
                fault = f"the encoder cannot be computed with its {CONFIG}: {one_line(error)}"
                raise EncoderError(f"{folder}: {fault}") from error
        for output, goal in zip(outputs, expected, strict=True):
            difference = float((output - goal).abs().max())
            if not goal.isfinite().all():
                raise EncoderError(
                    f"{folder}: the encoder computes numbers that are NaN or infinite, as its weights are too large; "
                    "fetch the folder again, or choose other weights"
                )
            if not difference <= EQUAL * max(1.0, float(goal.abs().max())):
                raise EncoderError(
                    f"{folder}: its outputs here differ from those of transformers by {difference:.2g}, so {CONFIG} "
                    f"has a setting that is not supported; it may be {_unknown(folder, theirs.config, ours)}"
                )


def _unknown(folder: Path, config: Any, ours: Any) -> str:
    """Return which settings of config.json are not read here, and are not transformers' defaults."""
    defaults = vars(type(config)())
    keys = {*vars(ours.backbone.config), *ours.backbone.config.expected, *INERT}
    names = [name for name, value in content_of(folder).items() if name not in keys and defaults.get(name) != value]
    return first_of(sorted(names), folders.SHOWN) or "any of them"


def _batch(rows: int, count: int, config: Any, typed: bool) -> "tuple[Tensor, Tensor, Tensor]":
    """Return ids, mask and types [rows, count] of random tokens; all rows but the first end in padding."""
    import torch

    generator = torch.Generator().manual_seed(0)
    padding = config.pad_token_id or 0
    ids = torch.randint(0, config.vocab_size, (rows, count), generator=generator)
    ids[ids == padding] = (padding + 1) % config.vocab_size
    mask = torch.ones_like(ids)
    for row in range(1, rows):
        mask[row, max(1, count - 3 * row) :] = 0
    ids[mask == 0] = padding
    types = torch.zeros_like(ids)
    types[:, count // 2 :] = int(typed)
    return ids, mask, types


def _theirs(model: "PreTrainedModel", batch: "tuple[Tensor, Tensor, Tensor]") -> "list[Tensor]":
    """Return transformers' hidden states where a token is, and the pooler's output [rows, width] where there is one."""
    ids, mask, types = batch
    typed = {"token_type_ids": types} if types.any() else {}
    outputs: Any = model(input_ids=ids, attention_mask=mask, return_dict=True, **typed)
    pooled = getattr(outputs, "pooler_output", None)
    hidden = outputs.last_hidden_state[mask.bool()]
    return [hidden] if pooled is None else [hidden, pooled]


def _ours(encoder: Any, batch: "tuple[Tensor, Tensor, Tensor]", pooler: bool) -> "list[Tensor]":
    """Return the same of the encoder here."""
    ids, mask, types = batch
    hidden = encoder(encoder.words(ids), types, mask)
    return [hidden[mask.bool()], *([encoder.pooled("pooler", hidden, mask)] if pooler else [])]
