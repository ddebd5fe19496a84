"""What a person names, to rows: a file, files of several seeds, or runs of MLflow."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mtbert.comparing import harness
from mtbert.comparing.rows import SHOWN, Row, Rows, refuse, text
from mtbert.errors import DataError

NEEDED = ("id", "label", "prediction")
TEXTS = ("sentence", "sentence1", "sentence2", "text", "text_pair")
KNOWN = (*NEEDED, "seed", "cluster", "scored", *TEXTS)
PROBABILITY = re.compile(r"probability_\d+")
SEED = "{seed}"
FALSE, TRUE = ("0", "false"), ("1", "true")
KINDS = ".csv, .tsv, .jsonl or .parquet"
RUN = r"(?:runs:/)?[0-9a-f]{32}(?:/[^,]+)?"
RUNS = re.compile(rf"{RUN}(?:,{RUN})*")
Record = tuple[str, Mapping[str, Any]]  # the place in the file, and values by column


def is_run(source: str) -> bool:
    """Whether it is a run id of MLflow, `runs:/ID/path`, or several of these with commas: one a seed."""
    return RUNS.fullmatch(source) is not None


def read(source: str, columns: Mapping[str, str], metric: str, filtered: str | None) -> Rows:
    """The rows of one side.

    Args:
        source: a file; a path in which `{seed}` stands for the seed. Runs of MLflow are for `tracked.read`.
        columns: what the file calls a column of KNOWN; where it is not empty, all others are left out.
        metric: by which logs of lm-evaluation-harness are read.
        filtered: the filter of such logs.

    Raises:
        DataError: no such file, or it is not as it should be; the message names the first rows.
    """
    if SEED not in source:
        return _read(Path(source), columns, metric, filtered)
    found = [(seed, _read(path, columns, metric, filtered)) for seed, path in _of_seeds(source)]
    rows = [row._replace(seed=seed, place=f"seed {seed}, {row.place}") for seed, part in found for row in part.rows]
    return replace(found[0][1], name=source, rows=rows)


def _of_seeds(source: str) -> list[tuple[str, Path]]:
    before, _, after = source.partition(SEED)
    pattern = re.compile(f"{re.escape(before)}(\\d+){re.escape(after)}")
    base = Path(before if before.endswith("/") else Path(before).parent)
    paths = (path.as_posix() for path in base.glob(f"{Path(before).name if base != Path(before) else ''}*{after}"))
    found = [(match[1], Path(path)) for path in paths if (match := pattern.fullmatch(path))]
    if not found:
        raise DataError(f"{source}: no file has a number in the place of {SEED}")
    return sorted(found, key=lambda pair: int(pair[0]))


def _read(path: Path, columns: Mapping[str, str], metric: str, filtered: str | None) -> Rows:
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is no file"
        raise DataError(f"{path} {what}; allowed: a file that ends in {KINDS}, or a run id of MLflow (32 digits, a-f)")
    records = list(_records(path))
    if not records:
        raise DataError(f"{path} has no rows")
    if harness.is_log(records[0][1]):
        return harness.rows(str(path), records, metric, filtered)
    return Rows(str(path), _with_clusters(path, _rows(str(path), records, columns)))


def _with_clusters(path: Path, rows: list[Row]) -> list[Row]:
    """With those that preprocessing found, where the file is one of this project's runs and votes."""
    name = f"{path.stem}-rows.parquet"  # of build/runs/pals/1/predictions/sts-dev.parquet: build/data/sts/dev-rows...
    task, _, split = name.partition("-")
    file = path.absolute().parents[min(4, len(path.absolute().parents) - 1)] / "data" / task / split
    if path.parent.name != "predictions" or not file.is_file():
        return rows
    clusters = {text(record["id"]): text(record["cluster"]) for _, record in _of_parquet(file)}
    unknown = [row.id for row in rows if row.id not in clusters]
    refuse(str(path), f"rows that {file} lacks", unknown, "`dvc repro` makes both from the same data")
    return [row._replace(cluster=row.cluster or clusters[row.id]) for row in rows]


def _records(path: Path) -> Iterator[Record]:
    kind = path.suffix.lower()
    if kind == ".parquet":
        return _of_parquet(path)
    if kind in (".csv", ".tsv"):
        return _of_csv(path, "\t" if kind == ".tsv" else ",")
    if kind in (".jsonl", ".ndjson"):
        return _of_json_lines(path)
    raise DataError(f"{path} ends in {kind or 'nothing'}; allowed: {KINDS}")


def _of_parquet(path: Path) -> Iterator[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            found = file.read().to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} is no whole Parquet file: {' '.join(str(error).split())}") from None
    return ((f"row {number}", record) for number, record in enumerate(found, 1))


def _of_csv(path: Path, delimiter: str) -> Iterator[Record]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, delimiter=delimiter, strict=True)
            for record in reader:
                if None in record or None in record.values():
                    raise DataError(f"{path}, line {reader.line_num}: other columns than line 1, which names them")
                yield f"line {reader.line_num}", record
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path} is no CSV in UTF-8: {error}") from None


def _of_json_lines(path: Path) -> Iterator[Record]:
    try:
        with path.open(encoding="utf-8-sig") as handle:
            for number, line in enumerate(handle, 1):
                if line.strip():
                    yield f"line {number}", _object(path, number, line)
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from None


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: no JSON: {error}") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}, line {number}: no JSON object, {{...}}")
    return found


def _rows(name: str, records: list[Record], columns: Mapping[str, str]) -> list[Row]:
    there = dict.fromkeys(key for _, record in records for key in record)
    called = {known: columns.get(known, known) for known in KNOWN}
    _check_columns(name, list(there), called, bool(columns))
    found = [_row(place, {known: text(record.get(given)) for known, given in called.items()})
             for place, record in records]  # fmt: skip
    refuse(
        name, f"scored is neither {', '.join(TRUE)} nor {', '.join(FALSE)}",
        [place for place, record in records if called["scored"] in there
         and text(record.get(called["scored"])).lower() not in (*TRUE, *FALSE)],
        "it says whether a row counts",
    )  # fmt: skip
    return found


def _row(place: str, values: Mapping[str, str]) -> Row:
    texts = tuple(values[name] for name in TEXTS if values[name])
    scored = values["scored"].lower() not in FALSE
    own = (values[name] for name in (*NEEDED, "seed", "cluster"))
    return Row(place, *own, scored=scored, texts=texts)


def _check_columns(name: str, there: list[str], called: Mapping[str, str], chosen: bool) -> None:
    missing = [called[column] for column in NEEDED if called[column] not in there]
    strange = [key for key in there if key not in called.values() and not PROBABILITY.fullmatch(key)]
    remedy = "name yours with --columns id=...,label=...,prediction=...; what that leaves out is not read"
    if missing:
        raise DataError(f"{name} lacks {_listed(missing)}; it has {_listed(there)}; {remedy}")
    if strange and not chosen:
        raise DataError(f"{name} has unknown columns: {_listed(strange)}; known: {', '.join(KNOWN)}; {remedy}")


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[: 4 * SHOWN]) + (" ..." if len(names) > 4 * SHOWN else "")
