"""Make tokens and a report from corpus files: what the `preprocess` stage does.

`<dataset>/<split>.parquet` holds id, sentence1, sentence2, label, line, tokens1 and tokens2. `dev-rows.parquet` beside
it holds what scores need of each row of dev: id, `cluster` (rows that share a sentence), `chooses` (the half on which
epochs are chosen), `in_train` and `in_pretraining` (whether its sentences are a row there, case, spacing and
punctuation dropped) and `shares` (a sentence with train). `report.json` lists what was read, refused and found twice,
`digests.json` all that was written. The same files give the same bytes.

A file is read and written in groups of rows. Only what checks and report need grows with it: some 250 bytes for each
row (measured on a million), and the refusals.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtbert.data import checks, official, readers
from mtbert.data.checks import Index
from mtbert.data.readers import Example, Refusal
from mtbert.errors import DataError
from mtbert.files import new_directory, new_file, read_parquet, seal, sha256, write_json
from mtbert.tasks import TASKS, Split

Tokenize = Callable[[list[str]], list[list[int]]]
Name = tuple[str, Split]  # task and split
PRETRAINING = ("snli", "mnli")  # sentence encoders learn from these before they see the tasks
FILES: dict[Name, str] = {(task.name, split): name for task in TASKS.values() for split, name in task.files.items()}
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


@dataclass
class FileRows:
    """The rows of one file for the report: those that were kept, as digests, and those that were refused."""

    kept: Index = field(default_factory=Index)
    refused: list[Refusal] = field(default_factory=list)


def preprocess(data_dir: Path, out: Path, tokenize: Tokenize, required: set[Name]) -> dict[str, Any]:
    """Read every corpus file below `data_dir` into the new directory `out`.

    Args:
        data_dir: the folder of cs224n/ and nli/.
        out: replaced as a whole, once all is written.
        tokenize: maps texts to the ids of their word pieces, without special tokens.
        required: tasks and splits that the variants need; others may be missing.

    Returns:
        The content of report.json: rows read, kept and refused, duplicates and conflicts of each file, and whose
        corpora they are (`whose`, see `official.whose`).

    Raises:
        DataError: a required file is missing, or a file has another format.
    """
    present = [name for name, file in FILES.items() if (data_dir / file).is_file()]
    if missing := sorted(required.difference(present)):
        names = [f"{FILES[task, split]} (for {task}/{split})" for task, split in missing]
        raise DataError(
            f"the variants need files that are missing: {', '.join(names)}; looked below {data_dir}, which is data_dir "
            "in params.yaml; allowed: a directory with files named as the course and the corpora name them: "
            "cs224n/*.csv and nli/*.jsonl"
        )
    with new_directory(out) as directory:
        rows = {name: _write(data_dir, name, directory, tokenize) for name in present}
        pretraining = [rows[corpus, "train"].kept for corpus in PRETRAINING if (corpus, "train") in rows]
        for task, split in present:
            if split == "dev" and task not in PRETRAINING:
                train = rows[task, "train"].kept if (task, "train") in rows else Index()
                write_about(directory / task, rows[task, split].kept, train, pretraining)
        digests = {FILES[name]: sha256(data_dir / FILES[name]) for name in present}
        found = {"/".join(name): _found(name, of_file) for name, of_file in rows.items()}
        made = {"files": found, "whose": official.whose(digests)}
        write_json(directory / "report.json", made)
        seal(directory)
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


def _write(data_dir: Path, name: Name, directory: Path, tokenize: Tokenize) -> FileRows:
    """Read one file and write its tokens."""
    (dataset, split), rows = name, FileRows()
    (directory / dataset).mkdir(exist_ok=True)
    group: list[Example] = []
    characters = 0
    with pq.ParquetWriter(directory / dataset / f"{split}.parquet", SCHEMA) as writer:
        for row in readers.stream(data_dir / FILES[name], TASKS[dataset], split):
            if isinstance(row, Refusal):
                rows.refused.append(row)
                continue
            rows.kept.add(row)
            group.append(row)
            characters += len(row.id) + len(row.sentence1) + len(row.sentence2 or "")
            if len(group) >= GROUP_ROWS or characters >= GROUP_CHARACTERS:
                writer.write_table(_table(group, tokenize))
                group, characters = [], 0
        if group:
            writer.write_table(_table(group, tokenize))
    return rows


def _table(rows: list[Example], tokenize: Tokenize) -> pa.Table:
    """Return the rows with the word pieces of each sentence, [rows] lists of ids; null where there is no sentence."""
    columns: dict[str, Any] = dict(zip(Example._fields, zip(*rows, strict=True), strict=True))
    for number in ("1", "2"):
        texts = columns[f"sentence{number}"]
        columns[f"tokens{number}"] = [None] * len(rows) if None in texts else tokenize(list(texts))
    return pa.table(columns, SCHEMA)


def write_about(directory: Path, rows: Index, train: Index, pretraining: Iterable[Index] = ()) -> None:
    """Write dev-rows.parquet beside dev.parquet: what scores need of each of its rows."""
    cluster = checks.clusters(rows)
    about: pd.DataFrame = read_parquet(directory / "dev.parquet", ["id"]).assign(
        cluster=cluster,
        chooses=checks.halves(cluster),
        in_train=checks.seen(rows, train),
        in_pretraining=checks.seen(rows, *pretraining),
        shares=checks.sharing(rows, train),
    )
    with new_file(directory / "dev-rows.parquet") as partial:
        about.to_parquet(partial, index=False)


def _found(name: Name, rows: FileRows) -> dict[str, Any]:
    return {
        "file": FILES[name],
        "labelled": not np.isnan(rows.kept.labels).any(),
        "read": len(rows.kept) + len(rows.refused),
        "kept": len(rows.kept),
        "refused": [refusal._asdict() for refusal in rows.refused],
        "duplicates": {"folded": checks.duplicates(rows.kept)},
        "conflicts": checks.conflicts(rows.kept),
    }
