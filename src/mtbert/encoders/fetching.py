"""Fetch or make the starting weights: from a folder, an installed package or the model hub, each checked."""

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtbert import files, tasks
from mtbert.data import readers, tokens
from mtbert.encoders import folders, loading
from mtbert.encoders.settings import SOURCES, TINY, EncoderSettings
from mtbert.errors import DataError, EncoderError
from mtbert.layout import WEIGHTS

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel


def fetch(settings: EncoderSettings, data_dir: Path, out: Path) -> None:
    """Write the starting weights that the settings name to `out`, whole or not at all.

    tiny is made from the training sentences below `data_dir`; the others are checked against their SHA-256, and then
    cut. Same input, same bytes.

    Raises:
        EncoderError: the weights cannot be fetched, are not the known ones, or lack parts of their architecture.
        DataError: a corpus file that tiny's vocabulary is made from cannot be read.
    """
    from mtbert.encoders import tiny

    loading.silence()
    with files.new_directory(out) as partial:
        if settings.source is SOURCES[TINY]:
            pieces = tiny.vocabulary(_sentences(data_dir, settings.corpora), settings.vocabulary)
            tokenizer, model = tiny.tokenizer(pieces), tiny.model(settings, len(pieces))
            origin = f"made here with seed {tiny.SEED}"
        else:
            folder, origin = _find(settings)
            tokenizer, model = tokens.read(folder), loading.load(folder)
            _check_vocabulary(folder, tokenizer, model)
            if settings.layers:  # without the head, which reads the last layer
                _cut(model, folder, settings.layers, settings.name)
            else:
                loading.keep_mlm_head(folder, partial)
        loading.save_tokenizer(tokenizer, model.config.max_position_embeddings, partial)
        model.save_pretrained(partial, save_original_format=False)  # not by a checkpoint's older names, gamma and beta
        loading.write_card(partial, settings.shown, origin, settings.note, settings.weights)


def _check_vocabulary(folder: Path, tokenizer: "Tokenizer", model: "PreTrainedModel") -> None:
    if (highest := max(tokenizer.get_vocab().values())) >= model.config.vocab_size:
        raise EncoderError(
            f"{folder}: the tokenizer has a piece {highest}, but the weights are of {model.config.vocab_size}"
        )


def _cut(model: "PreTrainedModel", folder: Path, layers: int, name: str) -> None:
    from mtbert.models.encoder.architectures import read_config

    if layers > (own := model.config.num_hidden_layers):
        raise EncoderError(f"encoder.name is {name}, but that encoder has only {own} layers")
    architecture, _ = read_config(folder)
    whole: Any = model.get_submodule(architecture.layers_at)
    model.set_submodule(architecture.layers_at, whole[:layers])
    model.config.num_hidden_layers = layers
    if hasattr(model.config, "layer_types"):  # ModernBERT's, one for each layer
        model.config.layer_types = model.config.layer_types[:layers]


def _sentences(data_dir: Path, corpora: Sequence[str]) -> Iterator[str]:
    """Yield the training sentences of the available corpora, or of all tasks of a folder that describes its own.

    Preprocessing reports missing files that are needed.
    """
    known = tasks.of_folder(data_dir)
    wanted = [known[name] for name in corpora] if known is tasks.COURSE else known.values()
    available = [task for task in wanted if (data_dir / task.files["train"]).is_file()]
    if not available:
        raise DataError(f"data_dir is {data_dir}, which holds no training file of {', '.join(corpora)}")
    for task in available:
        kept, _ = readers.read(data_dir, task, "train")
        yield from (row.sentence1 for row in kept)
        yield from (row.sentence2 for row in kept if row.sentence2)


def _find(settings: EncoderSettings) -> tuple[Path, str]:
    """Return the folder of the files, downloaded if needed and checked, and their origin in words."""
    source, folder = settings.source, settings.folder
    if folder is None and source.module and importlib.util.find_spec(source.module):
        folder = Path(importlib.import_module(source.module).MODEL_DIR)
    elif folder is None:
        folder = _download(settings)
    if settings.folder:
        if (digest := folders.digest(folder)) != settings.revision:
            raise EncoderError(
                f"encoder.name is {folder}, whose digest is {digest}, but encoder.revision is {settings.revision}; set "
                "it to the digest if these files are meant"
            )
        return folder, f"a folder whose digest is {digest}"
    folders.check(folder, folders.WHOLE)
    if (digest := files.sha256(folder / WEIGHTS)) != source.sha256:
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
