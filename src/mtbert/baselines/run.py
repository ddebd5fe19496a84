"""Train every baseline of every task, and write a folder for each: what the `baselines` stage does.

Of a task with folds, each row of dev is predicted by a baseline that did not see it: one is trained for each fold. The
first is kept, and predicts test: it has trained on as many rows as a model of one seed.

A folder has settings, scores and predictions, as that of a vote does. What mtbert can predict with, it holds as
config.json and model.safetensors (`stored`).
"""

import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.baselines import TECHNIQUES, linear, one_vs_rest, others, rows, stored, untrained
from mtbert.baselines.base import Embed, Features
from mtbert.baselines.others import SCORED, Other
from mtbert.baselines.rows import Rows
from mtbert.baselines.stored import TaskBaseline
from mtbert.pretrained import embeddings
from mtbert.pretrained.embeddings import Embeddings
from mtbert.provenance import inputs, manifests, seals
from mtbert.provenance.inputs import Inputs
from mtbert.scores import metrics, predictions
from mtbert.scores.columns import Predictions
from mtbert.scores.described import BASELINES, BY_OTHERS, FROZEN, UNTRAINED
from mtbert.scores.schemas import ModelMetrics
from mtbert.tasks import Split, Task, Tasks, dump_task, main, of_a_model
from mtbert.training import logs

SEED = 0  # of all baselines: they have none
CODE = "code-baselines"  # of the plan: the code that trains them


@dataclass
class BaselineRun:
    """What comes of a baseline on all tasks.

    Attributes:
        name: of its folder.
        trained: its models by task; none of the untrained encoder, and of others.
        predicted: by split and task.
        seconds: to train, by task.
        of_others: what others have predicted, where they have.
    """

    name: str
    trained: dict[str, TaskBaseline] = field(default_factory=dict)
    predicted: Predictions = field(default_factory=lambda: {split: {} for split in SCORED})
    seconds: dict[str, float] = field(default_factory=dict)
    of_others: Other | None = None

    @property
    def weights(self) -> int | None:
        """How many numbers it has to keep beside the encoder; None where others predicted."""
        if self.of_others:
            return None
        return sum(model.weights for model in self.trained.values())


def train_all(
    build: Path, tasks: Tasks, out: Path, say: Callable[[str], None] = print, data_dir: Path | None = None
) -> list[BaselineRun]:
    """Train all baselines on `build/data`, and write OUT/NAME/0 for each; `say` gets each line as soon as it is known.

    Tasks of the mean with training rows and labelled dev rows are trained. Predictions that others made are read below
    `data_dir`, and have a folder OUT/other-NAME/0.

    Raises:
        DataError, EncoderError: examples or the encoder are missing or damaged, or predictions of others are faulty.
    """
    of_others = _of_others(build, tasks, data_dir, say)
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    encoder = layout.encoder(build)
    embed = Embeddings(encoder, layout.cache(build, "embeddings"))
    baselines = [BaselineRun(name) for name in (*BASELINES, UNTRAINED)]
    for name in main(tasks):
        splits = {split: rows.read(layout.data(build), tasks[name], split) for split in ("train", *SCORED)}
        dev = splits["dev"]
        if dev is None or np.isnan(dev.labels).any():
            continue
        for baseline in baselines:
            if _train(baseline, tasks[name], splits, embed):
                say(_line(baseline, tasks[name]))
    files.keep_only(out, [])
    baselines += of_others
    for baseline in baselines:
        if baseline.predicted["dev"]:
            _write(baseline, tasks, out / baseline.name / str(SEED), build, started)
    return baselines


def _of_others(build: Path, tasks: Tasks, data_dir: Path | None, say: Callable[[str], None]) -> list[BaselineRun]:
    """Return what others have predicted, below the data folder."""

    def find(task: Task, split: Split) -> Rows | None:
        return rows.read(layout.data(build), task, split)

    baselines: list[BaselineRun] = []
    for other in others.read(data_dir, tasks, find) if data_dir else []:
        baselines.append(BaselineRun(f"{BY_OTHERS}{other.name}", predicted=other.predicted, of_others=other))
    for baseline in baselines:
        for name in baseline.predicted["dev"]:
            say(_line(baseline, tasks[name]))
    return baselines


def _train(baseline: BaselineRun, task: Task, splits: Mapping[str, Rows | None], embed: Embeddings) -> bool:
    """Train a baseline of a task and predict; return whether it can."""
    train = splits["train"]
    is_embedded = baseline.name in (FROZEN, UNTRAINED)
    if is_embedded:  # beforehand, so that one bar shows all texts, and times hold each text once
        embed([text for part in splits.values() if part for text in part.texts])
    clock = time.perf_counter()
    predict = _predictor(baseline, task, _of_other_folds(train, 0), embed)
    baseline.seconds[task.name] = time.perf_counter() - clock
    if is_embedded and train is not None:
        baseline.seconds[task.name] += embed.seconds(train.texts)
    for split in SCORED:
        part = splits[split]
        columns = predict(part) if part else None
        if part and part.folds is not None:
            columns = _out_of_folds(baseline, task, splits, embed)
        if part and columns:
            table = pd.DataFrame({"id": part.ids, "label": part.labels, **columns, "scored": True})
            baseline.predicted[split][task.name] = table
    return task.name in baseline.predicted["dev"]


def _of_other_folds(train: Rows | None, fold: int) -> Rows | None:
    """Return the rows of train that are not of a fold; all of a task without folds."""
    return train if train is None or train.folds is None else train.part(np.flatnonzero(train.folds != fold))


def _out_of_folds(
    baseline: BaselineRun, task: Task, splits: Mapping[str, Rows | None], embed: Embeddings
) -> Mapping[str, np.ndarray]:
    """Return the predictions of dev, each fold's by a baseline that was trained on the others."""
    dev = splits["dev"]
    columns: dict[str, np.ndarray] = {}
    if dev is None or dev.folds is None:
        return columns
    for fold in range(task.folds):
        rows = np.flatnonzero(dev.folds == fold)
        predict = _predictor(BaselineRun(baseline.name), task, _of_other_folds(splits["train"], fold), embed)
        for name, values in predict(dev.part(rows)).items():
            columns.setdefault(name, np.full(len(dev.ids), np.nan))[rows] = values
    return columns


def _predictor(
    baseline: BaselineRun, task: Task, train: Rows | None, embed: Embeddings
) -> Callable[[Rows], Mapping[str, np.ndarray]]:
    """Train a baseline of a task, and return what predicts rows; that returns nothing where the baseline cannot."""
    if baseline.name == UNTRAINED:

        def predict(part: Rows) -> Mapping[str, np.ndarray]:
            predicted = untrained.predictions(task, train, part.columns, embed)
            return {} if predicted is None else {"prediction": predicted}

        return predict
    if train is None:
        return lambda _: {}
    model = baseline.trained[task.name] = fit(TECHNIQUES[baseline.name], task, train, embed)
    return lambda part: model.predict(part.columns)


def fit(technique: type[Features], task: Task, train: Rows, embed: Embed) -> TaskBaseline:
    """Train a technique on training rows alone."""
    features = technique.fit(train.columns, embed)
    fit_one = one_vs_rest.fit if task.several else linear.fit
    return TaskBaseline(task, features, fit_one(task, features.matrix(train.columns), train.labels, train.clusters()))


def _line(baseline: BaselineRun, task: Task) -> str:
    """Return a line such as `topic      baseline-tfidf        macro-F1  0.898   12.1 s`."""
    score = predictions.score(baseline.predicted["dev"][task.name], task)
    shown = f"{score:.3f}" if score is not None else "-"
    seconds = "" if baseline.of_others else f" {baseline.seconds[task.name]:>8.1f} s"
    return f"{task.display_name:<20.20} {baseline.name:<20} {metrics.in_words(task):>10} {shown:>7}{seconds}"


def _write(baseline: BaselineRun, tasks: Tasks, folder: Path, build: Path, started: str) -> None:
    """Write the folder of a baseline, and its log."""
    encoder = embeddings.key(layout.encoder(build)) if baseline.name == FROZEN else None
    known = [name for name in tasks if name in baseline.predicted["dev"]]
    settings = {
        "variant": baseline.name,
        "seed": SEED,
        "tasks": known,
        "described": {name: dump_task(of_a_model(tasks[name])) for name in known},
    }
    if baseline.of_others:
        costs = baseline.of_others.costs.model_dump(exclude_defaults=True)
        settings |= {"costs": costs, "files": baseline.of_others.digests}
    scored = ModelMetrics(
        variant=baseline.name,
        seed=SEED,
        weights=baseline.weights,
        dev=predictions.scores(baseline.predicted["dev"], tasks),
        test=predictions.scores(baseline.predicted["test"], tasks),
        beside=predictions.scores_beside(baseline.predicted["dev"], tasks),
    )
    with files.new_directory(folder) as partial:
        for split, by_task in baseline.predicted.items():
            for name, table in by_task.items():
                predictions.write(layout.predictions(partial, name, split), table)
        if baseline.trained:
            stored.write(partial, baseline.name, baseline.trained, encoder)
        files.write_yaml(partial / layout.SETTINGS, settings)
        files.write_json(partial / layout.METRICS, scored.content())
        files.write_text(partial / layout.INPUTS, _inputs(settings, build).text())
        seals.seal(partial)
    if not baseline.of_others:
        _write_log(baseline, folder, started)


def _write_log(baseline: BaselineRun, folder: Path, started: str) -> None:
    log = {
        "started": started,
        "seconds": round(sum(baseline.seconds.values()), 1),
        "seconds_by_task": {name: round(seconds, 2) for name, seconds in baseline.seconds.items()},
        "machine": logs.machine(),
        "versions": logs.versions(),
    }
    files.write_json(layout.log(folder) / layout.LOG, log)


def _inputs(settings: dict[str, Any], build: Path) -> Inputs:
    """Return what a baseline is made from: the examples of its tasks, and the starting weights."""
    read = [*manifests.examples_of(build, settings["tasks"]), *manifests.encoder_files(build)]
    return Inputs(
        settings=settings,
        code=layout.read_plan(layout.plan(build, CODE)),
        files=inputs.digests(build, read),
        machine=inputs.machine(build),
        seed=SEED,
    )
