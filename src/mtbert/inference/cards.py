"""Write the model card of an export: what it is, how it was trained, its scores, and what its encoder had seen."""

from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from mtbert import compare, files, predictions
from mtbert.inference.loading import build_around
from mtbert.inference.predicting import Model, class_names
from mtbert.pretraining import loading
from mtbert.tasks import TASKS, Task

TEMPLATE = Path(__file__).with_name("card.md")
METRICS = {"accuracy": "accuracy", "pearson": "Pearson's r"}
Scores = list[tuple[Task, float, tuple[float, float] | None]]  # on dev, with 95 % intervals


def card(model: Model, form: str, tasks: list[str]) -> str:
    """Return the text of README.md, with metadata for the Hub, of an export of these tasks in that form."""
    scores, sample = _scores(model, tasks), _on_sample(model)
    text = ModelCard.from_template(
        _data(model, form, scores, sample),
        template_path=str(TEMPLATE),
        model=model,
        form=form,
        sample=sample,
        tasks=[TASKS[name] for name in tasks],
        class_names=class_names,
        metrics=METRICS,
        scores=scores,
        settings=(model.run / "settings.yaml").read_text(encoding="utf-8").strip(),
        seen=loading.card(model.encoder) if (model.encoder / loading.CARD).is_file() else None,
    )
    return str(text)


def _scores(model: Model, tasks: list[str]) -> Scores:
    """Score the predictions of dev; the run may hold none with labels."""
    scores: Scores = []
    for task in tasks:
        file = predictions.path(model.run, task, "dev")
        if file.is_file() and task in model.metrics.dev:
            found = compare.score(file, TASKS[task].metric)
            scores.append((TASKS[task], found.mean, found.interval))
    return scores


def _data(model: Model, form: str, scores: Scores, sample: bool) -> ModelCardData:
    results = [
        EvalResult(
            task_type="sentence-similarity" if task.kind == "score" else "text-classification",
            dataset_type=task.name,
            dataset_name=f"mtbert's sample in place of {task.title}" if sample else task.title,
            dataset_split="dev",
            metric_type=task.metric,
            metric_name=METRICS[task.metric],
            metric_value=round(score, 4),
            metric_args={"interval_95": [round(bound, 4) for bound in interval]} if interval else None,
        )
        for task, score, interval in scores
    ]
    return ModelCardData(
        language="en",
        license="apache-2.0" if sample else "other",
        library_name=form if form in ("sentence-transformers", "onnx") else "transformers",
        tags=["mtbert", *(task.name for task, *_ in scores)],
        model_name=f"{model.name}-{model.seed}",
        eval_results=results or None,
        pipeline_tag="sentence-similarity" if form == "sentence-transformers" else "text-classification",
    )


def _on_sample(model: Model) -> bool:
    build = build_around(model.run)
    catalog = build / "plan" / "catalog.yaml"
    data_dir = files.read_plan(catalog).get("data_dir", "") if catalog.is_file() else ""
    return files.whose_data(build, data_dir) == "sample"
