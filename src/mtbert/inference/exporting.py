"""Write a trained model as a folder that transformers, sentence-transformers or onnxruntime load."""

import itertools
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.encoders import loading
from mtbert.errors import MtbertError
from mtbert.inference import bundling, cards, modeling
from mtbert.inference.model import Model
from mtbert.models.heads import HEADS
from mtbert.training import evaluation
from mtbert.variants.building import PARTS

MODELING = "mtbert.inference.modeling"
LOADED = Path(__file__).with_name("loaded.py")
EQUAL = 1e-4  # by which an export's outputs may differ from ours: onnxruntime computes in another order
ODD = "Naïve CAPITALS, 42 日本 (it's)\t— ☃"  # what tokenizers change before they look for word pieces
TRACED = 12  # tokens of the batch by which a graph is made
OPSET = 20
MODULES = [  # of sentence-transformers
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.Transformer", "kwargs": ["task"]}
]
EMBEDDING = {"method": "sentence_embedding", "method_output_name": None}  # the method of MtbertModel that it calls


class ExportError(MtbertError):
    """A model cannot be exported in the form that was asked for, or its folder cannot be written."""


def export(model: Model, form: str, out: Path) -> None:
    """Write the folder, whole or not at all.

    Args:
        model: a trained model, on the CPU.
        form: a key of FORMS.
        out: a folder that does not exist.

    Raises:
        ExportError: a folder that exists, a form that the model cannot have, or one that says other things than it.
    """
    if out.exists():
        raise ExportError(f"{out} exists; name a new folder")
    try:
        loading.silence()
        with files.new_directory(out) as partial:
            _tokenizer(model, partial)
            FORMS[form](model, partial)
            files.write_text(partial / "README.md", cards.card(model, form))
            for name in (layout.SETTINGS, layout.METRICS):
                shutil.copyfile(model.run / name, partial / f"mtbert_{name}")
            _check(model, form, partial)
    except SafetensorError as error:  # such as a full disk
        raise ExportError(f"{out} cannot be written: {error}") from None


def _tokenizer(model: Model, out: Path) -> None:
    """Write a tokenizer that returns what the model takes, and cuts what is longer than in training."""
    loading.copy_tokenizer(model.encoder, out)
    names = files.read_json(out / tokens.NAMES)
    about = {"model_max_length": model.longest, "model_input_names": inputs(model)}
    files.write_json(out / tokens.NAMES, names | about)


def inputs(model: Model) -> list[str]:
    """Return the names of the model's inputs; types of tokens only where it distinguishes them."""
    return ["input_ids", "attention_mask", *(["token_type_ids"] if model.network.encoder.typed else [])]


def _transformers(model: Model, out: Path) -> None:
    """Write config.json, weights, and the code that the model uses."""
    exported = rebuilt(model)
    code = bundling.file_name(MODELING)
    exported.config.auto_map = {"AutoConfig": f"{code}.MtbertConfig", "AutoModel": f"{code}.MtbertModel"}
    exported.save_pretrained(out)
    used = {*exported.classes.values(), *exported.head_classes.values()}
    written = bundling.bundle(
        [(MODELING, "MtbertModel"), (MODELING, "MtbertConfig"), *((one.__module__, one.__qualname__) for one in used)]
    )
    written[f"{code}.py"] += _assigned("classes", exported.classes) + _assigned("head_classes", exported.head_classes)
    for name, text in written.items():
        files.write_text(out / name, text)


def _sentence_transformers(model: Model, out: Path) -> None:
    """Write for SentenceTransformer, whose own module for models of transformers loads it."""
    if model.settings.model.pair_encoding == "cross" or set(model.tasks) <= model.network.connector.mixed:
        raise ExportError(
            f"{model.name} encodes both sentences of a pair together, so that one alone has no embedding; allowed: "
            "a variant with pair_encoding: bi, or format hf or onnx"
        )
    _transformers(model, out)
    files.write_json(out / "modules.json", MODULES)
    about = {"modality_config": {"text": EMBEDDING}, "module_output_name": "sentence_embedding"}
    files.write_json(out / "sentence_bert_config.json", about)
    files.write_json(out / "config_sentence_transformers.json", {"model_type": "SentenceTransformer"})


def _assigned(attribute: str, classes: dict[str, type]) -> str:
    """Return code that puts classes of the files beside it into an attribute of MtbertModel."""
    lines = []
    for name, one in classes.items():
        lines += [
            f"from .{bundling.file_name(one.__module__)} import {one.__qualname__}",
            f"MtbertModel.{attribute}[{name!r}] = {one.__qualname__}",
        ]
    return "".join(f"{line}\n" for line in lines)


def rebuilt(model: Model) -> modeling.MtbertModel:
    """Build the model as transformers does from an export."""
    settings, encoder = model.settings.model, model.network.encoder
    parts = {part: getattr(settings, part) for part in PARTS}
    heads = {task: settings.heads[task] for task in model.tasks}
    about: dict[str, Any] = dict(
        backbone=asdict(encoder.backbone.config),
        pooler="dense" in encoder.backbone.pooler,
        hidden_size=encoder.width,
        typed=encoder.typed,
        tasks={task: asdict(model.task(task)) for task in model.tasks},
        parts={part: chosen.settings.model_dump() for part, chosen in parts.items()},
        heads={task: head.settings.model_dump() for task, head in heads.items()},
        pooling={task: settings.pooling[task] for task in model.tasks},
        pair_encoding=settings.pair_encoding,
        max_tokens=settings.max_tokens,
        vocabulary=tokens.vocabulary(model.encoder) if [*model.network.features.parameters()] else [],
    )
    classes: dict[str, Any] = {"backbone": type(encoder.backbone)}
    classes |= {part: PARTS[part].class_of(chosen) for part, chosen in parts.items()}
    head_classes = {task: HEADS.class_of(head) for task, head in heads.items()}
    own = {"classes": classes, "head_classes": head_classes}
    exported = type("MtbertModel", (modeling.MtbertModel,), own)(modeling.MtbertConfig(**about))
    exported.model.load_state_dict(model.network.state_dict())
    return exported.eval()


def sequences(model: Model, task: str) -> int:
    """Return the number of sequences of an example: 2 where the sentences of a pair are encoded apart."""
    return 2 if model.task(task).is_pair and model.settings.model.pair_encoding == "bi" else 1


def _onnx(model: Model, out: Path) -> None:
    """Write a graph for each task."""
    for exporter in ("torch.onnx", "onnxscript"):  # they tell of their own parts, such as a missing torchvision
        logging.getLogger(exporter).setLevel(logging.ERROR)
    # With gradients, PyTorch takes another kernel for attention with a bias, and its two passes over the graph disagree
    # on how the result lies in memory.
    exported, names = rebuilt(model).requires_grad_(False), inputs(model)
    for task in model.tasks:
        asked = {"task": task, "sequences": sequences(model, task)}
        size = (2 * asked["sequences"], min(TRACED, model.longest))
        given = tuple(torch.ones(size, dtype=torch.long) for _ in names)  # not one of them thrice: that is one input
        shape = {0: asked["sequences"] * torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=model.longest)}
        with warnings.catch_warnings(action="ignore"):  # of the same kind
            torch.onnx.export(
                exported, given, str(out / f"{task}.onnx"), kwargs=asked, dynamo=True,
                opset_version=OPSET, input_names=names, output_names=["logits"],
                dynamic_shapes=dict.fromkeys(names, shape) | dict.fromkeys(asked), external_data=False, verbose=False,
            )  # fmt: skip


def _check(model: Model, form: str, folder: Path) -> None:
    """Load the written folder as its card says, in a process without mtbert; ExportError where it says other things."""
    texts = {task: _texts(model, task) for task in model.tasks}
    if form == "sentence-transformers":
        texts = {task: of_task for task, of_task in texts.items() if task not in model.network.connector.mixed}
    with tempfile.TemporaryDirectory() as scratch:
        given, out = Path(scratch, "texts.json"), Path(scratch, "rows.json")
        files.write_json(given, {task: (columns, sequences(model, task) == 2) for task, columns in texts.items()})
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [sys.executable, str(LOADED), form, str(folder), str(given), str(out)],
            env=kept | {"HF_MODULES_CACHE": scratch, "HF_HUB_OFFLINE": "1"},
            cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            why = done.stderr.strip().splitlines()[-1:]
            raise ExportError(f"{model.name}: the export cannot be loaded, and is not kept: {' '.join(why)}")
        rows = json.loads(out.read_text(encoding="utf-8"))  # also NaN, which is told below
    for task, columns in texts.items():
        own = _embedded(model, task, columns) if form == "sentence-transformers" else _logits(model, task, columns)
        difference = np.abs(np.array(rows[task]) - own).max()
        if not difference <= EQUAL:
            raise ExportError(
                f"{model.name}: the export, loaded again with its own tokenizer, differs on {task} by "
                f"{difference:.2g}; allowed: {EQUAL}; it is not kept"
            )


def _texts(model: Model, task: str) -> list[list[str]]:
    """Return sentences, or those of pairs: of words that the tokenizer knows, some of which are cut, and odd ones."""
    most = model.longest
    lengths = [[1, 2, 3, most, 2, most], [4, 1, 2, 2, most, most]][: len(model.task(task).sentences)]
    words = itertools.cycle([word for word in tokens.vocabulary(model.encoder) if word.isalpha()])
    return [[*(" ".join(itertools.islice(words, length)) for length in column), ODD] for column in lengths]


@torch.no_grad()
def _logits(model: Model, task: str, columns: list[list[str]]) -> np.ndarray:
    """Return the model's own scores [rows, 1], or the logits of its classes [rows, outputs], in fp32."""
    examples, _ = model.examples(model.task(task), [*zip(*columns, strict=True)])
    outputs = model.network(examples.batch(range(len(examples))))
    if model.task(task).kind == "score":
        outputs = model.network.head(task).scores(outputs)[:, None]
    return outputs.numpy()


def _embedded(model: Model, task: str, columns: list[list[str]]) -> np.ndarray:
    """Return the model's own embeddings of the first sentences [rows, width] in fp32."""
    examples, _ = model.examples(model.task(task), [*zip(*columns, strict=True)])
    return evaluation.embed(model.network, examples, model.device)[:, 0]


FORMS: dict[str, Callable[[Model, Path], None]] = {
    "hf": _transformers,
    "sentence-transformers": _sentence_transformers,
    "onnx": _onnx,
}
