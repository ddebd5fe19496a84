"""Check the rows of two sides against each other, and make arrays of them."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mtbert import seeding
from mtbert.compare.reading import Frame, Side, refuse
from mtbert.errors import DataError
from mtbert.stats.resampling import Resamples, resamples

CLASSES = ("accuracy", "f1")  # metrics of classes, whose labels may be words
PARTNERS = "both need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NUMBERS = "allowed: numbers; for accuracy and f1 classes, as whole numbers or all as words, and no probabilities"
SEED = 0  # of the resamples, so that the same files give the same answer
LABELS = "predictions of other rows or labels cannot be compared"


@dataclass(frozen=True)
class Pairs:
    """Two sides on the same rows.

    Attributes:
        of_rows: whether rows have scores of their own, such as 1 for a right answer, which the metric is the mean of.
        labels: [rows]; NaN where a file holds such scores.
        ours, theirs: these scores, else predictions, [rows, seeds of the side].
        clusters: a number for each row.
        drawn: resamples of the clusters.
        notes: sentences on clusters and on what was left out.
    """

    of_rows: bool
    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray
    drawn: Resamples
    notes: list[str]


def pair(ours: Side, theirs: Side, metric: str) -> Pairs:
    """Make arrays of both sides.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels differ, or a value is
            no number, or no class, where one is needed; the message names the first rows.
    """
    unscored = {row for side in (ours, theirs) for row in side.rows["id"][~side.rows["scored"]]}
    sides = [Side(side.name, side.rows[~side.rows["id"].isin(unscored)], side.of_scores) for side in (ours, theirs)]
    for side in sides:
        _check_complete(side)
    first, other = (side.rows.drop_duplicates("id") for side in sides)
    for side in sides:
        for _, rows in side.rows.groupby("seed"):
            refuse(side.name, f"rows without a partner in {ours.name}", rows[~rows["id"].isin(first["id"])], PARTNERS)
            refuse(side.name, f"lacks rows that {ours.name} has", first[~first["id"].isin(rows["id"])], PARTNERS)
    both: Frame = first.merge(other, on="id", suffixes=("", "_"))
    unlike: Frame = both["label"] != both["label_"]
    if ours.of_scores != theirs.of_scores:  # the harness may have words for labels that are numbers elsewhere
        unlike = _not_one_to_one(both, "label")
    places = both["label"] + ", " + both["place"] + "; " + both["label_"] + ", " + both["place_"]
    refuse(f"{ours.name} and {theirs.name}", "labels that differ", both.assign(place=places)[unlike], LABELS)
    words = _words(sides) if metric in CLASSES else {}
    numbers = [_in_numbers(side, metric, words) for side in sides]
    labels = numbers[0].drop_duplicates("id")["label"].to_numpy(float)
    said, others_said = (_by_seed(rows).loc[first["id"]].to_numpy(float) for rows in numbers)
    clusters, note = _clusters(ours.name, theirs.name, both)
    notes = [f"Rows left out, since a file marks them as not scored: {len(unscored)}."] if unscored else []
    drawn = resamples(clusters, seeding.stream(SEED, "bootstrap", metric))
    return Pairs(metric == "accuracy" or ours.of_scores, labels, said, others_said, clusters, drawn, [*notes, note])


def _check_complete(side: Side) -> None:
    for column in ("id", "label", "prediction"):
        empty = side.rows[side.rows[column] == ""]
        refuse(side.name, f"no {column}", empty, "every row that is scored needs one")
    if not len(side.rows):
        raise DataError(f"{side.name} has no scored row")
    twice = side.rows[side.rows.duplicated(["seed", "id"], keep=False)]
    refuse(side.name, "ids that occur twice", twice, "predictions of several seeds need a column seed")
    labels = side.rows.drop_duplicates(["id", "label"])
    refuse(side.name, "labels that differ", labels[labels.duplicated("id", keep=False)], LABELS)


def _not_one_to_one(both: Frame, column: str) -> Frame:
    """Return whether a row's value on one side also goes with another value of the other side, [rows]."""
    ours, theirs = both[column], both[f"{column}_"]
    return (ours.groupby(theirs).transform("nunique") > 1) | (theirs.groupby(ours).transform("nunique") > 1)


def _words(sides: list[Side]) -> dict[str, int]:
    """Return a number for each class where all labels are words; from 2 on, since 0 and 1 have a meaning."""
    predicted = [side.rows[["label", "prediction"]] for side in sides if not side.of_scores]
    values: Frame = pd.concat(predicted) if predicted else None
    if not predicted or values["label"].map(_is_number).any():
        return {}
    return {word: at for at, word in enumerate(np.unique(values), start=2)}


def _in_numbers(side: Side, metric: str, words: dict[str, int]) -> Frame:
    """Return rows with labels and predictions as numbers; for accuracy, predictions as scores of the rows."""
    said, label = side.rows["prediction"], side.rows["label"]
    if side.of_scores:
        _check(side, "prediction", said.map(_is_number), "is not a number")
        return side.rows.assign(label=math.nan, prediction=said.map(float))
    if words:
        _check(side, "prediction", ~said.map(_is_number), "is a number, and labels are words")
        _check(side, "prediction", said.isin(label) | said.isin(label).any(), "is none of the labels, as all are")
        numbers = side.rows.assign(label=label.map(words), prediction=said.map(words))
    else:
        for column in ("label", "prediction"):
            _check(side, column, side.rows[column].map(_is_number), "is not a number")
        numbers = side.rows.assign(label=label.map(float), prediction=said.map(float))
        for column in ("label", "prediction") if metric in CLASSES else ():
            _check(side, column, numbers[column] % 1 == 0, f"is no class, as {metric} needs")
    return numbers.assign(prediction=numbers["prediction"] == numbers["label"]) if metric == "accuracy" else numbers


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _check(side: Side, column: str, right: Frame, what: str) -> None:
    wrong = side.rows[~right]
    shown = wrong.assign(place=wrong["place"] + ": " + wrong[column].map(repr))
    refuse(side.name, f"{column} {what}", shown, NUMBERS)


def _by_seed(rows: Frame) -> Frame:
    """Return predictions by id, a column a seed; seeds that are numbers in their order."""
    table = rows.pivot(index="id", columns="seed", values="prediction")
    return table[sorted(table, key=lambda seed: (len(seed), seed))]


def _clusters(ours: str, theirs: str, both: Frame) -> tuple[np.ndarray, str]:
    """Return each row's cluster, and how it was found: by a column of a file, else by texts, else each row alone."""
    having = [(name, both[column]) for name, column in ((ours, "cluster"), (theirs, "cluster_")) if both[column].any()]
    for name, clusters in having:
        refuse(name, "no cluster", both[clusters == ""], "every row needs one, or none")
    if len(having) > 1:
        differing = both[_not_one_to_one(both, "cluster")]
        refuse("the two files", "clusters that differ", differing, "leave the column out of one of them")
    for name, clusters in having:
        return pd.factorize(clusters, sort=True)[0], f"Rows of one cluster, as {name} has them, are drawn together."
    for name, texts in ((ours, both["texts"]), (theirs, both["texts_"])):
        if texts.map(bool).all():
            return _by_texts(texts), f"Rows that share a sentence (texts of {name}) are drawn together."
    return np.arange(len(both)), "Every row is drawn alone: no file has clusters or texts."


def _by_texts(texts: Frame) -> np.ndarray:
    from mtbert.data import checks, readers  # takes half a second

    each = (readers.Example("", first, others[0] if others else first, None, 0) for first, *others in texts)
    return checks.clusters(checks.Index(each))
