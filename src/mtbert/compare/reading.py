"""Read the rows of one side; values stay text until it is known how they are compared."""

import glob
import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, records, tracking
from mtbert.errors import DataError, first_of
from mtbert.records import Record
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

HARNESS = {"doc_id", "target", "filtered_resps"}  # in each line of lm-evaluation-harness's `samples_*.jsonl`
HARNESS_METRICS = {"accuracy": ("acc", "exact_match")}  # its names of our metrics
HARNESS_TEXTS = ("sentence", "sentence1", "sentence2", "question1", "question2", "premise", "hypothesis", "text",
                 "question", "passage", "context")  # fmt: skip


class Row(NamedTuple):
    """One prediction: its place in the file, such as `line 3`, and its values as text, empty where there is none.

    scored: whether it counts; texts: its sentences.
    """

    place: str
    id: str
    label: str
    prediction: str
    seed: str = ""
    cluster: str = ""
    scored: bool = True
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Side:
    """The rows of one side.

    Attributes:
        name: as the user gave it.
        rows: at least one.
        of_scores: whether predictions are scores of the rows, such as 1 for a right answer.
    """

    name: str
    rows: list[Row]
    of_scores: bool = False


@dataclass(frozen=True)
class Asked:
    """What is to be read: the metric, the file's names of columns of KNOWN, a log's filter; of MLflow's runs the task
    and the build folder. If columns are named, a file has to have them, and others without a known name are not read.
    """

    metric: str
    columns: Mapping[str, str]
    filtered: str | None = None
    task: str | None = None
    build: Path = Path("build")


def read(source: str, asked: Asked) -> Side:
    """Read the rows of one side.

    Args:
        source: a file; a path in which `{seed}` stands for a number; or runs of MLflow, one a seed, with commas: an id,
            or `runs:/ID/path`.
        asked: how.

    Raises:
        DataError: something is missing or malformed; the message names the first faulty rows.
    """
    runs = [RUN.fullmatch(one) for one in source.split(",")]
    if all(runs):
        sides = [_run(match[1], match[2], asked) for match in runs if match]
    elif SEED in source:
        sides = [_of_seed(_file(path, asked), seed, f"seed {seed}, ") for seed, path in _files_by_seed(source)]
    else:
        sides = [_file(Path(source), asked)]
    return Side(source, [row for side in sides for row in side.rows], sides[0].of_scores)


def refuse(name: str, what: str, shown: Iterable[str], remedy: str) -> None:
    """Raise a DataError that names the first of the faulty rows `shown`, if there are any."""
    if shown := list(shown):
        raise DataError(f"{name}: {what}: {first_of(shown, SHOWN)}; {remedy}")


def text(value: Any) -> str:
    """Return a value as text, the same from every kind of file: null and NaN are empty, 1.0 is 1."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    whole = isinstance(value, bool) or (isinstance(value, float) and value.is_integer() and abs(value) < 2**53)
    return str(int(value)) if whole else str(value).strip()


def _of_seed(side: Side, seed: str, before: str = "") -> Side:
    return replace(side, rows=[row._replace(seed=seed, place=before + row.place) for row in side.rows])


def _files_by_seed(source: str) -> list[tuple[str, Path]]:
    first, *others = Path(source).as_posix().split(SEED)  # as `glob` writes paths, without ./ and //
    pattern = re.compile(re.escape(first) + r"(\d+)" + r"\1".join(map(re.escape, others)))
    found = glob.glob("*".join(map(glob.escape, (first, *others))))
    by_seed = [(match[1], Path(path)) for path in found if (match := pattern.fullmatch(path))]
    if not by_seed:
        raise DataError(f"{source}: no file has a number in the place of {SEED}")
    return sorted(by_seed, key=lambda pair: int(pair[0]))


def _file(path: Path, asked: Asked) -> Side:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        allowed = f"a file that ends in {', '.join(KINDS)}, or a run id of MLflow (32 digits, a-f)"
        raise DataError(f"{path} {what}; allowed: {allowed}")
    found = list(_records(path))
    if not found:
        raise DataError(f"{path} has no rows")
    if found[0][1].keys() >= HARNESS:
        return _log(str(path), found, asked)
    rows = _rows(str(path), found, asked.columns)
    return Side(str(path), rows if any(row.cluster for row in rows) else _with_clusters(path, rows))


def _records(path: Path) -> Iterable[Record]:
    kind, name = path.suffix.lower(), str(path)
    if kind not in KINDS:
        raise DataError(f"{path} ends in {kind or 'nothing'}; allowed: {', '.join(KINDS)}")
    if kind == ".parquet":
        return _of_parquet(path)
    content = records.decoded(path.read_bytes(), name)
    return (
        records.separated(content, name, SEPARATORS[kind]) if kind in SEPARATORS else records.json_lines(content, name)
    )


def _of_parquet(path: Path) -> list[Record]:
    table = files.read_parquet(path)
    if doubled := sorted(set(table.columns[table.columns.duplicated()])):
        raise DataError(f"{path}: columns come twice: {', '.join(doubled)}")
    rows: list[dict[str, Any]] = table.to_dict("records")
    return [(f"row {number}", row) for number, row in enumerate(rows, 1)]


def _rows(name: str, found: Sequence[Record], columns: Mapping[str, str]) -> list[Row]:
    _check_columns(name, list(dict.fromkeys(key for _, values in found for key in values)), columns)
    texts = [(place, {known: text(row.get(columns.get(known, known))) for known in KNOWN}) for place, row in found]
    unclear = [place for place, values in texts if values["scored"].lower() not in SCORED]
    refuse(name, f"scored is none of {', '.join(filter(None, SCORED))}", unclear, "it states whether a row counts")
    return [_row(place, values) for place, values in texts]


def _row(place: str, values: Mapping[str, str]) -> Row:
    own = (values[name] for name in (*NEEDED, "seed", "cluster"))
    texts = tuple(filter(None, (values[name] for name in TEXTS)))
    return Row(place, *own, scored=SCORED[values["scored"].lower()], texts=texts)


def _check_columns(name: str, in_file: Sequence[str], columns: Mapping[str, str]) -> None:
    wanted = [*(columns.get(column, column) for column in NEEDED), *columns.values()]
    missing = [column for column in dict.fromkeys(wanted) if column not in in_file]
    known = {columns.get(column, column) for column in KNOWN}
    strange = [key for key in in_file if key not in known and not NOT_READ.fullmatch(key)]
    remedy = "name yours with --columns id=...,label=...,prediction=...; other columns are then not read"
    if missing:
        raise DataError(f"{name} lacks {', '.join(missing)}; it has {first_of(in_file, 4 * SHOWN)}; {remedy}")
    if strange and not columns:
        unknown = first_of(strange, 4 * SHOWN)
        raise DataError(f"{name} has unknown columns: {unknown}; known: {', '.join(KNOWN)}; {remedy}")


def _with_clusters(path: Path, rows: list[Row]) -> list[Row]:
    """Add the clusters that preprocessing found, where the file is of one of this project's runs or ensembles."""
    task, _, split = f"{path.stem}-rows.parquet".partition("-")
    file = path.absolute().parents[min(4, len(path.absolute().parents) - 1)] / "data" / task / split
    if path.parent.name != "predictions" or not file.is_file():
        return rows
    clusters = {text(row["id"]): text(row["cluster"]) for _, row in _of_parquet(file)}
    unknown = [row.id for row in rows if row.id not in clusters]
    refuse(str(path), f"rows that {file} lacks", unknown, "`dvc repro` makes both from the same data")
    return [row._replace(cluster=clusters[row.id]) for row in rows]


def _log(name: str, found: Sequence[Record], asked: Asked) -> Side:
    """Read a log of lm-evaluation-harness (lm_eval/evaluator.py and api/task.py), which has judged each row itself.

    Under the name of a metric is the row's score or, for F1 and the like, a pair of label and prediction.
    """
    strange = [place for place, line in found if not line.keys() >= HARNESS]
    refuse(name, "not a line of lm-evaluation-harness, as the first is", strange, "a file holds one log")
    filters = list(dict.fromkeys(text(line.get("filter")) for _, line in found))
    if asked.filtered not in filters and (asked.filtered is not None or len(filters) > 1):
        raise DataError(f"{name} holds the filters {', '.join(filters)}; choose one of them with --filter")
    kept = [(place, line) for place, line in found if asked.filtered in (None, text(line.get("filter")))]
    metrics = [str(metric) for metric in kept[0][1].get("metrics", [])]
    key = next((one for one in HARNESS_METRICS.get(asked.metric, (asked.metric,)) if one in metrics), None)
    if key is None:
        raise DataError(f"{name} has no {asked.metric}; allowed as --metric: {', '.join(metrics)}")
    refuse(name, f"no {key}", [place for place, line in kept if key not in line], "the log is incomplete")
    paired = {isinstance(line[key], list) and len(line[key]) == 2 for _, line in kept}
    if len(paired) > 1:
        raise DataError(f"{name}: {key} is a pair in some lines and not in others")
    return Side(name, [_of_log(place, line, line[key]) for place, line in kept], not paired.pop())


def _of_log(place: str, line: Mapping[str, Any], value: Any) -> Row:
    label, prediction = value if isinstance(value, list) else (line["target"], value)
    doc = line["doc"] if isinstance(line.get("doc"), dict) else {}
    texts = tuple(doc[key] for key in HARNESS_TEXTS if isinstance(doc.get(key), str) and doc[key])
    return Row(place, text(line["doc_id"]), text(label), text(prediction), texts=texts)


def _run(run_id: str, path: str | None, asked: Asked) -> Side:
    """Read a run of MLflow: its only file of predictions, the named one, or that of one of this project's runs."""
    if not tracking.installed():
        raise DataError(f"{run_id} is a run of MLflow, which is not installed: pip install 'mtbert[pipeline]'")
    from mlflow import MlflowClient  # takes seconds

    client = MlflowClient(tracking.tracking_uri())
    with _told(f"no run {run_id}"):
        tags = client.get_run(run_id).data.tags
    with tempfile.TemporaryDirectory() as folder:
        with _told(f"the artifacts of run {run_id} cannot be listed"):
            paths = [path] if path else _prediction_files(client, run_id, asked.task)
        if len(paths) > 1:
            raise DataError(f"run {run_id}: several artifacts hold predictions; name one, as runs:/{run_id}/{paths[0]}")
        with _told(f"runs:/{run_id} has no artifact {''.join(paths)} that can be read"):
            local = client.download_artifacts(run_id, paths[0], folder) if paths else None
        side = _file(Path(local) if local else _of_this_project(run_id, tags, asked), asked)
    return side if any(row.seed for row in side.rows) else _of_seed(side, tags.get("seed", ""))


@contextmanager
def _told(fault: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of MLflow, its store of artifacts or the network: many types, with one message
        from mtbert.tracking import store

        uri = tracking.tracking_uri()
        raise DataError(f"{fault} (MLflow at {store.shown(uri)}: {store.reason(error, uri)})") from None


def _prediction_files(client: Any, run_id: str, task: str | None, folder: str | None = None) -> list[str]:
    paths = []
    for one in client.list_artifacts(run_id, folder):
        if one.is_dir:
            paths += _prediction_files(client, run_id, task, one.path)
        elif one.path.endswith(KINDS) and (task is None or f"{task}-dev" in one.path):
            paths.append(one.path)
    return paths


def _of_this_project(run_id: str, tags: Mapping[str, str], asked: Asked) -> Path:
    """Return the file of a run of this project, which logs no predictions, in the build folder with that run."""
    variant, seed = tags.get("variant", ""), tags.get("seed", "")
    directory = asked.build / "runs" / variant / seed
    named = re.fullmatch(NAME, variant) and re.fullmatch(r"[0-9]+", seed)  # tags may be a stranger's
    if asked.task is None or not named or not directory.is_dir():
        raise DataError(
            f"run {run_id}: its artifacts hold no file of predictions ({', '.join(KINDS)}), and {asked.build} does not "
            "hold the run; a run of mtbert needs --task, and --build where its folder is not `build`"
        )
    from mtbert.tracking import record

    if record.of_run(directory).run_key != tags.get("run_key"):
        raise DataError(f"run {run_id}: {directory} is another training of that variant and seed; `dvc repro` makes it")
    return files.sealed(directory, f"predictions/{asked.task}-dev.parquet", f"dvc repro train@{variant}-{seed}")
