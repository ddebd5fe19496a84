"""What `mtbert doubtful` does: write the labels to check, and near-duplicates, of each task of a build folder."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtbert import files, layout, tasks
from mtbert.data import held_out
from mtbert.data.records import as_separated
from mtbert.errors import DataError, first_of
from mtbert.labelling import doubtful, duplicates, rows
from mtbert.labelling.duplicates import Harm
from mtbert.pretrained.embeddings import Embeddings
from mtbert.provenance import changes, seals
from mtbert.provenance.changes import Change
from mtbert.scores import predictions
from mtbert.scores.columns import Frame
from mtbert.scores.described import TFIDF
from mtbert.tasks import Task


def run(build: Path) -> None:
    """Write build/doubtful anew, and print how much each task has; nothing of the data is changed.

    Raises:
        DataError: examples, or predictions, are missing or damaged, or files of the data folder have changed since.
    """
    for folder in (layout.data(build), layout.encoder(build)):
        seals.check(folder)
    are_held_out = held_out.tasks_of(build)
    embed = Embeddings(layout.encoder(build), layout.cache(build, "embeddings"))
    data_dir = Path(layout.read_catalog(build, "data_dir")["data_dir"])
    with files.new_directory(layout.doubtful(build)) as partial:
        for task in tasks.read_build(build).values():
            table = rows.read(layout.data(build), task, task.name in are_held_out)
            if not task.serves and len(table):
                rows.check_unchanged(data_dir, task, table)
                print(_write(task, table, build, embed, partial), flush=True)
    print(f"{layout.doubtful(build)} lists them, with their texts. Nothing is removed: correct your own files.")


def _write(task: Task, table: Frame, build: Path, embed: Embeddings, folder: Path) -> str:
    """Write a task's two files; return how many rows they have, in words."""
    labelled = table[table["label"].notna() & (table["split"] != "test")].reset_index(drop=True)
    predicted = _predicted(task, labelled, build, embed)
    doubts = doubtful.ranked(task, labelled["label"].to_numpy(), predicted)
    _write_csv(folder / f"{task.name}.csv", doubtful.listed(task, labelled, doubts))
    why_not = _why_without_cosines(task, table, embed)
    pairs = duplicates.find(task, table, None if why_not else embed)
    _write_csv(folder / f"{task.name}-duplicates.csv", duplicates.listed(task, table, pairs))
    counts = Counter(pair.harm for pair in pairs)
    limit = f" ({why_not}: the same texts alone)" if why_not else ""
    return (
        f"{task.display_name:<20.20} {_how_many(task, len(doubts))} of {len(labelled):,}; near-duplicates{limit}: "
        f"{counts[Harm.OTHER_LABEL]} with another label, {counts[Harm.BOTH_SPLITS]} on both sides of a split"
    )


def _how_many(task: Task, count: int) -> str:
    """Return how many labels, or rows with several labels each, are doubtful, in words."""
    what = "row" if task.several else "label"
    return f"{count} doubtful {what}{'s' * (count != 1)}"


def _why_without_cosines(task: Task, table: Frame, embed: Embeddings) -> str:
    """Return why rows are compared by their texts alone; empty where their embeddings count, too."""
    if len(table) > duplicates.MOST_ROWS:
        return f"more than {duplicates.MOST_ROWS:,} rows"
    return "" if duplicates.tells_apart(task, table, embed) else "this encoder's embeddings are too alike"


def _predicted(task: Task, labelled: Frame, build: Path, embed: Embeddings) -> list[np.ndarray]:
    """Return what models predict of rows, as for `doubtful.ranked`; print which models are left out.

    Raises:
        DataError: all models are left out, and rows are too alike to train others.
    """
    of_folds = doubtful.of_other_folds(task, rows.as_rows(labelled, task), embed)
    of_trained, left_out = _of_trained(task, labelled, build)
    if left_out:
        names = first_of([f"{folder.parent.name} {folder.name}" for folder in left_out], changes.SHOWN)
        changed = [change for of_model in left_out.values() for change in of_model]
        line = f"{task.display_name}: {names} made before these changed: {changes.list_in_words(changed)}"
        if of_folds is None and not of_trained:
            raise DataError(f"{line}; no other model predicts its labels; `dvc repro` makes them again")
        print(f"note: {line}; left out, `dvc repro` makes them again", file=sys.stderr)
    return of_trained if of_folds is None else [of_folds, *of_trained]


def _of_trained(task: Task, labelled: Frame, build: Path) -> tuple[list[np.ndarray], dict[Path, list[Change]]]:
    """Return what each trained model, and TF-IDF, predicts of dev, and why other models are left out, by folder.

    Of a task with folds a model's dev is the fold that it did not train on. Models of parts of train have no say.

    Raises:
        DataError: predictions are damaged, or are not of the rows that the model was made from.
    """
    variants = layout.read_plan(layout.plan(build)).get("variants", {})
    dev_rows = np.flatnonzero(labelled["split"] == ("train" if task.folds else "dev"))
    row_by_id = {str(labelled["id"][row]): int(row) for row in dev_rows}
    predicted: list[np.ndarray] = []
    folders = [*layout.baselines_of(build, TFIDF), *layout.runs_of(build, "*")]
    folders = [folder for folder in folders if not variants.get(folder.parent.name, {}).get("part")]
    folders = [folder for folder in folders if layout.predictions(folder, task.name, "dev").is_file()]
    left_out = changes.of_rows(build, folders, task.name)
    for folder in [folder for folder in folders if folder not in left_out]:
        file = layout.predictions(folder, task.name, "dev")
        seals.check(folder, only=[file.relative_to(folder).as_posix()])
        table = files.read_parquet(file)
        asked = [row_by_id.get(str(number), -1) for number in table["id"]]
        is_whole = asked == dev_rows.tolist()
        if -1 in asked or not (is_whole or task.folds):
            raise DataError(f"{folder} predicts other rows than dev has now; `{layout.remedy(folder)}` makes it again")
        columns = predictions.probability_columns(task) or ["prediction"]
        outputs = np.full((len(labelled), len(columns)), np.nan)
        outputs[asked] = table[columns].to_numpy(float)
        predicted.append(outputs)
    return predicted, left_out


def _write_csv(file: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Write lines with the columns of the first; without lines no file."""
    if lines:
        files.write_text(file, as_separated([*lines[0]], lines, ","))
