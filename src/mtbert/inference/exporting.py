"""Write a trained model as a folder that transformers, sentence-transformers or onnxruntime load."""

import logging
import shutil
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor

from mtbert import files
from mtbert.data import tokens
from mtbert.errors import MtbertError
from mtbert.inference import bundling, cards, modeling
from mtbert.inference.predicting import Model
from mtbert.models.building import PARTS
from mtbert.models.heads import HEADS
from mtbert.pretraining import loading
from mtbert.tasks import TASKS

MODELING = "mtbert.inference.modeling"
ROWS, TOKENS = 4, 12  # of the batch that checks an export
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
        ExportError: a folder that exists, or a form that the model cannot have.
    """
    if out.exists():
        raise ExportError(f"{out} exists; name a new folder")
    try:
        loading.silence()
        with files.new_directory(out) as partial:
            loading.copy_tokenizer(model.encoder, partial)
            names = files.read_json(partial / tokens.NAMES)
            files.write_json(partial / tokens.NAMES, names | {"model_max_length": model.longest})
            FORMS[form](model, partial)
            files.write_text(partial / "README.md", cards.card(model, form))
            for name in ("settings.yaml", "metrics.json"):
                shutil.copyfile(model.run / name, partial / f"mtbert_{name}")
    except SafetensorError as error:  # such as a full disk
        raise ExportError(f"{out} cannot be written: {error}") from None


def _transformers(model: Model, out: Path) -> None:
    """Write config.json, weights, and the code that the model uses."""
    exported = rebuilt(model)
    code = bundling.file_name(MODELING)
    exported.config.auto_map = {"AutoConfig": f"{code}.MtbertConfig", "AutoModel": f"{code}.MtbertModel"}
    exported.save_pretrained(out)
    used = {part: (each.__module__, each.__qualname__) for part, each in exported.classes.items()}
    written = bundling.bundle([(MODELING, "MtbertModel"), (MODELING, "MtbertConfig"), *used.values()])
    for part, (module, name) in used.items():
        written[f"{code}.py"] += (
            f"from .{bundling.file_name(module)} import {name} as _{part}\nMtbertModel.classes[{part!r}] = _{part}\n"
        )
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


@torch.no_grad()
def rebuilt(model: Model) -> modeling.MtbertModel:
    """Build the model as an export does; ExportError where a task's outputs differ from the model's own."""
    chosen, bert = model.settings.model, model.network.encoder
    choices = {kind: (registry, getattr(chosen, kind)) for kind, registry in PARTS.items()}
    choices |= {task: (HEADS, chosen.heads[task]) for task in model.tasks}
    about: dict[str, Any] = dict(
        bert=asdict(bert.bert.config),
        hidden_size=bert.width,
        typed=bert.typed,
        tasks={task: asdict(TASKS[task]) for task in model.tasks},
        parts={part: registry.settings(choice).model_dump() for part, (registry, choice) in choices.items()},
        pooling={task: chosen.pooling[task] for task in model.tasks},
        pair_encoding=chosen.pair_encoding,
        max_tokens=chosen.max_tokens,
        vocabulary=tokens.vocabulary(model.encoder) if [*model.network.features.parameters()] else [],
    )
    classes = {part: registry[choice["name"]].build for part, (registry, choice) in choices.items()}
    exported = type("MtbertModel", (modeling.MtbertModel,), {"classes": classes})(modeling.MtbertConfig(**about))
    exported.model.load_state_dict(model.network.state_dict())
    exported.eval()
    for task in model.tasks:
        probe, asked = _probe(model, task), (task, sequences(model, task))
        ours = model.network(modeling.batch(*probe, *asked))
        if not torch.allclose(ours, exported(*probe, *asked).logits, rtol=0, atol=1e-6):
            raise ExportError(f"{model.name} cannot be exported: rebuilt from its settings, {task} has other outputs")
    return exported


def sequences(model: Model, task: str) -> int:
    """Return the number of sequences of an example: 2 where the sentences of a pair are encoded apart."""
    return 2 if TASKS[task].is_pair and model.settings.model.pair_encoding == "bi" else 1


def _probe(model: Model, task: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return ids, mask and types of a batch of random ids with padding, the same each time."""
    generator, each = torch.Generator().manual_seed(0), sequences(model, task)
    rows, length = ROWS * each, min(TOKENS, model.longest)
    mask = (torch.arange(length) < torch.arange(3, 3 + rows)[:, None]).long()
    ids = torch.randint(0, model.network.encoder.bert.config.vocab_size, (rows, length), generator=generator)
    types = (torch.arange(length) >= 2).long() * mask * (each == 1)
    return ids * mask, mask, types


def _onnx(model: Model, out: Path) -> None:
    """Write a graph for each task."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # it tells of its own parts, such as a missing torchvision
    exported, names = rebuilt(model), ["input_ids", "attention_mask", "token_type_ids"]
    for task in model.tasks:
        asked = {"task": task, "sequences": sequences(model, task)}
        shape = {0: asked["sequences"] * torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=model.longest)}
        with warnings.catch_warnings(action="ignore"):  # of the same kind
            torch.onnx.export(
                exported, _probe(model, task), str(out / f"{task}.onnx"), kwargs=asked, dynamo=True,
                opset_version=OPSET, input_names=names, output_names=["logits"],
                dynamic_shapes=dict.fromkeys(names, shape) | dict.fromkeys(asked), external_data=False, verbose=False,
            )  # fmt: skip


FORMS: dict[str, Callable[[Model, Path], None]] = {
    "hf": _transformers,
    "sentence-transformers": _sentence_transformers,
    "onnx": _onnx,
}
