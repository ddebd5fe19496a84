"""Make tokens and a report from corpus files: what the `preprocess` stage does.

`<dataset>/<split>.parquet` holds id, sentence1, sentence2, label, line, tokens1 and tokens2. For dev and test
`<split>-rows.parquet` holds what scores need of each row: id, `cluster` (rows that share a sentence), `chooses` (the
half on which epochs are chosen), `in_train` and `in_pretraining` (the strictest form in which its sentences occur
there: exact, folded, bare, or empty for none) and `shares` (a sentence with train). `report.json` lists what was read,
refused and found twice. The same files give the same bytes.

A file is read and written in groups of rows. Only what checks and report need grows with it: some 220 bytes for each
row (measured on a million), and the refusals. Tokenizing takes some 200 MB for a million characters, the most that a
row or a group may have.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtbert.data import checks, corpora, readers
from mtbert.data.readers import Example, Refusal
from mtbert.errors import DataError
from mtbert.files import new_directory, new_file, read_parquet, sha256, write_json
from mtbert.tasks import TASKS, Split

Tokenize = Callable[[list[str]], list[list[int]]]
Name = tuple[str, Split]  # task and split
PRETRAINING = ("snli", "mnli")  # sentence encoders learn from these before they see the tasks
LAYOUT = "files named as the course and the corpora name them: cs224n/*.csv and nli/*.jsonl"
SHOWN = 3  # refused rows of a file on the terminal
GROUP_ROWS, GROUP_CHARACTERS = 2**14, 2**20  # a group of rows ends with the row that reaches one of them
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("label", pa.float64()),
        ("line", pa.int64()),
        ("tokens1", pa.list_(pa.int32())),
        ("tokens2", pa.list_(pa.int32())),
    ]
)


def preprocess(data_dir: Path, out: Path, tokenize: Tokenize, required: set[Name]) -> dict[str, Any]:
    """Read every corpus file below `data_dir` into the new directory `out`.

    Args:
        data_dir: the folder of cs224n/ and nli/; absolute, or relative and inside the repository.
        out: replaced as a whole, once all is written.
        tokenize: maps texts to the ids of their word pieces, without special tokens.
        required: tasks and splits that the variants need; others may be missing.

    Returns:
        The content of report.json: rows read, kept and refused, duplicates, missing files, and whose corpora they are
        (`whose`, see `mtbert.data.corpora`).

    Raises:
        DataError: `data_dir` or a required file is missing, or a file has another format.
    """
    _check_place(data_dir)
    present = {name: path for name, path in _paths(data_dir).items() if path.is_file()}
    _check_required(data_dir, required - present.keys())
    with new_directory(out) as directory:
        rows = {name: _write(data_dir, name, directory, tokenize) for name in present}
        for task, split in rows:
            if split != "train" and task not in PRETRAINING:
                ids = read_parquet(directory / task / f"{split}.parquet", ["id"])
                with new_file(directory / task / f"{split}-rows.parquet") as partial:
                    about_rows((task, split), rows, ids).to_parquet(partial, index=False)
        made = report(rows) | {"whose": corpora.whose({TASKS[t].files[s]: sha256(present[t, s]) for t, s in present})}
        write_json(directory / "report.json", made)
    return made


def refusals(made: dict[str, Any], out: Path) -> str:
    """Return how many rows of each file were refused, and the first reasons, for the terminal; empty for none."""
    lines = []
    for file in made["files"].values():
        refused = file["refused"]
        if refused:
            lines.append(f"{file['file']}: refused {len(refused):,} of {file['read']:,} rows")
            lines += [f"  line {row['line']}: {row['reason']}" for row in refused[:SHOWN]]
            lines += [f"  and {len(refused) - SHOWN:,} more"] if len(refused) > SHOWN else []
    return "\n".join([*lines, f"Refused rows are left out; all are listed in {out / 'report.json'}."]) if lines else ""


@dataclass
class FileRows:
    """The rows of one file for the report: those that were kept, as digests, and those that were refused."""

    kept: checks.Index = field(default_factory=checks.Index)
    refused: list[Refusal] = field(default_factory=list)

    def record(self, rows: Iterable[Example | Refusal]) -> Iterator[Example]:
        """Record each row, and yield those that are kept."""
        for row in rows:
            if isinstance(row, Refusal):
                self.refused.append(row)
            else:
                self.kept.add(row)
                yield row


def _write(data_dir: Path, name: Name, directory: Path, tokenize: Tokenize) -> FileRows:
    """Read one file and write its tokens."""
    dataset, split = name
    task, file_rows = TASKS[dataset], FileRows()
    (directory / dataset).mkdir(exist_ok=True)
    with pq.ParquetWriter(directory / dataset / f"{split}.parquet", SCHEMA) as writer:
        for group in _groups(file_rows.record(readers.stream(data_dir / task.files[split], task, split))):
            writer.write_table(_table(group, tokenize))
    return file_rows


def _groups(rows: Iterable[Example]) -> Iterator[list[Example]]:
    group: list[Example] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += len(row.id) + len(row.sentence1) + len(row.sentence2 or "")
        if len(group) >= GROUP_ROWS or characters >= GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group


def _table(rows: list[Example], tokenize: Tokenize) -> pa.Table:
    """Return the rows with the word pieces of each sentence, [rows] lists of ids; null where there is no sentence."""
    columns: dict[str, Any] = dict(zip(Example._fields, zip(*rows, strict=True), strict=True))
    for number in ("1", "2"):
        texts = columns[f"sentence{number}"]
        columns[f"tokens{number}"] = [None] * len(rows) if None in texts else tokenize(list(texts))
    return pa.table(columns, SCHEMA)


def about_rows(name: Name, files: dict[Name, FileRows], ids: pd.DataFrame) -> pd.DataFrame:
    """Return what scores need of each row of dev or test: see the top of this file."""
    rows, nothing = files[name].kept, FileRows()
    train = files.get((name[0], "train"), nothing).kept
    seen = [files[corpus, "train"].kept for corpus in PRETRAINING if (corpus, "train") in files]
    cluster = checks.clusters(rows)
    return ids.assign(
        cluster=cluster,
        chooses=checks.halves(cluster),
        in_train=checks.closest(rows, train),
        in_pretraining=checks.closest(rows, *seen),
        shares=checks.sharing(rows, train),
    )


def report(files: dict[Name, FileRows]) -> dict[str, Any]:
    """Return what the files hold: rows read, kept and refused, duplicates, and which files are missing."""
    return {
        "files": {_label(name): _file(name, rows) for name, rows in files.items()},
        "missing": [str(path) for name, path in _paths(Path()).items() if name not in files],
        "overlaps": _overlaps(files, _is_leak),
        "overlaps with pretraining": _overlaps(files, _is_pretraining_leak),
    }


def _is_leak(name: Name, other: Name) -> bool:
    """Return whether rows of `name` should not be in `other`: dev against train, test against train and dev."""
    order: list[Split] = ["train", "dev", "test"]
    return name[0] == other[0] and order.index(name[1]) > order.index(other[1])


def _is_pretraining_leak(name: Name, other: Name) -> bool:
    return name[0] not in PRETRAINING and name[1] != "train" and other[0] in PRETRAINING and other[1] == "train"


def _overlaps(files: dict[Name, FileRows], is_leak: Callable[[Name, Name], bool]) -> list[dict[str, Any]]:
    return [
        {"of": _label(name), "with": _label(other), **checks.overlap(files[name].kept, files[other].kept)}
        for name in files
        for other in files
        if is_leak(name, other)
    ]


def _file(name: Name, rows: FileRows) -> dict[str, Any]:
    task, split = name
    return {
        "file": TASKS[task].files[split],
        "labelled": not np.isnan(rows.kept.labels).any(),
        "read": len(rows.kept) + len(rows.refused),
        "kept": len(rows.kept),
        "refused": [refusal._asdict() for refusal in rows.refused],
        "duplicates": checks.duplicates(rows.kept),
        "conflicts": checks.conflicts(rows.kept),
    }


def _check_place(data_dir: Path) -> None:
    """Refuse a directory that is missing, or a relative one outside: `dvc exp run --temp` works in another place."""
    if not data_dir.is_absolute() and Path(os.path.normpath(data_dir)).parts[:1] == ("..",):
        raise DataError(
            f"data_dir in params.yaml is {data_dir}, which leaves the repository; allowed: a path inside it, or an "
            "absolute path (a relative one outside is another place under `dvc exp run --temp` and `--queue`)"
        )
    if not data_dir.is_dir():
        raise DataError(f"data_dir in params.yaml is {data_dir}, which is not a directory; allowed: one with {LAYOUT}")


def _check_required(data_dir: Path, missing: set[Name]) -> None:
    if missing:
        names = [f"{TASKS[task].files[split]} (for {task}/{split})" for task, split in sorted(missing)]
        raise DataError(
            f"the variants need files that are missing: {', '.join(names)}; looked below {data_dir}, which is "
            f"data_dir in params.yaml; allowed: a directory with {LAYOUT}"
        )


def _paths(data_dir: Path) -> dict[Name, Path]:
    return {(task.name, split): data_dir / name for task in TASKS.values() for split, name in task.files.items()}


def _label(name: Name) -> str:
    return "/".join(name)
