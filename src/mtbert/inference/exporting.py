"""Write a trained model as a folder that transformers, sentence-transformers or onnxruntime load."""

import itertools
import logging
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from torch import Tensor

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.inference import bundling, cards, compressing, exporting_baselines, modeling, outside, proving
from mtbert.inference.baseline import Baseline
from mtbert.inference.compressing import Compression, ExportError
from mtbert.inference.ensemble import Ensemble
from mtbert.inference.model import Model
from mtbert.models.encoder.config import CONFIG
from mtbert.models.heads import HEADS
from mtbert.pretrained import loading
from mtbert.provenance import seals
from mtbert.serving import description
from mtbert.serving.description import Description, ServedTask
from mtbert.training import evaluation
from mtbert.variants.settings import TECHNIQUE_KEYS

MODELING = "mtbert.inference.modeling"
EQUAL = 1e-4  # by which an export's outputs may differ from ours: onnxruntime computes in another order
ODD = "Naïve CAPITALS, 42 日本 (it's)\t— ☃"  # what tokenizers change before they look for word pieces
TRACED = 12  # tokens of the batch by which a graph is made
OPSET = 20
LARGE, PAGE = 1024, 4096  # bytes: weights that are shared have so many, and start at a page
MODULES = [  # of sentence-transformers
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.Transformer", "kwargs": ["task"]}
]
EMBEDDING = {"method": "sentence_embedding", "method_output_name": None}  # the method of MtbertModel that it calls
WHOLE = Compression()


def export(
    model: Model | Baseline | Ensemble,
    form: str,
    out: Path,
    task: str | None = None,
    each: bool = False,
    compression: Compression = WHOLE,
) -> None:
    """Write the folder, whole or not at all.

    Args:
        model: a trained model, on the CPU, or a baseline; an ensemble is refused.
        form: `hf`, `sentence-transformers` or `onnx`; `hf` for a baseline, which has one form.
        out: a folder that does not exist.
        task: the task of embeddings where a caller of sentence-transformers names none; else `embedding_task`.
        each: for `onnx`, a graph for each task in place of one for all tasks that take such rows.
        compression: what makes the export smaller; dev has to prove that it is as good.

    Raises:
        ExportError: the folder exists, the model cannot have the form, the export computes other numbers than it, or a
            smaller one is not proved to be as good.
    """
    if out.exists():
        raise ExportError(f"{out} exists; name a new folder")
    if isinstance(model, Ensemble):
        members = ", ".join(member.name for member in model.members)
        raise ExportError(
            f"{model.name} is a vote of {members}, and has no weights of its own; `mtbert predict {model.name}` asks "
            "them; allowed here: one of them, or a merged model"
        )
    _check_options(model, form, task, each, compression)
    try:
        loading.silence()
        if isinstance(model, Baseline):
            _export_baseline(model, form, out, task)
            return
        with files.new_directory(out) as partial:
            if compression:
                _write_smaller(model, form, partial, each, compression)
            else:
                _write(model, form, partial, task, each)
            if form == "onnx":
                seals.seal(partial)  # which `mtbert serve` compares
    except SafetensorError as error:  # such as a full disk
        raise ExportError(f"{out} cannot be written: {error}") from None


def _write(model: Model, form: str, out: Path, task: str | None, each: bool) -> None:
    """Write the whole model into an empty folder, and check it."""
    _tokenizer(model, out)
    if form == "onnx":
        _onnx(model, out, each)
        files.write_json(out / description.FILE, _description(model, each).model_dump())
    else:
        FORMS[form](model, out)
    if task is not None:
        config = files.read_json(out / CONFIG)
        files.write_json(out / CONFIG, config | {"embedding_task": task})
    if form != "sentence-transformers" and (of_sets := cards.thresholds(model)):
        files.write_json(out / cards.THRESHOLDS, of_sets)
    files.write_text(out / description.CARD, cards.card(model, form, task or embedding_task(model), each))
    for name in (layout.SETTINGS, layout.METRICS):
        shutil.copyfile(model.run / name, out / f"mtbert_{name}")
    _check(model, form, out)


def _write_smaller(model: Model, form: str, out: Path, each: bool, compression: Compression) -> None:
    """Write a smaller export into an empty folder; ExportError where it is not proved to be as good."""
    dev = proving.read_dev(model)
    full = out / "full"
    full.mkdir()
    _write(model, form, full, None, each)
    compressing.write(full, out, compression)
    if form == "onnx" and (compression.int8 or compression.half):
        _share_weights(out)
    proof = proving.prove(model, form, full, out, compression, dev)
    proving.check(model, compression, proof)
    shutil.rmtree(full)
    files.write_text(out / description.CARD, cards.card(model, form, embedding_task(model), each, compression, proof))


def _export_baseline(model: Baseline, form: str, out: Path, task: str | None) -> None:
    if form != "hf":
        raise ExportError(
            f"{model.name} is a baseline, which has one form: safetensors and JSON; got --format {form}, allowed: none"
        )
    if task is not None:
        raise ExportError(f"--task is {task}, but {model.name} has one model a task, and exports all of them")
    with files.new_directory(out) as partial:
        exporting_baselines.write(model, partial)


def _check_options(model: Model | Baseline, form: str, task: str | None, each: bool, compression: Compression) -> None:
    """Raise ExportError where an option has no meaning for the form or the model."""
    if each and form != "onnx":
        raise ExportError(f"--each is for format onnx, which has graphs; got {form}")
    if isinstance(model, Baseline) and (compression or compression.unproved):
        options = " ".join(compression.options) or "--unproved"
        raise ExportError(f"{model.name} is a baseline, which has one form; got {options}, allowed: none")
    if not isinstance(model, Baseline):
        compression.check(form, model.longest)
    if task is None or isinstance(model, Baseline):
        return
    if form != "sentence-transformers":
        raise ExportError(f"--task is {task}, but format {form} has no embeddings; allowed: sentence-transformers")
    allowed = _apart(model)
    if allowed and task not in allowed:
        raise ExportError(f"--task is {task}; allowed: {', '.join(allowed)}")


def embedding_task(model: Model) -> str | None:
    """Return the task whose embeddings suit comparisons best: a score of pairs, else other pairs, else the first task.

    None for a model whose sentences have no embeddings of their own.
    """
    names = _apart(model)
    pairs = [name for name in names if model.task(name).is_pair]
    scores = [name for name in pairs if model.task(name).kind == "score"]
    return next(iter([*scores, *pairs, *names]), None)


def _apart(model: Model) -> list[str]:
    """Return the tasks of which one sentence alone has an embedding: pairs apart, and with `bi` single sentences."""
    chosen, mixed = model.settings.model, model.network.connector.mixed
    names = [name for name in model.tasks if chosen.pair_encoding == "bi" or chosen.is_apart(model.task(name))]
    return [name for name in names if name not in mixed]


def _tokenizer(model: Model, out: Path) -> None:
    """Write a tokenizer that returns what the model takes, and cuts what is longer than in training."""
    loading.copy_tokenizer(model.encoder, out)
    names = files.read_json(out / tokens.TOKENIZER_CONFIG)
    files.write_json(
        out / tokens.TOKENIZER_CONFIG, names | {"model_max_length": model.longest, "model_input_names": inputs(model)}
    )


def inputs(model: Model) -> list[str]:
    """Return the names of the model's inputs; types of tokens only where it distinguishes them."""
    names = ["input_ids", "attention_mask"]
    return [*names, "token_type_ids"] if model.network.encoder.typed else names


def _transformers(model: Model, out: Path) -> None:
    """Write config.json, weights, and the code that the model uses."""
    exported = rebuilt(model)
    code = bundling.file_name(MODELING)
    exported.config.auto_map = {"AutoConfig": f"{code}.MtbertConfig", "AutoModel": f"{code}.MtbertModel"}
    definitions = [(MODELING, "MtbertModel"), (MODELING, "MtbertConfig")]
    if cards.classifies(model):
        exported.config.auto_map["AutoModelForSequenceClassification"] = f"{code}.MtbertForSequenceClassification"
        definitions.append((MODELING, "MtbertForSequenceClassification"))
    exported.save_pretrained(out)
    for part_class in (*exported.classes.values(), *exported.head_classes.values()):
        definitions.append((part_class.__module__, part_class.__qualname__))
    texts = bundling.bundle(definitions)
    texts[f"{code}.py"] += _assigned("classes", exported.classes) + _assigned("head_classes", exported.head_classes)
    for name, text in texts.items():
        files.write_text(out / name, text)


def _sentence_transformers(model: Model, out: Path) -> None:
    """Write for SentenceTransformer, whose own module for models of transformers loads it."""
    if not _apart(model):
        raise ExportError(
            f"{model.name} encodes both sentences of a pair together, so that one alone has no embedding; allowed: "
            "a variant with pair_encoding: bi, or format hf or onnx"
        )
    _transformers(model, out)
    files.write_json(out / "modules.json", MODULES)
    module = {"modality_config": {"text": EMBEDDING}, "module_output_name": "sentence_embedding"}
    files.write_json(out / "sentence_bert_config.json", module)
    files.write_json(out / "config_sentence_transformers.json", {"model_type": "SentenceTransformer"})


def _assigned(attribute: str, classes: dict[str, type]) -> str:
    """Return code that puts classes of the files beside it into an attribute of MtbertModel."""
    lines = []
    for name, part_class in classes.items():
        lines += [
            f"from .{bundling.file_name(part_class.__module__)} import {part_class.__qualname__}",
            f"MtbertModel.{attribute}[{name!r}] = {part_class.__qualname__}",
        ]
    return "".join(f"{line}\n" for line in lines)


def rebuilt(model: Model) -> modeling.MtbertModel:
    """Build the model as transformers does from an export."""
    settings, encoder = model.settings.model, model.network.encoder
    parts = {part: getattr(settings, part) for part in TECHNIQUE_KEYS["model"]}
    heads = {task: settings.heads[task] for task in model.tasks}
    has_feature_weights = any(True for _ in model.network.features.parameters())
    entries: dict[str, Any] = dict(
        backbone=asdict(encoder.backbone.config),
        pooler="dense" in encoder.backbone.pooler,
        hidden_size=encoder.width,
        typed=encoder.typed,
        tasks={task: asdict(model.task(task)) for task in model.tasks},
        parts={part: chosen.settings.model_dump() for part, chosen in parts.items()},
        heads={task: head.settings.model_dump() for task, head in heads.items()},
        temperatures=model.metrics.temperatures,
        pooling={task: settings.pooling[task] for task in model.tasks},
        apart=[task for task in model.tasks if settings.is_apart(model.task(task))],
        max_tokens=settings.max_tokens,
        vocabulary=tokens.vocabulary(model.encoder) if has_feature_weights else [],
        embedding_task=embedding_task(model),
    )
    if cards.classifies(model):
        task = model.task(model.tasks[0])
        entries["id2label"] = dict(enumerate(task.class_names))
        if task.several:  # so the pipeline takes the sigmoid of each logit
            entries["problem_type"] = "multi_label_classification"
    classes: dict[str, Any] = {"backbone": type(encoder.backbone)}
    classes |= {part: TECHNIQUE_KEYS["model"][part].class_of(chosen) for part, chosen in parts.items()}
    head_classes = {task: HEADS.class_of(head) for task, head in heads.items()}
    attributes = {"classes": classes, "head_classes": head_classes}
    model_class = type("MtbertModel", (modeling.MtbertModel,), attributes)
    exported = model_class(modeling.MtbertConfig(**entries))
    exported.model.load_state_dict(model.network.state_dict())
    return exported.eval()


class MultitaskGraph(torch.nn.Module):
    """An exported model that returns the outputs of several tasks, in their order."""

    def __init__(self, exported: modeling.MtbertModel, tasks: Sequence[str], sequences: int) -> None:
        super().__init__()
        self.exported, self.tasks, self.sequences = exported, [*tasks], sequences

    def forward(self, ids: Tensor, mask: Tensor, types: Tensor | None = None) -> tuple[Tensor, ...]:
        """Return outputs [batch, size]; inputs [rows, tokens]."""
        outputs = self.exported.outputs_of(self.tasks, modeling.batch(ids, mask, types, "", self.sequences))
        return tuple(outputs[task] for task in self.tasks)


def _onnx(model: Model, out: Path, each: bool) -> None:
    """Write the graphs, of which each has an output for each of its tasks."""
    for exporter in ("torch.onnx", "onnxscript"):  # they log what they lack, such as torchvision
        logging.getLogger(exporter).setLevel(logging.ERROR)
    # With gradients, PyTorch takes another kernel for attention with a bias, and its two passes over the graph disagree
    # on how the result lies in memory.
    exported = rebuilt(model).requires_grad_(False)
    names = inputs(model)
    for graph, tasks in cards.graphs(model, each).items():
        count = cards.sequences(model, tasks[0])
        size = (2 * count, min(TRACED, model.longest))
        batch = tuple(torch.ones(size, dtype=torch.long) for _ in names)  # the same tensor twice would be one input
        shape = {0: count * torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=model.longest)}
        with warnings.catch_warnings(action="ignore"):  # of what they lack, too
            torch.onnx.export(
                MultitaskGraph(exported, tasks, count).eval(), batch, str(out / f"{graph}.onnx"), dynamo=True,
                opset_version=OPSET, input_names=names, output_names=tasks,
                dynamic_shapes=[shape] * len(names), external_data=False, verbose=False,
            )  # fmt: skip
    _share_weights(out)


def _share_weights(folder: Path) -> None:
    """Move the large weights of several graphs, of which most are the same, to a file beside them, each once."""
    import onnx
    from onnx.external_data_helper import set_external_data

    graphs = sorted(folder.glob("*.onnx"))
    if len(graphs) < 2:
        return
    shared = folder / compressing.SHARED
    offsets: dict[str, int] = {}  # by digest
    with shared.open("wb") as handle:
        for graph in graphs:
            content = onnx.load(graph)
            for weights in content.graph.initializer:
                values = weights.raw_data
                if len(values) < LARGE:
                    continue
                digest = files.sha256_of(values)
                if digest not in offsets:
                    handle.write(bytes(-handle.tell() % PAGE))
                    offsets[digest] = handle.tell()
                    handle.write(values)
                set_external_data(weights, shared.name, offsets[digest], len(values))
                weights.ClearField("raw_data")
            onnx.save(content, graph)


def _description(model: Model, each: bool) -> Description:
    """Return what `mtbert serve` has to know of the graphs."""
    tasks: dict[str, ServedTask] = {}
    thresholds = cards.thresholds(model)
    for graph, names in cards.graphs(model, each).items():
        for name in names:
            task = model.task(name)
            pair = "pair-apart" if cards.sequences(model, name) == 2 else "pair"
            tasks[name] = ServedTask(
                graph=graph,
                form=pair if task.is_pair else "text",
                kind=task.kind,
                labels=[*task.class_labels],
                names=[*task.class_names],
                thresholds=[*thresholds.get(name, {}).values()],
                lowest=task.lowest,
                highest=task.highest,
            )
    return Description(
        variant=model.name,
        seed=model.seed,
        longest=model.longest,
        is_of_sample=layout.data_kind(layout.build_of(model.run)) == "sample",
        tasks={name: tasks[name] for name in model.tasks},
    )


def _check(model: Model, form: str, folder: Path) -> None:
    """Load the written folder as its card says, in a process without mtbert; ExportError for other numbers."""
    tasks = model.tasks
    if form == "sentence-transformers":
        tasks = [task for task in tasks if task not in model.network.connector.mixed]
    texts = {task: _texts(model, task) for task in tasks}
    (outputs,) = outside.outputs_of(model, form, folder, texts, [0]).outputs
    for task, columns in texts.items():
        compute = _embedded if form == "sentence-transformers" else _logits
        difference = np.abs(np.array(outputs[task]) - compute(model, task, columns)).max()
        if not difference <= EQUAL:  # also NaN
            raise ExportError(
                f"{model.name}: the export, loaded again with its own tokenizer, differs on {task} by "
                f"{difference:.2g}; allowed: {EQUAL}; it is not kept"
            )


def _texts(model: Model, task: str) -> list[list[str]]:
    """Return sentences, or those of pairs: of words that the tokenizer knows, some of which are cut, and odd ones."""
    most = model.longest
    lengths = [[1, 2, 3, most, 2, most], [4, 1, 2, 2, most, most]][: len(model.task(task).sentences)]
    words = itertools.cycle([word for word in tokens.vocabulary(model.encoder) if word.isalpha()])
    columns = []
    for column_lengths in lengths:
        texts = [" ".join(itertools.islice(words, length)) for length in column_lengths]
        columns.append([*texts, ODD])
    return columns


@torch.no_grad()
def _logits(model: Model, task: str, columns: list[list[str]]) -> np.ndarray:
    """Return the model's own scores [rows, 1], or the logits of its classes [rows, outputs], in fp32."""
    examples, _ = model.examples(model.task(task), [*zip(*columns, strict=True)])
    outputs, head = model.network(examples.batch(range(len(examples)))), model.network.head(task)
    logits = head.scores(outputs)[:, None] if head.task.kind == "score" else outputs / head.temperature
    return logits.numpy()


def _embedded(model: Model, task: str, columns: list[list[str]]) -> np.ndarray:
    """Return the model's own embeddings of the first sentences [rows, width] in fp32."""
    examples, _ = model.examples(model.task(task), [*zip(*columns, strict=True)])
    return evaluation.embed(model.network, examples, model.device)[:, 0]


FORMS: dict[str, Callable[[Model, Path], None]] = {
    "hf": _transformers,
    "sentence-transformers": _sentence_transformers,
}
