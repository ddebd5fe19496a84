"""Check the rows of two sides against each other, and make arrays of them."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from mtbert.compare.reading import Side, refuse
from mtbert.errors import DataError

CLASSES = ("accuracy", "f1")  # metrics of classes, whose labels may be words
PARTNERS = "both need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"


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
    unscored = {one for side in (ours, theirs) for one in side.rows["id"][~side.rows["scored"]]}
    sides = [Side(side.name, side.rows[~side.rows["id"].isin(unscored)], side.of_scores) for side in (ours, theirs)]
    tables = [_by_seed(side) for side in sides]
    rows = [side.rows.drop_duplicates("id").set_index("id") for side in sides]
    refuse(theirs.name, f"rows without a partner in {ours.name}", _lacking(rows[1], rows[0]), PARTNERS)
    refuse(theirs.name, f"lacks rows that {ours.name} has", _lacking(rows[0], rows[1]), PARTNERS)
    ids = rows[0].index
    labels = _labels(sides, rows[0], rows[1].loc[ids])
    number = _numbers(sides, metric)
    arrays = [table.loc[ids].map(number).to_numpy(float) for table in tables]
    gold = labels.map(number).to_numpy(float) if labels is not None else np.full(len(ids), math.nan)
    clusters, apart = _clusters([(ours.name, rows[0]), (theirs.name, rows[1].loc[ids])])
    return Pairs(gold, arrays[0], arrays[1], clusters, apart, len(unscored))


def _lacking(rows: pd.DataFrame, others: pd.DataFrame) -> list[str]:
    return [f"{one} ({place})" for one, place in rows["place"][~rows.index.isin(others.index)].items()]


def _by_seed(side: Side) -> pd.DataFrame:
    """Return predictions, rows by seeds, both named."""
    rows = side.rows
    for column in ("id", "label", "prediction"):
        refuse(side.name, f"no {column}", rows["place"][rows[column] == ""], "every row that is scored needs one")
    if rows.empty:
        raise DataError(f"{side.name} has no scored row")
    twice = rows[rows.duplicated(["id", "seed"], keep=False)].groupby(["id", "seed"], sort=False)["place"]
    shown = [f"{key[0]} ({', '.join(places)})" for key, places in twice]  # type: ignore[index]
    refuse(side.name, "ids that occur twice", shown, "predictions of several seeds need a column seed")
    table = rows.pivot(index="id", columns="seed", values="prediction")
    refuse(side.name, "rows that a seed lacks", table.index[table.isna().any(axis=1)], PARTNERS)
    return table[sorted(table, key=lambda seed: (len(seed), seed))]


def _labels(sides: Sequence[Side], ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.Series | None:
    """Return the labels of the rows, None of two sides of scores; DataError where they differ."""
    for side in sides:
        first = side.rows["id"].map(side.rows.drop_duplicates("id").set_index("id")["label"])
        _refuse_labels(side.name, side.rows[first.map(_plain) != side.rows["label"].map(_plain)].set_index("id"), "")
    if sides[0].of_scores == sides[1].of_scores:
        differing = ours["label"].map(_plain) != theirs["label"].map(_plain)
    else:  # the harness may have words for labels that are numbers elsewhere
        differing = _not_one_to_one(ours["label"], theirs["label"])
    _refuse_labels(f"{sides[0].name} and {sides[1].name}", ours[differing], theirs["label"])
    if sides[0].of_scores and sides[1].of_scores:
        return None
    return theirs["label"] if sides[0].of_scores else ours["label"]


def _refuse_labels(names: str, rows: pd.DataFrame, others: "pd.Series | str") -> None:
    beside = others.loc[rows.index] if isinstance(others, pd.Series) else ["another"] * len(rows)
    each = zip(rows.index, rows["place"], rows["label"], beside, strict=True)
    shown = [f"{one} ({place}: {label}; {other})" for one, place, label, other in each]
    refuse(names, "labels that differ", shown, "predictions of other rows or labels cannot be compared")


def _not_one_to_one(one: pd.Series, other: pd.Series) -> np.ndarray:
    """Return a mask of the rows whose two values also go with another value."""
    pairs = pd.DataFrame({"one": one.to_numpy(), "other": other.to_numpy()})
    return np.any(
        [pairs.groupby(a)[b].transform("nunique") > 1 for a, b in (("one", "other"), ("other", "one"))], axis=0
    )


def _plain(text: str) -> str | float:
    """Return the finite number that a text is, else the text."""
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _numbers(sides: Sequence[Side], metric: str) -> Callable[[str], float]:
    """Return how a value becomes a number: as it is, or by its place among words where all labels are words."""
    predicted = [side for side in sides if not side.of_scores]
    for side in sides:
        if side.of_scores:
            _check(side, "prediction", _is_number, "is not a number")
    if metric not in CLASSES or any(_is_number(label) for side in predicted for label in side.rows["label"]):
        for side, column in ((side, column) for side in predicted for column in ("label", "prediction")):
            _check(side, column, _is_number, "is not a number")
            if metric in CLASSES:
                _check(side, column, _is_class, f"is no class, as {metric} needs")
        return float
    for side in predicted:
        _check(side, "prediction", lambda value: not _is_number(value), "is a number, and labels are words")
        said = side.rows["prediction"][~side.rows["prediction"].isin(side.rows["label"])]
        if len(said) == len(side.rows):
            refuse(side.name, "no prediction is one of the labels", said, "both have to spell classes alike")
    words = sorted({word for side in predicted for column in ("label", "prediction") for word in side.rows[column]})
    numbers = {word: float(at) for at, word in enumerate(words, start=2)}  # 0 and 1 have a meaning
    return lambda value: numbers[value] if value in numbers else float(value)


def _is_number(text: str) -> bool:
    return isinstance(_plain(text), float)


def _is_class(text: str) -> bool:
    return float(text).is_integer()


def _check(side: Side, column: str, right: Callable[[str], bool], what: str) -> None:
    values = zip(side.rows["id"], side.rows["place"], side.rows[column], strict=True)
    wrong = [f"{one} ({place}: {value!r})" for one, place, value in values if not right(value)]
    allowed = "allowed: numbers; for accuracy and f1 classes, as whole numbers or all as words, and no probabilities"
    refuse(side.name, f"{column} {what}", wrong, allowed)


def _clusters(sides: Sequence[tuple[str, pd.DataFrame]]) -> tuple[np.ndarray, str]:
    """Return each row's cluster, and how it was found: by a column of a file, else by texts, else each row alone."""
    having = [(name, rows) for name, rows in sides if rows["cluster"].any()]
    for name, rows in having:
        refuse(name, "no cluster", rows.index[rows["cluster"] == ""], "every row needs one, or none")
    if having:
        name, rows = having[0]
        differing = rows.index[_not_one_to_one(rows["cluster"], having[-1][1]["cluster"])]
        refuse("the two files", "clusters that differ", differing, "leave the column out of one of them")
        return pd.factorize(rows["cluster"])[0], f"Rows of one cluster, as {name} has them, are drawn together."
    for name, rows in sides:
        if rows["texts"].map(bool).all():
            return _by_texts(rows["texts"]), f"Rows that share a sentence (texts of {name}) are drawn together."
    return np.arange(len(sides[0][1])), "Every row is drawn alone: no file has clusters or texts."


def _by_texts(texts: Iterable[tuple[str, ...]]) -> np.ndarray:
    from mtbert.data import checks, readers

    return checks.clusters(checks.Index(readers.Example("", each[0], each[-1], None, 0) for each in texts))
