"""Make tokens and a report from corpus files: what the `preprocess` stage does.

`<dataset>/<split>.parquet` holds id, sentence1, sentence2, label, line, tokens1 and tokens2. `dev-rows.parquet` beside
it holds what scores need of each row of dev: id, `cluster` (rows that share a sentence), `chooses` (the half on which
epochs are chosen), `in_train` (whether its sentences are a row there, case, spacing and punctuation dropped) and
`shares` (a sentence with train). `report.json` lists what was read, refused and found twice,
`digests.json` all that was written. The same files give the same bytes.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtbert.data import checks, held_out, official, readers
from mtbert.data.readers import Example
from mtbert.errors import DataError
from mtbert.files import new_directory, new_file, read_parquet, seal, sha256, write_json
from mtbert.tasks import TASKS, Split

Tokenize = Callable[[list[str]], list[list[int]]]
Name = tuple[str, Split]  # task and split
PRETRAINING = ("snli", "mnli")  # sentence encoders learn from these before they see the tasks
FILES: dict[Name, str] = {(task.name, split): name for task in TASKS.values() for split, name in task.files.items()}
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


def preprocess(data_dir: Path, out: Path, tokenize: Tokenize, required: set[Name], held: int = 0) -> dict[str, Any]:
    """Read every corpus file below `data_dir` into the new directory `out`.

    Args:
        data_dir: the folder of cs224n/ and nli/.
        out: replaced as a whole, once all is written.
        tokenize: maps texts to the ids of their word pieces, without special tokens.
        required: tasks and splits that the variants need; others may be missing.
        held: number of training rows of each required task that take the place of its dev rows; 0: none.

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
            "in params.yaml"
        )
    with new_directory(out) as directory:
        found, rows, nothing = {}, {}, checks.digests([])
        for name in present:
            found["/".join(name)], rows[name] = _write(data_dir, name, directory, tokenize)
        for task in (task for task, split in required if split == "dev" and held):
            train = rows[task, "train"]
            mask = held_out.hold_out(directory / task, train, held)
            rows[task, "train"], rows[task, "dev"] = train[~mask], train[mask].reset_index(drop=True)
        for task, split in present:
            if split == "dev" and task not in PRETRAINING:
                _write_about(directory / task, rows[task, split], rows.get((task, "train"), nothing))
        digests = {FILES[name]: sha256(data_dir / FILES[name]) for name in present}
        made = {"files": found, "whose": "own" if held else official.whose(digests)}
        write_json(directory / "report.json", made)
        seal(directory)
    return made


def refusals(made: dict[str, Any], out: Path) -> str:
    """Return how many rows of each file were refused, and the first reason, for the terminal; empty for none."""
    lines = [
        f"{file['file']}: refused {len(refused):,} of {file['read']:,} rows; line {refused[0]['line']}: "
        f"{refused[0]['reason']}"
        for file in made["files"].values()
        if (refused := file["refused"])
    ]
    return "\n".join([*lines, f"Refused rows are left out; all are listed in {out / 'report.json'}."]) if lines else ""


def _write(data_dir: Path, name: Name, directory: Path, tokenize: Tokenize) -> tuple[dict[str, Any], pd.DataFrame]:
    """Read one file and write its tokens; return its part of the report, and the digests of its rows."""
    dataset, split = name
    kept, refused = readers.read(data_dir, TASKS[dataset], split)
    (directory / dataset).mkdir(exist_ok=True)
    pq.write_table(_table(kept, tokenize), directory / dataset / f"{split}.parquet")
    digests = checks.digests(kept)
    found = {
        "file": FILES[name],
        "labelled": bool(digests["label"].notna().all()),
        "read": len(kept) + len(refused),
        "kept": len(kept),
        "refused": [refusal._asdict() for refusal in refused],
        "duplicates": {"folded": checks.duplicates(digests)},
        "conflicts": checks.conflicts(digests),
    }
    return found, digests


def _table(rows: list[Example], tokenize: Tokenize) -> pa.Table:
    """Return the rows with the word pieces of each sentence, [rows] lists of ids; null where there is no sentence."""
    columns: dict[str, Any] = dict(zip(Example._fields, zip(*rows, strict=True), strict=True))
    for number in ("1", "2"):
        texts = columns[f"sentence{number}"]
        columns[f"tokens{number}"] = [None] * len(rows) if None in texts else tokenize(list(texts))
    return pa.table(columns, SCHEMA)


def _write_about(directory: Path, rows: pd.DataFrame, train: pd.DataFrame) -> None:
    """Write dev-rows.parquet beside dev.parquet: what scores need of each of its rows. All are `checks.digests`."""
    cluster = checks.clusters(rows)
    about = read_parquet(directory / "dev.parquet", ["id"]).assign(
        cluster=cluster,
        chooses=checks.halves(cluster),
        in_train=np.isin(rows["bare"], train["bare"]),
        shares=np.isin(rows[checks.SENTENCES], train[checks.SENTENCES]).any(axis=1),
    )
    with new_file(directory / "dev-rows.parquet") as partial:
        about.to_parquet(partial, index=False)
