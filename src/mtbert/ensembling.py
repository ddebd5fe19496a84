"""Combine the prediction files of several models by a vote.

Classes are voted by majority; a tie goes to the tied class with the highest summed probability. Scores are averaged.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.tasks import TASKS, Split, Task

VOTED_SPLITS: tuple[Split, ...] = ("dev", "test")


def vote(tables: Mapping[str, pd.DataFrame], task: Task) -> pd.DataFrame:
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
    result, counts = first[["label"]].copy(), first[["scored", "overall"]]
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


def _align(tables: Mapping[str, pd.DataFrame], task: Task) -> list[pd.DataFrame]:
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
        if not table[["scored", "overall"]].equals(reference[["scored", "overall"]]):
            raise DataError(
                f"{first} and {member} are scored on different rows of {task.name}, so a vote would be scored on "
                "rows that chose an epoch, or were not predicted. Train both with the same run.selection and "
                "run.scored_rows."
            )
    return aligned


def vote_all(catalog: Path, runs: Path, directory: Path) -> list[str]:
    """Vote for every selected ensemble and seed of build/plan/catalog.yaml; write `directory` anew.

    Returns:
        A line for each for the terminal: its dev scores, or the members that are missing.

    Raises:
        SettingsError: there is no catalog. DataError: as for `ensemble`.
    """
    plan, lines = files.read_plan(catalog, "ensembles", "seeds"), []
    with files.new_directory(directory) as partial:
        for name, entry in plan["ensembles"].items():
            for seed in plan["seeds"] if entry["selected"] else []:
                absent = [member for member in entry["members"] if not (runs / member / str(seed)).is_dir()]
                if absent:
                    commands = ", ".join(f"`dvc repro train@{member}-{seed}`" for member in absent)
                    lines.append(f"{name}, seed {seed}: not voted; what is missing is made by {commands}")
                    continue
                scores = ensemble(name, entry["members"], seed, runs, partial / name / str(seed))
                dev = ", ".join(f"{metric} {value:.3f}" for metric, value in scores["dev"].items())
                lines.append(f"{name}, seed {seed}: dev {dev}")
    return lines


def ensemble(name: str, members: Sequence[str], seed: int, runs: Path, directory: Path) -> dict[str, dict[str, float]]:
    """Vote on every task and split that all members predicted; write `predictions/` and metrics.json to `directory`.

    Args:
        name: the ensemble's name.
        members: names of the variants that vote.
        seed: the members' seed.
        runs: the folder of the members' runs, as <variant>/<seed>.
        directory: the folder to write.

    Returns:
        The scores of dev and test; a split whose labels are withheld has none.

    Raises:
        DataError: a member's run is missing or altered, or the members' predictions do not fit together.
    """
    places = {member: _run(runs, member, seed) for member in members}
    scores: dict[str, dict[str, float]] = {split: {} for split in VOTED_SPLITS}
    for split in VOTED_SPLITS:
        votes: dict[str, pd.DataFrame] = {}
        for task in TASKS:
            if not all(predictions.path(place, task, split).is_file() for place in places.values()):
                continue
            tables = {member: _read(place, member, seed, task, split) for member, place in places.items()}
            voted = vote(tables, TASKS[task])
            predictions.write(predictions.path(directory, task, split), voted, TASKS[task])
            votes[task] = voted
        scores[split] = predictions.scores(votes)
    if not (directory / "predictions").is_dir():
        raise DataError(f"{name}, seed {seed}: no task was predicted by all of {', '.join(members)}")
    files.write_json(directory / "metrics.json", {"ensemble": name, "seed": seed, "members": list(members), **scores})
    files.seal(directory)
    return scores


def _run(runs: Path, member: str, seed: int) -> Path:
    place = runs / member / str(seed)
    if not place.is_dir():
        raise DataError(f"{place} is missing, but an ensemble needs it; `{_remake(member, seed)}` makes it")
    files.check_sealed(place, _remake(member, seed), only=())
    return place


def _remake(member: str, seed: int) -> str:
    return f"dvc repro train@{member}-{seed}"


def _read(place: Path, member: str, seed: int, task: str, split: Split) -> pd.DataFrame:
    """Read a member's predictions, after a check of their digest."""
    name = predictions.path(place, task, split).relative_to(place).as_posix()
    return predictions.read(files.sealed(place, name, _remake(member, seed)))
