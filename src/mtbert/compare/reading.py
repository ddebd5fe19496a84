"""Read the rows of a side: of a file of predictions of any origin, or of all seeds of a model here."""

import re
from pathlib import Path

import pandas as pd

from mtbert import files, layout
from mtbert.data import records
from mtbert.errors import DataError, UnknownNameError, first_of
from mtbert.provenance import changes
from mtbert.scores.columns import Frame
from mtbert.tasks import label_text

SUFFIXES = (".csv", ".parquet")
REQUIRED = ("id", "label", "prediction")
COLUMNS = (*REQUIRED, "class", "seed", "cluster", "scored")  # that are read
TEXT = re.compile(r"sentence[12]?|text|text_pair")
IGNORED = re.compile(rf"probability_\d+|confidence|sure|lowest|highest|cut|{TEXT.pattern}")
NORMALISED = ("seed", "cluster")  # columns whose numbers may be written in two ways
ROW_NUMBERS = re.compile(r"|Unnamed: 0|__index_level_0__")  # the names that pandas gives them


def read(source: str, task: str | None = None, build: Path = Path("build")) -> Frame:
    """Read a side's rows: all of COLUMNS as text, and what is known of each row.

    - `position`: where it lies, such as `a.csv, line 3`.
    - `of_run`: whether it is of a model here, whose classes are numbers.
    - `is_named`: whether its file has the column `class`, which names the predicted one.
    - `has_seed`: whether another seed could give another prediction.
    - `text`: the row's texts, spacing folded, from the columns `text_columns`; both are empty if the file has none.

    With a task, `source` may be a variant, a merged model, a vote or a baseline: it stands for the dev predictions of
    all of its seeds.

    Raises:
        DataError: the file is missing or is not of such rows, or a model is of other rows or classes than `build` has.
        UnknownNameError: there is no such model.
    """
    folders = models(source, task, build)
    if task is None or not folders:
        return _of_file(Path(source))
    if missing := [folder for folder in folders if not layout.predictions(folder, task, "dev").is_file()]:
        raise DataError(f"{source} has no predictions of {task} (--task): {missing[0]} has none")
    changes.check_rows(build, folders, task)
    return pd.concat([_read_run(folder, task) for folder in folders], ignore_index=True)


def models(source: str, task: str | None, build: Path) -> list[Path]:
    """Return the folders of a model's seeds, if `source` is the name of a model, and none if it is a file.

    Raises:
        UnknownNameError: it is neither.
    """
    path = Path(source)
    if not task or path.exists() or path.suffix in SUFFIXES or len(path.parts) != 1:
        return []
    folders = layout.folders_of(build, source)
    if not folders:
        names = sorted({folder.parent.name for folder in layout.folders_of(build)})
        raise UnknownNameError("model", source, names or [f"none, as {build} holds no results"])
    return folders


def _read_run(run: Path, task: str) -> Frame:
    """Read a model's predictions of dev, with its seed and the clusters that preprocessing found."""
    rows = _of_file(layout.predictions(run, task, "dev"))
    file = layout.examples(layout.data(layout.build_of(run)), task, "dev")
    clusters: Frame = files.read_parquet(file, ["id", "cluster"]).astype("string").set_index("id")["cluster"]
    rows["cluster"] = rows["id"].map(clusters).fillna("")
    return rows.assign(seed=run.name, of_run=True, has_seed=not layout.is_baseline(run))


def _of_file(path: Path) -> Frame:
    """Read the rows of a file; DataError if it is missing or is not of such rows."""
    if not path.is_file() or path.suffix not in SUFFIXES:
        raise DataError(f"no file {path} that ends in .csv or .parquet; with --task a model's name is allowed, too")
    table = _parquet(path) if path.suffix == ".parquet" else _csv(path)
    _check_columns(table, path)
    is_named = "class" in table
    texts = table.reindex(columns=[*COLUMNS]).astype("string").fillna("").apply(lambda column: column.str.strip())
    for column in NORMALISED:  # 1 and 1.0 are one seed
        texts[column] = texts[column].map(label_text)
    has_seed = bool((texts["seed"] != "").any())
    columns = [name for name in table if TEXT.fullmatch(name)]
    rows = table[columns].astype("string").fillna("").to_numpy()
    return texts.assign(
        position=table.index,
        of_run=False,
        is_named=is_named,
        has_seed=has_seed,
        text=["\n".join(" ".join(text.split()) for text in row) for row in rows],
        text_columns=", ".join(sorted(columns)),
    ).reset_index(drop=True)


def _parquet(path: Path) -> Frame:
    """Return the rows of a file as they are, by where each lies, such as `a.parquet, row 3`."""
    table: Frame = files.read_parquet(path)
    floats = table.select_dtypes("float").columns
    table = table.assign(**{name: table[name] + 0.0 for name in floats})  # so that -0.0 is 0.0
    return table.set_axis([f"{path}, row {number}" for number in range(1, len(table) + 1)])


def _csv(path: Path) -> Frame:
    """Return the rows of a file as they are, by where each lies, such as `a.csv, line 3`."""
    name = str(path)
    text = records.decoded(path.read_bytes(), name)
    rows = list(records.separated(text, name, records.separator_of(text)))
    return pd.DataFrame([row.values for row in rows], [f"{path}, line {row.line}" for row in rows])


def _check_columns(table: Frame, path: Path) -> None:
    """Raise DataError if there are no rows, unknown columns, or required ones are missing."""
    if not len(table):
        raise DataError(f"{path} has no rows")
    if unknown := _unknown_columns(table):
        raise DataError(f"{path} has unknown columns: {first_of(unknown, 20)}; known: {', '.join(COLUMNS)}")
    if missing := [name for name in REQUIRED if name not in table]:
        raise DataError(f"{path} lacks {', '.join(missing)}; it has {', '.join(table)}")


def _unknown_columns(table: Frame) -> list[str]:
    """Return the columns that are neither read nor known to be of no use."""
    unknown: list[str] = []
    for name in table:
        if name not in COLUMNS and not IGNORED.fullmatch(name) and not _has_row_numbers(name, table[name]):
            unknown.append(name or "one without a name")
    return unknown


def _has_row_numbers(name: str, column: Frame) -> bool:
    """Return whether a column holds the row numbers that pandas writes."""
    return bool(ROW_NUMBERS.fullmatch(name)) and column.astype("string").str.fullmatch(r"\d+").all()
