"""Corpus files to tokens and a report: what the `preprocess` stage does.

`<dataset>/<split>.parquet` holds id, sentence1, sentence2, label, line, tokens1 and tokens2; `report.json` tells what
was read, refused and found twice. The same files give the same bytes.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtbert.data import checks, readers
from mtbert.data.readers import Corpus
from mtbert.errors import DataError
from mtbert.files import new_directory, write_json
from mtbert.tasks import TASKS, Split

Tokenize = Callable[[list[str]], list[list[int]]]
Name = tuple[str, Split]  # task and split
PRETRAINING = ("snli", "mnli")  # sentence encoders learn from these before they see the tasks
LAYOUT = "files named as the course and the corpora name them: cs224n/*.csv and nli/*.jsonl"
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


def preprocess(data_dir: Path, out: Path, tokenize: Tokenize, required: set[Name]) -> None:
    """Read every corpus file below `data_dir` into the new directory `out`.

    Args:
        data_dir: where cs224n/ and nli/ lie; absolute, or relative and inside the repository.
        out: replaced as a whole, once all is written.
        tokenize: texts to the ids of their word pieces, without special tokens.
        required: tasks and splits that the variants need; others may be missing.

    Raises:
        DataError: `data_dir` or a required file is missing, or a file is not what it should be.
    """
    _check_place(data_dir)
    present = {name: path for name, path in _paths(data_dir).items() if path.is_file()}
    _check_required(data_dir, required - present.keys())
    corpora = {name: readers.read(data_dir, TASKS[name[0]], name[1]) for name in present}
    with new_directory(out) as directory:
        for (dataset, split), corpus in corpora.items():
            (directory / dataset).mkdir(exist_ok=True)
            pq.write_table(_table(corpus.rows, tokenize), directory / dataset / f"{split}.parquet")
        write_json(directory / "report.json", report(corpora))


def report(corpora: dict[Name, Corpus]) -> dict[str, Any]:
    """What the files hold: rows read, kept and refused, what is there twice, and which files are missing."""
    indexes = {name: checks.index(corpus.rows) for name, corpus in corpora.items()}
    return {
        "files": {_label(name): _file(corpus, indexes[name]) for name, corpus in corpora.items()},
        "missing": [str(path) for name, path in _paths(Path()).items() if name not in corpora],
        "overlaps": _overlaps(indexes, [(a, b) for a in corpora for b in corpora if _is_leak(a, b)]),
        "overlaps with pretraining": _overlaps(
            indexes, [(a, b) for a in corpora for b in corpora if _is_pretraining_leak(a, b)]
        ),
    }


def _is_leak(name: Name, other: Name) -> bool:
    """Whether rows of `name` should not be in `other`: dev against train, test against train and dev."""
    order: list[Split] = ["train", "dev", "test"]
    return name[0] == other[0] and order.index(name[1]) > order.index(other[1])


def _is_pretraining_leak(name: Name, other: Name) -> bool:
    return name[0] not in PRETRAINING and name[1] != "train" and other[0] in PRETRAINING and other[1] == "train"


def _overlaps(indexes: dict[Name, checks.Index], pairs: list[tuple[Name, Name]]) -> list[dict[str, Any]]:
    return [
        {"of": _label(name), "with": _label(other), **checks.overlap(indexes[name], indexes[other])}
        for name, other in pairs
    ]


def _file(corpus: Corpus, index: checks.Index) -> dict[str, Any]:
    return {
        "file": corpus.task.files[corpus.split],
        "labelled": not bool(corpus.rows["label"].isna().to_numpy().any()),
        "read": corpus.read,
        "kept": len(corpus.rows),
        "refused": [refusal._asdict() for refusal in corpus.refused],
        "duplicates": checks.duplicates(index),
        "conflicts": checks.conflicts(corpus.rows),
    }


def _table(rows: pd.DataFrame, tokenize: Tokenize) -> pa.Table:
    """The rows with the word pieces of each sentence, [rows] lists of ids; null where there is no sentence."""
    columns = {name: pa.array(rows[name], SCHEMA.field(name).type, from_pandas=True) for name in rows.columns}
    for number in ("1", "2"):
        texts = rows[f"sentence{number}"]
        tokens = [None] * len(rows) if texts.isna().to_numpy().any() else tokenize(texts.tolist())
        columns[f"tokens{number}"] = pa.array(tokens, SCHEMA.field(f"tokens{number}").type)
    return pa.table(columns, SCHEMA)


def _check_place(data_dir: Path) -> None:
    """Refuse a directory that is missing, or a relative one outside: `dvc exp run --temp` works in another place."""
    if not data_dir.is_absolute() and Path(os.path.normpath(data_dir)).parts[:1] == ("..",):
        raise DataError(
            f"data_dir in params.yaml is {data_dir}, which leaves the repository; allowed: a path inside it, or an "
            "absolute path (a relative one outside is another place under `dvc exp run --temp` and `--queue`)"
        )
    if not data_dir.is_dir():
        raise DataError(f"data_dir in params.yaml is {data_dir}, which is no directory; allowed: one with {LAYOUT}")


def _check_required(data_dir: Path, missing: set[Name]) -> None:
    if missing:
        names = [f"{TASKS[task].files[split]} (for {task}/{split})" for task, split in sorted(missing)]
        raise DataError(
            f"the variants need files that are not there: {', '.join(names)}; looked below {data_dir}, which is "
            f"data_dir in params.yaml; allowed: a directory with {LAYOUT}"
        )


def _paths(data_dir: Path) -> dict[Name, Path]:
    return {(task.name, split): data_dir / name for task in TASKS.values() for split, name in task.files.items()}


def _label(name: Name) -> str:
    return "/".join(name)
