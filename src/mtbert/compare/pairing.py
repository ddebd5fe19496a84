"""Check the rows of two sides against each other, and make arrays of them."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from mtbert.compare.reading import Row, Side, refuse
from mtbert.errors import DataError

Pair = tuple[Row, Row]
CLASSES = ("accuracy", "f1")  # metrics of classes, whose labels may be words
PARTNERS = "both need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NUMBERS = "allowed: numbers; for accuracy and f1 classes, as whole numbers or all as words, and no probabilities"


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
    unscored = {row.id for side in (ours, theirs) for row in side.rows if not row.scored}
    sides = [replace(side, rows=[row for row in side.rows if row.id not in unscored]) for side in (ours, theirs)]
    by_seed = [_by_seed(side) for side in sides]
    first, other = by_seed[0][0], by_seed[1][0]
    for side, seeds in zip(sides, by_seed, strict=True):
        for rows in seeds:
            refuse(side.name, f"rows without a partner in {ours.name}", _missing(rows, first), PARTNERS)
            refuse(side.name, f"lacks rows that {ours.name} has", _missing(first, rows), PARTNERS)
            same = first if side.of_scores == ours.of_scores else other
            pairs = [(same[one], rows[one]) for one in first if _plain(same[one].label) != _plain(rows[one].label)]
            _refuse_labels(ours.name, side.name, pairs)
    both = [(first[one], other[one]) for one in first]
    if ours.of_scores != theirs.of_scores:  # the harness may have words for labels that are numbers elsewhere
        _refuse_labels(ours.name, theirs.name, _not_one_to_one(both, lambda row: row.label))
    number = _numbers(sides, metric)
    arrays = [np.array([[number(rows[one].prediction) for rows in seeds] for one in first]) for seeds in by_seed]
    labelled, unlabelled = (other if ours.of_scores else first), ours.of_scores and theirs.of_scores
    labels = np.array([math.nan if unlabelled else number(labelled[one].label) for one in first])
    return Pairs(labels, arrays[0], arrays[1], *_clusters(ours.name, theirs.name, both), len(unscored))


def _by_seed(side: Side) -> list[dict[str, Row]]:
    """Return the rows of each seed by id, seeds that are numbers in their order."""
    for column in ("id", "label", "prediction"):
        empty = [row.place for row in side.rows if not getattr(row, column)]
        refuse(side.name, f"no {column}", empty, "every row that is scored needs one")
    if not side.rows:
        raise DataError(f"{side.name} has no scored row")
    seeds: dict[str, dict[str, Row]] = {}
    twice = []
    for row in side.rows:
        known = seeds.setdefault(row.seed, {}).setdefault(row.id, row)
        twice += [] if known is row else [f"{row.id} ({known.place}, {row.place})"]
    refuse(side.name, "ids that occur twice", twice, "predictions of several seeds need a column seed")
    return [seeds[seed] for seed in sorted(seeds, key=lambda seed: (len(seed), seed))]


def _missing(rows: Mapping[str, Row], others: Mapping[str, Row]) -> list[str]:
    return [f"{row.id} ({row.place})" for row in rows.values() if row.id not in others]


def _refuse_labels(ours: str, theirs: str, differing: Sequence[Pair]) -> None:
    shown = [f"{a.id} ({a.label}, {a.place}; {b.label}, {b.place})" for a, b in differing]
    names = ours if ours == theirs else f"{ours} and {theirs}"
    refuse(names, "labels that differ", shown, "predictions of other rows or labels cannot be compared")


def _not_one_to_one(pairs: Sequence[Pair], value: Callable[[Row], str]) -> list[Pair]:
    """Return the pairs of rows whose two values also go with another value."""
    values = {(value(a), value(b)) for a, b in pairs}
    ours, theirs = (Counter(pair[at] for pair in values) for at in (0, 1))
    return [(a, b) for a, b in pairs if ours[value(a)] > 1 or theirs[value(b)] > 1]


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
    if metric not in CLASSES or any(_is_number(row.label) for side in predicted for row in side.rows):
        for side, column in ((side, column) for side in predicted for column in ("label", "prediction")):
            _check(side, column, _is_number, "is not a number")
            if metric in CLASSES:
                _check(side, column, lambda value: float(value).is_integer(), f"is no class, as {metric} needs")
        return float
    for side in predicted:
        _check(side, "prediction", lambda value: not _is_number(value), "is a number, and labels are words")
        said, labels = ([getattr(row, column) for row in side.rows] for column in ("prediction", "label"))
        if set(said).isdisjoint(labels):
            refuse(side.name, "no prediction is one of the labels", said, "both have to spell classes alike")
    words = {word for side in predicted for row in side.rows for word in (row.label, row.prediction)}
    numbers = {word: float(at) for at, word in enumerate(sorted(words), start=2)}  # 0 and 1 have a meaning
    return lambda value: numbers[value] if value in numbers else float(value)


def _is_number(text: str) -> bool:
    return isinstance(_plain(text), float)


def _check(side: Side, column: str, right: Callable[[str], bool], what: str) -> None:
    values = [(row, getattr(row, column)) for row in side.rows]
    wrong = [f"{row.id} ({row.place}: {value!r})" for row, value in values if not right(value)]
    refuse(side.name, f"{column} {what}", wrong, NUMBERS)


def _clusters(ours: str, theirs: str, pairs: Sequence[Pair]) -> tuple[np.ndarray, str]:
    """Return each row's cluster, and how it was found: by a column of a file, else by texts, else each row alone."""
    sides = list(zip((ours, theirs), zip(*pairs, strict=True), strict=True))
    having = [(name, rows) for name, rows in sides if any(row.cluster for row in rows)]
    for name, rows in having:
        refuse(name, "no cluster", [row.id for row in rows if not row.cluster], "every row needs one, or none")
    if len(having) > 1:
        differing = [row.id for row, _ in _not_one_to_one(pairs, lambda row: row.cluster)]
        refuse("the two files", "clusters that differ", differing, "leave the column out of one of them")
    for name, rows in having:
        numbers = np.unique([row.cluster for row in rows], return_inverse=True)[1]
        return numbers, f"Rows of one cluster, as {name} has them, are drawn together."
    for name, rows in sides:
        if all(row.texts for row in rows):
            return _by_texts(rows), f"Rows that share a sentence (texts of {name}) are drawn together."
    return np.arange(len(pairs)), "Every row is drawn alone: no file has clusters or texts."


def _by_texts(rows: Iterable[Row]) -> np.ndarray:
    from mtbert.data import checks, readers  # takes half a second

    each = (readers.Example("", row.texts[0], row.texts[:2][-1], None, 0) for row in rows)
    return checks.clusters(checks.Index(each))
