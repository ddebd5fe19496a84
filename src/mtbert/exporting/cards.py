"""Write the model card of an export: what it is, how it was trained, its scores, and what its encoder had seen."""

import json
from pathlib import Path

from huggingface_hub import EvalResult, ModelCardData

from mtbert import compare, files, predictions
from mtbert.compare import SideScore
from mtbert.encoder import loading
from mtbert.tasks import TASKS
from mtbert.using import names
from mtbert.using.predicting import Model

TITLES = {"accuracy": "accuracy", "pearson": "Pearson's r"}
SAMPLE_LICENCE, OTHER_LICENCE = "apache-2.0", "other"
CODE = """\
```python
from transformers import AutoModel, AutoTokenizer

model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
inputs = tokenizer({texts}, padding=True, truncation=True, return_tensors="pt")
model(**inputs, task="{task}"{sequences}).logits
```

The code that comes with it (`modeling_mtbert.py` and the files beside it) needs torch and transformers alone."""
PLAIN = """\
```python
from transformers import AutoModelForSequenceClassification, AutoTokenizer

model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
model(**tokenizer({texts}, padding=True, truncation=True, return_tensors="pt")).logits
```"""
SENTENCES = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer(folder, trust_remote_code=True)
model.encode({texts}, task="{task}")
```

The code that comes with it needs torch, transformers and sentence-transformers alone."""
ONNX = """\
```python
from onnxruntime import InferenceSession
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(folder)
inputs = tokenizer({texts}, padding=True, truncation=True, return_tensors="np")
InferenceSession(f"{{folder}}/{task}.onnx").run(None, {{name: {stacked} for name, ids in inputs.items()}})
```

There is a graph for each task; batch and length are free, up to {longest} tokens."""
CARD = """\
---
{data}
---

# {name}

A BERT for {tasks}, trained by mtbert: variant `{name}`, seed {seed}, profile `{profile}`. `folder` below is the \
folder of this file, or its name on the Hub.

{how}

## Outputs

{says}

## Scores

On dev, with the 95 % interval over the choice of its rows: rows that share a sentence are resampled together. One \
training says nothing of other trainings with the same settings.

{scores}

## How it was trained

`dvc exp run -S profile={profile} -S 'variants=[{name}]' -S 'seeds=[{seed}]'` in mtbert's repository trains it again \
if params.yaml has not changed. All settings, as in `mtbert_settings.yaml`:

```yaml
{settings}
```

## What its encoder had seen

{seen}

## Licence

{licence}
"""


def card(model: Model, how: str, task: str | None) -> str:
    """Return the text of README.md, with metadata for the Hub.

    Args:
        model: the model.
        how: one of the texts above.
        task: the only task of the export; None for all tasks.
    """
    tasks = [task] if task else list(model.tasks)
    scores = [(name, side) for name in tasks if (side := _score(model, name)) is not None]
    return CARD.format(
        data=_data(model, tasks, scores, how).to_yaml(),
        name=model.name,
        seed=model.seed,
        profile=model.settings.profile,
        tasks=", ".join(TASKS[name].title for name in tasks),
        how=_how(model, tasks, how),
        says="\n".join(f"- `{name}`: {_says(name, how)}" for name in tasks),
        scores=_table(scores),
        settings=(model.run / "settings.yaml").read_text(encoding="utf-8").strip(),
        seen=_seen(model),
        licence=_licence(model),
    )


def _score(model: Model, task: str) -> SideScore | None:
    """Score the predictions of dev; None where the run holds none with labels."""
    file = predictions.path(model.run, task, "dev")
    if not file.is_file() or task not in model.metrics.dev:
        return None
    metric = TASKS[task].metric
    return compare.score(file, metric)


def _data(model: Model, tasks: list[str], scores: list[tuple[str, SideScore]], how: str) -> ModelCardData:
    results = [
        EvalResult(
            task_type="sentence-similarity" if TASKS[task].kind == "score" else "text-classification",
            dataset_type=task,
            dataset_name=TASKS[task].title,
            dataset_split="dev",
            metric_type=TASKS[task].metric,
            metric_name=TITLES[TASKS[task].metric],
            metric_value=round(side.score, 4),
            metric_args={"interval_95": [round(bound, 4) for bound in side.interval]} if side.interval else None,
        )
        for task, side in scores
    ]
    library = {SENTENCES: "sentence-transformers", ONNX: "onnx"}.get(how, "transformers")
    return ModelCardData(
        language="en", license=SAMPLE_LICENCE if _on_sample(model) else OTHER_LICENCE, library_name=library,
        tags=["mtbert", *tasks], model_name=f"{model.name}-{model.seed}", eval_results=results or None,
        pipeline_tag="sentence-similarity" if how == SENTENCES else "text-classification",
    )  # fmt: skip


def _how(model: Model, tasks: list[str], how: str) -> str:
    apart = model.settings.model.pair_encoding == "bi"
    task = next((name for name in tasks if TASKS[name].is_pair), tasks[0])
    pair, single = TASKS[task].is_pair, '["A man plays."]'
    second = '["Someone plays a guitar."]'
    sequences = pair and apart and how != SENTENCES
    texts = (
        single if not pair or how == SENTENCES else f"{single[:-1]}, {second[1:]}" if apart else f"{single}, {second}"
    )
    stacked = "ids.reshape(2, -1, ids.shape[1])" if sequences else "ids"
    example = how.format(texts=texts, task=task, sequences=", sequences=2" if sequences else "", stacked=stacked,
                         longest=model.longest)  # fmt: skip
    note = "\n\nThe rows of a batch are all first sentences, then all second ones." if sequences else ""
    return example + note


def _says(task: str, how: str) -> str:
    about = TASKS[task]
    if how == SENTENCES:
        return f"the embedding that {about.title}'s head reads"
    if about.kind == "score":
        return f"the logit is a score from {about.lowest:g} to {about.highest:g}"
    listed = ", ".join(f"{number} {name}" for number, name in enumerate(names.classes(about)))
    if about.kind == "binary" and how != PLAIN:
        return f"the sigmoid of the logit is the probability of class 1 ({listed})"
    return f"the softmax of the logits has the probability of each class ({listed})"


def _table(scores: list[tuple[str, SideScore]]) -> str:
    if not scores:
        return "None: the run holds no predictions of rows with labels."
    lines = [
        f"| {TASKS[task].title} | {TITLES[TASKS[task].metric]} | {one.score:.3f} | {_interval(one)} |"
        for task, one in scores
    ]
    return "\n".join(["| corpus | score | dev | 95 % interval |", "|:---|:---|---:|:---|", *lines])


def _interval(one: SideScore) -> str:
    return f"{one.interval[0]:.3f} to {one.interval[1]:.3f}" if one.interval else "cannot be told"


def _seen(model: Model) -> str:
    file = model.encoder / loading.CARD
    if not file.is_file():
        return f"Encoder `{model.settings.model.encoder}`; the run came without its card."
    known = loading.card(model.encoder)
    return f"{known['note']} Encoder `{known['name']}`: {known['source']}; SHA-256 of its weights {known['sha256']}."


def _on_sample(model: Model) -> bool:
    build = model.run.parents[2] if len(model.run.parents) > 2 else Path()
    catalog = build / "plan" / "catalog.yaml"
    data_dir = files.read_plan(catalog).get("data_dir", "") if catalog.is_file() else ""
    return files.whose_data(build, data_dir) == "sample"


def _licence(model: Model) -> str:
    if _on_sample(model):
        return (
            "Apache-2.0: code, corpus and encoder are mtbert's own."
            if model.settings.profile == "sample"
            else ("Code and corpus are mtbert's own, Apache-2.0; the encoder keeps its own terms.")
        )
    return (
        "The code is Apache-2.0. The weights were made from corpora and an encoder with terms of their own: read "
        f"these before you share the weights ({json.dumps(list(model.tasks))[1:-1]})."
    )
