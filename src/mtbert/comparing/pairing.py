"""The rows of two sides, checked against each other, to arrays."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mtbert.comparing.rows import Row, Rows, refuse
from mtbert.errors import DataError

CLASSES = ("accuracy", "f1")  # metrics whose labels may be words
Index = dict[str, dict[str, Row]]  # by seed, then by id


@dataclass(frozen=True)
class Pairs:
    """Both sides on the same rows and seeds.

    Attributes:
        labels: rows; NaN where both sides tell scores of rows.
        ours, theirs: predictions, or scores of rows, rows x seeds.
        clusters: a number for each row.
        seeds: their names; one empty one where the files tell none.
        apart: by what rows are put into clusters, in words.
        notes: what was left out, in sentences.
    """

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray
    seeds: list[str]
    apart: str
    notes: list[str]


def pair(ours: Rows, theirs: Rows, metric: str) -> Pairs:
    """Both sides as arrays.

    Raises:
        DataError: an id or a value is empty or stands twice, a row lacks its partner, labels differ, or a value is no
            number where one is needed; the message names the first rows.
    """
    unscored = {row.id for side in (ours, theirs) for row in side.rows if not row.scored}
    mine, other = (_indexed(side, unscored) for side in (ours, theirs))
    seeds, notes = _shared_seeds(mine, other, ours.name, theirs.name)
    if unscored:
        notes.append(f"Rows left out, since a file says that they are not scored: {len(unscored)}.")
    ids = list(mine[seeds[0]])
    for side, index in (ours, mine), (theirs, other):
        for seed in seeds:
            _check_partners(side.name, index[seed], ours.name, mine[seeds[0]], seed)
    _check_labels(ours, theirs, mine, other, seeds, ids)
    number = _numbers([(side, index) for side, index in ((ours, mine), (theirs, other))], seeds, metric)
    arrays = [
        np.array([[number(index[seed][one].prediction) for seed in seeds] for one in ids]) for index in (mine, other)
    ]
    told = None if ours.of_scores and theirs.of_scores else other if ours.of_scores else mine
    labels = [math.nan if told is None else number(told[seeds[0]][one].label) for one in ids]
    clusters, apart = _clusters([(ours.name, mine[seeds[0]]), (theirs.name, other[seeds[0]])], ids)
    return Pairs(np.array(labels), arrays[0], arrays[1], clusters, seeds, apart, notes)


def _indexed(side: Rows, unscored: set[str]) -> Index:
    """The rows that count by seed and id; DataError where an id or a value is empty, or an id stands twice."""
    for column in ("id", "label", "prediction"):
        empty = [row.place for row in side.rows if not getattr(row, column) and row.id not in unscored]
        refuse(side.name, f"no {column}", empty, "every row that is scored needs one")
    found: Index = {}
    twice: list[str] = []
    for row in side.rows:
        if row.id in unscored:
            continue
        first = found.setdefault(row.seed, {}).setdefault(row.id, row)
        if first is not row:
            twice.append(f"{row.id} ({first.place}, {row.place})")
    refuse(side.name, "ids that stand twice", twice, "predictions of several seeds need a column seed that tells them")
    if not found:
        raise DataError(f"{side.name} has no row that is scored")
    return found


def _shared_seeds(mine: Index, other: Index, ours: str, theirs: str) -> tuple[list[str], list[str]]:
    """The seeds of both sides in order, and a note of those that only one has."""
    shared = sorted(mine.keys() & other.keys(), key=lambda seed: (not seed.isdigit(), int(seed or 0), seed))
    if not shared and len(mine) == len(other) == 1:  # one model each: what their seeds were tells nothing
        mine[""], other[""] = mine.popitem()[1], other.popitem()[1]
        return [""], []
    said = [f"{name}: {', '.join(sorted(index)) if '' not in index else 'none told'}"
            for name, index in ((ours, mine), (theirs, other))]  # fmt: skip
    if not shared:
        raise DataError(f"the two share no seed ({'; '.join(said)}); seeds are compared in pairs")
    alone = mine.keys() ^ other.keys()
    return shared, [f"Seeds that one side lacks were left out ({'; '.join(said)})."] if alone else []


def _check_partners(name: str, rows: Mapping[str, Row], other: str, others: Mapping[str, Row], seed: str) -> None:
    said = f" of seed {seed}" if seed else ""
    remedy = "both need the same rows: leave out what only one has, or mark it with 0 in a column scored"
    lonely = [f"{row.id} ({row.place})" for row in rows.values() if row.id not in others]
    refuse(name, f"rows{said} without a partner in {other}", lonely, remedy)
    missed = [f"{row.id} ({row.place} there)" for row in others.values() if row.id not in rows]
    refuse(name, f"lacks rows{said} that {other} has", missed, remedy)


def _check_labels(
    ours: Rows, theirs: Rows, mine: Index, other: Index, seeds: Sequence[str], ids: Sequence[str]
) -> None:
    first = mine[seeds[0]]
    for name, index in (ours.name, mine), (theirs.name, other):
        if index is other and ours.of_scores != theirs.of_scores:
            continue
        for seed in seeds:
            pairs = [(first[one], index[seed][one]) for one in ids]
            _refuse_labels(ours.name, name, [(a, b) for a, b in pairs if not _same(a.label, b.label)])
    if ours.of_scores != theirs.of_scores:  # the harness may have words where others have numbers, each always the same
        pairs = [(first[one], other[seeds[0]][one]) for one in ids]
        told = {a.label: b.label for a, b in pairs}, {b.label: a.label for a, b in pairs}
        _refuse_labels(
            ours.name, theirs.name,
            [(a, b) for a, b in pairs if told[0][a.label] != b.label or told[1][b.label] != a.label],
        )  # fmt: skip


def _refuse_labels(ours: str, theirs: str, differing: Sequence[tuple[Row, Row]]) -> None:
    shown = [f"{a.id} ({a.label}, {a.place}; {b.label}, {b.place})" for a, b in differing]
    remedy = "predictions of other rows or labels cannot be compared"
    refuse(f"{ours} and {theirs}" if theirs != ours else ours, "labels that differ", shown, remedy)


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    a, b = _number(one), _number(other)
    return a is not None and a == b


def _number(said: str) -> float | None:
    try:
        found = float(said)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _numbers(sides: Sequence[tuple[Rows, Index]], seeds: Sequence[str], metric: str) -> Callable[[str], float]:
    """How a value becomes a number: as it is, or where all labels are words of classes, by its place among them."""
    labels = {row.label for side, index in sides if not side.of_scores for row in _all(index, seeds)}
    if metric in CLASSES and labels and all(_number(label) is None for label in labels):
        for side, index in sides:
            if side.of_scores:
                _check_numbers(side.name, _all(index, seeds), ("prediction",))
        said = {row.prediction for side, index in sides if not side.of_scores for row in _all(index, seeds)}
        place = {word: float(at) for at, word in enumerate(sorted(labels | said), start=2)}  # 0 and 1 have a meaning
        return lambda value: place[value] if value in place else float(value)
    for side, index in sides:
        _check_numbers(side.name, _all(index, seeds), ("prediction",) if side.of_scores else ("label", "prediction"))
    return float


def _check_numbers(name: str, rows: Iterable[Row], columns: Sequence[str]) -> None:
    rows = list(rows)
    for column in columns:
        wrong = [f"{row.id} ({row.place}: {getattr(row, column)!r})" for row in rows
                 if _number(getattr(row, column)) is None]  # fmt: skip
        refuse(name, f"{column} is no number", wrong, "allowed: numbers, or for accuracy and f1 words in all labels")


def _all(index: Index, seeds: Sequence[str]) -> Iterable[Row]:
    return (row for seed in seeds for row in index[seed].values())


def _clusters(sides: Sequence[tuple[str, Mapping[str, Row]]], ids: Sequence[str]) -> tuple[np.ndarray, str]:
    """The cluster of each row, and by what, in words: a column of either file, else texts, else each row alone."""
    told = [(name, [rows[one].cluster for one in ids]) for name, rows in sides]
    told = [(name, found) for name, found in told if any(found)]
    for name, found in told:
        refuse(name, "no cluster", [one for one, cluster in zip(ids, found, strict=True) if not cluster],
               "every row needs one, or none")  # fmt: skip
    if told:
        numbers = [np.unique(found, return_inverse=True)[1] for _, found in told]
        if len(numbers) > 1:
            _check_clusters(told[0][1], told[1][1], ids)
        return numbers[0], f"rows of one cluster, as {told[0][0]} has them, are drawn together"
    for name, rows in sides:
        texts = [rows[one].texts[:2] for one in ids]
        if all(texts):
            return _by_texts(texts), f"rows that share a sentence (texts of {name}) are drawn together"
    return np.arange(len(ids)), "every row is drawn alone: no file tells clusters or texts"


def _check_clusters(ours: Sequence[str], theirs: Sequence[str], ids: Sequence[str]) -> None:
    there, back = dict(zip(ours, theirs, strict=True)), dict(zip(theirs, ours, strict=True))
    differing = [one for one, a, b in zip(ids, ours, theirs, strict=True) if there[a] != b or back[b] != a]
    refuse("the two files", "clusters that differ", differing, "leave the column out of one of them")


def _by_texts(texts: Sequence[Sequence[str]]) -> np.ndarray:
    from mtbert.data import checks, readers  # takes pandas, half a second

    rows = (readers.Example("", each[0], each[-1], None, 0) for each in texts)
    return checks.clusters(checks.Index(rows))
