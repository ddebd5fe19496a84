"""Check the rows of both sides against each other, and make arrays of them."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from mtbert.compare.reading import REQUIRED
from mtbert.data import several
from mtbert.errors import DataError, first_of
from mtbert.scores import metrics, sets
from mtbert.scores.columns import Frame
from mtbert.tasks import OF_CLASSES, OF_SCORES, Task, label_text

COUNTS = {  # whether a row does, by `scored`
    "": True, "1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False,
}  # fmt: skip
COMPARE_CLASSES = {*OF_CLASSES, *metrics.F1S}  # metrics
TRUTHS = {"true": "1", "false": "0"}
WHOLE = re.compile(r"0|-?[1-9][0-9]*")
DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
SAME_SCORE = 1e-6  # labels of scores that differ by less are equal: other precision; of larger ones, this share
# What to do about faulty rows.
PAIR_ROWS = "all need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NAME_CLASSES = "write each predicted class into a column class, as mtbert predict does"
USE_NUMBERS = "allowed: numbers with a decimal point, such as 2.5"
USE_CLASSES = f"{', '.join(OF_CLASSES)} compare classes: write the predicted class in place of a probability or score"
SPELL_ALIKE = (
    "classes are compared as text, so spell them alike in labels and predictions of both files (01 is not 1; 1.0 is); "
    "names that tasks.yaml gives classes need --task"
)
LEAVE_OUT = "leave the row out, or mark it with 0 in a column scored"
USE_SAME_LABELS = "predictions of other rows or labels cannot be compared"
LOOK_ALIKE = "these look alike and differ in how accents are coded: write both in Unicode's form NFC"


@dataclass(frozen=True)
class Pairs:
    """Two sides on the same rows.

    Attributes:
        labels: [rows].
        ours, theirs: predictions, [rows, seeds of the side].
        clusters: a number for each row.
        have_seeds: whether ours, and theirs, are of trainings with seeds.
    """

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray
    have_seeds: tuple[bool, bool] = (True, True)


def pair(ours: Frame, theirs: Frame, metric: str, task: Task | None = None) -> Pairs:
    """Make arrays of both sides, as `read` returns them; rows in the order of ours.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels or clusters differ,
            a value is no number, or no class, where one is needed, or classes are spelled differently; the message
            names the first rows.
    """
    rows = pd.concat([ours.assign(side="ours"), theirs.assign(side="theirs")], ignore_index=True)
    if task is not None and task.several:
        rows = _with_numbers_of_sets(rows, task)
    rows = _scored(rows)
    _check_partners(rows)
    _check_same_texts(rows)
    if metric not in COMPARE_CLASSES:
        named = rows[rows["is_named"] & (rows["class"] != "")]
        allowed = f"allowed: {', '.join(OF_CLASSES)}"
        _refuse(f"a column class names classes, and {metric} is of scores", named, allowed, "class")
    else:
        rows = rows.assign(prediction=rows["class"].where(rows["is_named"], rows["prediction"]))
    values = _classes(rows, metric, task) if metric in COMPARE_CLASSES else _scores(rows, task)
    _check_same_labels(rows, values["label"], 0.0 if metric in COMPARE_CLASSES else SAME_SCORE)
    rows = rows.assign(**dict(values))
    first = rows.drop_duplicates("id")
    predictions = rows.pivot(index="id", columns=["side", "seed"], values="prediction").loc[first["id"]]
    has_seed = rows.groupby("side")["has_seed"].any()
    return Pairs(
        labels=first["label"].to_numpy(float),
        ours=predictions.xs("ours", axis="columns", level="side").to_numpy(float),
        theirs=predictions.xs("theirs", axis="columns", level="side").to_numpy(float),
        clusters=_clusters(rows, first["id"]),
        have_seeds=(bool(has_seed["ours"]), bool(has_seed["theirs"])),
    )


def _with_numbers_of_sets(rows: Frame, task: Task) -> Frame:
    """Return rows with the number of each set as text, where those of files are written as the task's files write them.

    DataError if one is no set of the task's labels.
    """
    names = {label_text(name): number for number, name in enumerate(task.class_names)}
    number_of = names | (task.labels or {str(number): number for number in range(task.classes)})
    texts: dict[str, list[str]] = {}
    for column in ("label", "prediction"):
        texts[column] = []
        for row in rows.to_dict("records"):
            text = row[column]
            if not row["of_run"] and row["scored"].lower() not in ("0", "0.0", "false"):
                text = _number_of_set(row, column, number_of, task)
            texts[column].append(text)
    return rows.assign(**texts)


def _number_of_set(row: Mapping[str, Any], column: str, number_of: Mapping[str, int], task: Task) -> str:
    """Return the number of a set in a file, as text."""
    try:
        labels = several.parts(row[column], task.separator)
    except DataError as error:
        raise DataError(f"{column} of {row['id']} ({row['position']}) is {error}") from None
    if unknown := [label for label in labels if label not in number_of]:
        allowed = first_of([*(task.labels or number_of)], 5)
        raise DataError(
            f"{column} of {row['id']} ({row['position']}) holds {unknown[0]!r}, no label of {task.name}; "
            f"allowed: {allowed}"
        )
    if twice := sorted({label for label in labels if labels.count(label) > 1}):
        raise DataError(
            f"{column} of {row['id']} ({row['position']}) holds {twice[0]!r} twice; allowed: each label once"
        )
    return str(sets.number_of({number_of[label] for label in labels}))


def _check_same_labels(rows: Frame, labels: Frame, apart: float) -> None:
    """Raise DataError where the labels of a row differ by more than this share of them, at least of 1."""
    by_id = labels.groupby(rows["id"])
    spread, largest = by_id.transform("max") - by_id.transform("min"), labels.abs().groupby(rows["id"]).transform("max")
    unlike = rows[spread > apart * largest.clip(lower=1)]
    unlike = unlike.iloc[unlike.groupby("id", sort=False).ngroup().argsort(kind="stable")]  # both labels of a row
    alike = _look_alike(unlike.groupby("id")["label"].first(), unlike.groupby("id")["label"].last())
    _refuse("labels that differ", unlike, LOOK_ALIKE if alike else USE_SAME_LABELS, "label")


def _look_alike(first: Iterable[str], second: Iterable[str]) -> bool:
    """Return whether texts are the same but for how characters are composed, such as é of one code or of two."""
    return any(one != other and _composed(one) == _composed(other) for one, other in zip(first, second, strict=True))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _scored(rows: Frame) -> Frame:
    """Return the rows that count on both sides; DataError where there are none, or one of them lacks a value."""
    counts = rows["scored"].str.lower().map(COUNTS)
    _refuse("scored is none of 1, true, 0, false", rows[counts.isna()], "it says whether a row counts", "scored")
    left_out = rows["id"][~counts.astype(bool)]
    rows = rows[~rows["id"].isin(left_out)]
    for column in REQUIRED:
        _refuse(f"no {column}", rows[rows[column] == ""], "every row that is scored needs one")
    if not len(rows):
        raise DataError("no row is scored")
    return rows


def _check_partners(rows: Frame) -> None:
    """Raise DataError unless each side and seed has each row once."""
    lacks_seed = rows["has_seed"] & ~rows["of_run"] & (rows["seed"] == "")
    _refuse("no seed", rows[lacks_seed], "every row of a file needs one, or none")
    twice = rows.duplicated(["side", "seed", "id"], keep=False)
    _refuse("ids that occur twice", rows[twice], "predictions of several seeds need a column seed")
    runs = len(rows[["side", "seed"]].drop_duplicates())
    unpaired = rows[rows.groupby("id")["id"].transform("size") < runs]
    _refuse("rows that not every side and seed has", unpaired, _likeness(unpaired) or PAIR_ROWS)


def _check_same_texts(rows: Frame) -> None:
    """Raise DataError where an id has one text in our file, and another one in theirs."""
    if rows["text_columns"].nunique() > 1:  # one has no texts, or names them in another way
        return
    unlike = rows[rows.groupby("id")["text"].transform("nunique") > 1]
    remedy = "an id has to mean the same row in both files"
    _refuse("texts that differ", unlike.drop_duplicates(["id", "text"]), remedy, "text")


def _likeness(unpaired: Frame) -> str:
    """Return a hint where rows lack a partner only because the ids of both files are written differently."""
    bare_ids = unpaired["id"].str.replace(r"^0+(?=\d)|\.0+$", "", regex=True)
    rows = unpaired.assign(bare_id=bare_ids)
    by_side = rows.pivot_table(index="bare_id", columns="side", values="id", aggfunc="first").dropna()
    if by_side.shape[1] < 2:
        return ""
    differing = by_side[by_side["ours"] != by_side["theirs"]]
    if not len(differing):
        return ""
    ours, theirs = differing.iloc[0][["ours", "theirs"]]
    return f"ids differ in leading zeros or type, as {ours!r} and {theirs!r}: write them alike"


def _scores(rows: Frame, task: Task | None) -> Frame:
    """Return labels and predictions as numbers."""
    texts: Frame = rows[["label", "prediction"]]
    truths = texts.apply(lambda column: column.str.lower().map(TRUTHS).fillna(column))
    numbers: Frame = truths.apply(pd.to_numeric, errors="coerce").astype(float)
    for column in numbers:
        _refuse(f"{column} is not a number", rows[~np.isfinite(numbers[column])], USE_NUMBERS, column)
    if task is not None and task.kind == "score":
        outside = rows[~numbers["label"].between(task.lowest, task.highest)]
        _refuse(f"label is no score of {task.name}", outside, f"allowed: {task.lowest:g} to {task.highest:g}", "label")
    return numbers


def _classes(rows: Frame, metric: str, task: Task | None) -> Frame:
    """Return a number for each class of labels and predictions: those of the task, else `_numbered`."""
    texts: Frame = rows[["label", "prediction"]].apply(lambda column: column.map(label_text))
    for column in texts:
        _refuse(f"{column} stands for no class", rows[texts[column] == ""], LEAVE_OUT, column)
    if task is not None:
        return _task_classes(rows, texts, metric, task)
    words = {*texts.to_numpy().ravel()}
    if words <= {*TRUTHS, *TRUTHS.values()}:  # true and false beside other words are words
        texts = texts.replace(TRUTHS)
    _check_spelling(rows, texts)
    for side in ("ours", "theirs"):
        of_side = texts[rows["side"] == side]
        _check_numbering({*of_side["label"]}, {*of_side["prediction"]})
    return _numbered(texts)


def _numbered(texts: Frame) -> Frame:
    """Return a number for each class: 0 and 1 as they are, else from 2 on.

    F1 of 0 and 1 is that of class 1, and of other classes none is known to be that one.
    """
    words = sorted({*texts.to_numpy().ravel()})
    first = 0 if {*words} <= {"0", "1"} else 2
    number_by_word = {"0": 0.0, "1": 1.0} if first == 0 else {word: float(at) for at, word in enumerate(words, first)}
    return texts.apply(lambda column: column.map(number_by_word))


def _check_spelling(rows: Frame, texts: Frame) -> None:
    """Raise DataError where a prediction is the label of no row, unless all are whole numbers: dev may lack a class."""
    is_whole = texts.apply(lambda column: column.map(lambda text: WHOLE.fullmatch(text) is not None))
    is_other = ~texts["prediction"].isin(texts["label"])
    if is_whole["label"].all():
        is_other &= ~is_whole["prediction"]
    if not is_other.any():
        return
    words = texts["prediction"][is_other]
    is_number = words.map(lambda text: DECIMAL.fullmatch(text) is not None)
    labels = {*texts["label"]}
    if is_number.all() and all(DECIMAL.fullmatch(label) for label in labels):
        label_numbers = {float(label) for label in labels}  # -0 is among them where 0 is
        are_spellings = words.map(lambda word: float(word) in label_numbers)
        _refuse("prediction is no class", rows[is_other][~are_spellings], USE_CLASSES, "prediction")
    by_look = {_composed(label) for label in labels}
    remedy = LOOK_ALIKE if words.map(_composed).isin(by_look).any() else SPELL_ALIKE
    _refuse("prediction is the label of no row", rows[is_other], remedy, "prediction")


def _check_numbering(labels: set[str], predictions: set[str]) -> None:
    """Raise DataError where predictions are numbered from 0, as `mtbert predict` does, and labels as in their file."""
    if not all(map(WHOLE.fullmatch, labels | predictions)):
        return
    numbers = sorted(map(int, labels))
    from_0 = {str(number) for number in range(len(labels))}
    is_other_label = "0" not in labels or numbers[0] < 0
    if len(labels) > 1 and is_other_label and predictions <= from_0 and not predictions <= labels:
        raise DataError(
            f"labels are {numbers[0]} to {numbers[-1]}, and predictions seem to be class numbers from 0; "
            f"{NAME_CLASSES}; if they are labels, give --task"
        )


def _task_classes(rows: Frame, texts: Frame, metric: str, task: Task) -> Frame:
    """Return labels and predictions as a task's classes, which are numbers in runs.

    In files all may be its labels instead, or true and false. Beside the names of predicted classes there are labels.
    """
    if task.kind == "score":
        raise DataError(f"{metric} is of classes, and {task.name} is a score; allowed: {', '.join(OF_SCORES)}")
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
        fault = f"{column_of_file} is no class of {task.name}"
        _refuse(fault, rows[is_other], f"allowed: {first_of([*allowed], 5)}", column_of_file)
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
                _refuse(f"{column} is no class of {task.name}", rows[~texts[column].isin(classes)], allowed, column)
    if fitting[0] == numbers and texts["label"].isin([*task.labels]).all():  # predictions alone would decide
        is_other = texts["label"].map(numbers) != texts["label"].map(task.labels)
        _refuse(f"label may be a class number or a label of {task.name}", rows[is_other], NAME_CLASSES, "label")
    if truths["true"] == 0 and fitting[0] not in (numbers, task.labels):
        is_number = texts.isin([*numbers]).any(axis=1)
        fault = f"0 and 1 may be class numbers of {task.name}, or false and true, which are its classes 1 and 0"
        _refuse(fault, rows[is_number], NAME_CLASSES, "prediction")
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
    raise DataError(f"{fault}: {first_of(faulty, 5)}; {remedy}")
