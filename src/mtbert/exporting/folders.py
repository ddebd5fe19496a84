"""Write a trained model as a folder that transformers, sentence-transformers or onnxruntime load."""

import contextlib
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from mtbert import files
from mtbert.adapters import ADAPTERS
from mtbert.adapters.merging import merge
from mtbert.connectors import CONNECTORS
from mtbert.data import tokens
from mtbert.encoder import loading
from mtbert.encoder.bert import Bert
from mtbert.encoder.config import read_config
from mtbert.errors import MtbertError, SettingsError, UnknownNameError
from mtbert.exporting import bundling, cards, modeling
from mtbert.features import FEATURES
from mtbert.heads import HEADS
from mtbert.tasks import TASKS
from mtbert.using.predicting import Model

MODELING, SENTENCES = "mtbert.exporting.modeling", "mtbert.exporting.sentences"
RENAMED = {MODELING: "modeling_mtbert", SENTENCES: "sentences_mtbert"}
KINDS = {"features": FEATURES, "adapter": ADAPTERS, "connector": CONNECTORS}
WEIGHTS = "model.safetensors"
PROBE = (4, 12)  # rows and tokens of the batch that checks an export
OPSET = 20
LOWER_CASE = {  # of tokenizer.json, where the tokenizer is BERT's lower-case one
    "normalizer": {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
        "lowercase": True,
    },
    "pre_tokenizer": {"type": "BertPreTokenizer"},
}  # fmt: skip


class ExportError(MtbertError):
    """A model cannot be exported in the form that was asked for, or its folder cannot be written."""


def export(model: Model, form: str, out: Path, task: str | None = None) -> None:
    """Write the folder, whole or not at all.

    Args:
        model: a trained model.
        form: a key of FORMS.
        out: a folder that does not exist or is empty.
        task: for `hf`: a plain BertForSequenceClassification of this task alone; for `onnx`: its graph alone.

    Raises:
        ExportError: an unknown form or task, a folder that is not empty, or a form that the model cannot have.
    """
    if form not in FORMS:
        raise ExportError(str(UnknownNameError("format", form, FORMS)))
    if task is not None:
        model.task(task)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} exists and is not empty; name a new folder, or empty this one")
    with files.new_directory(out) as partial, loading.quiet():
        how = FORMS[form](model, partial, task)
        files.write_text(partial / "README.md", cards.card(model, how, task))
        for name in ("settings.yaml", "metrics.json"):
            files.write_text(partial / f"mtbert_{name}", (model.run / name).read_text(encoding="utf-8"))


def _transformers(model: Model, out: Path, task: str | None) -> str:
    """Write for AutoModel, or with a task for BertForSequenceClassification; return how to load it."""
    _tokenizer(model, out)
    if task is not None:
        _plain(model, out, task)
        return cards.PLAIN
    _with_code(model, out, [(MODELING, "MtbertModel"), (MODELING, "MtbertConfig")])
    return cards.CODE


def _sentence_transformers(model: Model, out: Path, task: str | None) -> str:
    """Write for SentenceTransformer; return how to load it."""
    if task is not None:
        raise ExportError("--task is for hf and onnx; a model of sentence-transformers takes the task in encode")
    mixed = model.network.connector.mixed
    if model.settings.model.pair_encoding == "cross" or set(model.tasks) <= mixed:
        raise ExportError(
            f"{model.name} encodes both sentences of a pair together, so that one alone has no embedding; allowed: "
            "a variant with pair_encoding: bi, or format hf or onnx"
        )
    _tokenizer(model, out)
    _with_code(model, out, [(MODELING, "MtbertModel"), (MODELING, "MtbertConfig"), (SENTENCES, "MtbertSentences")])
    kind = {"idx": 0, "name": "0", "path": "", "type": "sentences_mtbert.MtbertSentences", "kwargs": ["task"]}
    files.write_json(out / "modules.json", [kind])
    files.write_json(out / "config_sentence_transformers.json", {"model_type": "SentenceTransformer"})
    return cards.SENTENCES


def _tokenizer(model: Model, out: Path) -> None:
    """Write the encoder's own tokenizer; BERT's lower-case one with vocab.txt beside it, for other programs."""
    own = json.loads(tokens.read(model.encoder).to_str())
    if {part: own[part] for part in LOWER_CASE} == LOWER_CASE and own["model"]["type"] == "WordPiece":
        loading.save_tokenizer(_vocabulary(model), model.longest, out)
        return
    loading.keep_tokenizer(model.encoder, read_config(model.encoder), out)
    names = files.read_json(out / tokens.NAMES)
    files.write_json(out / tokens.NAMES, names | {"model_max_length": model.longest})


def _vocabulary(model: Model) -> list[str]:
    pieces = tokens.read(model.encoder).get_vocab()
    return sorted(pieces, key=pieces.__getitem__)


def _with_code(model: Model, out: Path, starts: list[bundling.Names]) -> None:
    """Write config.json, weights, and the code that the model uses."""
    config, builders = _config(model)
    check = type("Exported", (modeling.MtbertModel,), builders)(config)
    check.model.load_state_dict(model.network.state_dict())
    _compare(model, check.eval())
    config.auto_map = {"AutoConfig": "modeling_mtbert.MtbertConfig", "AutoModel": "modeling_mtbert.MtbertModel"}
    config.architectures = ["MtbertModel"]
    config.save_pretrained(out)
    _save(check.state_dict(), out)
    needed = [_names(build) for group in builders.values() for build in group.values()]
    for name, text in bundling.bundle([*starts, *needed], RENAMED).items():
        files.write_text(out / name, text + (_filled(builders) if name == "modeling_mtbert.py" else ""))


def _names(build: Any) -> bundling.Names:
    return build.__module__, build.__qualname__


def _filled(builders: dict[str, dict[str, Any]]) -> str:
    """Return the end of the modelling file: the classes of this model's parts."""
    lines = ["\n"]
    for kind, group in builders.items():
        names = []
        for name, build in group.items():
            module, class_name = _names(build)
            local = f"_{kind}_{name}"
            lines.append(f"from .{bundling.file_name(module, RENAMED)} import {class_name} as {local}  # noqa: E402")
            names.append(f"{name!r}: {local}")
        lines.append(f"MtbertModel.{kind} = {{{', '.join(names)}}}")
    return "\n".join(lines) + "\n"


def _config(model: Model) -> tuple[modeling.MtbertConfig, dict[str, dict[str, Any]]]:
    """Return the configuration for modeling, and the classes of the model's parts."""
    chosen = model.settings.model
    choices = {name: getattr(chosen, name) for name in KINDS}
    parts = {name: KINDS[name].settings(choice).model_dump() for name, choice in choices.items()}
    heads = {task: HEADS.settings(chosen.heads[task]).model_dump() for task in model.tasks}
    builders = {
        "builders": {name: KINDS[name][choice["name"]].build for name, choice in choices.items()},
        "head_builders": {task: HEADS[chosen.heads[task]["name"]].build for task in model.tasks},
    }
    config = modeling.MtbertConfig(
        bert=asdict(model.network.encoder.bert.config),
        tasks={task: asdict(TASKS[task]) for task in model.tasks},
        parts=parts,
        heads=heads,
        pooling={task: chosen.pooling[task] for task in model.tasks},
        pair_encoding=chosen.pair_encoding,
        max_tokens=chosen.max_tokens,
        vocabulary=_vocabulary(model) if [*model.network.features.parameters()] else [],
        typed=model.network.encoder.typed,
    )
    return config, builders


def _save(weights: dict[str, Tensor], out: Path) -> None:
    save_file({name: value.detach().cpu().contiguous().clone() for name, value in weights.items()}, out / WEIGHTS,
              metadata={"format": "pt"})  # fmt: skip


def _probe(model: Model, sequences: int) -> dict[str, Tensor]:
    """Return a batch of random ids with padding, the same each time, with `sequences` sequences for each example."""
    generator = torch.Generator().manual_seed(0)
    rows, length = PROBE[0] * sequences, min(PROBE[1], model.longest)
    size = model.network.encoder.bert.config.vocab_size
    mask = (torch.arange(length) < torch.arange(3, 3 + rows)[:, None]).long()
    ids = torch.randint(0, size, (rows, length), generator=generator)
    types = (torch.arange(length) >= 2).long().expand(rows, length) * mask * (1 if sequences == 1 else 0)
    return {"input_ids": ids * mask, "attention_mask": mask, "token_type_ids": types}


def sequences_of(model: Model, task: str) -> int:
    """Return the number of sequences of an example of the task: two where a pair is encoded apart."""
    return 2 if TASKS[task].is_pair and model.settings.model.pair_encoding == "bi" else 1


def _batch(task: str, inputs: dict[str, Tensor], sequences: int) -> Any:
    return SimpleNamespace(
        task=task, input_ids=inputs["input_ids"], mask=inputs["attention_mask"],
        token_types=inputs["token_type_ids"], sequences=sequences,
    )  # fmt: skip


@contextlib.contextmanager
def _on_cpu(model: Model) -> Iterator[nn.Module]:
    device = model.device
    try:
        yield model.network.to("cpu").eval()
    finally:
        model.network.to(device)


def _compare(model: Model, exported: modeling.MtbertModel) -> None:
    """Raise ExportError where a task's outputs differ from the model's own."""
    with torch.no_grad(), _on_cpu(model) as network:
        for task in model.tasks:
            sequences = sequences_of(model, task)
            inputs = _probe(model, sequences)
            ours, theirs = network(_batch(task, inputs, sequences)), exported(**inputs, task=task, sequences=sequences)
            if not torch.allclose(ours, theirs.logits, rtol=0, atol=1e-6):
                raise ExportError(
                    f"{model.name} cannot be exported: rebuilt from its settings, {task} has other outputs"
                )


def _plain(model: Model, out: Path, task: str) -> None:
    """Write a BertForSequenceClassification of one task; ExportError where the model is more than that."""
    from transformers import BertConfig, BertForSequenceClassification

    bert, dense = _bert(model, task), _linear_head(model, task)
    about = TASKS[task]
    weight, bias = dense.weight, dense.bias
    if about.kind == "binary":  # softmax of 0 and z is the sigmoid of z
        weight, bias = (torch.cat([torch.zeros_like(each), each]) for each in (weight, bias))
    settings: Any = asdict(bert.config) | {"num_labels": len(bias)}
    config = BertConfig(**settings)
    config.problem_type = "regression" if about.kind == "score" else "single_label_classification"
    if about.kind != "score":
        from mtbert.using import names

        config.id2label = dict(enumerate(names.classes(about)))
        config.label2id = {label: number for number, label in config.id2label.items()}
    plain = BertForSequenceClassification(config)
    weights = {f"bert.{name}": value for name, value in bert.state_dict().items()}
    plain.load_state_dict(weights | {"classifier.weight": weight.detach(), "classifier.bias": bias.detach()})
    plain.save_pretrained(out)


def _bert(model: Model, task: str) -> Bert:
    """Merge the adapter into the encoder's weights; ExportError where the task uses more than that."""
    network = model.network
    words = torch.zeros(1, 2, network.encoder.width)
    more = []
    if network.features(words, torch.zeros(1, 2, dtype=torch.long)) is not words:
        more.append("features on its words")
    if task in network.connector.served:
        more.append("a connector")
    if network.pooling[task] != "pooler":
        more.append(f"pooling {network.pooling[task]}")
    if sequences_of(model, task) > 1:
        more.append("sentences encoded apart")
    if more:
        raise ExportError(_not_plain(model, task, ", ".join(more)))
    try:
        return merge(network.encoder, network.adapter, task)
    except SettingsError as error:
        raise ExportError(_not_plain(model, task, str(error))) from None


def _linear_head(model: Model, task: str) -> nn.Linear:
    """Return the only linear map of the task's head; ExportError where the head does more."""
    head, width = model.network.head(task), model.network.encoder.width
    linears = [module for module in head.modules() if isinstance(module, nn.Linear)]
    probe = torch.randn(4, width, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        if len(linears) != 1 or not torch.equal(head.eval()(probe), linears[0](probe)):
            raise ExportError(_not_plain(model, task, "a head that is more than one linear map"))
    return linears[0]


def _not_plain(model: Model, task: str, what: str) -> str:
    return (
        f"{model.name} is more than a plain BERT with a classifier in {task}: {what}; leave out --task to export "
        "the whole model, with its code"
    )


class Graph(nn.Module):
    """One task of a model as a function of three tensors [batch, tokens], or [2, batch, tokens] for pairs apart."""

    def __init__(self, network: nn.Module, task: str, sequences: int) -> None:
        super().__init__()
        self.network, self.task, self.sequences = network, task, sequences

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the head's outputs [batch, size]."""
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids}
        if self.sequences > 1:
            inputs = {name: value.flatten(0, 1) for name, value in inputs.items()}
        return self.network(_batch(self.task, inputs, self.sequences))


def _onnx(model: Model, out: Path, task: str | None) -> str:
    """Write a graph for each task; return how to load them."""
    _tokenizer(model, out)
    with _on_cpu(model) as network:
        for name in [task] if task else model.tasks:
            _graph(model, network, name, out / f"{name}.onnx")
    return cards.ONNX


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


def _graph(model: Model, network: nn.Module, task: str, file: Path) -> None:
    sequences = sequences_of(model, task)
    inputs = _probe(model, sequences)
    if sequences > 1:
        inputs = {name: value.unflatten(0, (sequences, -1)) for name, value in inputs.items()}
    batch, length = torch.export.Dim("batch"), torch.export.Dim("tokens", max=model.longest)
    dynamic = {name: {sequences - 1: batch, sequences: length} for name in inputs}
    with _without_warnings():
        made = torch.onnx.export(
            Graph(network, task, sequences), tuple(inputs.values()), str(file), dynamo=True, opset_version=OPSET,
            input_names=list(inputs), output_names=["logits"], dynamic_shapes=dynamic, external_data=False,
            verbose=False,
        )  # fmt: skip
    free = [
        size for given in (made.model.graph.inputs if made else []) for size in list(given.shape or ())[sequences - 1 :]
    ]
    if not free or any(isinstance(size, int) for size in free):
        raise ExportError(f"{model.name}, {task}: torch's exporter has fixed batch or length of the graph: {free}")


FORMS: dict[str, Callable[[Model, Path, str | None], str]] = {
    "hf": _transformers,
    "sentence-transformers": _sentence_transformers,
    "onnx": _onnx,
}
