"""Read the rows of both sides, check them against each other, and make arrays of them."""

import glob
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, records
from mtbert.errors import DataError, first_of

NEEDED = ("id", "label", "prediction")
TEXTS = ("sentence", "sentence1", "sentence2", "text", "text_pair")
KNOWN = (*NEEDED, "seed", "cluster", "scored", *TEXTS)
NOT_READ = re.compile(r"probability_\d+")  # of this project's files
SCORED = {"": True, "1": True, "true": True, "0": False, "false": False}
SEPARATORS = {".csv": ",", ".tsv": "\t"}
SEED = "{seed}"
CLASSES = ("accuracy", "f1")  # metrics of classes, whose labels may be words
PARTNERS = "all need the same rows: leave out rows that only one has, or mark them with 0 in a column scored"
NUMBERS = "allowed: numbers; for accuracy and f1 classes, as whole numbers or all as words, and no probabilities"
LABELS = "predictions of other rows or labels cannot be compared"

Frame = Any  # a pandas.DataFrame or Series: the types of their selections name four kinds at once


@dataclass(frozen=True)
class Pairs:
    """Two sides on the same rows.

    Attributes:
        labels: [rows].
        ours, theirs: predictions, [rows, seeds of the side].
        clusters: a number for each row.
        notes: sentences on clusters and on what was left out.
    """

    labels: np.ndarray
    ours: np.ndarray
    theirs: np.ndarray
    clusters: np.ndarray
    notes: list[str]


def read(source: str) -> Frame:
    """Read the rows of one side, all columns of KNOWN as text and `place`, such as `a.csv, line 3`.

    Args:
        source: a file; or a path in which `{seed}` stands for a number.

    Raises:
        DataError: there is no such file, or it is malformed.
    """
    if SEED not in source:
        return _file(Path(source))
    before, _, after = Path(source).as_posix().partition(SEED)  # as `glob` writes paths, without ./ and //
    paths = glob.glob(f"{glob.escape(before)}*{glob.escape(after)}")
    named = [(path.removeprefix(before).removesuffix(after), Path(path)) for path in paths]
    seeds = sorted((int(seed), path) for seed, path in named if seed.isdecimal())
    if not seeds:
        raise DataError(f"{source}: no file has a number in the place of {SEED}")
    return pd.concat([_file(path).assign(seed=str(seed)) for seed, path in seeds], ignore_index=True)


def _file(path: Path) -> Frame:
    kind, name = path.suffix.lower(), str(path)
    if not path.is_file() or kind not in (*SEPARATORS, ".parquet"):
        endings = f"{', '.join(SEPARATORS)} or .parquet"
        raise DataError(f"there is no file {name} that ends in {endings}; with --task a variant's name is allowed, too")
    if kind == ".parquet":
        table = files.read_parquet(path)
        places = [f"{name}, row {number}" for number in range(1, len(table) + 1)]
    else:
        found = list(records.separated(records.decoded(path.read_bytes(), name), name, SEPARATORS[kind]))
        table = pd.DataFrame([values for _, values in found])
        places = [f"{name}, line {line}" for line, _ in found]
    if not len(table):
        raise DataError(f"{name} has no rows")
    if strange := [key for key in table if key not in KNOWN and not NOT_READ.fullmatch(key)]:
        raise DataError(f"{name} has unknown columns: {first_of(strange, 20)}; known: {', '.join(KNOWN)}")
    if missing := [key for key in NEEDED if key not in table]:
        raise DataError(f"{name} lacks {', '.join(missing)}; it has {', '.join(table)}")
    table = table.reindex(columns=[*KNOWN]).astype("string").fillna("")
    return _with_clusters(path, table.apply(lambda column: column.str.strip()).assign(place=places))


def _with_clusters(path: Path, rows: Frame) -> Frame:
    """Add the clusters that preprocessing found, where the file is of one of this project's runs."""
    task, _, split = path.stem.partition("-")
    file = (path.absolute().parent / "../../../../data" / task / f"{split}-rows.parquet").resolve()
    if path.absolute().parent.name != "predictions" or not file.is_file():
        return rows
    known = files.read_parquet(file, ["id", "cluster"]).astype("string").set_index("id")["cluster"]
    _refuse(f"{file} lacks rows", rows[~rows["id"].isin(known.index)], "`dvc repro` makes both from the same data")
    return rows.assign(cluster=rows["id"].map(known))


def _refuse(what: str, rows: Frame, remedy: str, column: str = "") -> None:
    """Raise a DataError that names the first of the faulty rows, if there are any, with their values of a column."""
    if len(rows):
        values = rows[column].map(": {!r}".format) if column else [""] * len(rows)
        shown = map("{} ({}{})".format, rows["id"], rows["place"], values)
        raise DataError(f"{column} {what}: {first_of(list(shown), 5)}; {remedy}".strip())


def pair(ours: Frame, theirs: Frame, metric: str) -> Pairs:
    """Make arrays of both sides, as `read` returns them; rows in the order of ours.

    Raises:
        DataError: an id or a value is empty, an id occurs twice, a row lacks its partner, labels differ, or a value is
            no number, or no class, where one is needed; the message names the first rows.
    """
    rows: Frame = pd.concat([ours.assign(side="ours"), theirs.assign(side="theirs")], ignore_index=True)
    scored = rows["scored"].str.lower().map(SCORED)
    _refuse("is none of 1, true, 0, false", rows[scored.isna()], "it says whether a row counts", "scored")
    unscored = rows["id"][~scored.astype(bool)].unique()
    rows = rows[~rows["id"].isin(unscored)]
    for column in NEEDED:
        _refuse(f"no {column}", rows[rows[column] == ""], "every row that is scored needs one")
    if not len(rows):
        raise DataError("no row is scored")
    _refuse("ids that occur twice", rows[rows.duplicated(["side", "seed", "id"], keep=False)],
            "predictions of several seeds need a column seed")  # fmt: skip
    runs = len(rows[["side", "seed"]].drop_duplicates())
    _refuse("rows that not every side and seed has", rows[rows.groupby("id")["id"].transform("size") < runs], PARTNERS)
    rows = rows.assign(**_numbers(rows, metric))
    _refuse("labels that differ", rows[rows.groupby("id")["label"].transform("nunique") > 1], LABELS)
    first = rows.drop_duplicates("id")
    said = rows.pivot(index="id", columns=["side", "seed"], values="prediction").loc[first["id"]]
    clusters, note = _clusters(rows, first["id"])
    notes = [f"Rows left out, since a file marks them as not scored: {len(unscored)}."] if len(unscored) else []
    one, other = (said.xs(side, axis="columns", level="side").to_numpy(float) for side in ("ours", "theirs"))
    return Pairs(first["label"].to_numpy(float), one, other, clusters, [*notes, note])


def _numbers(rows: Frame, metric: str) -> dict[str, Frame]:
    """Return labels and predictions as numbers; words as classes from 2 on, since 0 and 1 have a meaning."""
    said = rows[["label", "prediction"]]
    found: Frame = said.apply(pd.to_numeric, errors="coerce").astype(float)
    if metric in CLASSES and found["label"].isna().all():
        _refuse("is a number, and labels are words", rows[found["prediction"].notna()], NUMBERS, "prediction")
        known = said["prediction"].isin(said["label"]).groupby(rows["side"]).transform("any")
        _refuse("is none of the labels, as all are", rows[~known], NUMBERS, "prediction")
        return dict(zip(said, 2 + pd.factorize(said.to_numpy().ravel(), sort=True)[0].reshape(-1, 2).T, strict=True))
    for column in found:
        _refuse("is not a number", rows[~np.isfinite(found[column])], NUMBERS, column)
        if metric in CLASSES:
            _refuse(f"is no class, as {metric} needs", rows[found[column] % 1 != 0], NUMBERS, column)
    return dict(found)


def _clusters(rows: Frame, ids: Frame) -> tuple[np.ndarray, str]:
    """Return each row's cluster, and how it was found: by a column of a file, else by texts, else each row alone."""
    having = rows[rows["cluster"] != ""]
    if len(having):
        _refuse("no cluster", rows[~rows["id"].isin(having["id"])], "every row needs one, or none")
        unlike = having.groupby("id")["cluster"].transform("nunique") > 1
        _refuse("clusters that differ", having[unlike], "leave the column out of one of the files")
        clusters = having.drop_duplicates("id").set_index("id")["cluster"].loc[ids]
        return pd.factorize(clusters, sort=True)[0], "Rows of one cluster are drawn together."
    for side in ("ours", "theirs"):
        texts = rows[rows["side"] == side].drop_duplicates("id").set_index("id").loc[ids, [*TEXTS]]
        if (texts != "").any(axis=1).all():
            return _by_texts(texts), "Rows that share a sentence are drawn together."
    return np.arange(len(ids)), "Every row is drawn alone: no file has clusters or texts."


def _by_texts(texts: Frame) -> np.ndarray:
    from mtbert.data import checks, readers  # takes half a second

    each = ([text for text in row if text] for row in texts.to_numpy())
    return checks.clusters(checks.digests(readers.Example("", row[0], row[-1], None, 0) for row in each))
