"""What `mtbert doubtful` does: write the labels to check, and near-duplicates, of each task of a build folder."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mtbert import files, layout, tasks
from mtbert.data.records import as_separated
from mtbert.errors import DataError
from mtbert.labelling import doubtful, duplicates, rows
from mtbert.labelling.doubtful import Opinion
from mtbert.labelling.duplicates import Harm
from mtbert.pretrained.embeddings import Embeddings
from mtbert.provenance import seals
from mtbert.scores import predictions
from mtbert.scores.columns import Frame
from mtbert.scores.described import TFIDF
from mtbert.tasks import Task


def run(build: Path) -> None:
    """Write build/doubtful anew, and print how much each task has; nothing of the data is changed.

    Raises:
        DataError: examples, or predictions, are missing or damaged.
    """
    for folder in (layout.data(build), layout.encoder(build)):
        seals.check(folder)
    embed = Embeddings(layout.encoder(build), layout.embeddings(build))
    with files.new_directory(layout.doubtful(build)) as partial:
        for task in tasks.read_build(build).values():
            table = rows.read(layout.data(build), task)
            if not task.serves and len(table):
                print(_write(task, table, build, embed, partial), flush=True)
    print(f"{layout.doubtful(build)} lists them, with their texts. Nothing is removed: correct your own files.")


def _write(task: Task, table: Frame, build: Path, embed: Embeddings, folder: Path) -> str:
    """Write a task's two files; return how many rows they have, in words."""
    labelled = table[table["label"].notna() & (table["split"] != "test")].reset_index(drop=True)
    doubtful_labels = "several labels a row, whose doubts are not measured"
    if not task.several:
        doubts = doubtful.ranked(task, labelled["label"].to_numpy(), _opinions(task, labelled, build, embed))
        _write_csv(folder / f"{task.name}.csv", doubtful.listed(task, labelled, doubts))
        doubtful_labels = f"{len(doubts)} doubtful labels of {len(labelled):,}"
    is_small = len(table) <= duplicates.MOST_ROWS
    pairs = duplicates.find(task, table, embed if is_small else None)
    _write_csv(folder / f"{task.name}-duplicates.csv", duplicates.listed(task, table, pairs))
    counts = Counter(pair.harm for pair in pairs)
    limit = "" if is_small else f" (of more than {duplicates.MOST_ROWS:,} rows, the same texts alone)"
    return (
        f"{task.display_name:<20.20} {doubtful_labels}; near-duplicates{limit}: "
        f"{counts[Harm.OTHER_LABEL]} with another label, {counts[Harm.BOTH_SPLITS]} on both sides of a split"
    )


def _opinions(task: Task, labelled: Frame, build: Path, embed: Embeddings) -> list[Opinion]:
    """Return what models predict of rows that they did not train on."""
    of_folds = doubtful.of_other_folds(task, rows.as_rows(labelled, task), embed)
    return [*filter(None, [of_folds]), *_of_trained(task, labelled, build)]


def _of_trained(task: Task, labelled: Frame, build: Path) -> list[Opinion]:
    """Return what each trained model, and TF-IDF, predicts of dev; DataError where a model is of other rows.

    Of a task with folds a model's dev is the fold that it did not train on. Models of parts of train have no say.
    """
    variants = layout.read_plan(layout.plan(build)).get("variants", {})
    dev_rows = np.flatnonzero(labelled["split"] == ("train" if task.folds else "dev"))
    row_by_id = {str(labelled["id"][row]): int(row) for row in dev_rows}
    opinions: list[Opinion] = []
    for folder in [*layout.baselines_of(build, TFIDF), *layout.runs_of(build, "*")]:
        file = layout.predictions(folder, task.name, "dev")
        if not file.is_file() or variants.get(folder.parent.name, {}).get("part"):
            continue
        seals.check(folder, only=[file.relative_to(folder).as_posix()])
        table = files.read_parquet(file)
        asked = [row_by_id.get(str(number), -1) for number in table["id"]]
        is_whole = asked == dev_rows.tolist()
        if -1 in asked or not (is_whole or task.folds):
            raise DataError(f"{folder} predicts other rows than dev has now; `{layout.remedy(folder)}` makes it again")
        columns = predictions.probability_columns(task) or ["prediction"]
        opinions.append(Opinion(np.array(asked), table[columns].to_numpy(float)))
    return opinions


def _write_csv(file: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Write lines with the columns of the first; without lines no file."""
    if lines:
        files.write_text(file, as_separated([*lines[0]], lines, ","))
