"""Read the rows of one side: a file, or files of several seeds."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from mtbert import records
from mtbert.comparing import harness
from mtbert.comparing.rows import SHOWN, Row, Rows, refuse, text
from mtbert.errors import DataError
from mtbert.records import Record

NEEDED = ("id", "label", "prediction")
TEXTS = ("sentence", "sentence1", "sentence2", "text", "text_pair")
KNOWN = (*NEEDED, "seed", "cluster", "scored", "overall", *TEXTS)
PROBABILITY = re.compile(r"probability_\d+")
SEED = "{seed}"
FALSE, TRUE = ("0", "false"), ("1", "true")
KINDS = ".csv, .tsv, .jsonl or .parquet"
SEPARATORS = {".csv": ",", ".tsv": "\t"}
RUN = r"(?:runs:/)?[0-9a-f]{32}(?:/[^,]+)?"
RUNS = re.compile(rf"{RUN}(?:,{RUN})*")


def is_run(source: str) -> bool:
    """Return whether it is a run id of MLflow, `runs:/ID/path`, or several of these, one for each seed, with commas."""
    return RUNS.fullmatch(source) is not None


def read(source: str, columns: Mapping[str, str], metric: str, filtered: str | None) -> Rows:
    """Read the rows of one side.

    Args:
        source: a file, or a path in which `{seed}` stands for the seed. `tracked.read` reads runs of MLflow.
        columns: the file's names of columns of KNOWN, all of which the file must have; if there are any, all other
            columns are left out.
        metric: the metric that is read from logs of lm-evaluation-harness.
        filtered: the filter that is read from such logs.

    Raises:
        DataError: the file is missing or malformed; the message names the first faulty rows.
    """
    if SEED not in source:
        return _read(Path(source), columns, metric, filtered)
    parts = [(seed, _read(path, columns, metric, filtered)) for seed, path in _files_by_seed(source)]
    rows = [row._replace(seed=seed, place=f"seed {seed}, {row.place}") for seed, part in parts for row in part.rows]
    return replace(parts[0][1], name=source, rows=rows)


def _files_by_seed(source: str) -> list[tuple[str, Path]]:
    before, _, after = Path(source).as_posix().partition(SEED)  # as `glob` writes paths, without ./ and //
    pattern = re.compile(f"{re.escape(before)}(\\d+){re.escape(after)}")
    base = Path(before if before.endswith("/") else Path(before).parent)
    paths = (path.as_posix() for path in base.glob(f"{Path(before).name if base != Path(before) else ''}*{after}"))
    by_seed = [(match[1], Path(path)) for path in paths if (match := pattern.fullmatch(path))]
    if not by_seed:
        raise DataError(f"{source}: no file has a number in the place of {SEED}")
    return sorted(by_seed, key=lambda pair: int(pair[0]))


def _read(path: Path, columns: Mapping[str, str], metric: str, filtered: str | None) -> Rows:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path} {what}; allowed: a file that ends in {KINDS}, or a run id of MLflow (32 digits, a-f)")
    found = list(_records(path))
    if not found:
        raise DataError(f"{path} has no rows")
    if harness.is_log(found[0][1]):
        return harness.rows(str(path), found, metric, filtered)
    return Rows(str(path), _with_clusters(path, _rows(str(path), found, columns)))


def _with_clusters(path: Path, rows: list[Row]) -> list[Row]:
    """Add the clusters that preprocessing found, where the file is of one of this project's runs or ensembles."""
    name = f"{path.stem}-rows.parquet"  # of build/runs/pals/1/predictions/sts-dev.parquet: build/data/sts/dev-rows...
    task, _, split = name.partition("-")
    file = path.absolute().parents[min(4, len(path.absolute().parents) - 1)] / "data" / task / split
    if path.parent.name != "predictions" or not file.is_file():
        return rows
    clusters = {text(values["id"]): text(values["cluster"]) for _, values in _of_parquet(file)}
    unknown = [row.id for row in rows if row.id not in clusters]
    refuse(str(path), f"rows that {file} lacks", unknown, "`dvc repro` makes both from the same data")
    return [row._replace(cluster=row.cluster or clusters[row.id]) for row in rows]


def _records(path: Path) -> Iterator[Record]:
    kind, name = path.suffix.lower(), str(path)
    if kind == ".parquet":
        return _of_parquet(path)
    if kind in SEPARATORS:
        return records.separated(records.decoded(path.read_bytes(), name), name, SEPARATORS[kind])
    if kind in (".jsonl", ".ndjson"):
        return records.json_lines(records.decoded(path.read_bytes(), name), name)
    raise DataError(f"{path} ends in {kind or 'nothing'}; allowed: {KINDS}")


def _of_parquet(path: Path) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            rows = file.read().to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is not a whole Parquet file: {' '.join(str(error).split())}") from None
    return ((f"row {number}", values) for number, values in enumerate(rows, 1))


def _rows(name: str, found: list[Record], columns: Mapping[str, str]) -> list[Row]:
    in_file = dict.fromkeys(key for _, values in found for key in values)
    file_names = {known: columns.get(known, known) for known in KNOWN}
    _check_columns(name, list(in_file), file_names, columns)
    if (scored := file_names["scored"]) in in_file:
        unclear = [place for place, values in found if text(values.get(scored)).lower() not in (*TRUE, *FALSE)]
        allowed = f"{', '.join(TRUE)} nor {', '.join(FALSE)}"
        refuse(name, f"scored is neither {allowed}", unclear, "it states whether a row counts")
    return [
        _row(place, {known: text(values.get(column)) for known, column in file_names.items()})
        for place, values in found
    ]


def _row(place: str, values: Mapping[str, str]) -> Row:
    texts = tuple(values[name] for name in TEXTS if values[name])
    scored = values["scored"].lower() not in FALSE
    own = (values[name] for name in (*NEEDED, "seed", "cluster"))
    return Row(place, *own, scored=scored, texts=texts)


def _check_columns(name: str, in_file: list[str], file_names: Mapping[str, str], chosen: Mapping[str, str]) -> None:
    wanted = dict.fromkeys([*(file_names[column] for column in NEEDED), *chosen.values()])
    missing = [column for column in wanted if column not in in_file]
    strange = [key for key in in_file if key not in file_names.values() and not PROBABILITY.fullmatch(key)]
    remedy = "name yours with --columns id=...,label=...,prediction=...; other columns are then not read"
    if missing:
        raise DataError(f"{name} lacks {_listed(missing)}; it has {_listed(in_file)}; {remedy}")
    if strange and not chosen:
        raise DataError(f"{name} has unknown columns: {_listed(strange)}; known: {', '.join(KNOWN)}; {remedy}")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[: 4 * SHOWN]) + (" ..." if len(names) > 4 * SHOWN else "")
