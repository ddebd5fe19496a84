"""Prove that a smaller export is as good as the full one: both predict dev, loaded as their card says.

Rows are predicted one by one, and in batches: in int8 an answer depends on the rows beside it. A task counts by the
one of both that is harder to prove. Each task has to be as good (`mtbert.judge.non_inferiority`).
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mtbert import files, layout
from mtbert.baselines.rows import text_columns
from mtbert.errors import DataError
from mtbert.inference import compressing, outside
from mtbert.inference.compressing import Compression, ExportError
from mtbert.inference.model import Model
from mtbert.inference.outside import ExportOutputs
from mtbert.judge import Verdict, non_inferiority
from mtbert.judge.non_inferiority import ScoreChange
from mtbert.provenance.changes import check_rows
from mtbert.scores import sets
from mtbert.tasks import Task, read_build

BATCHES = (1, 32)  # rows that are predicted together
SHOWN = 3  # types of nodes


class DevRows(NamedTuple):
    """The labelled rows of a task's dev.

    Attributes:
        task: whose rows they are.
        columns: their sentences, by column.
        labels: [rows].
        clusters: the number of each row's, [rows].
        thresholds: of sets of labels, the least probability at which a row has each label, [labels].
    """

    task: Task
    columns: list[list[str]]
    labels: np.ndarray
    clusters: np.ndarray
    thresholds: np.ndarray | None


class ExportCost(NamedTuple):
    """What an export costs.

    Attributes:
        megabytes: of its graphs or weights.
        milliseconds: a text or pair takes, by the size of batches.
        memory: in MB, by which a process grows that loads it and predicts dev; None where the system does not say.
    """

    megabytes: float
    milliseconds: Mapping[int, float]
    memory: float | None


@dataclass(frozen=True)
class Proof:
    """What is known of a smaller export.

    Attributes:
        changes: one for each task.
        before, after: the cost of the full export, and of the smaller one.
        most_changed: by type of node, how many answers change where it alone is quantised, the most first; none if
            nobody asked.
    """

    changes: Sequence[ScoreChange]
    before: ExportCost | None = None
    after: ExportCost | None = None
    most_changed: Mapping[str, int] | None = None

    @property
    def verdict(self) -> Verdict:
        """HOLDS for as good on each task, WORSE, or TOO_CLOSE."""
        return non_inferiority.together([*self.changes])

    def is_kept(self, compression: Compression) -> bool:
        """Whether the export may be kept: where it is as good, or where that is open and may be."""
        return self.verdict is Verdict.HOLDS or (self.verdict is Verdict.TOO_CLOSE and compression.unproved)


def prove(
    model: Model, form: str, full: Path, out: Path, compression: Compression, dev: Mapping[str, DevRows]
) -> Proof:
    """Return what dev proves of the smaller export in the folder `out`, and what both cost.

    Where it is not kept, and answers change, it is asked which types of nodes change them.
    """
    texts = {task: rows.columns for task, rows in dev.items()}
    before, after = (outside.outputs_of(model, form, folder, texts, BATCHES) for folder in (full, out))
    proof = Proof(_changes(dev, before, after))
    if not proof.is_kept(compression):
        changes_answers = any(change.changed for change in proof.changes)
        if not compression.int8 or not changes_answers:
            return proof
        return replace(proof, most_changed=_changed_by_type(model, full, compression, dev, before))
    times = dict(zip(BATCHES, outside.timed(model, form, (full, out), texts, BATCHES), strict=True))
    of_full, of_smaller = ({size: pair[place] for size, pair in times.items()} for place in (0, 1))
    cost_before = ExportCost(compressing.megabytes(full), of_full, before.megabytes)
    return replace(proof, before=cost_before, after=ExportCost(compressing.megabytes(out), of_smaller, after.megabytes))


def _changed_by_type(
    model: Model, full: Path, compression: Compression, dev: Mapping[str, DevRows], before: ExportOutputs
) -> dict[str, int]:
    """Return by type of node how many answers change where it alone is quantised, the most first."""
    texts = {task: rows.columns for task, rows in dev.items()}
    counts: dict[str, int] = {}
    for node_type in compressing.node_types(full):
        with tempfile.TemporaryDirectory() as folder:
            compressing.write(full, Path(folder), replace(compression, max_tokens=None), [node_type])
            after = outside.outputs_of(model, "onnx", Path(folder), texts, BATCHES[-1:])
        changes = _changes(dev, before._replace(outputs=before.outputs[-1:]), after)
        counts[node_type] = sum(change.changed for change in changes)
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def check(model: Model, compression: Compression, proof: Proof) -> None:
    """Raise ExportError where a smaller export is worse, or where that is open and not allowed to be."""
    if proof.is_kept(compression):
        return
    options = " ".join(compression.options)
    tasks = "; ".join(in_words(change) for change in proof.changes if change.verdict is not Verdict.HOLDS)
    types = f"; {_types_in_words(proof.most_changed)}" if proof.most_changed else ""
    if proof.verdict is Verdict.WORSE:
        raise ExportError(f"{model.name} is worse on dev with {options}: {tasks}{types}; it is not kept")
    raise ExportError(
        f"{model.name} is not proved to be as good with {options}, since dev has too few rows: {tasks}{types}; it is "
        "not kept. `--unproved` keeps it, and its card says so; `matters` in tasks.yaml is the margin"
    )


def read_dev(model: Model) -> dict[str, DevRows]:
    """Return dev of each task of a model; ExportError where it is not there, was changed since, or has no label."""
    build = layout.build_of(model.run)
    if not layout.data_report(layout.data(build)).is_file():
        raise ExportError(f"{model.name}: a smaller export is judged on dev, and {build} has no data")
    described = read_build(build)  # whose margins may have changed since the training
    dev: dict[str, DevRows] = {}
    for name in model.tasks:
        if name not in described:
            raise ExportError(f"{model.name}: a smaller export is judged on dev, and {build} has no task {name} now")
        try:
            check_rows(build, [model.run], name)
        except DataError as error:
            raise ExportError(f"a smaller export is judged on dev: {error}") from None
        dev[name] = _read_dev(model, replace(model.task(name), matters=described[name].matters), layout.data(build))
    return dev


def _read_dev(model: Model, task: Task, data: Path) -> DevRows:
    columns = text_columns(task)
    try:
        names = ["label", "cluster", *columns, *(["fold"] if task.folds else [])]
        table: Any = files.read_parquet(layout.examples(data, task.name, "dev"), names)
    except DataError as error:
        raise ExportError(f"{model.name}: a smaller export is judged on dev, which is not there: {error}") from None
    if task.folds:  # of the other folds' rows the model has trained on most
        table = table[table["fold"] == task.fold(int(model.run.name))]
    table = table.dropna(subset=["label"])
    if not len(table):
        raise ExportError(f"{model.name}: a smaller export is judged on dev, and dev of {task.name} has no labels")
    thresholds = model.network.head(task.name).thresholds
    return DevRows(
        task,
        columns=[table[name].tolist() for name in columns],
        labels=table["label"].to_numpy(float),
        clusters=table["cluster"].to_numpy(),
        thresholds=None if thresholds is None else thresholds.double().numpy(),
    )


def _changes(dev: Mapping[str, DevRows], before: ExportOutputs, after: ExportOutputs) -> list[ScoreChange]:
    """Return what each task loses, in the batches in which that is less certain to be nothing."""
    by_task: list[ScoreChange] = []
    for name, rows in dev.items():
        of_batches = [
            non_inferiority.score_change(
                rows.task, rows.labels, _answers(rows, first[name]), _answers(rows, second[name]), rows.clusters
            )
            for first, second in zip(before.outputs, after.outputs, strict=True)
        ]
        by_task.append(max(of_batches, key=lambda change: change.p.holds))
    return by_task


def _answers(rows: DevRows, outputs: Sequence[Sequence[float]]) -> np.ndarray:
    return answers(rows.task, outputs, rows.thresholds)


def answers(task: Task, outputs: Sequence[Sequence[float]], thresholds: np.ndarray | None = None) -> np.ndarray:
    """Return the answer of each row [rows] from an export's outputs: a class, the score, or the number of a set.

    `thresholds` is as `DevRows` has it.
    """
    array = np.array(outputs)
    if not np.isfinite(array).all():
        raise ExportError(f"{task.name}: the smaller export computes numbers that are not finite; it is not kept")
    if task.kind == "score":
        return array[:, 0]
    if thresholds is not None:
        return sets.numbers_of(1 / (1 + np.exp(-array)) >= thresholds)
    return (array[:, 0] > 0).astype(float) if task.kind == "binary" else array.argmax(axis=1).astype(float)


def in_words(change: ScoreChange) -> str:
    """Return what a task loses, such as `topic 0.923 to 0.871 (-0.052; margin 0.01; 14 of 160 answers change)`."""
    return (
        f"{change.task.name} {change.before:.3f} to {change.after:.3f} ({change.after - change.before:+.4f}; margin "
        f"{change.task.matters:g}; {change.changed} of {change.rows} answers change)"
    )


def _types_in_words(most_changed: Mapping[str, int]) -> str:
    """Return the types of nodes that cost most, such as `quantised alone, MatMul output.dense changes 9 answers`."""
    costly = [f"{name} changes {count}" for name, count in most_changed.items() if count][:SHOWN]
    return f"quantised alone, {', '.join(costly)}" if costly else "no type of nodes alone changes an answer"
