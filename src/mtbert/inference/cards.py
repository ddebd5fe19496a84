"""Write the model card of an export: what it is, how it was trained, its scores, and what its encoder had seen."""

from pathlib import Path
from typing import TYPE_CHECKING

from huggingface_hub import ModelCard, ModelCardData

from mtbert import layout
from mtbert.inference.compressing import Compression
from mtbert.inference.model import Model
from mtbert.judge import Verdict
from mtbert.machine import hardware
from mtbert.pretrained import loading
from mtbert.scores import metrics

if TYPE_CHECKING:
    from mtbert.inference.proving import Proof

THRESHOLDS = "thresholds.json"  # of an export: by task and label, the least probability at which a row has the label
TEMPLATE = Path(__file__).with_name("card.md")


def classifies(model: Model) -> bool:
    """Return whether transformers' pipeline `text-classification` can run an export: one task, of classes.

    The pipeline cannot encode the sentences of a pair apart.
    """
    names = [*model.tasks]
    if len(names) > 1:
        return False
    task = model.task(names[0])
    return task.kind != "score" and not model.settings.model.is_apart(task)


def sequences(model: Model, task: str) -> int:
    """Return the number of sequences of an example: 2 where the sentences of a pair are encoded apart."""
    return 2 if model.settings.model.is_apart(model.task(task)) else 1


def graphs(model: Model, each: bool) -> dict[str, list[str]]:
    """Return the tasks of each graph, by the graph's name: one for all tasks that take rows of one form, or one each.

    The forms are `texts`, `pairs`, and `pairs-apart`, whose two sentences are encoded apart.
    """
    if each:
        return {task: [task] for task in model.tasks}
    tasks_of: dict[str, list[str]] = {}
    for task in model.tasks:
        pairs = "pairs-apart" if sequences(model, task) == 2 else "pairs"
        tasks_of.setdefault(pairs if model.task(task).is_pair else "texts", []).append(task)
    return tasks_of


def thresholds(model: Model) -> dict[str, dict[str, float]]:
    """Return by task of sets of labels the least probability at which a row has each label."""
    by_task: dict[str, dict[str, float]] = {}
    for task in model.tasks:
        least = model.network.head(task).thresholds
        if least is not None:
            by_task[task] = dict(zip(model.task(task).class_names, least.double().tolist(), strict=True))
    return by_task


def card(
    model: Model,
    form: str,
    embedding_task: str | None = None,
    each: bool = False,
    compression: Compression | None = None,
    proof: "Proof | None" = None,
) -> str:
    """Return the text of README.md, with metadata for the Hub, of an export in that form.

    Args:
        model: what is exported.
        form: its form.
        embedding_task: the task of embeddings where a caller names none.
        each: that of `graphs`.
        compression: what makes the export smaller; None for a full one.
        proof: what is known of a smaller export.
    """
    is_for_sentences = form == "sentence-transformers"
    has_pipeline = form == "hf" and classifies(model)
    pipeline = "sentence-similarity" if is_for_sentences else "text-classification" if has_pipeline else None
    data_kind = layout.data_kind(layout.build_of(model.run))
    is_of_sample = data_kind == "sample"
    metadata = ModelCardData(
        language=None if data_kind == "own" else "en",
        license="apache-2.0" if is_of_sample else "other",
        library_name=form if is_for_sentences or form == "onnx" else "transformers",
        tags=["mtbert", *model.tasks],
        model_name=f"{model.name}-{model.seed}",
        pipeline_tag=pipeline,
    )
    of_graph = graphs(model, each)
    text = ModelCard.from_template(
        metadata,
        template_path=str(TEMPLATE),
        model=model,
        form=form,
        embedding_task=embedding_task,
        graphs=of_graph,
        graph_of={name: graph for graph, names in of_graph.items() for name in names},
        apart_tasks=[name for name in model.tasks if sequences(model, name) == 2],
        has_pipeline=has_pipeline,
        thresholds=thresholds(model),
        sample=is_of_sample,
        tasks=[model.task(name) for name in model.tasks],
        metric_in_words=metrics.in_words,
        settings=(model.run / layout.SETTINGS).read_text(encoding="utf-8").strip(),
        longest=(compression and compression.max_tokens) or model.longest,
        compression=compression,
        proof=proof,
        proved=proof is not None and proof.verdict is Verdict.HOLDS,
        machine=hardware.processor(),
        seen=loading.card(model.encoder) if (model.encoder / layout.ENCODER_CARD).is_file() else None,
    )
    return str(text)
