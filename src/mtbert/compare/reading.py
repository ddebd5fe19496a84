"""Read the rows of both sides, check them against each other, and make arrays of them."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.data import records
from mtbert.errors import DataError, first_of
from mtbert.results import metrics
from mtbert.tasks import Task, label_text

SUFFIXES = (".csv", ".parquet")
NEEDED = ("id", "label", "prediction")
KNOWN = (*NEEDED, "seed", "cluster", "scored")
NOT_READ = re.compile(r"probability_\d+|sentence[12]?|text|text_pair")
UNNAMED = re.compile(r"|Unnamed: 0|__index_level_0__")  # the names that pandas has for row numbers
SCORED = {"": True, "1": True, "true": True, "0": False, "false": False}
OF_CLASSES = ("accuracy", "mcc", *metrics.F1S)  # metrics of classes, which are whole numbers
TRUTHS = {"true": "1", "false": "0"}  # of both labels and predictions
PARTNERS = "all need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NUMBERS = "allowed: numbers; for accuracy and f1 classes, as whole numbers or all as words, and no probabilities"
WORDS = "classes that are words are spelled alike in labels and predictions of both files; else number them"
LABELS = "predictions of other rows or labels cannot be compared"

Frame = Any  # a pandas.DataFrame or Series: the types of their selections name four kinds at once


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


def read(source: str, task: str | None = None, build: Path = Path("build")) -> Frame:
    """Read a side's rows: all columns of KNOWN as text, and `position`, such as `a.csv, line 3`.

    With a task, `source` may be a variant, which stands for the dev predictions of all of its seeds.

    Raises:
        DataError: the file is missing or is not of such rows.
    """
    path = Path(source)
    if not task or path.exists() or path.suffix in SUFFIXES:
        return _file(path)
    runs = layout.runs_of(build, source)
    if not runs:
        trained = sorted({run.parent.name for run in layout.runs_of(build, "*")})
        raise DataError(f"unknown variant {source!r}; trained: {', '.join(trained) or 'none'}")
    if missing := [run for run in runs if not layout.predictions(run, task, "dev").is_file()]:
        raise DataError(f"{source} has no predictions of {task} (--task): {missing[0]} has none")
    return pd.concat([of_run(run, task).assign(seed=run.name) for run in runs], ignore_index=True)


def of_run(run: Path, task: str) -> Frame:
    """Read a run's predictions of dev, with the clusters that preprocessing found."""
    rows = _file(layout.predictions(run, task, "dev"))
    file = layout.rows(layout.data(layout.build_of(run)), task, "dev")
    clusters: Frame = files.read_parquet(file, ["id", "cluster"]).astype("string").set_index("id")["cluster"]
    return rows.assign(cluster=rows["id"].map(clusters).fillna(""))


def _file(path: Path) -> Frame:
    """Read the rows of a file, in the form of `read`."""
    name = str(path)
    if not path.is_file() or path.suffix not in SUFFIXES:
        raise DataError(f"no file {name} that ends in .csv or .parquet; with --task a variant's name is allowed, too")
    if path.suffix == ".parquet":
        table = files.read_parquet(path)
        positions = [f"{name}, row {number}" for number in range(1, len(table) + 1)]
    else:
        numbered = list(records.separated(records.decoded(path.read_bytes(), name), name, ","))
        table = pd.DataFrame([values for _, values in numbered])
        positions = [f"{name}, line {line}" for line, _ in numbered]
    if not len(table):
        raise DataError(f"{name} has no rows")
    if unknown := _unknown_columns(table):
        raise DataError(f"{name} has unknown columns: {first_of(unknown, 20)}; known: {', '.join(KNOWN)}")
    if missing := [key for key in NEEDED if key not in table]:
        raise DataError(f"{name} lacks {', '.join(missing)}; it has {', '.join(table)}")
    table = table.reindex(columns=[*KNOWN]).astype("string").fillna("")
    return table.apply(lambda column: column.str.strip()).assign(position=positions)


def _unknown_columns(table: Frame) -> list[str]:
    """Return the columns that are neither read nor known to be of no use."""
    unknown = []
    for key in table:
        if key not in KNOWN and not NOT_READ.fullmatch(key) and not _numbers_rows(key, table[key]):
            unknown.append(key or "one without a name")
    return unknown


def _numbers_rows(name: str, column: Frame) -> bool:
    """Return whether a column holds the row numbers that pandas writes."""
    return bool(UNNAMED.fullmatch(name)) and column.astype("string").str.fullmatch(r"\d+").all()


def _refuse(what: str, rows: Frame, remedy: str, column: str = "") -> None:
    """Raise a DataError where there are faulty rows; it names the first of them, with their values of a column."""
    if len(rows):
        values = rows[column].map(": {!r}".format) if column else [""] * len(rows)
        shown = map("{} ({}{})".format, rows["id"], rows["position"], values)
        raise DataError(f"{column} {what}: {first_of(list(shown), 5)}; {remedy}".strip())


def pair(ours: Frame, theirs: Frame, metric: str, task: Task | None = None) -> Pairs:
    """Make arrays of both sides, as `read` returns them; rows in the order of ours.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels or clusters differ,
            a value is no number, or no class, where one is needed, or words are spelled differently; the message names
            the first rows.
    """
    rows = _scored(pd.concat([ours.assign(side="ours"), theirs.assign(side="theirs")], ignore_index=True))
    _check_partners(rows)
    rows = rows.assign(**dict(_numbers(rows, metric, task)))
    _refuse("labels that differ", rows[rows.groupby("id")["label"].transform("nunique") > 1], LABELS)
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
    counts = rows["scored"].str.lower().map(SCORED)
    _refuse("is none of 1, true, 0, false", rows[counts.isna()], "it says whether a row counts", "scored")
    left_out = rows["id"][~counts.astype(bool)]
    rows = rows[~rows["id"].isin(left_out)]
    for column in NEEDED:
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
    _refuse("rows that not every side and seed has", unpaired, _likeness(unpaired) or PARTNERS)


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
    if task is not None and metric in metrics.F1S:
        return _task_classes(rows, task)
    values = rows[["label", "prediction"]].apply(lambda column: column.str.lower().map(TRUTHS).fillna(column))
    numbers: Frame = values.apply(pd.to_numeric, errors="coerce").astype(float)
    if metric in OF_CLASSES and numbers.isna().all(axis=None):
        _refuse("is the label of no row", rows[~values["prediction"].isin(values["label"])], WORDS, "prediction")
        # From 2 on: where labels are 0 and 1, F1 is that of class 1; of words no one is known to be that class.
        class_of_word = {word: float(number) for number, word in enumerate(sorted(values["label"].unique()), 2)}
        return values.apply(lambda column: column.map(class_of_word))
    for column in numbers:
        _refuse("is not a number", rows[~np.isfinite(numbers[column])], NUMBERS, column)
        if metric in OF_CLASSES:
            _refuse(f"is no class, as {metric} needs", rows[numbers[column] % 1 != 0], NUMBERS, column)
    return numbers


def _task_classes(rows: Frame, task: Task) -> Frame:
    """Return labels and predictions as a task's classes; all may be its labels instead, or true and false."""
    texts: Frame = rows[["label", "prediction"]].apply(lambda column: column.map(label_text))
    numbers = {str(number): number for number in range(task.classes)}
    spellings = (numbers, task.labels, numbers | {"false": 0, "true": 1})
    fitting = [class_of_text for class_of_text in spellings if texts.isin([*class_of_text]).all(axis=None)]
    if not fitting:
        labels = f", or in both files its labels: {first_of([*task.labels], 5)}" if task.labels else ""
        allowed = f"allowed: 0 to {task.classes - 1}{labels}"
        for classes in ([*numbers, *task.labels], [*numbers]):
            for column in ("label", "prediction"):
                _refuse(f"is no class of {task.name}", rows[~texts[column].isin(classes)], allowed, column)
    return texts.apply(lambda column: column.map(fitting[0])).astype(float)


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
