"""Check the rows of both sides against each other, and make arrays of them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from mtbert.compare.reading import REQUIRED, Frame
from mtbert.errors import DataError, first_of
from mtbert.results import metrics
from mtbert.tasks import Task, label_text

COUNTS = {"": True, "1": True, "true": True, "0": False, "false": False}  # whether a row does, by `scored`
OF_CLASSES = ("accuracy", "mcc", *metrics.F1S)  # metrics of classes, which are whole numbers
TRUTHS = {"true": "1", "false": "0"}  # of both labels and predictions
# What to do about faulty rows.
PAIR_ROWS = "all need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NAME_CLASSES = "write each predicted class into a column class, as mtbert predict does"
USE_NUMBERS = (
    "allowed: numbers; for accuracy, f1 and mcc classes, as whole numbers or all as words, and no probabilities; names "
    "that tasks.yaml gives classes need --task"
)
SPELL_ALIKE = "classes that are words are spelled alike in labels and predictions of both files; else number them"
USE_SAME_LABELS = "predictions of other rows or labels cannot be compared"


@dataclass(frozen=True)
class Pairs:
    """Two sides on the same rows.

    Attributes:
        labels: [rows].
        ours, theirs: predictions, [rows, seeds of the side].
        clusters: a number for each row.
    """

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray


def pair(ours: Frame, theirs: Frame, metric: str, task: Task | None = None) -> Pairs:
    """Make arrays of both sides, as `read` returns them; rows in the order of ours.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels or clusters differ,
            a value is no number, or no class, where one is needed, or words are spelled differently; the message names
            the first rows.
    """
    rows = _scored(pd.concat([ours.assign(side="ours"), theirs.assign(side="theirs")], ignore_index=True))
    _check_partners(rows)
    if metric in OF_CLASSES:
        rows = rows.assign(prediction=rows["class"].where(rows["is_named"], rows["prediction"]))
    rows = rows.assign(**dict(_numbers(rows, metric, task)))
    _refuse("labels that differ", rows[rows.groupby("id")["label"].transform("nunique") > 1], USE_SAME_LABELS)
    first = rows.drop_duplicates("id")
    predictions = rows.pivot(index="id", columns=["side", "seed"], values="prediction").loc[first["id"]]
    return Pairs(
        labels=first["label"].to_numpy(float),
        ours=predictions.xs("ours", axis="columns", level="side").to_numpy(float),
        theirs=predictions.xs("theirs", axis="columns", level="side").to_numpy(float),
        clusters=_clusters(rows, first["id"]),
    )


def _scored(rows: Frame) -> Frame:
    """Return the rows that count on both sides; DataError where there are none, or one of them lacks a value."""
    counts = rows["scored"].str.lower().map(COUNTS)
    _refuse("is none of 1, true, 0, false", rows[counts.isna()], "it says whether a row counts", "scored")
    left_out = rows["id"][~counts.astype(bool)]
    rows = rows[~rows["id"].isin(left_out)]
    for column in REQUIRED:
        _refuse(f"no {column}", rows[rows[column] == ""], "every row that is scored needs one")
    if not len(rows):
        raise DataError("no row is scored")
    return rows


def _check_partners(rows: Frame) -> None:
    """Raise DataError unless each side and seed has each row once."""
    twice = rows.duplicated(["side", "seed", "id"], keep=False)
    _refuse("ids that occur twice", rows[twice], "predictions of several seeds need a column seed")
    runs = len(rows[["side", "seed"]].drop_duplicates())
    unpaired = rows[rows.groupby("id")["id"].transform("size") < runs]
    _refuse("rows that not every side and seed has", unpaired, _likeness(unpaired) or PAIR_ROWS)


def _likeness(unpaired: Frame) -> str:
    """Return a hint where rows lack a partner only because the ids of both files are written differently."""
    bare_ids = unpaired["id"].str.replace(r"^0+(?=\d)|\.0+$", "", regex=True)
    rows = unpaired.assign(bare_id=bare_ids)
    by_side = rows.pivot_table(index="bare_id", columns="side", values="id", aggfunc="first").dropna()
    if by_side.shape[1] < 2 or not len(by_side):
        return ""
    ours, theirs = by_side.iloc[0][["ours", "theirs"]]
    return f"ids differ in leading zeros or type, as {ours!r} and {theirs!r}: write them alike"


def _numbers(rows: Frame, metric: str, task: Task | None) -> Frame:
    """Return labels and predictions as numbers; for metrics of classes they may be words instead, one for each."""
    if task is not None and metric in OF_CLASSES:
        return _task_classes(rows, metric, task)
    texts: Frame = rows[["label", "prediction"]]
    truths = texts.apply(lambda column: column.str.lower().map(TRUTHS).fillna(column))
    numbers: Frame = truths.apply(pd.to_numeric, errors="coerce").astype(float)
    are_words = texts.apply(pd.to_numeric, errors="coerce").isna().all(axis=None) and numbers.isna().any(axis=None)
    if metric in OF_CLASSES and are_words:  # true and false are words beside others
        _refuse("is the label of no row", rows[~texts["prediction"].isin(texts["label"])], SPELL_ALIKE, "prediction")
        return _numbered_words(texts)
    for column in numbers:
        _refuse("is not a number", rows[~np.isfinite(numbers[column])], USE_NUMBERS, column)
        if metric in OF_CLASSES:
            _refuse(f"is no class, as {metric} needs", rows[numbers[column] % 1 != 0], USE_NUMBERS, column)
    if metric in OF_CLASSES:
        _check_numbering({*numbers["label"]}, {*numbers["prediction"]})
    return numbers


def _numbered_words(texts: Frame) -> Frame:
    """Return a number for each word, from 2 on: F1 of 0 and 1 is that of class 1, and no word is known to be that."""
    words = sorted(texts["label"].unique())
    class_of_word = {word: float(number) for number, word in enumerate(words, 2)}
    return texts.apply(lambda column: column.map(class_of_word))


def _check_numbering(labels: set[float], predictions: set[float]) -> None:
    """Raise DataError where predictions are numbered from 0, as `mtbert predict` does, and labels as in their file."""
    from_0 = {*range(len(labels))}
    is_other_label = 0 not in labels or min(labels) < 0
    if len(labels) > 1 and is_other_label and predictions <= from_0 and not predictions <= labels:
        raise DataError(
            f"labels are {min(labels):g} to {max(labels):g}, and predictions seem to be class numbers from 0; "
            f"{NAME_CLASSES}; if they are labels, give --task"
        )


def _task_classes(rows: Frame, metric: str, task: Task) -> Frame:
    """Return labels and predictions as a task's classes, which are numbers in runs.

    In files all may be its labels instead, or true and false. Beside the names of predicted classes there are labels.
    """
    if task.kind == "score":
        raise DataError(f"{metric} is of classes, and {task.name} is a score; allowed: pearson, spearman")
    texts: Frame = rows[["label", "prediction"]].apply(lambda column: column.map(label_text))
    numbers = {str(number): number for number in range(task.classes)}
    classes = texts.apply(lambda column: column.map(numbers))
    is_named = rows["is_named"]
    if is_named.any():
        classes = classes.where(~is_named, _named_classes(rows[is_named], texts[is_named], numbers, task))
    is_plain = ~rows["of_run"] & ~is_named
    if is_plain.any():
        class_of_text = _spelling(rows[is_plain], texts[is_plain], numbers, task)
        classes = classes.where(~is_plain, texts.apply(lambda column: column.map(class_of_text)))
    return classes.astype(float)


def _named_classes(rows: Frame, texts: Frame, numbers: dict[str, int], task: Task) -> Frame:
    """Return the classes of files that name the predicted one; DataError if a text is none of the task's."""
    class_of_label = task.labels or numbers
    class_of_name = {label_text(name): number for number, name in enumerate(task.class_names)}
    class_of_text = {"label": class_of_label, "prediction": class_of_label | class_of_name}
    for column, allowed in class_of_text.items():
        is_other = ~texts[column].isin([*allowed])
        column_of_file = "class" if column == "prediction" else column
        _refuse(f"is no class of {task.name}", rows[is_other], f"allowed: {first_of([*allowed], 5)}", column_of_file)
    return texts.apply(lambda column: column.map(class_of_text[column.name]))


def _spelling(rows: Frame, texts: Frame, numbers: dict[str, int], task: Task) -> dict[str, int]:
    """Return the class of each text of files; DataError if a text is no class, or texts may be read in two ways."""
    truths = {"false": task.labels.get("false", 0), "true": task.labels.get("true", 1)}
    spellings = (numbers, task.labels, numbers | truths)
    fitting = [class_of_text for class_of_text in spellings if texts.isin([*class_of_text]).all(axis=None)]
    if not fitting:  # first what is neither, then labels beside numbers
        labels = f", or in both columns its labels: {first_of([*task.labels], 5)}" if task.labels else ""
        allowed = f"allowed: 0 to {task.classes - 1}{labels}"
        for classes in ([*numbers, *task.labels], [*numbers]):
            for column in ("label", "prediction"):
                _refuse(f"is no class of {task.name}", rows[~texts[column].isin(classes)], allowed, column)
    if fitting[:2] == [numbers, task.labels]:
        is_other = texts.apply(lambda column: column.map(numbers) != column.map(task.labels)).any(axis=1)
        _refuse(f"may be a class number or a label of {task.name}", rows[is_other], NAME_CLASSES, "label")
    return fitting[0]


def _clusters(rows: Frame, ids: Frame) -> np.ndarray:
    """Return each row's cluster, by the column of either file, else a cluster for each row."""
    clustered = rows[rows["cluster"] != ""]
    if not len(clustered):
        return np.arange(len(ids))
    _refuse("no cluster", rows[~rows["id"].isin(clustered["id"])], "every row needs one, or none")
    unlike = clustered.groupby("id")["cluster"].transform("nunique") > 1
    _refuse("clusters that differ", clustered[unlike], "leave the column out of one of the files")
    clusters = clustered.drop_duplicates("id").set_index("id")["cluster"].loc[ids]
    return pd.factorize(clusters, sort=True)[0]


def _refuse(fault: str, rows: Frame, remedy: str, column: str = "") -> None:
    """Raise a DataError if there are faulty rows; it names the first of them, with their values of a column."""
    if not len(rows):
        return
    faulty: list[str] = []
    for row in rows.to_dict("records"):
        value = f": {row[column]!r}" if column else ""
        faulty.append(f"{row['id']} ({row['position']}{value})")
    raise DataError(f"{column} {fault}: {first_of(faulty, 5)}; {remedy}".strip())
