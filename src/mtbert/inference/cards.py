"""Write the model card of an export: what it is, how it was trained, its scores, and what its encoder had seen."""

from pathlib import Path

from huggingface_hub import EvalResult, ModelCard, ModelCardData

from mtbert import compare, files, predictions
from mtbert.inference.predicting import Model, class_names
from mtbert.pretraining import loading
from mtbert.tasks import TASKS, Task

TEMPLATE = Path(__file__).with_name("card.md")
METRICS = {"accuracy": "accuracy", "pearson": "Pearson's r"}
LIBRARIES = {"sentence-transformers": "sentence-transformers", "onnx": "onnx"}
Score = tuple[float, tuple[float, float] | None]  # on dev, with its 95 % interval


def card(model: Model, form: str, tasks: list[str]) -> str:
    """Return the text of README.md, with metadata for the Hub, of an export of these tasks in that form."""
    scores = {name: score for name in tasks if (score := _score(model, name)) is not None}
    sample = _on_sample(model)
    task = next((TASKS[name] for name in tasks if TASKS[name].is_pair), TASKS[tasks[0]])
    apart = task.is_pair and model.settings.model.pair_encoding == "bi"
    pair = '["A man plays.", "Someone plays a guitar."]' if apart else '["A man plays."], ["Someone plays a guitar."]'
    text = ModelCard.from_template(
        _data(model, form, scores, sample),
        template_path=str(TEMPLATE),
        name=model.name,
        seed=model.seed,
        profile=model.settings.profile,
        longest=model.longest,
        titles=", ".join(TASKS[name].title for name in tasks),
        sample=sample,
        form=form,
        task=task.name,
        tasks=tasks,
        apart=apart,
        texts=pair if task.is_pair else '["A man plays."]',
        meanings={name: _meaning(TASKS[name], form) for name in tasks},
        scores=[(TASKS[name].title, METRICS[TASKS[name].metric], *score) for name, score in scores.items()],
        settings=(model.run / "settings.yaml").read_text(encoding="utf-8").strip(),
        seen=_seen(model),
    )
    return str(text)


def _score(model: Model, task: str) -> Score | None:
    """Score the predictions of dev; None where the run holds none with labels."""
    file = predictions.path(model.run, task, "dev")
    if not file.is_file() or task not in model.metrics.dev:
        return None
    side = compare.score(file, TASKS[task].metric)
    return side.score, side.interval


def _data(model: Model, form: str, scores: dict[str, Score], sample: bool) -> ModelCardData:
    results = [
        EvalResult(
            task_type="sentence-similarity" if TASKS[task].kind == "score" else "text-classification",
            dataset_type=task,
            dataset_name=f"mtbert's sample in place of {TASKS[task].title}" if sample else TASKS[task].title,
            dataset_split="dev",
            metric_type=TASKS[task].metric,
            metric_name=METRICS[TASKS[task].metric],
            metric_value=round(score, 4),
            metric_args={"interval_95": [round(bound, 4) for bound in interval]} if interval else None,
        )
        for task, (score, interval) in scores.items()
    ]
    return ModelCardData(
        language="en",
        license="apache-2.0" if sample else "other",
        library_name=LIBRARIES.get(form, "transformers"),
        tags=["mtbert", *scores],
        model_name=f"{model.name}-{model.seed}",
        eval_results=results or None,
        pipeline_tag="sentence-similarity" if form == "sentence-transformers" else "text-classification",
    )


def _meaning(task: Task, form: str) -> str:
    if form == "sentence-transformers":
        return f"the embedding that {task.title}'s head reads"
    if task.kind == "score":
        return f"the logit is a score from {task.lowest:g} to {task.highest:g}"
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(class_names(task)))
    if task.kind == "binary" and form != "plain":
        return f"the sigmoid of the logit is the probability of class 1 ({listed})"
    return f"the softmax of the logits has the probability of each class ({listed})"


def _seen(model: Model) -> str:
    if not (model.encoder / loading.CARD).is_file():
        return f"Encoder `{model.settings.model.encoder}`; the run came without its card."
    known = loading.card(model.encoder)
    return f"{known['note']} Encoder `{known['name']}`: {known['source']}; SHA-256 of its weights {known['sha256']}."


def _on_sample(model: Model) -> bool:
    build = model.run.parents[2] if len(model.run.parents) > 2 else Path()
    catalog = build / "plan" / "catalog.yaml"
    data_dir = files.read_plan(catalog).get("data_dir", "") if catalog.is_file() else ""
    return files.whose_data(build, data_dir) == "sample"
