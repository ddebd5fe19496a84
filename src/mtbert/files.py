"""Files that are either whole or not there: written beside their place, then renamed into it."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from mtbert.errors import DataError, SettingsError

if TYPE_CHECKING:
    import pandas as pd

PARTIAL = ".partial"  # ending of what is not finished yet; .dvcignore and .gitignore know it


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; move it into place when the block ends well, else remove it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}{PARTIAL}")
    try:
        yield partial
        flush(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def new_directory(path: Path) -> Iterator[Path]:
    """Yield an empty directory beside `path` to fill; put it in the place of `path` when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, old = path.with_name(f".{path.name}{PARTIAL}"), path.with_name(f".{path.name}.old{PARTIAL}")
    for left in (partial, old):
        shutil.rmtree(left, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        for file in partial.rglob("*"):
            if file.is_file():
                flush(file)
        if path.exists():
            path.replace(old)  # two renames, since a directory cannot be renamed onto one that is not empty
        partial.replace(path)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def flush(path: Path) -> None:
    """Have a file or a directory's entries on the disk before going on."""
    if path.is_dir() and os.name == "nt":  # Windows flushes no directories
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with Unix line ends, whole or not at all."""
    with new_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON with sorted keys; NaN and infinities are refused (ValueError)."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON; DataError where the file is missing or holds something else."""
    return _parsed(path, json.loads, "JSON")


def write_yaml(path: Path, value: Any) -> None:
    """Write block-style YAML with sorted keys, so that equal settings are equal bytes."""
    write_text(path, yaml.safe_dump(value, sort_keys=True, allow_unicode=True, width=120))


def read_yaml(path: Path) -> Any:
    """Read YAML that this project wrote, plain values; DataError where the file is missing or holds something else."""
    return _parsed(path, yaml.safe_load, "plain YAML")


def read_plan(path: Path, *keys: str) -> Any:
    """Read a file of the plan; SettingsError where it is missing or, with keys, no mapping that has at least those."""
    if not path.is_file():
        raise SettingsError(f"{path} is missing; `dvc repro plan` makes it for what params.yaml lists")
    content = read_yaml(path)
    if keys and not (isinstance(content, dict) and content.keys() >= set(keys)):
        raise SettingsError(f"{path} is not as `dvc repro plan` writes it, which makes it again")
    return content


WHOSE = {"data/sample": "sample", "data/official": "course"}  # by place, where preprocessing has not said it


def whose_data(build: Path, data_dir: str) -> str:
    """`sample`, `course` or `own`: whose corpora the runs of a build directory are of, as preprocessing found."""
    file = build / "data" / "report.json"
    told = read_json(file) if file.is_file() else {}
    return told.get("whose") or WHOSE.get(data_dir, "own")


def report_directory(build: Path, reports: Path) -> Path:
    """Where the report of a build directory lies below `reports`.

    `sample` where profile `sample` has run on the sample, and another profile's name where it has run on the course's
    corpora. All else has a folder of its own, such as `sample-reviews` for data in a folder `reviews`, so that nothing
    is written over a report of other data.
    """
    plan = read_plan(build / "plan" / "catalog.yaml", "profile")
    profile, data_dir = plan["profile"], plan.get("data_dir", "data/sample")
    whose = whose_data(build, data_dir)
    if whose == ("sample" if profile == "sample" else "course"):
        return reports / profile
    return reports / f"{profile}-{Path(data_dir).name if whose == 'own' else whose}"


def _parsed(path: Path, parse: Callable[[str], Any], form: str) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{path} is missing; run the stage that makes it") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise DataError(
            f"{path} is not {form}: {' '.join(str(error).split())}; remove it and run the stage that makes it"
        ) from None


def read_parquet(path: Path, columns: list[str] | None = None) -> "pd.DataFrame":
    """Read a table, or these columns of it; DataError where the file is missing or holds something else."""
    import pyarrow as pa  # takes half a second, and most stages read no table
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # pandas's own reader takes two and a half times as long for a small file
            table = file.read(columns).to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise DataError(
            f"{path} is no whole Parquet file: {' '.join(str(error).split())}; run the stage that makes it"
        ) from None
    if missing := set(columns or ()) - set(table.columns):
        raise DataError(f"{path} lacks columns: {', '.join(sorted(missing))}; run the stage that makes it")
    return table


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of a file's content."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()
