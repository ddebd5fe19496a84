"""Fetch or make the starting weights: from a folder, an installed package or the model hub, each checked."""

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtbert import files, tasks
from mtbert.data import readers, tokens
from mtbert.errors import DataError, EncoderError
from mtbert.models.encoder.config import CONFIG, read_config
from mtbert.pretraining import loading
from mtbert.pretraining.loading import WEIGHTS
from mtbert.pretraining.settings import (
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

if TYPE_CHECKING:  # at run time transformers is imported only where needed: trainings start sooner without it
    from transformers import BertModel

SHARDS = "model.safetensors.index.json"
TOKENIZERS = ((tokens.TOKENIZER,), (loading.VOCABULARY,), ("vocab.json", "merges.txt"))  # one of them is enough
ASIDE = "weights in .bin files are pickles, which may run code: they are refused"


def fetch(settings: EncoderSettings, data_dir: Path, out: Path) -> None:
    """Write the starting weights that the settings name to `out`, whole or not at all.

    tiny is made from the training sentences below `data_dir`; the others are checked against their SHA-256 or
    revision, and then cut. Same input, same bytes.

    Raises:
        EncoderError: the weights cannot be fetched, are not the known ones, or lack parts of a BERT.
        DataError: a corpus file that tiny's vocabulary is made from cannot be read.
    """
    from mtbert.pretraining import mlm_head, tiny

    with files.new_directory(out) as partial, loading.quiet():
        if settings.name == TINY:
            pieces = tiny.vocabulary(_sentences(data_dir, settings.corpora), settings.vocabulary)
            model, origin = tiny.model(settings, len(pieces)), f"made here with seed {settings.seed}"
            loading.save_tokenizer(pieces, model.config.max_position_embeddings, partial)
            digests = {}
        else:
            directory, origin = _find(settings)
            model, digests = loading.bert(directory), {} if settings.known else fetched(directory)
            if settings.kept is None:  # the head reads the last layer
                mlm_head.keep(directory, partial)
            _cut(model, settings)
            loading.keep_tokenizer(directory, read_config(directory), partial)
        model.save_pretrained(partial, save_original_format=False)  # not by a checkpoint's older names, gamma and beta
        loading.write_card(partial, settings.shown, origin, settings.note, digests)


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
        rows = readers.read(data_dir, task, "train")
        for column in ("sentence1", "sentence2"):
            yield from rows[column].dropna()


def _cut(model: "BertModel", settings: EncoderSettings) -> None:
    """Leave out the layers behind the last that the settings keep, in place; EncoderError where it has fewer."""
    kept, own = settings.kept, model.config.num_hidden_layers
    if kept is None:
        return
    if kept > own:
        raise EncoderError(f"encoder.layers is {kept}, but {settings.source.name} has only {own}; allowed: 1 to {own}")
    model.encoder.layer = model.encoder.layer[:kept]
    model.config.num_hidden_layers = kept


def _find(settings: EncoderSettings) -> tuple[Path, str]:
    """Return the folder of the files, downloaded if needed and checked, and their origin in words."""
    source, folder = settings.source, settings.folder
    origin = f"{source.repository} at {source.revision}"
    if folder:
        _check_complete(folder, "encoder.name")
        if (digest := folder_digest(folder)) != settings.revision:
            raise EncoderError(
                f"encoder.name is {folder}, whose digest is {digest}, but encoder.revision is {settings.revision}; set "
                "it to the digest if these files are meant"
            )
        return folder, f"a folder whose digest is {settings.revision}"
    if settings.directory:
        folder, way = Path(settings.directory).expanduser(), "encoder.directory"
        _check_complete(folder, way)
    elif source.module and importlib.util.find_spec(source.module):
        folder, way = Path(importlib.import_module(source.module).MODEL_DIR), f"package {source.requirement}"
    else:
        folder, way = _download(source), origin
        _check_complete(folder, origin)
    if settings.known:  # the card tells the content, not the way it came: other stages depend on the card
        loading.check_weights(folder, source.sha256, f"encoder {settings.name} from {way}")
        return folder, f"{source.repository}, {WEIGHTS} with SHA-256 {source.sha256}"
    _check_download(folder, origin)
    return folder, origin


def _check_complete(directory: Path, what: str) -> None:
    """Raise EncoderError where weights, config.json or a tokenizer are missing."""
    needed = (((WEIGHTS,), (SHARDS,)), ((CONFIG,),), TOKENIZERS)
    missing = [
        " or ".join(" with ".join(group) for group in ways if group != (SHARDS,))
        for ways in needed
        if not any(all((directory / name).is_file() for name in group) for group in ways)
    ]
    if missing:
        why = f" ({ASIDE})" if missing[0] == WEIGHTS and directory.is_dir() else ""
        raise EncoderError(f"{what} is {directory}, which lacks {', '.join(missing)}{why}")


def _download(source: Source) -> Path:
    import huggingface_hub

    try:
        path = huggingface_hub.snapshot_download(source.repository, revision=source.revision, allow_patterns=[*WANTED])
    except Exception as error:  # the hub's client raises its HTTP library's errors, of no common base
        cause = error.__cause__ or error
        reason = (str(cause).splitlines() or [type(cause).__name__])[0].rstrip(".")
        package = f"run `pip install {source.requirement}`; or " if source.requirement else ""
        key = "directory" if source.name in SOURCES else "name"
        raise EncoderError(
            f"encoder {source.name} could not be fetched from {source.repository} on the model hub ({reason}). Without "
            f"the hub: {package}set encoder.{key} to a folder that holds {WEIGHTS}, {CONFIG} and {tokens.TOKENIZER}; "
            "or set profile to sample, whose encoder is made here."
        ) from error
    return Path(path)


def _check_download(directory: Path, origin: str) -> None:
    """Compare files of the hub's cache with their names there: git's digest, or SHA-256 of a large file."""
    from huggingface_hub.utils.sha import git_hash

    for name, sha256 in fetched(directory).items():
        blob = came = (directory / name).resolve()
        if DIGEST.fullmatch(blob.name):
            came = blob.with_name(sha256)
        elif COMMIT.fullmatch(blob.name):
            came = blob.with_name(git_hash(blob.read_bytes()))
        if came != blob:
            raise EncoderError(
                f"{directory / name} is not the file of {origin}: it was altered or cut off; delete {blob} and fetch "
                "it again"
            )
