"""The directory of an encoder: its weights, tokenizer and card.

It holds model.safetensors, config.json, tokenizer.json, tokenizer_config.json and encoder.json, the card: name, source,
sha256 (of model.safetensors), note, layers, width, positions (the longest sequence), pooler (whether there is one).
mlm_head.safetensors is the head of a masked language model, where the checkpoint brings one, by Hugging Face's names.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from safetensors import SafetensorError, safe_open

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.errors import EncoderError, first_of, one_line
from mtbert.layout import ENCODER_CARD, MLM_HEAD, WEIGHTS
from mtbert.models.encoder.config import CONFIG, MLM_PARTS, content_of
from mtbert.pretrained import folders
from mtbert.scores.schemas import EncoderCard

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor
    from transformers import PreTrainedModel

# What config.json may state of a masked language model's head, beside the biases that its weights have.
MLM_SETTINGS = {"tie_word_embeddings": True, "classifier_activation": "gelu"}
POOLER = {"pooler.dense.bias", "pooler.dense.weight"}


def load(directory: Path) -> "PreTrainedModel":
    """Load Hugging Face's model of any folder, in fp32 on the CPU, in evaluation mode.

    It has no pooler where the files hold none. Nothing is read from a pickle or the network.

    Raises:
        EncoderError: the files hold another architecture, lack some of its weights, or hold numbers that are not
            finite.
    """
    import torch
    from transformers import CONFIG_MAPPING, MODEL_MAPPING

    from mtbert.models.encoder.architectures import read_config

    silence()
    architecture, _ = read_config(directory)
    model_type = content_of(directory).get("model_type", "bert")
    weights = _read_weights(directory)
    try:
        config: Any = CONFIG_MAPPING[model_type].from_json_file(directory / CONFIG)
        config.output_attentions = False  # else transformers refuses its own faster attention when it saves the model
        model_class: Any = MODEL_MAPPING[type(config)]
        loaded: Any = model_class.from_pretrained(  # without the folder, of which it would read more
            None,
            config=config,
            state_dict=weights,
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # they are refused below, by name
        )
    except Exception as error:  # transformers checks config.json in many ways, with errors of no common base
        raise EncoderError(
            f"{directory}: transformers cannot build the model of {CONFIG} and the weights: {one_line(error)}"
        ) from error
    model, report = loaded
    if mismatched := sorted(report["mismatched_keys"]):
        name, shape, expected = mismatched[0]
        more = f"; {len(mismatched) - 1} more do not fit" if mismatched[1:] else ""
        raise EncoderError(
            f"{directory} holds weights that do not fit {CONFIG}: {name} has the shape {[*shape]}; expected: "
            f"{[*expected]}{more}"
        )
    missing = set(report["missing_keys"])
    if missing == POOLER:
        model.pooler = None  # transformers has drawn one at random
    elif missing:
        raise EncoderError(
            f"{directory} lacks weights of {architecture.title}: {first_of(sorted(missing), folders.SHOWN)}"
        )
    return model


def _read_weights(directory: Path) -> "dict[str, Tensor]":
    """Read the weights of any folder, each in the type that its file has.

    EncoderError where a file is damaged, a shard does not hold what the index says, or a weight is no finite number.
    """
    shards = folders.shards(directory)
    if not shards:
        return _read_file(directory / WEIGHTS)
    weights: dict[str, Tensor] = {}
    for shard, names in shards.items():
        part = _read_file(directory / shard)
        if in_one_alone := sorted(part.keys() ^ names):
            listing = first_of(in_one_alone, folders.SHOWN)
            raise EncoderError(
                f"{directory / shard} and {folders.INDEX} name different weights: {listing}; fetch the folder again"
            )
        weights |= part
    return weights


def _read_file(file: Path) -> "dict[str, Tensor]":
    """Read a file of weights; EncoderError where it is damaged, or its numbers are quantized or not finite."""
    from safetensors.torch import load_file

    from mtbert.models.encoder.architectures import FLOATS, check_finite

    try:
        weights = load_file(file)
    except (SafetensorError, OSError) as error:
        raise EncoderError(f"{file} cannot be read: {one_line(error)}; fetch it again") from error
    for name, value in weights.items():
        if name.endswith(("weight", "bias")) and value.dtype not in FLOATS:
            allowed = ", ".join(str(dtype).removeprefix("torch.") for dtype in FLOATS)
            raise EncoderError(f"{file}: {name} has the type {value.dtype}, as if quantized; allowed: {allowed}")
    check_finite(weights, str(file), "fetch the file again, or choose other weights")
    return weights


def check_use(directory: Path, pooling: Mapping[str, str], max_tokens: int) -> None:
    """Raise EncoderError where a variant needs a pooler that the encoder lacks, or more tokens than it takes."""
    encoder = card(directory)
    pooled = [task for task, how in pooling.items() if how == "pooler"]
    if pooled and not encoder.pooler:
        raise EncoderError(
            f"model.pooling is pooler for {', '.join(pooled)}, but {encoder.name} has none, and a fresh one would "
            "be untrained; allowed: cls or mean"
        )
    if max_tokens > encoder.positions:
        raise EncoderError(
            f"model.max_tokens is {max_tokens}, but {encoder.name} takes {encoder.positions} tokens at most"
        )


def card(directory: Path) -> EncoderCard:
    """Read the card of an encoder's directory; EncoderError where it holds no encoder."""
    path = directory / ENCODER_CARD
    remedy = layout.remedy(directory)
    if not path.is_file():
        raise EncoderError(f"{directory} holds no encoder; `{remedy}` makes it where a selected variant needs it")
    return files.read_as(EncoderCard, path, remedy)


def write_card(directory: Path, name: str, source: str, note: str, weights: Literal["fp32", "fp16"] = "fp32") -> None:
    """Write encoder.json for what is already in the directory; round its weights first where they have to be fp16."""
    from mtbert.models.encoder.architectures import POOLER, read_config

    if weights == "fp16":
        _to_fp16(directory / WEIGHTS)
    architecture, config = read_config(directory)
    with safe_open(directory / WEIGHTS, "pt") as file:
        has_pooler = architecture.has_pooler and POOLER in file.keys()  # noqa: SIM118, it is not a mapping
    content = EncoderCard(
        name=name,
        source=source,
        sha256=files.sha256(directory / WEIGHTS),
        note=note,
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        positions=config.positions,
        pooler=has_pooler,
    )
    files.write_json(directory / ENCODER_CARD, content.model_dump())


def _to_fp16(path: Path) -> None:
    """Round weights to fp16; trainings go on from them in fp32. EncoderError where one is too large.

    fp16 has 11 significant bits, so a weight changes by at most 1/2,048 of itself, and by 3e-8 where it is below 6e-5.
    """
    from safetensors.torch import load_file, save_file

    weights = {name: value.half() for name, value in load_file(path).items()}
    if large := [name for name, value in weights.items() if not value.isfinite().all()]:
        raise EncoderError(
            "encoder.weights is fp16, which holds numbers up to 65,504, but some are larger: "
            f"{first_of(large, folders.SHOWN)} of {path.name}; allowed here: fp32"
        )
    save_file(weights, path, {"format": "pt"})


def keep_mlm_head(folder: Path, model: "PreTrainedModel", out: Path) -> None:
    """Write the head of a checkpoint's masked language model to another folder; nothing where it brings none.

    EncoderError where transformers computes other scores of words than `masked_language_model` would with this head.
    """
    from safetensors.torch import save_file

    from mtbert.models.encoder.architectures import read_config

    architecture, _ = read_config(folder)
    stated = content_of(folder)
    weights: dict[str, Tensor] = {}
    for name, value in _read_weights(folder).items():
        newer_name = name.replace("gamma", "weight").replace("beta", "bias")  # bert-base-uncased has the older ones
        weights[newer_name] = value
    vocabulary = model.config.vocab_size
    for names in architecture.mlm_heads(stated):
        is_of_classes = names[-1] is None and "classifier.weight" in weights  # ModernBERT's has the same names
        missing = sorted({*filter(None, names)} - weights.keys())
        if missing and names[-1] in weights:
            raise EncoderError(f"{folder} lacks weights of its head of a masked language model: {', '.join(missing)}")
        if not missing and not is_of_classes:
            _check_mlm_head(folder / CONFIG, stated, weights, model, names[-1])
            save_file(_mlm_head(weights, names, vocabulary), out / MLM_HEAD)
            return


def _check_mlm_head(
    file: Path, stated: Mapping[str, Any], weights: "Mapping[str, Tensor]", model: "PreTrainedModel", bias: str | None
) -> None:
    """Raise EncoderError where the head is no LN(GELU(W h + b)) times the words' embeddings, plus their bias."""
    remedy = "; without its head of a masked language model, as AutoModel saves it, the encoder can be used"
    for name, allowed in MLM_SETTINGS.items():
        if stated.get(name, allowed) != allowed:
            raise EncoderError(f"{file}: {name} is {stated[name]!r}; allowed: {allowed!r}{remedy}")
    words: Any = model.get_input_embeddings().weight
    for name, value in weights.items():
        if name.endswith("decoder.weight"):
            tied, to = words, "the words' embeddings"
        elif name.endswith("decoder.bias") and bias:
            tied, to = weights[bias], bias
        else:
            continue
        if value.shape != tied.shape or not bool((value == tied).all()):
            raise EncoderError(f"{file.parent}: {name} differs from {to}; allowed: the same numbers{remedy}")


def _mlm_head(weights: "Mapping[str, Tensor]", names: Sequence[str | None], vocabulary: int) -> "dict[str, Tensor]":
    """Return the head's weights by MLM_PARTS, from those of a checkpoint by its `names`; a bias without name is 0."""
    dense = weights[str(names[0])]
    width = len(dense)
    head: dict[str, Tensor] = {}
    for part, name, size in zip(MLM_PARTS, names, (width, width, width, width, vocabulary), strict=True):
        value = dense.new_zeros(size) if name is None else weights[name]
        head[part] = value.float().contiguous()
    return head


def save_tokenizer(tokenizer: "Tokenizer", positions: int, out: Path) -> None:
    """Write a tokenizer with the names of its special tokens; EncoderError where they are of no kind that is known."""
    from transformers import PreTrainedTokenizerFast

    names = tokens.names_of_special(tokenizer)
    by_transformers = PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=positions, **names)
    by_transformers.save_pretrained(out)
    tokenizer.save(str(out / tokens.TOKENIZER))  # not that of transformers, which may add to it
    tokens.special_tokens(out)  # raises the error


def copy_tokenizer(encoder: Path, out: Path) -> None:
    """Copy an encoder's tokenizer to weights that were trained from it."""
    for name in (tokens.TOKENIZER, tokens.TOKENIZER_CONFIG):
        shutil.copyfile(encoder / name, out / name)


def silence() -> None:
    """Silence the progress bars and load reports of transformers: what matters of them is checked here."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
