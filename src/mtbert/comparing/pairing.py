"""Check the rows of two sides against each other, and make arrays of them."""

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
        labels: [rows]; NaN where both sides hold scores of rows.
        ours, theirs: predictions, or scores of rows, [rows, seeds].
        clusters: a number for each row.
        seeds: names of the seeds; one empty name where the files have none.
        apart: how rows were put into clusters, in words.
        notes: sentences on what was left out.
    """

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray
    seeds: list[str]
    apart: str
    notes: list[str]


def pair(ours: Rows, theirs: Rows, metric: str) -> Pairs:
    """Make arrays of both sides.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels differ, or a value is
            not a number where one is needed; the message names the first rows.
    """
    unscored = {row.id for side in (ours, theirs) for row in side.rows if not row.scored}
    our_rows, their_rows = (_indexed(side, unscored) for side in (ours, theirs))
    seeds, notes = _shared_seeds(our_rows, their_rows, ours.name, theirs.name)
    if unscored:
        notes.append(f"Rows left out, since a file marks them as not scored: {len(unscored)}.")
    first = our_rows[seeds[0]]
    ids = list(first)
    for side, index in (ours, our_rows), (theirs, their_rows):
        for seed in seeds:
            _check_partners(side.name, index[seed], ours.name, first, seed)
    _check_labels(ours, theirs, our_rows, their_rows, seeds, ids)
    number = _numbers([(ours, our_rows), (theirs, their_rows)], seeds, metric)
    arrays = [
        np.array([[number(index[seed][one].prediction) for seed in seeds] for one in ids])
        for index in (our_rows, their_rows)
    ]
    if ours.of_scores and theirs.of_scores:
        labels = [math.nan] * len(ids)
    else:
        labelled = their_rows if ours.of_scores else our_rows
        labels = [number(labelled[seeds[0]][one].label) for one in ids]
    clusters, apart = _clusters([(ours.name, first), (theirs.name, their_rows[seeds[0]])], ids)
    return Pairs(np.array(labels), arrays[0], arrays[1], clusters, seeds, apart, notes)


def _indexed(side: Rows, unscored: set[str]) -> Index:
    """Return the scored rows by seed and id; DataError where an id or a value is empty, or an id occurs twice."""
    for column in ("id", "label", "prediction"):
        empty = [row.place for row in side.rows if not getattr(row, column) and row.id not in unscored]
        refuse(side.name, f"no {column}", empty, "every row that is scored needs one")
    index: Index = {}
    twice: list[str] = []
    for row in side.rows:
        if row.id in unscored:
            continue
        first = index.setdefault(row.seed, {}).setdefault(row.id, row)
        if first is not row:
            twice.append(f"{row.id} ({first.place}, {row.place})")
    refuse(side.name, "ids that occur twice", twice, "predictions of several seeds need a column seed")
    if not index:
        raise DataError(f"{side.name} has no scored row")
    return index


def _by_number(seed: str) -> tuple[bool, int, str]:
    """Numbers in their order, then words."""
    return (False, int(seed), seed) if seed.isdecimal() else (True, 0, seed)


def _shared_seeds(our_rows: Index, their_rows: Index, ours: str, theirs: str) -> tuple[list[str], list[str]]:
    """Return the seeds of both sides in order, and a note on those that only one has."""
    shared = sorted(our_rows.keys() & their_rows.keys(), key=_by_number)
    if not shared and len(our_rows) == len(their_rows) == 1:  # one model each: their seeds do not matter
        our_rows[""], their_rows[""] = our_rows.popitem()[1], their_rows.popitem()[1]
        return [""], []
    listed = [f"{name}: {', '.join(sorted(index)) if '' not in index else 'none'}"
              for name, index in ((ours, our_rows), (theirs, their_rows))]  # fmt: skip
    if not shared:
        raise DataError(f"the two share no seed ({'; '.join(listed)}); seeds are compared in pairs")
    alone = our_rows.keys() ^ their_rows.keys()
    return shared, [f"Seeds that one side lacks were left out ({'; '.join(listed)})."] if alone else []


def _check_partners(name: str, rows: Mapping[str, Row], other: str, others: Mapping[str, Row], seed: str) -> None:
    of_seed = f" of seed {seed}" if seed else ""
    remedy = "both need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
    lonely = [f"{row.id} ({row.place})" for row in rows.values() if row.id not in others]
    refuse(name, f"rows{of_seed} without a partner in {other}", lonely, remedy)
    missed = [f"{row.id} ({row.place} there)" for row in others.values() if row.id not in rows]
    refuse(name, f"lacks rows{of_seed} that {other} has", missed, remedy)


def _check_labels(
    ours: Rows, theirs: Rows, our_rows: Index, their_rows: Index, seeds: Sequence[str], ids: Sequence[str]
) -> None:
    first = our_rows[seeds[0]]
    for name, index in (ours.name, our_rows), (theirs.name, their_rows):
        if index is their_rows and ours.of_scores != theirs.of_scores:
            continue
        for seed in seeds:
            pairs = [(first[one], index[seed][one]) for one in ids]
            _refuse_labels(ours.name, name, [(a, b) for a, b in pairs if not _same(a.label, b.label)])
    if ours.of_scores != theirs.of_scores:  # the harness may have words for labels that are numbers elsewhere
        pairs = [(first[one], their_rows[seeds[0]][one]) for one in ids]
        to_theirs, to_ours = {a.label: b.label for a, b in pairs}, {b.label: a.label for a, b in pairs}
        differing = [(a, b) for a, b in pairs if to_theirs[a.label] != b.label or to_ours[b.label] != a.label]
        _refuse_labels(ours.name, theirs.name, differing)


def _refuse_labels(ours: str, theirs: str, differing: Sequence[tuple[Row, Row]]) -> None:
    shown = [f"{a.id} ({a.label}, {a.place}; {b.label}, {b.place})" for a, b in differing]
    remedy = "predictions of other rows or labels cannot be compared"
    refuse(f"{ours} and {theirs}" if theirs != ours else ours, "labels that differ", shown, remedy)


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    a, b = _number(one), _number(other)
    return a is not None and a == b


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _numbers(sides: Sequence[tuple[Rows, Index]], seeds: Sequence[str], metric: str) -> Callable[[str], float]:
    """Return how a value becomes a number: as it is, or by its index among words where all labels are words."""
    labels = {row.label for side, index in sides if not side.of_scores for row in _all(index, seeds)}
    if metric in CLASSES and labels and all(_number(label) is None for label in labels):
        for side, index in sides:
            if side.of_scores:
                _check_numbers(side.name, _all(index, seeds), ("prediction",))
        words = {row.prediction for side, index in sides if not side.of_scores for row in _all(index, seeds)}
        numbers = {word: float(at) for at, word in enumerate(sorted(labels | words), start=2)}  # 0 and 1 have a meaning
        return lambda value: numbers[value] if value in numbers else float(value)
    for side, index in sides:
        _check_numbers(side.name, _all(index, seeds), ("prediction",) if side.of_scores else ("label", "prediction"))
    return float


def _check_numbers(name: str, rows: Iterable[Row], columns: Sequence[str]) -> None:
    rows = list(rows)
    for column in columns:
        wrong = [f"{row.id} ({row.place}: {getattr(row, column)!r})" for row in rows
                 if _number(getattr(row, column)) is None]  # fmt: skip
        refuse(name, f"{column} is not a number", wrong, "allowed: numbers, or for accuracy and f1 words in all labels")


def _all(index: Index, seeds: Sequence[str]) -> Iterable[Row]:
    return (row for seed in seeds for row in index[seed].values())


def _clusters(sides: Sequence[tuple[str, Mapping[str, Row]]], ids: Sequence[str]) -> tuple[np.ndarray, str]:
    """Return each row's cluster, and how it was found: by a column of a file, else by texts, else each row alone."""
    columns = [(name, [rows[one].cluster for one in ids]) for name, rows in sides]
    columns = [(name, column) for name, column in columns if any(column)]
    for name, column in columns:
        refuse(name, "no cluster", [one for one, cluster in zip(ids, column, strict=True) if not cluster],
               "every row needs one, or none")  # fmt: skip
    if columns:
        numbers = [np.unique(column, return_inverse=True)[1] for _, column in columns]
        if len(numbers) > 1:
            _check_clusters(columns[0][1], columns[1][1], ids)
        return numbers[0], f"rows of one cluster, as {columns[0][0]} has them, are drawn together"
    for name, rows in sides:
        texts = [rows[one].texts[:2] for one in ids]
        if all(texts):
            return _by_texts(texts), f"rows that share a sentence (texts of {name}) are drawn together"
    return np.arange(len(ids)), "every row is drawn alone: no file has clusters or texts"


def _check_clusters(ours: Sequence[str], theirs: Sequence[str], ids: Sequence[str]) -> None:
    to_theirs, to_ours = dict(zip(ours, theirs, strict=True)), dict(zip(theirs, ours, strict=True))
    differing = [one for one, a, b in zip(ids, ours, theirs, strict=True) if to_theirs[a] != b or to_ours[b] != a]
    refuse("the two files", "clusters that differ", differing, "leave the column out of one of them")


def _by_texts(texts: Sequence[Sequence[str]]) -> np.ndarray:
    from mtbert.data import checks, readers  # imports pandas, which takes half a second

    rows = (readers.Example("", each[0], each[-1], None, 0) for each in texts)
    return checks.clusters(checks.Index(rows))
