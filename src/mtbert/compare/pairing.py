"""Check the rows of two sides against each other, and make arrays of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from mtbert.compare.reading import Frame, Side, refuse
from mtbert.errors import DataError

CLASSES = ("accuracy", "f1")  # metrics of classes, whose labels may be words
PARTNERS = "both need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NUMBERS = "allowed: numbers; for accuracy and f1 classes, as whole numbers or all as words, and no probabilities"
LABELS = "predictions of other rows or labels cannot be compared"


@dataclass(frozen=True)
class Pairs:
    """Two sides on the same rows.

    Attributes:
        labels: [rows]; NaN where both sides hold scores of rows.
        ours, theirs: predictions, or scores of rows, [rows, seeds of the side].
        clusters: a number for each row.
        apart: how rows were put into clusters, in words.
        left_out: how many rows a file marks as not scored.
    """

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray
    apart: str
    left_out: int


def pair(ours: Side, theirs: Side, metric: str) -> Pairs:
    """Make arrays of both sides.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels differ, or a value is
            no number, or no class, where one is needed; the message names the first rows.
    """
    unscored = {row for side in (ours, theirs) for row in side.rows["id"][~side.rows["scored"]]}
    sides = [replace(side, rows=side.rows[~side.rows["id"].isin(unscored)]) for side in (ours, theirs)]
    for side in sides:
        _check_complete(side)
    first, other = (side.rows.drop_duplicates("id") for side in sides)
    for side in sides:
        for _, rows in side.rows.groupby("seed"):
            refuse(side.name, f"rows without a partner in {ours.name}", rows[~rows["id"].isin(first["id"])], PARTNERS)
            refuse(side.name, f"lacks rows that {ours.name} has", first[~first["id"].isin(rows["id"])], PARTNERS)
        labelled = (first if side.of_scores == ours.of_scores else other).merge(side.rows, on="id", suffixes=("", "_"))
        _refuse_labels(ours.name, side.name, labelled[labelled["label"] != labelled["label_"]])
    both: Frame = first.merge(other, on="id", suffixes=("", "_"))
    if ours.of_scores != theirs.of_scores:  # the harness may have words for labels that are numbers elsewhere
        _refuse_labels(ours.name, theirs.name, both[_not_one_to_one(both, "label")])
    numbers = _in_numbers(sides, metric)
    labels = numbers[1 if ours.of_scores else 0].drop_duplicates("id").set_index("id")["label"][first["id"]]
    said, others_said = (_by_seed(rows).loc[first["id"]].to_numpy() for rows in numbers)
    clusters, apart = _clusters(ours.name, theirs.name, both)
    return Pairs(labels.to_numpy(float), said, others_said, clusters, apart, len(unscored))


def _check_complete(side: Side) -> None:
    for column in ("id", "label", "prediction"):
        empty = side.rows[side.rows[column] == ""]
        refuse(side.name, f"no {column}", empty, "every row that is scored needs one")
    if not len(side.rows):
        raise DataError(f"{side.name} has no scored row")
    twice = side.rows[side.rows.duplicated(["seed", "id"], keep=False)]
    refuse(side.name, "ids that occur twice", twice, "predictions of several seeds need a column seed")


def _refuse_labels(ours: str, theirs: str, both: Frame) -> None:
    places = both["label"] + ", " + both["place"] + "; " + both["label_"] + ", " + both["place_"]
    refuse(ours if ours == theirs else f"{ours} and {theirs}", "labels that differ", both.assign(place=places), LABELS)


def _not_one_to_one(both: Frame, column: str) -> np.ndarray:
    """Return whether a row's value on one side also goes with another value of the other side, [rows]."""
    columns = [column, f"{column}_"]
    several = [both.groupby(one)[two].transform("nunique") > 1 for one, two in (columns, reversed(columns))]
    return np.logical_or(*several)


def _by_seed(rows: Frame) -> Frame:
    """Return predictions by id, a column a seed; seeds that are numbers in their order."""
    table = rows.pivot(index="id", columns="seed", values="prediction")
    return table[sorted(table, key=lambda seed: (len(seed), seed))]


def _in_numbers(sides: Sequence[Side], metric: str) -> list[Frame]:
    """Return each side's rows with labels and predictions as numbers; words by their place among all words."""
    of_classes = [side.rows for side in sides if metric in CLASSES and not side.of_scores]
    labels = {label for rows in of_classes for label in rows["label"]}
    if any(map(_is_number, labels)):
        labels = set()
    words = sorted(labels.union(*(rows["prediction"] for rows in of_classes))) if labels else []
    return [_numeric(side, metric, labels, dict(zip(words, range(2, len(words) + 2), strict=True))) for side in sides]


def _numeric(side: Side, metric: str, labels: set[str], words: dict[str, int]) -> Frame:
    """Return rows as numbers, labels NaN of scores; `words`: their numbers, from 2 on since 0 and 1 have a meaning."""
    if side.of_scores:
        _check(side, "prediction", side.rows["prediction"].map(_is_number), "is not a number")
        return side.rows.assign(label=math.nan, prediction=side.rows["prediction"].map(float))
    if words:
        _check(side, "prediction", ~side.rows["prediction"].map(_is_number), "is a number, and labels are words")
        known = side.rows["prediction"].isin(labels)
        _check(side, "prediction", known | known.any(), "is none of the labels, as all are")
    for column in ("label", "prediction") if not words else ():
        values = side.rows[column]
        _check(side, column, values.map(_is_number), "is not a number")
        if metric in CLASSES:
            _check(side, column, values.map(float) % 1 == 0, f"is no class, as {metric} needs")
    values = side.rows[["label", "prediction"]]
    return side.rows.assign(**values.map(words.get if words else float))


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _check(side: Side, column: str, right: Any, what: str) -> None:
    wrong = side.rows[~right]
    shown = wrong.assign(place=wrong["place"] + ": " + wrong[column].map(repr))
    refuse(side.name, f"{column} {what}", shown, NUMBERS)


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
