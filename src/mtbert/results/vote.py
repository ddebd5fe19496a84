"""Combine the predictions of several models by a vote.

Classes are voted by majority; a tie goes to the tied class with the highest summed probability. Scores are averaged.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from mtbert import predictions
from mtbert.errors import DataError
from mtbert.results.tables import Frame
from mtbert.tasks import TASKS, Task

VOTED_SPLITS = ("dev", "test")
COUNTS = ("scored", "overall")  # whether a row counts in a score
KEPT = ["row", "cluster", "in_train", "shares", "in_pretraining", "text"]  # of a row, whoever predicts it


def vote(tables: Mapping[str, Frame], task: Task) -> Frame:
    """Make one prediction table from the members' tables, in the first member's order of rows.

    Args:
        tables: the prediction table of each member by its name, at least one; columns as in `mtbert.predictions`.
        task: the task that they predict.

    Returns:
        The voted predictions; the probability columns are the members' means.

    Raises:
        DataError: no member, a repeated id, ids or labels that differ between members; the message names them.
    """
    if not tables:
        raise DataError(f"a vote on {task.name} needs at least one member")
    aligned = _align(tables, task)
    first, columns = aligned[0], predictions.probability_columns(task)
    cast = np.stack([table["prediction"].to_numpy(dtype=float) for table in aligned])  # [members, rows]
    result, counts = first[["label"]].copy(), first[[name for name in COUNTS if name in first]]
    if not columns:
        return result.assign(prediction=cast.mean(axis=0)).join(counts).reset_index()
    probabilities = np.stack([table[columns].to_numpy(dtype=float) for table in aligned])  # [members, rows, classes]
    predicted = ~np.isnan(cast).any(axis=0)  # [rows]
    result["prediction"] = np.nan
    result.loc[predicted, "prediction"] = majority(cast[:, predicted].astype(int), probabilities[:, predicted])
    result[columns] = probabilities.mean(axis=0)
    return result.join(counts).reset_index()


def majority(votes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """Return the class with most votes for each row; ties go to the highest probability summed over members.

    Shapes: votes [members, rows] of class numbers, probabilities [members, rows, classes]; returns [rows].
    """
    classes = np.arange(probabilities.shape[2])
    counts = (votes[:, :, None] == classes).sum(axis=0)  # [rows, classes]
    leads = counts == counts.max(axis=1, keepdims=True)
    return np.where(leads, probabilities.sum(axis=0), -np.inf).argmax(axis=1)


def _align(tables: Mapping[str, Frame], task: Task) -> list[Frame]:
    """Return the tables with the id as index, all in the order of the first."""
    indexed = {member: table.set_index("id") for member, table in tables.items()}
    (first, reference), *others = indexed.items()
    for member, table in indexed.items():
        if not table.index.is_unique:
            raise DataError(f"{member}: an id occurs twice in its predictions for {task.name}; cannot vote")
    for member, table in others:
        if set(table.index) != set(reference.index):
            unlike = sorted(map(str, set(table.index) ^ set(reference.index)))
            raise DataError(
                f"{first} and {member} predicted different rows of {task.name}: {len(unlike)} ids are in only one of "
                f"them, such as {', '.join(unlike[:3])}. Train both on the same data."
            )
    aligned = [table.loc[reference.index] for table in indexed.values()]
    for member, table in zip(indexed, aligned, strict=True):
        if not np.array_equal(table["label"].to_numpy(float), reference["label"].to_numpy(float), equal_nan=True):
            raise DataError(f"{first} and {member} hold different labels for {task.name}. Train both on the same data.")
        if any(not np.array_equal(table[name], reference[name]) for name in COUNTS if name in reference):
            raise DataError(
                f"{first} and {member} are scored on different rows of {task.name}, so a vote would be scored on "
                "rows that chose an epoch, or were not predicted. Train both with the same settings `run`."
            )
    return aligned


def of_members(
    name: str, members: Sequence[str], tables: Mapping[str, Mapping[tuple[str, str], Frame]], seed: int
) -> list[Frame]:
    """Return the rows of `predictions` of an ensemble: its vote on each task and split that all members predicted.

    Args:
        name: the ensemble's name.
        members: names of the variants that vote.
        tables: each member's predictions by task and split, with the columns of `results.tables`.
        seed: the members' seed.

    Raises:
        DataError: no task was predicted by all members, or their predictions do not fit together.
    """
    shared = [key for key in tables[members[0]] if all(key in tables[member] for member in members)]
    voted = []
    for task, split in (key for key in shared if key[1] in VOTED_SPLITS):
        of_task = {member: tables[member][task, split] for member in members}
        first = of_task[members[0]]
        rows = vote(of_task, TASKS[task]).assign(variant=name, seed=seed, task=task, split=split)
        voted.append(rows.assign(**{column: first[column].to_numpy() for column in KEPT}))
    if not voted:
        raise DataError(f"{name}, seed {seed}: no task was predicted by all of {', '.join(members)}")
    return voted
