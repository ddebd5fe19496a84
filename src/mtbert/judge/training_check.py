"""Whether a row of the report was trained well enough to be compared; enums and numbers, no word of English.

A row fails on a task where its mean dev score over seeds is

- not proved to be above that of the majority class (of a task of scores: 0, what any constant scores): the 95 %
  interval of the difference, over seeds and the same rows of dev, does not lie above 0; the mean decides where too few
  rows have no interval,
- or below that of the untrained encoder, or of TF-IDF, by what matters of the task or more.

It may gain from longer training where, on one of its tasks,

- the training loss still falls at the end: over the last quarter of the steps, least squares find a slope below 0 (one
  for all seeds, each with its own level; one-sided p of 0.025 or less) that would lower the loss, in another tenth of
  the training, by more than 2 % of its mean over the whole training,
- or epochs were scored, on dev or on spared training rows, to keep the best one, and in most seeds that is the last.

Where an earlier epoch is the best, its training loss says nothing: a longer training was tried, and did not help.

A rate that decays to 0 flattens the end of the curve, so a loss that still falls there says more than one that does
not. The mean over the whole training is the scale since a share of a loss near 0 is large where nothing is to be
gained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy import special

from mtbert.judge.rows import MayGain, Row, Scoreboard
from mtbert.scores import metrics, sets
from mtbert.scores.columns import Frame
from mtbert.scores.described import MAJORITY, TFIDF, UNTRAINED
from mtbert.scores.results import Results
from mtbert.stats import ONE_SIDED
from mtbert.tasks import Task

LOWEST = (MAJORITY, TFIDF, UNTRAINED)  # the baselines that a row has to beat
TAIL = 0.25  # share of the steps that the slope is fitted to
AHEAD, LEAST_FALL = 0.1, 0.02  # share of the training that is looked ahead, and of the mean loss that is a fall
LEAST_LOSSES = 8  # logged in the tail, for a slope
SCORED = ("dev/", "spared/")  # how the names of scores in the history begin


class TrainingCheck:
    """The check of every row."""

    def __init__(self, board: Scoreboard) -> None:
        self._board, self._results = board, board.results
        tfidf = board.row([TFIDF]).scores if TFIDF in self._results.baselines else {}
        self._constants = _constant_predictions(self._results)
        self._checked: dict[tuple[str, ...], Row] = {}
        self._scores_of_baselines: dict[str, Mapping[str, float]] = {
            TFIDF: {task: score.mean for task, score in tfidf.items()},
            UNTRAINED: self._results.untrained,
        }

    def checked(self, row: Row) -> Row:
        """Return the row with what its models do not beat on dev, and where these may gain; models are checked once."""
        if row.names not in self._checked:
            self._checked[row.names] = self._of_dev(self._board.row(row.names))
        checked = self._checked[row.names]
        return replace(row, below=checked.below, may_gain=checked.may_gain)

    def _of_dev(self, row: Row) -> Row:
        tasks = [task for task in self._results.tasks if task in row.scores]
        below = {task: self._below(row, task) for task in tasks}
        may_gain = {task: self._may_gain(row, task) for task in tasks}
        return replace(
            row,
            below={task: reasons for task, reasons in below.items() if reasons},
            may_gain={task: reasons for task, reasons in may_gain.items() if reasons},
        )

    def _below(self, row: Row, task: str) -> list[str]:
        score, matters = row.scores[task].mean, self._results.tasks[task].matters
        below = [] if self._is_above_constant(row, task) else [MAJORITY]
        for baseline, scores in self._scores_of_baselines.items():
            if task in scores and score <= scores[task] - matters:
                below.append(baseline)
        return below

    def _is_above_constant(self, row: Row, task: str) -> bool:
        """Return whether a row is proved to score more than one prediction for all rows; True where none is known."""
        if task not in self._constants:
            return True
        above = self._board.budget_runs().above_constant(row.names, row.seeds, task, self._constants[task])
        if above is None:
            return True
        lowest = above.mean if above.interval is None else above.interval[0]
        return lowest > 0

    def _may_gain(self, row: Row, task: str) -> list[MayGain]:
        variant = next(name for name in row.names if task in self._results.about[name].tasks)
        is_last_best = self._is_last_epoch_best(variant)
        if is_last_best is False:
            return []
        may_gain: list[MayGain] = []
        losses = self._losses.get((variant, f"loss/{task}"))
        if losses is not None and still_falls(losses):
            may_gain.append(MayGain.LOSS_FALLS)
        if is_last_best:
            may_gain.append(MayGain.LAST_EPOCH)
        return may_gain

    @cached_property
    def _last_phase(self) -> Frame:
        """The history of each run's last phase, with `done`: the share of the run's steps, 0 to 1."""
        history = self._results.history
        by_run = history.groupby(["variant", "seed"], observed=True)
        done = history["step"] / by_run["step"].transform("max")
        return history.assign(done=done)[history["phase"] == by_run["phase"].transform("max")]

    @cached_property
    def _losses(self) -> dict[tuple[str, str], Frame]:
        """By variant and name, `seed`, `done` and `value` of each loss of the last phase."""
        history = self._last_phase
        losses = history[history["name"].astype(str).str.startswith("loss/")]
        groups = losses.groupby(["variant", "name"], observed=True)
        return {(str(variant), str(name)): table for (variant, name), table in groups}

    def _is_last_epoch_best(self, variant: str) -> bool | None:
        """Return whether the best epoch is the last of several in most seeds; None where none is chosen."""
        about = self._results.about[variant]
        runs = [(variant, seed) for seed in self._results.seeds[variant]]
        of_seeds = [self._last_is_best[run] for run in runs if run in self._last_is_best]
        if about.keep != "best" or about.members or not of_seeds:
            return None
        return sum(of_seeds) > len(of_seeds) / 2

    @cached_property
    def _last_is_best(self) -> dict[tuple[str, int], bool]:
        """Whether the last epoch of each run's last phase has the highest mean score; of runs with several scored."""
        names = self._last_phase["name"].astype(str)
        scores = self._last_phase[names.str.startswith(SCORED) & ~names.str.contains("/overall_")]
        last_is_best: dict[tuple[str, int], bool] = {}
        for (variant, seed), run in scores.groupby(["variant", "seed"], observed=True):
            by_step = run.groupby("step")["value"].mean()
            if len(by_step) > 1:
                last_is_best[str(variant), int(seed)] = bool(by_step.idxmax() == by_step.index[-1])
        return last_is_best


def still_falls(losses: Frame) -> bool:
    """Return whether a training loss still falls at the end, by the rule above.

    Args:
        losses: `seed`, `done` (the share of the training's steps, 0 to 1) and `value`, of all seeds.
    """
    tail = losses[losses["done"] > 1 - TAIL]
    freedom = len(tail) - tail["seed"].nunique() - 1
    if len(tail) < LEAST_LOSSES or freedom < 1:
        return False
    by_seed = tail.groupby("seed")
    done = (tail["done"] - by_seed["done"].transform("mean")).to_numpy()
    value = (tail["value"] - by_seed["value"].transform("mean")).to_numpy()
    if not done.any():
        return False
    slope = float(done @ value / (done @ done))
    error = float(np.sqrt(((value - slope * done) ** 2).sum() / freedom / (done @ done)))
    is_proved = slope < float(special.stdtrit(freedom, ONE_SIDED)) * error
    return is_proved and -slope * AHEAD > LEAST_FALL * abs(float(losses["value"].mean()))


def _constant_predictions(results: Results) -> dict[str, float]:
    """Return what a model that learns nothing of the sentences predicts, by task: the class of most training rows.

    Where nobody has counted the training rows, as in evidence of before 2026-11-27, it is the class that most rows of
    dev have. For scores it is 0: every constant has a correlation of 0 with them.
    """
    constants: dict[str, float] = {}
    for name, task in results.tasks.items():
        labels = _dev_labels(results, name)
        if len(labels) and task.kind == "score":
            constants[name] = 0.0
        elif len(labels):
            constants[name] = metrics.majority(task, label_counts(results, name) or _counts(task, labels))
    return constants


def _counts(task: Task, labels: np.ndarray) -> Sequence[int]:
    """Return how many rows each class, or each label of sets, has."""
    if task.several:
        return sets.members_of(labels, task.classes).sum(axis=0).tolist()
    return np.bincount(labels.astype(int)).tolist()


def majority_scores(results: Results) -> dict[str, float]:
    """Return by task of classes the dev score of the class that most training rows have, where these were counted."""
    scores: dict[str, float] = {}
    for name, task in results.tasks.items():
        counts, labels = label_counts(results, name), _dev_labels(results, name)
        if task.kind != "score" and counts and len(labels):
            scores[name] = metrics.of_majority(task, counts, labels)
    return scores


def label_counts(results: Results, task: str) -> Sequence[int]:
    """Return how many training rows each class of a task has; empty where nobody has counted them."""
    train = results.data.rows.get(task, {}).get("train")
    return train.labels if train else []


def _dev_labels(results: Results, task: str) -> np.ndarray:
    """Return the labels of a task's dev rows, [rows]."""
    predicted = results.predictions
    is_labelled = (predicted["task"] == task) & (predicted["split"] == "dev") & predicted["label"].notna()
    return predicted[is_labelled].drop_duplicates("row")["label"].to_numpy(float)
