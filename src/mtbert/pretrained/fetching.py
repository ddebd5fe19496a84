"""Fetch or make the starting weights: from a folder, an installed package or the model hub, each checked."""

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtbert import files, tasks
from mtbert.data import readers, tokens
from mtbert.errors import DataError, EncoderError
from mtbert.layout import WEIGHTS
from mtbert.pretrained import checks, folders, loading
from mtbert.pretrained.settings import SOURCES, TINY, EncoderSettings

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


def fetch(settings: EncoderSettings, data_dir: Path, out: Path) -> None:
    """Write the starting weights that the settings name to `out`, whole or not at all. Same input, same bytes.

    `tiny` is made from the training sentences below `data_dir`. Others are checked by their SHA-256, and then cut.

    Raises:
        EncoderError: the weights cannot be fetched, are not the known ones, or lack parts of their architecture.
        DataError: a corpus file that tiny's vocabulary is made from cannot be read.
    """
    with files.new_directory(out) as partial:
        is_tiny = settings.source is SOURCES[TINY]
        source = _make_tiny(settings, data_dir, partial) if is_tiny else _copy(settings, partial)
        loading.write_card(partial, settings.display_name, source, settings.note, settings.weights)


def _say(message: str) -> None:
    """Show what the stage does, since large weights take a minute."""
    print(f"encoder: {message}", file=sys.stderr, flush=True)


def _make_tiny(settings: EncoderSettings, data_dir: Path, out: Path) -> str:
    """Write an untrained encoder; return where it comes from, in words."""
    from mtbert.pretrained import tiny

    loading.silence()
    pieces = tiny.vocabulary(_sentences(data_dir, settings.corpora), settings.vocabulary)
    _save(tiny.tokenizer(pieces), tiny.model(settings, len(pieces)), out)
    return f"made here with seed {tiny.SEED}"


def _copy(settings: EncoderSettings, out: Path) -> str:
    """Write the encoder of the files that the settings name, cut and checked; return where it comes from, in words.

    Its masked language model's head is written, too, unless it is cut: that head reads the last layer.
    """
    folder, source = _find(settings)
    _say(f"reading {folder}")
    loading.silence()
    tokenizer = tokens.read(folder)
    model = loading.load(folder)
    checks.check_tokenizer(folder, tokenizer, model.config)
    if settings.layers:
        _cut(model, folder, settings.layers, settings.name)
    else:
        loading.keep_mlm_head(folder, model, out)
    _save(tokenizer, model, out)
    _say("comparing its outputs here with those of transformers")
    checks.check_outputs(folder, model, out)
    return source


def _save(tokenizer: "Tokenizer", model: "PreTrainedModel", out: Path) -> None:
    loading.save_tokenizer(tokenizer, model.config.max_position_embeddings, out)
    model.save_pretrained(out, save_original_format=False)  # not by a checkpoint's older names, gamma and beta


def _cut(model: "PreTrainedModel", folder: Path, layers: int, name: str) -> None:
    from mtbert.models.encoder.architectures import read_config

    count = model.config.num_hidden_layers
    if layers > count:
        raise EncoderError(f"encoder.name is {name}, but that encoder has only {count} layers")
    architecture, _ = read_config(folder)
    all_layers: Any = model.get_submodule(architecture.layers_at)
    model.set_submodule(architecture.layers_at, all_layers[:layers])
    model.config.num_hidden_layers = layers
    if hasattr(model.config, "layer_types"):  # ModernBERT's, one for each layer
        model.config.layer_types = model.config.layer_types[:layers]


def _sentences(data_dir: Path, corpora: Sequence[str]) -> Iterator[str]:
    """Yield the training sentences of the available corpora, or of all tasks of a folder that describes its own.

    Preprocessing reports missing files that are needed.
    """
    described = tasks.read_folder(data_dir)
    wanted = [described[name] for name in corpora] if described is tasks.COURSE else described.values()
    available = [task for task in wanted if (data_dir / task.files["train"]).is_file()]
    if not available:
        raise DataError(f"data_dir is {data_dir}, which holds no training file of {', '.join(corpora)}")
    for task in available:
        rows, _ = readers.read(data_dir, task, "train")
        yield from (row.sentence1 for row in rows)
        yield from (row.sentence2 for row in rows if row.sentence2)


def _find(settings: EncoderSettings) -> tuple[Path, str]:
    """Return the folder of an encoder's files, downloaded if needed and checked, and where they come from, in words."""
    if settings.folder:
        return _files_of_folder(settings.folder, settings.revision)
    module = settings.source.module
    if module and importlib.util.find_spec(module):
        folder = Path(importlib.import_module(module).MODEL_DIR)
    else:
        folder = _download(settings)
    return _files_of_known(settings, folder)


def _files_of_folder(folder: Path, revision: str | None) -> tuple[Path, str]:
    """Return the files of a user's folder; EncoderError where their digest is not `encoder.revision`."""
    digest = folders.digest(folder)
    if digest != revision:
        raise EncoderError(
            f"encoder.name is {folder}, whose digest is {digest}, but encoder.revision is {revision}; set "
            "it to the digest if these files are meant"
        )
    return folder, f"a folder whose digest is {digest}"


def _files_of_known(settings: EncoderSettings, folder: Path) -> tuple[Path, str]:
    """Return the files of an encoder that is known by name; EncoderError where their digest is another."""
    source = settings.source
    folders.check(folder, folders.WHOLE)
    digest = files.sha256(folder / WEIGHTS)
    if digest != source.sha256:
        raise EncoderError(
            f"encoder {settings.name} from {folder}: {WEIGHTS} is not the expected file. Its SHA-256 is {digest}, "
            f"expected {source.sha256}. It was altered or cut off: delete it and fetch it again"
        )
    # the card tells the content, not the way it came: other stages depend on the card
    return folder, f"{source.repository}, {WEIGHTS} with SHA-256 {digest}"


def _download(settings: EncoderSettings) -> Path:
    """Return the folder of the files in the cache of the hub's client, which downloads those that it lacks."""
    import huggingface_hub

    source = settings.source
    _say(f"downloading {source.repository}, or reading it from the cache of the hub's client")
    try:
        path = huggingface_hub.snapshot_download(
            source.repository, revision=source.revision, allow_patterns=[*folders.WHOLE]
        )
    except Exception as error:  # the hub's client raises its HTTP library's errors, of no common base
        package = f"run `pip install 'mtbert[{settings.name}]'`; or " if source.module else ""
        raise EncoderError(
            f"encoder {settings.name} could not be fetched from {source.repository} on the model hub "
            f"({error.__cause__ or error}). Without the hub: {package}set HF_HUB_CACHE to a copied cache of its client"
        ) from error
    return Path(path)
