"""The directory of an encoder: its weights, tokenizer and card, checked whenever they are read.

It holds model.safetensors, config.json, tokenizer.json, tokenizer_config.json and encoder.json, the card: name, source,
sha256 (of model.safetensors), note, layers, width, positions (the longest sequence), pooler (whether there is one).
mlm_head.safetensors is the head of a masked language model, where the checkpoint brings one.
"""

import contextlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from mtbert import files
from mtbert.data import tokens
from mtbert.errors import EncoderError
from mtbert.models.encoder.config import CONFIG, Config, read_config
from mtbert.schemas import EncoderCard

if TYPE_CHECKING:  # at run time transformers is imported only where needed: trainings start sooner without it
    from transformers import BertModel

WEIGHTS, CARD = "model.safetensors", "encoder.json"
POOLER = {"pooler.dense.bias", "pooler.dense.weight"}
# How a foreign folder is read: no pickle, no code of its own, nothing from the network.
SAFELY = {"use_safetensors": True, "local_files_only": True, "trust_remote_code": False, "output_loading_info": True}


def load(directory: Path) -> "BertModel":
    """Load Hugging Face's model of a directory, in fp32 on the CPU, in evaluation mode; check it against its card.

    Raises:
        EncoderError: the directory holds no encoder, or its weights are not those that were written.
    """
    check_weights(directory, card(directory)["sha256"], f"the encoder in {directory}")
    with quiet():
        return bert(directory)


def bert(directory: Path) -> "BertModel":
    """Read Hugging Face's model, BertModel or RobertaModel by model_type; without a pooler where the files hold none.

    Raises:
        EncoderError: the files hold another architecture, or lack some of its weights.
    """
    import torch
    from transformers import AutoModel

    read_config(directory)
    try:
        loaded: Any = AutoModel.from_pretrained(directory, dtype=torch.float32, **SAFELY)
    except (RuntimeError, OSError, SafetensorError) as error:  # other shapes, or another format
        raise EncoderError(f"{directory} holds weights that do not fit {CONFIG}: {error}") from error
    model, report = loaded
    missing = set(report["missing_keys"])
    if missing == POOLER:  # transformers has drawn one at random
        model.pooler, missing = None, set()
    if missing:
        raise EncoderError(f"{directory / WEIGHTS} lacks weights of BERT: {', '.join(sorted(missing))}")
    return model


def check_weights(directory: Path, sha256: str, what: str) -> None:
    """Raise EncoderError, which says `what` they are, where the weights have another digest."""
    path = directory / WEIGHTS
    if not path.is_file():
        raise EncoderError(f"{what}: {WEIGHTS} is missing")
    if (came := files.sha256(path)) != sha256:
        raise EncoderError(
            f"{what}: {WEIGHTS} is not the expected file. Its SHA-256 is {came}, expected {sha256}. "
            "It was altered or cut off: delete it and fetch it again"
        )
    try:
        with safe_open(path, "pt"):
            pass  # opening checks the header
    except SafetensorError as error:
        raise EncoderError(f"{what}: {WEIGHTS} is not a safetensors file: {error}") from None


def check_use(directory: Path, pooling: Mapping[str, str], max_tokens: int) -> None:
    """Raise EncoderError where a variant needs a pooler that the encoder lacks, or more tokens than it takes."""
    about = card(directory)
    pooled = [task for task, how in pooling.items() if how == "pooler"]
    if pooled and not about["pooler"]:
        raise EncoderError(
            f"model.pooling is pooler for {', '.join(pooled)}, but {about['name']} has none, and a fresh one would be "
            "untrained; allowed: cls or mean"
        )
    if max_tokens > about["positions"]:
        raise EncoderError(
            f"model.max_tokens is {max_tokens}, but {about['name']} takes {about['positions']} tokens at most"
        )


def card(directory: Path) -> dict[str, Any]:
    """Read the card of an encoder's directory; EncoderError where it holds no encoder."""
    path = directory / CARD
    stage = "encoder" if directory.name == "base" else f"pretrain@{directory.name}"
    if not path.is_file() or files.read_json(path) == {"needed": False}:
        raise EncoderError(
            f"{directory} holds no encoder; `dvc repro {stage}` makes it where a selected variant needs it"
        )
    return files.read_as(EncoderCard, path, f"dvc repro {stage}").model_dump()


def write_card(directory: Path, name: str, origin: str, note: str) -> None:
    """Write encoder.json for weights that are already in the directory."""
    config = read_config(directory)
    with safe_open(directory / WEIGHTS, "pt") as weights:
        pooler = "pooler.dense.weight" in weights.keys()  # noqa: SIM118, it is not a mapping
    written = EncoderCard(
        name=name,
        source=origin,
        sha256=files.sha256(directory / WEIGHTS),
        note=note,
        layers=config.num_hidden_layers,
        width=config.hidden_size,
        positions=config.longest,
        pooler=pooler,
    )
    files.write_json(directory / CARD, written.model_dump())


def to_fp16(directory: Path) -> None:
    """Round the weights of an encoder's directory to fp16, and note it in its card; trainings go on from them in fp32.

    fp16 has 11 significant bits, so a weight changes by at most 1/2,048 of itself, and by 3e-8 where it is below 6e-5.

    Raises:
        EncoderError: a weight is too large for fp16.
    """
    from safetensors.torch import load_file, save_file

    path, about = directory / WEIGHTS, files.read_json(directory / CARD)
    whole = load_file(path)
    weights = {name: value.half() if value.is_floating_point() else value for name, value in whole.items()}
    if large := [name for name, value in weights.items() if not value.isfinite().all()]:
        raise EncoderError(
            f"encoder.weights is fp16, which holds numbers up to 65,504, but some are larger: {', '.join(large)}; "
            "allowed here: fp32"
        )
    with files.new_file(path) as partial:
        save_file(weights, partial, {"format": "pt"})
    note = f"{about['note']} Its weights are rounded to fp16.".lstrip()
    files.write_json(directory / CARD, about | {"note": note, "sha256": files.sha256(path)})


def save_tokenizer(pieces: list[str], positions: int, directory: Path) -> None:
    """Write BERT's lower-case tokenizer over a vocabulary."""
    from transformers import BertTokenizer

    numbered = {piece: number for number, piece in enumerate(pieces)}
    BertTokenizer(vocab=numbered, do_lower_case=True, model_max_length=positions).save_pretrained(directory)


def keep_tokenizer(directory: Path, config: Config, out: Path) -> None:
    """Copy the tokenizer of a directory: its tokenizer.json without padding, and the names of its special tokens.

    Raises:
        EncoderError: it cannot be read, frames sentences in an unsupported way, or has more pieces than the weights.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        theirs: Any = AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises whatever its files lead to
        raise EncoderError(f"{directory} holds no tokenizer that can be read: {error}") from error
    tokenizer = tokens.read(directory)
    kept = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=config.longest,
        model_input_names=theirs.model_input_names,
        **theirs.special_tokens_map,
    )
    kept.save_pretrained(out)
    tokenizer.save(str(out / tokens.TOKENIZER))  # not that of `kept`, which may add to it
    tokens.special_tokens(out)
    if (highest := max(tokenizer.get_vocab().values())) >= config.vocab_size:
        raise EncoderError(
            f"{directory}: the tokenizer has a piece {highest}, but the weights are of {config.vocab_size}"
        )


def copy_tokenizer(start: Path, out: Path) -> None:
    """Copy an encoder's tokenizer to weights that were trained from it."""
    for name in (tokens.TOKENIZER, tokens.NAMES):
        shutil.copyfile(start / name, out / name)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence the progress bars and load reports of transformers: what matters of them is checked here."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
