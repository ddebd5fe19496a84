"""Write a trained model as a folder that transformers, sentence-transformers or onnxruntime load."""

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from mtbert import files
from mtbert.data import tokens
from mtbert.errors import MtbertError, SettingsError, UnknownNameError
from mtbert.inference import bundling, cards, modeling
from mtbert.inference.predicting import Model, class_names
from mtbert.models.adapters.merging import merge
from mtbert.models.building import PARTS
from mtbert.models.heads import HEADS
from mtbert.pretraining import loading
from mtbert.tasks import TASKS

MODELING, SENTENCES = "mtbert.inference.modeling", "mtbert.inference.sentences"
WEIGHTS = "model.safetensors"
PROBE = (4, 12)  # rows and tokens of the batch that checks an export
OPSET = 20


class ExportError(MtbertError):
    """A model cannot be exported in the form that was asked for, or its folder cannot be written."""


def export(model: Model, form: str, out: Path, task: str | None = None) -> None:
    """Write the folder, whole or not at all.

    Args:
        model: a trained model, on the CPU.
        form: a key of FORMS.
        out: a folder that does not exist.
        task: for `hf`: a plain BertForSequenceClassification of this task alone; for `onnx`: its graph alone.

    Raises:
        ExportError: an unknown form, a folder that exists, or a form that the model cannot have.
        ModelError: it lacks the task.
    """
    if form not in FORMS:
        raise ExportError(str(UnknownNameError("format", form, FORMS)))
    tasks = [*model.tasks] if task is None else [model.task(task).name]
    if out.exists():
        raise ExportError(f"{out} exists; name a new folder")
    try:
        with files.new_directory(out) as partial, loading.quiet():
            loading.copy_tokenizer(model.encoder, partial)
            names = files.read_json(partial / tokens.NAMES)
            files.write_json(partial / tokens.NAMES, names | {"model_max_length": model.longest})
            FORMS[form](model, partial, task)
            shown = "plain" if form == "hf" and task else form
            files.write_text(partial / "README.md", cards.card(model, shown, tasks))
            for name in ("settings.yaml", "metrics.json"):
                files.write_text(partial / f"mtbert_{name}", (model.run / name).read_text(encoding="utf-8"))
    except SafetensorError as error:  # such as a full disk
        raise ExportError(f"{out} cannot be written: {error}") from None


def _transformers(model: Model, out: Path, task: str | None) -> None:
    """Write for AutoModel, or with a task for BertForSequenceClassification."""
    if task is not None:
        _plain(model, out, task)
    else:
        _with_code(model, out, [(MODELING, "MtbertModel"), (MODELING, "MtbertConfig")])


def _sentence_transformers(model: Model, out: Path, task: str | None) -> None:
    """Write for SentenceTransformer."""
    if task is not None:
        raise ExportError("--task is for hf and onnx; a model of sentence-transformers takes the task in encode")
    if model.settings.model.pair_encoding == "cross" or set(model.tasks) <= model.network.connector.mixed:
        raise ExportError(
            f"{model.name} encodes both sentences of a pair together, so that one alone has no embedding; allowed: "
            "a variant with pair_encoding: bi, or format hf or onnx"
        )
    _with_code(model, out, [(MODELING, "MtbertModel"), (MODELING, "MtbertConfig"), (SENTENCES, "MtbertSentences")])
    kind = {
        "idx": 0,
        "name": "0",
        "path": "",
        "type": f"{bundling.file_name(SENTENCES)}.MtbertSentences",
        "kwargs": ["task"],
    }
    files.write_json(out / "modules.json", [kind])
    files.write_json(out / "config_sentence_transformers.json", {"model_type": "SentenceTransformer"})


def _with_code(model: Model, out: Path, starts: list[tuple[str, str]]) -> None:
    """Write config.json, weights, and the code that the model uses."""
    exported, classes = rebuilt(model), _classes(model)
    code = bundling.file_name(MODELING)
    exported.config.auto_map = {"AutoConfig": f"{code}.MtbertConfig", "AutoModel": f"{code}.MtbertModel"}
    exported.config.architectures = ["MtbertModel"]
    exported.config.save_pretrained(out)
    weights = {name: value.detach().contiguous().clone() for name, value in exported.state_dict().items()}
    save_file(weights, out / WEIGHTS, metadata={"format": "pt"})
    (out / WEIGHTS).chmod((out / "config.json").stat().st_mode)  # the library lets only its owner read it
    needed = [(used.__module__, used.__qualname__) for used in classes.values()]
    for name, text in bundling.bundle([*starts, *needed]).items():
        files.write_text(out / name, text + (_filled(classes) if name == f"{code}.py" else ""))


def _filled(classes: dict[str, Any]) -> str:
    """Return the end of the modelling file: the classes of this model's parts."""
    lines = [
        f"from .{bundling.file_name(used.__module__)} import {used.__qualname__} as _{kind}\n"
        f"MtbertModel.classes[{kind!r}] = _{kind}\n"
        for kind, used in classes.items()
    ]
    return "".join(lines)


def _classes(model: Model) -> dict[str, Any]:
    """Return the class of each part, by the names that modeling uses."""
    chosen = model.settings.model
    classes: dict[str, Any] = {kind: registry[getattr(chosen, kind)["name"]].build for kind, registry in PARTS.items()}
    return classes | {f"head_{task}": HEADS[chosen.heads[task]["name"]].build for task in model.tasks}


def rebuilt(model: Model) -> modeling.MtbertModel:
    """Build the model as an export does; ExportError where a task's outputs differ from the model's own."""
    chosen = model.settings.model
    parts = {kind: registry.settings(getattr(chosen, kind)).model_dump() for kind, registry in PARTS.items()}
    heads = {f"head_{task}": HEADS.settings(chosen.heads[task]).model_dump() for task in model.tasks}
    about: dict[str, Any] = dict(
        bert=asdict(model.network.encoder.bert.config),
        typed=model.network.encoder.typed,
        tasks={task: asdict(TASKS[task]) for task in model.tasks},
        parts=parts | heads,
        pooling={task: chosen.pooling[task] for task in model.tasks},
        pair_encoding=chosen.pair_encoding,
        max_tokens=chosen.max_tokens,
        vocabulary=tokens.vocabulary(model.encoder) if [*model.network.features.parameters()] else [],
    )
    exported = type("Exported", (modeling.MtbertModel,), {"classes": _classes(model)})(modeling.MtbertConfig(**about))
    exported.model.load_state_dict(model.network.state_dict())
    exported.eval()
    for task in model.tasks:
        if not _same(model, task, lambda probe, task=task: exported(**probe, **call(model, task)).logits):
            raise ExportError(f"{model.name} cannot be exported: rebuilt from its settings, {task} has other outputs")
    return exported


def call(model: Model, task: str) -> dict[str, Any]:
    """Return how a task is asked of an export: by name, and by the number of sequences of an example."""
    apart = TASKS[task].is_pair and model.settings.model.pair_encoding == "bi"
    return {"task": task, "sequences": 2 if apart else 1}


def _probe(model: Model, task: str) -> dict[str, Tensor]:
    """Return a batch of random ids with padding, the same each time."""
    generator = torch.Generator().manual_seed(0)
    sequences = call(model, task)["sequences"]
    rows, length = PROBE[0] * sequences, min(PROBE[1], model.longest)
    mask = (torch.arange(length) < torch.arange(3, 3 + rows)[:, None]).long()
    ids = torch.randint(0, model.network.encoder.bert.config.vocab_size, (rows, length), generator=generator)
    types = (torch.arange(length) >= 2).long() * mask * (sequences == 1)
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": types}


@torch.no_grad()
def _same(model: Model, task: str, export: Callable[[dict[str, Tensor]], Tensor]) -> bool:
    """Whether an export has the task's outputs."""
    probe = _probe(model, task)
    batch = modeling.batch(**probe, **call(model, task))
    return torch.allclose(model.network(batch), export(probe), rtol=0, atol=1e-6)


def _plain(model: Model, out: Path, task: str) -> None:
    """Write a BertForSequenceClassification of one task; ExportError where the model is more than that."""
    from transformers import BertConfig, BertForSequenceClassification

    about, head = TASKS[task], model.network.head(task)
    more = ExportError(
        f"{model.name} is more than a plain BERT with a classifier in {task}; leave out --task to export the whole "
        "model, with its code. Plain is: pooling pooler, a linear head, no features and no connector, sentences of a "
        "pair encoded together, and at most an adapter that only changes the weights of linear maps"
    )
    try:
        bert = merge(model.network.encoder, model.network.adapter, task)
        (dense,) = (module for module in head.modules() if isinstance(module, nn.Linear))
    except (SettingsError, ValueError):
        raise more from None
    if "dense" not in bert.pooler or dense.in_features != bert.config.hidden_size:
        raise more
    weight, bias = dense.weight.detach(), dense.bias.detach()
    if about.kind == "binary":  # softmax of 0 and z is the sigmoid of z
        weight, bias = (torch.cat([torch.zeros_like(each), each]) for each in (weight, bias))
    sizes: Any = asdict(bert.config) | {"num_labels": len(bias)}
    config = BertConfig(**sizes)
    config.problem_type = "regression" if about.kind == "score" else "single_label_classification"
    if about.kind != "score":
        config.id2label = dict(enumerate(class_names(about)))
        config.label2id = {label: number for number, label in config.id2label.items()}
    plain = BertForSequenceClassification(config).eval()
    weights = {f"bert.{name}": value for name, value in bert.state_dict().items()}
    plain.load_state_dict(weights | {"classifier.weight": weight, "classifier.bias": bias})
    if not _same(model, task, lambda probe: plain(**probe).logits[:, -head.outputs :]):
        raise more
    plain.save_pretrained(out)


class _Graph(nn.Module):
    """One task of an export as a function of three tensors [rows, tokens]."""

    def __init__(self, exported: modeling.MtbertModel, call: dict[str, Any]) -> None:
        super().__init__()
        self.exported, self.call = exported, call

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the head's outputs [batch, size]."""
        return self.exported(input_ids, attention_mask, token_type_ids, **self.call).logits


def _onnx(model: Model, out: Path, task: str | None) -> None:
    """Write a graph for each task."""
    exported = rebuilt(model)
    for name in [task] if task else model.tasks:
        probe, asked = _probe(model, name), call(model, name)
        rows = asked["sequences"] * torch.export.Dim("batch")
        shape = {0: rows, 1: torch.export.Dim("tokens", max=model.longest)}
        with _without_warnings():
            made = torch.onnx.export(
                _Graph(exported, asked), tuple(probe.values()), str(out / f"{name}.onnx"), dynamo=True,
                opset_version=OPSET, input_names=list(probe), output_names=["logits"],
                dynamic_shapes=dict.fromkeys(probe, shape), external_data=False, verbose=False,
            )  # fmt: skip
        sizes = [size for given in (made.model.graph.inputs if made else []) for size in given.shape or ()]
        if not sizes or any(isinstance(size, int) for size in sizes):
            raise ExportError(f"{model.name}, {name}: torch's exporter has fixed batch or length of the graph: {sizes}")


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Silence messages of torch's exporter about its own parts, such as a missing torchvision."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


FORMS: dict[str, Callable[[Model, Path, str | None], None]] = {
    "hf": _transformers,
    "sentence-transformers": _sentence_transformers,
    "onnx": _onnx,
}
