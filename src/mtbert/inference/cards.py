"""Write the model card of an export: what it is, how it was trained, its scores, and what its encoder had seen."""

from pathlib import Path

from huggingface_hub import ModelCard, ModelCardData

from mtbert import layout
from mtbert.inference.model import Model
from mtbert.pretrained import loading
from mtbert.scores import metrics

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


def card(model: Model, form: str, embedding_task: str | None = None) -> str:
    """Return the text of README.md, with metadata for the Hub, of an export in that form.

    `embedding_task` is the task of embeddings where a caller names none.
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
    text = ModelCard.from_template(
        metadata,
        template_path=str(TEMPLATE),
        model=model,
        form=form,
        embedding_task=embedding_task,
        has_pipeline=has_pipeline,
        sample=is_of_sample,
        tasks=[model.task(name) for name in model.tasks],
        metric_in_words=metrics.in_words,
        settings=(model.run / layout.SETTINGS).read_text(encoding="utf-8").strip(),
        seen=loading.card(model.encoder) if (model.encoder / loading.CARD).is_file() else None,
    )
    return str(text)
