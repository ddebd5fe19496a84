"""Read the rows of one side; values stay text until it is known how they are compared."""

import glob
import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import files, records, tracking
from mtbert.errors import DataError, first_of
from mtbert.settings import NAME

NEEDED = ("id", "label", "prediction")
TEXTS = ("sentence", "sentence1", "sentence2", "text", "text_pair")
KNOWN = (*NEEDED, "seed", "cluster", "scored", *TEXTS)
NOT_READ = re.compile(r"probability_\d+|overall|__index_level_\d+__")  # of this project's files, and of pandas
SCORED = {"": True, "1": True, "true": True, "0": False, "false": False}
KINDS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
SEED = "{seed}"
RUN = re.compile(r"(?:runs:/)?([0-9a-f]{32})(?:/([^,]+))?")
SHOWN = 5  # most rows in a message
REMEDY = "name yours with --columns id=...,label=...,prediction=...; other columns are then not read"

HARNESS = {"doc_id", "target", "filtered_resps", "metrics"}  # in lm-evaluation-harness's `samples_*.jsonl`
HARNESS_METRICS = {"accuracy": ("acc", "exact_match")}  # its names of our metrics
HARNESS_TEXTS = ("sentence", "sentence1", "sentence2", "question1", "question2", "premise", "hypothesis", "text",
                 "question", "passage", "context")  # fmt: skip

Frame = Any  # a pandas.DataFrame or Series: the types of their selections name four kinds at once


@dataclass(frozen=True)
class Side:
    """The rows of one side.

    Attributes:
        name: as the user gave it.
        rows: with columns place (such as `line 3`), id, label, prediction, seed and cluster (text, empty where there is
            none), scored (bool) and texts (a tuple of sentences).
        of_scores: whether predictions are scores of the rows, such as 1 for a right answer.
    """

    name: str
    rows: Frame
    of_scores: bool = False


def read(
    source: str, metric: str, columns: Mapping[str, str] | None = None, filtered: str | None = None,
    task: str | None = None, build: Path = Path("build"),
) -> Side:  # fmt: skip
    """Read the rows of one side.

    Args:
        source: a file; a path in which `{seed}` stands for a number; or runs of MLflow, one a seed, with commas:
            `runs:/ID/path`, or the id of one of this project's.
        metric: of a log of lm-evaluation-harness.
        columns: the file's names of columns of KNOWN. A file has to have them; if there are any, others without a known
            name are not read.
        filtered: the filter of a log that has several.
        task: of this project's runs in MLflow.
        build: the build folder with these runs.

    Raises:
        DataError: something is missing or malformed; the message names the first faulty rows.
    """
    read_file = partial(_file, metric=metric, columns=columns or {}, filtered=filtered)
    runs = [RUN.fullmatch(one) for one in source.split(",")]
    if all(runs):
        sides = [_run(match[1], match[2], task, build, read_file) for match in runs if match]
    elif SEED in source:
        sides = [_of_seed(read_file(path), seed, f"seed {seed}, ") for seed, path in _files_by_seed(source)]
    else:
        sides = [read_file(Path(source))]
    return Side(source, pd.concat([side.rows for side in sides], ignore_index=True), sides[0].of_scores)


def refuse(name: str, what: str, rows: Frame, remedy: str) -> None:
    """Raise a DataError that names the first of the faulty rows, if there are any."""
    if len(rows):
        shown = [f"{key} ({place})" for key, place in zip(rows["id"], rows["place"], strict=True)]
        raise DataError(f"{name}: {what}: {first_of(shown, SHOWN)}; {remedy}")


def text(value: Any) -> str:
    """Return a value as text, the same from every kind of file: null and NaN are empty, 1.0 is 1."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer() and abs(value) < 2**53)
    return str(int(value)) if whole else str(value).strip()


def _value(value: Any) -> str:
    """Return a label or a prediction as text, equal numbers as equal text."""
    try:
        return text(float(text(value)))
    except ValueError:
        return text(value)


def _of_seed(side: Side, seed: str, before: str = "") -> Side:
    return Side(side.name, side.rows.assign(seed=seed, place=before + side.rows["place"]), side.of_scores)


def _files_by_seed(source: str) -> list[tuple[str, Path]]:
    first, *others = Path(source).as_posix().split(SEED)  # as `glob` writes paths, without ./ and //
    pattern = re.compile(re.escape(first) + r"(\d+)" + r"\1".join(map(re.escape, others)))
    found = glob.glob("*".join(map(glob.escape, (first, *others))))
    by_seed = [(match[1], Path(path)) for path in found if (match := pattern.fullmatch(path))]
    if not by_seed:
        raise DataError(f"{source}: no file has a number in the place of {SEED}")
    return sorted(by_seed, key=lambda pair: int(pair[0]))


def _file(path: Path, metric: str, columns: Mapping[str, str], filtered: str | None) -> Side:
    table, name = _table(path), str(path)
    if {*table} >= HARNESS:
        return _log(name, table, metric, filtered)
    _check_columns(name, list(table), columns)
    rows: Frame = pd.DataFrame({one: table.get(columns.get(one, one), "") for one in KNOWN}, dtype=object)
    rows = rows.map(text).assign(place=table.index)
    scored = rows["scored"].str.lower()
    unclear = rows[~scored.isin(list(SCORED))]
    refuse(name, f"scored is none of {', '.join(filter(None, SCORED))}", unclear, "it states whether a row counts")
    if not rows["cluster"].any():
        rows = _with_clusters(path, rows)
    return Side(name, rows.assign(
        label=rows["label"].map(_value), prediction=rows["prediction"].map(_value), scored=scored.map(SCORED),
        texts=[tuple(filter(None, each)) for each in rows[[*TEXTS]].to_numpy()],
    ))  # fmt: skip


def _table(path: Path) -> Frame:
    """Read the table of a file, each row under its place."""
    kind, name = path.suffix.lower(), str(path)
    if not path.is_file() or kind not in KINDS:
        what = "is a folder" if path.is_dir() else "is none" if path.is_file() else "does not exist"
        raise DataError(f"{name} {what}; allowed: a file that ends in {', '.join(KINDS)}, or a run of MLflow")
    if kind == ".parquet":
        table = files.read_parquet(path)
        table.index = pd.Index([f"row {number}" for number in range(1, len(table) + 1)])
    else:
        content = records.decoded(path.read_bytes(), name)
        separator = SEPARATORS.get(kind)
        found = list(records.separated(content, name, separator) if separator else records.json_lines(content, name))
        table = pd.DataFrame([values for _, values in found], [place for place, _ in found], dtype=object)
    if doubled := sorted(set(table.columns[table.columns.duplicated()])):
        raise DataError(f"{name}: columns come twice: {', '.join(doubled)}")
    if not len(table):
        raise DataError(f"{name} has no rows")
    return table


def _check_columns(name: str, in_file: Sequence[str], columns: Mapping[str, str]) -> None:
    wanted = [*(columns.get(column, column) for column in NEEDED), *columns.values()]
    if missing := [column for column in dict.fromkeys(wanted) if column not in in_file]:
        raise DataError(f"{name} lacks {', '.join(missing)}; it has {first_of(in_file, 4 * SHOWN)}; {REMEDY}")
    strange = [key for key in in_file if key not in KNOWN and not NOT_READ.fullmatch(key)]
    if strange and not columns:
        unknown = first_of(strange, 4 * SHOWN)
        raise DataError(f"{name} has unknown columns: {unknown}; known: {', '.join(KNOWN)}; {REMEDY}")


def _with_clusters(path: Path, rows: Frame) -> Frame:
    """Add the clusters that preprocessing found, where the file is of one of this project's runs or ensembles."""
    task, _, split = path.stem.partition("-")
    folder = path.absolute().parent
    file = (folder / "../../../../data" / task / f"{split}-rows.parquet").resolve()
    if folder.name != "predictions" or not file.is_file():
        return rows
    known = files.read_parquet(file, ["id", "cluster"]).map(text)
    clusters = rows["id"].map(dict(zip(known["id"], known["cluster"], strict=True)))
    unknown = rows[clusters.isna()]
    refuse(str(path), f"rows that {file} lacks", unknown, "`dvc repro` makes both from the same data")
    return rows.assign(cluster=clusters)


def _log(name: str, table: Frame, metric: str, filtered: str | None) -> Side:
    """Read a log of lm-evaluation-harness (lm_eval/evaluator.py and api/task.py), which has judged each row itself.

    Under the name of a metric is the row's score or, for F1 and the like, a pair of label and prediction.
    """
    if len(strange := table.index[~table["metrics"].map(lambda metrics: isinstance(metrics, list))]):
        raise DataError(f"{name}, {strange[0]}: not a line of lm-evaluation-harness, as others are")
    of_filter = table["filter"].map(text) if "filter" in table else pd.Series("", table.index)
    filters = list(of_filter.unique())
    if filtered not in filters and (filtered is not None or len(filters) > 1):
        raise DataError(f"{name} holds the filters {', '.join(filters)}; choose one of them with --filter")
    table = table[of_filter == (filtered or filters[0])]
    metrics = [one for one in map(str, table["metrics"].iloc[0]) if one in table]
    key = next((one for one in HARNESS_METRICS.get(metric, (metric,)) if one in metrics), None)
    if key is None:
        raise DataError(f"{name} has no {metric}; allowed as --metric: {', '.join(metrics)}")
    paired = table[key].map(lambda value: isinstance(value, list) and len(value) == 2)
    if paired.nunique() > 1:
        raise DataError(f"{name}: {key} is a pair in some lines and not in others")
    label, prediction = (table[key].str[0], table[key].str[1]) if paired.all() else (table["target"], table[key])
    rows = pd.DataFrame({"id": table["doc_id"].map(text), "label": label.map(_value)})
    rows = rows.assign(prediction=prediction.map(_value), seed="", cluster="", scored=True, place=table.index)
    return Side(name, rows.assign(texts=[_texts(doc) for doc in table.get("doc", table.index)]), not paired.all())


def _texts(doc: Any) -> tuple[str, ...]:
    known = (doc.get(key) for key in HARNESS_TEXTS) if isinstance(doc, dict) else ()
    return tuple(one for one in known if isinstance(one, str) and one)


def _run(run_id: str, path: str | None, task: str | None, build: Path, read_file: Callable[[Path], Side]) -> Side:
    """Read a file of a run of MLflow; without a path that of one of this project's runs."""
    if not tracking.installed():
        raise DataError(f"{run_id} is a run of MLflow, which is not installed: pip install 'mtbert[pipeline]'")
    from mlflow import MlflowClient

    from mtbert.tracking import store  # it silences MLflow, and shortens its timeouts

    uri = tracking.tracking_uri()
    with tempfile.TemporaryDirectory() as folder:
        try:
            client = MlflowClient(uri)
            tags = client.get_run(run_id).data.tags
            local = client.download_artifacts(run_id, path, folder) if path else None
        except Exception as error:  # of MLflow, its store of artifacts or the network: many types, with one message
            what = f"{f'runs:/{run_id}/{path}' if path else run_id} cannot be read from MLflow at {store.shown(uri)}"
            raise DataError(f"{what}: {store.reason(error, uri)}") from None
        side = read_file(Path(local) if local else _of_this_project(run_id, tags, task, build))
    return side if side.rows["seed"].any() else _of_seed(side, tags.get("seed", ""))


def _of_this_project(run_id: str, tags: Mapping[str, str], task: str | None, build: Path) -> Path:
    """Return the file of a run of this project, which logs no predictions, in the build folder with that run."""
    variant, seed = tags.get("variant", ""), tags.get("seed", "")
    directory = build / "runs" / variant / seed
    named = re.fullmatch(NAME, variant) and re.fullmatch(r"[0-9]+", seed)  # tags may be a stranger's
    if task is None or not named or not directory.is_dir():
        raise DataError(
            f"{build} does not hold the run {run_id}; a run of mtbert needs --task, and --build where its folder "
            f"is not `build`; of another run name the file, as runs:/{run_id}/predictions.csv"
        )
    from mtbert.tracking import record

    if record.of_run(directory).run_key != tags.get("run_key"):
        raise DataError(f"run {run_id}: {directory} is another training of that variant and seed; `dvc repro` makes it")
    return files.sealed(directory, f"predictions/{task}-dev.parquet", f"dvc repro train@{variant}-{seed}")
