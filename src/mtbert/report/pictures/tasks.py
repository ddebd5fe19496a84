"""Each task: which classes are taken for which, the most confident errors, and dev scores by step.

Where ways are compared, it is with the one to keep; else over all models.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from mtbert.judge import Answer
from mtbert.report import markdown
from mtbert.report.pictures import drawing
from mtbert.scores import metrics, sets
from mtbert.scores.columns import CONFIDENCE, KEY, MOVES, Frame
from mtbert.scores.results import Results
from mtbert.stats import LEAST_SEEDS, Estimate, Side, influence, score
from mtbert.tasks import METRIC_NAMES, Task, main

MOST_CONFIDENT = 10  # errors of each task
MOST_CLASSES = 12  # of a table
NO_LABEL = "no label"
ABOUT = (
    "With {}, the mean over seeds. The first table of a task has a line for each class: which per cent of its "
    "rows are predicted as each class. The second table lists the most confident errors, at most ten; for scores, the "
    "largest errors."
)
OF_SETS = (
    "Where rows have several labels, the first table has a line for each label, with precision, recall and F1; a "
    "third table has the other metrics of each way, with 95 % intervals."
)
ALL = "all models"
HIDDEN = "A task's sentences are shown where its `show_text` in tasks.yaml is true, and those of the sample."
SHARE = "*Share*: the share of trainings that predict so, since their probabilities were not kept."
OF_CURVES = "Dev scores while the models train; the last point is the model that is kept."


def render(results: Results, answer: Answer | None, folder: Path, sentences: Mapping[str, Sequence[str]]) -> str:
    """Draw the curves into a report's folder; return them and each task's tables as Markdown."""
    tasks = results.tasks
    names = [*results.about] if answer is None else (answer.kept or answer.best).names
    tables: list[str] = []
    for name in main(tasks):
        rows = results.scored(name)
        tables += _task_tables(rows[rows["variant"].isin(names)], tasks[name], sentences.get(name))
        if tasks[name].several:
            tables.append(markdown.lined([*_beside_lines(results, answer, tasks[name])]))
    if not tables:
        return ""
    parts = [_about(results, answer, sentences), *tables, _curves_picture(results, answer, folder)]
    return "\n\n".join(filter(None, parts))


def _beside_lines(results: Results, answer: Answer | None, task: Task) -> Iterator[dict[str, str]]:
    """Yield a line for each way, or model, with all that sets of labels are scored by on dev."""
    of_models = {name: (name,) for name in [*results.baselines, *results.about]}
    ways = of_models if answer is None else {way.label: way.names for way in answer.ways}
    rows, runs = results.scored(task.name), results.runs.set_index(KEY)
    precisions = runs[f"dev_{task.name}/{metrics.AVERAGE_PRECISION}"]
    for label, names in ways.items():
        of_way = rows[rows["variant"].isin([*names])]
        if not len(of_way):
            continue
        has_seeds = not {*names} <= {*results.baselines}
        names_of_sets = {metric: name for metric, name in METRIC_NAMES.items() if metric in metrics.OF_SETS}
        sides = {name: f1_side(of_way, task, metric) for metric, name in names_of_sets.items()}
        if not task.folds:  # whose models rank the rows of one fold each
            sides["mean average precision"] = precision_side(of_way, precisions)
        has_seeds = has_seeds and not task.folds
        scores = {name: markdown.estimate(_score(side, has_seeds)) for name, side in sides.items()}
        yield {"way": markdown.literal(label), **scores}


def f1_side(rows: Frame, task: Task, metric: str) -> Side:
    """Score the predictions of one way's runs by a metric of sets of labels."""
    predicted = _by_run(rows, "prediction")
    first = rows.drop_duplicates("row").set_index("row").loc[predicted.index]
    labels, clusters = first["label"].to_numpy(), first["cluster"].to_numpy()
    return influence.scored(metric, labels, predicted.to_numpy(), clusters, range(task.classes))


def precision_side(rows: Frame, precisions: Frame) -> Side:
    """Return the mean average precision of one way's runs, of which `precisions` holds that of each run."""
    moves = _by_run(rows.groupby(["cluster", *KEY], observed=True)[MOVES].sum().reset_index(), MOVES, "cluster")
    scores = precisions.loc[[*moves.columns]].to_numpy(float)
    return Side(scores, moves.to_numpy(), rows["row"].nunique(), len(moves))


def _by_run(rows: Frame, values: str, index: str = "row") -> Frame:
    return rows.astype({"variant": str}).pivot(index=index, columns=KEY, values=values)


def _score(side: Side, has_seeds: bool) -> Estimate:
    """Return a side's score with its interval; of fewer seeds than an interval needs, over rows alone."""
    side = replace(side, has_seeds=has_seeds)
    return score(side.as_trained if 0 < side.seeds < LEAST_SEEDS else side, (0.0, 1.0))


def _about(results: Results, answer: Answer | None, sentences: Mapping[str, Sequence[str]]) -> str:
    """Return what to know of the tables."""
    with_which = ALL if answer is None else f"*{markdown.literal((answer.kept or answer.best).label)}*"
    texts = [ABOUT.format(with_which)]
    if any(task.several for task in results.tasks.values()):
        texts.append(OF_SETS)
    if results.predictions[CONFIDENCE].isna().all():
        texts.append(SHARE)
    if not {*main(results.tasks)} <= {*sentences}:
        texts.append(HIDDEN)
    return " ".join(texts)


def _curves_picture(results: Results, answer: Answer | None, folder: Path) -> str:
    """Draw the dev scores of each way, or of each model, by step; return them as Markdown, empty without history."""
    ways = {name: (name,) for name in results.about}
    if answer is not None:
        ways = {way.label: way.names for way in answer.ways}
    curves = {label: _curves(results, names) for label, names in ways.items()}
    curves = {label: task_curves for label, task_curves in curves.items() if task_curves}
    if not curves:
        return ""
    return drawing.put(_drawn(results, curves), folder, "curves", OF_CURVES, "Dev scores by step")


def _task_tables(rows: Frame, task: Task, texts: Sequence[str] | None) -> list[str]:
    """Return a task's name and its tables; nothing without rows."""
    if not len(rows):
        return []
    measure = "off by"
    if task.kind != "score":
        measure = "share" if rows[CONFIDENCE].isna().all() else "confidence"
    lines = _label_lines(rows, task) if task.several else _confusion_lines(rows, task)
    confusion_table = markdown.lined([*lines])
    error_table = markdown.lined([*_error_lines(most_confident(rows, task), task, measure, texts)])
    return [f"**{markdown.literal(task.display_name)}**", *filter(None, [confusion_table, error_table])]


def _label_lines(rows: Frame, task: Task) -> Iterator[dict[str, str]]:
    """Yield a line for each label of sets: its rows of dev, and precision, recall and F1 over all runs."""
    gold = sets.members_of(rows["label"].to_numpy(), task.classes)
    guess = sets.members_of(rows["prediction"].to_numpy(), task.classes)
    runs = len(rows) / rows["row"].nunique()
    hits = (gold & guess).sum(axis=0)
    for label, name in enumerate(task.class_names):
        has, predicted = gold[:, label].sum(), guess[:, label].sum()
        shares = {"precision": (hits[label], predicted), "recall": (hits[label], has)}
        shares["F1"] = (2 * hits[label], has + predicted)
        cells = {metric: f"{part / whole:.2f}" if whole else markdown.DASH for metric, (part, whole) in shares.items()}
        yield {"label": markdown.literal(name), "rows": f"{has / runs:.0f}", **cells}


def confusion(rows: Frame, classes: int) -> np.ndarray:
    """Return the share of each class's rows that is predicted as each class, [label, prediction]; 0 without rows."""
    counts = np.zeros((classes, classes))
    np.add.at(counts, (rows["label"].to_numpy(int), rows["prediction"].to_numpy(int)), 1)
    return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def _confusion_lines(rows: Frame, task: Task) -> Iterator[dict[str, str]]:
    """Yield a line for each class; none for a score, or for too many classes."""
    if task.kind == "score" or task.classes > MOST_CLASSES:
        return
    names = [markdown.literal(name) for name in task.class_names]
    columns = _distinct(["class", *names])
    for name, shares in zip(names, confusion(rows, task.classes), strict=True):
        percentages = [f"{100 * share:.0f}" for share in shares]
        yield dict(zip(columns, [name, *percentages], strict=True))


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of columns of which no two are equal: one that came before has its number behind it."""
    return [f"{name} ({number})" if name in names[:number] else name for number, name in enumerate(names)]


def most_confident(rows: Frame, task: Task) -> Frame:
    """Return by number of the row id, label, prediction and `off`: the distance, or the confidence in a wrong class."""
    errors = _distances(rows) if task.kind == "score" else _wrong_classes(rows)
    return errors[errors["off"] > 0].sort_values("off", ascending=False, kind="stable").head(MOST_CONFIDENT)


def _distances(rows: Frame) -> Frame:
    """Return each row with how far the mean prediction over runs is from its label."""
    means = rows.groupby("row").agg({"id": "first", "label": "first", "prediction": "mean"})
    return means.assign(off=(means["prediction"] - means["label"]).abs())


def _wrong_classes(rows: Frame) -> Frame:
    """Return each row that any run has wrong with the wrong class in which the runs have the most confidence.

    The confidence is the mean over runs of the class's probability, 0 where another is predicted; of runs that tell
    none, the share that predicts it.
    """
    has_probability = rows[CONFIDENCE].notna()
    rows = rows[has_probability] if has_probability.any() else rows.assign(**{CONFIDENCE: 1.0})
    runs = rows.groupby("row")["id"].transform("size")
    rows = rows.assign(off=rows[CONFIDENCE] / runs)
    wrong = rows[rows["label"] != rows["prediction"]]
    sums = wrong.groupby(["row", "prediction"]).agg({"id": "first", "label": "first", "off": "sum"}).reset_index()
    return sums.sort_values("off", kind="stable").drop_duplicates("row", keep="last").set_index("row")


def _error_lines(errors: Frame, task: Task, measure: str, texts: Sequence[str] | None) -> Iterator[dict[str, str]]:
    """Yield a line for each error: its text where there are texts, else its id."""
    for number, row in zip(errors.index.tolist(), errors.to_dict("records"), strict=True):
        column, text = ("id", row["id"]) if texts is None else ("text", texts[number])
        yield {
            column: markdown.literal(str(text)),
            "label": _value(task, row["label"]),
            "predicted": _value(task, row["prediction"]),
            measure: markdown.number(row["off"], decimals=2),
        }


def _value(task: Task, value: float) -> str:
    if task.several:
        return markdown.literal(", ".join(sets.names_in(task, value)) or NO_LABEL)
    return markdown.literal(task.class_names[int(value)]) if task.class_names else markdown.number(value, decimals=2)


def _curves(results: Results, names: Sequence[str]) -> dict[str, Frame]:
    """Return the mean dev score of each task by the share of the training that is done."""
    history = results.history
    history = history[history["variant"].isin([*names])]
    last_steps = history.groupby(["variant", "seed"], observed=True)["step"].transform("max")
    curves: dict[str, Frame] = {}
    for task in main(results.tasks):
        scores = history[history["name"] == f"dev/{task}"]
        if len(scores):
            done = (scores["step"] / last_steps[scores.index]).round(3)
            curves[task] = pd.Series(scores["value"].to_numpy(), done).groupby(level=0).mean()
    return curves


def _drawn(results: Results, curves: dict[str, dict[str, Frame]]) -> Figure:
    """A panel for each task, a line for each of the first ways."""
    tasks = main(results.tasks)
    down = -(-len(tasks) // 3)
    figure = drawing.empty(0.6 + 2.6 * down)
    lines = {}
    for position, task in enumerate(tasks, 1):
        axes = figure.add_subplot(down, 3, position)
        for colour, (label, curve_by_task) in zip(drawing.PALETTE, curves.items(), strict=False):
            if task in curve_by_task:
                curve = curve_by_task[task]
                (lines[label],) = axes.plot(curve.index, curve, "o-", color=colour, markersize=3)
        axes.set_title(results.tasks[task].display_name, fontsize="medium")
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        axes.set_xlabel("done of the training", fontsize="small")
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend([*lines.values()], [*map(drawing.short, lines)], loc="outside lower center", ncols=3, frameon=False)
    return figure
