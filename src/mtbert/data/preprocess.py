"""Make tokens and a report from corpus files: what the `preprocess` stage does.

`<dataset>/<split>.parquet` holds id, sentence1, sentence2, label, line, tokens1 and tokens2. `dev-rows.parquet` beside
it holds what scores need of each row of dev: id, `cluster` (rows that share a sentence), `chooses` (the half on which
epochs are chosen), `in_train` (whether its sentences are a row there, case, spacing and punctuation dropped) and
`shares` (a sentence with train). `report.json` lists what was read, refused and found twice,
`digests.json` all that was written. The same files give the same bytes.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtbert import layout
from mtbert.data import checks, drawing, held_out, official, readers
from mtbert.data.readers import Example
from mtbert.errors import DataError, first_of
from mtbert.files import compressed, new_directory, new_file, read_parquet, sha256, write_json
from mtbert.tasks import SPLITS, Split, Task, Tasks, of_folder

Tokenize = Callable[[list[str]], list[list[int]]]
TaskSplit = tuple[str, Split]  # task and split
MOST_REFUSED = 0.01  # of a file's rows: more are no slips, but another kind of label
FEW = 3
MOST_CUT = 0.02  # of train's rows: more are told
SHOWN = 12  # most labels in a message
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


def preprocess(
    data_dir: Path,
    out: Path,
    tokenize: Tokenize,
    required: set[TaskSplit],
    held: int = 0,
    most_refused: float = MOST_REFUSED,
    longest: Mapping[str, tuple[bool, int]] | None = None,
) -> dict[str, Any]:
    """Read every corpus file below `data_dir` into the new directory `out`.

    Args:
        data_dir: the folder of cs224n/ and nli/.
        out: replaced as a whole, once all is written.
        tokenize: maps texts to the ids of their word pieces, without special tokens.
        required: tasks and splits that the variants need; others may be missing.
        most_refused: the largest share of a required file's rows that may be faulty, and are then left out.
        longest: by task, whether pairs are one sequence, and how many tokens a sequence may have.
        held: number of training rows of each required task that take the place of its dev rows; 0: none.

    Returns:
        The content of report.json: rows read, kept and refused, duplicates and conflicts of each file; what is wrong
        with them (`faults`, a line each); and the kind of data (`whose`, see `official.data_kind`).

    Raises:
        DataError: a required file is missing or has too many faulty rows, or a file has another format.
    """
    tasks = of_folder(data_dir)
    named: dict[TaskSplit, str] = {
        (task.name, split): task.files[source]
        for task in tasks.values()
        for split in SPLITS
        if (source := drawing.source(task, split)) in task.files
    }
    present = [
        name for name, file in named.items() if (data_dir / file).is_file() and _is_wanted(tasks, name, required)
    ]
    if missing := sorted(required.difference(present)):
        names = [f"{named[task, split]} (for {task}/{split})" for task, split in missing]
        raise DataError(
            f"the variants need files that are missing: {', '.join(names)}; looked below {data_dir}, which is data_dir "
            f"in params.yaml{compressed(data_dir, (named[name] for name in missing))}"
        )
    with new_directory(out) as directory:
        read_files: dict[str, dict[str, Any]] = {}
        rows: dict[TaskSplit, Any] = {}  # `checks.digests`, a pandas.DataFrame
        for task, split in present:
            about, rows[task, split] = _write(data_dir, tasks[task], split, directory, tokenize)
            if (task, split) in required:
                _check_refused(data_dir, tasks[task], about, rows[task, split], most_refused)
            read_files[f"{task}/{split}"] = about
        for task in [task for task, split in required if split == "dev" and held]:
            train = rows[task, "train"]
            mask = held_out.hold_out(directory, task, train, held)
            rows[task, "train"], rows[task, "dev"] = train[~mask], train[mask].reset_index(drop=True)
        for task, split in present:
            if split == "dev":
                _write_about(directory, task, rows[task, split], rows.get((task, "train"), checks.digests([])))
        digests = {named[name]: sha256(data_dir / named[name]) for name in present}
        for name, limit in (longest or {}).items():
            read_files[f"{name}/train"]["cut"] = _cut(layout.examples(directory, name, "train"), *limit)
        kind = "own" if held else official.data_kind(digests)
        report = {"files": read_files, "faults": _faults(read_files), "whose": kind}
        write_json(layout.data_report(directory), report)
        layout.seal(directory)
    return report


def _check_refused(data_dir: Path, task: Task, file: dict[str, Any], rows: pd.DataFrame, most_refused: float) -> None:
    """Raise DataError where more of a file's rows are faulty than may be, with the labels that it holds.

    As many as FEW are slips, however small the file is; where `most_refused` is 0, none may be faulty.
    """
    faulty = [refusal for refusal in file["refused"] if refusal["is_faulty"]]
    tolerated = max(FEW, most_refused * file["read"]) if most_refused else 0
    if len(faulty) <= tolerated:
        return
    in_refused_rows = {refusal["label"] for refusal in faulty if refusal["label"]}
    words = {number: word for word, number in task.labels.items()}
    in_kept_rows = {words.get(int(label), f"{label:g}") for label in rows["label"].dropna().unique()}
    labels = ""
    if in_refused_rows:
        present = first_of(sorted(in_kept_rows | in_refused_rows), SHOWN)
        labels = f"Its {task.label} holds {present}; allowed: {readers.allowed_labels(task)}. "
    share = math.ceil(100 * len(faulty) / file["read"]) / 100
    raise DataError(
        f"{data_dir / file['file']}: {len(faulty):,} of {file['read']:,} rows cannot be used, more than "
        f"{100 * most_refused:g}%. {labels}First, line {faulty[0]['line']}: {faulty[0]['reason']}. To leave "
        f"such rows out, set most_refused in params.yaml to the share that may be faulty, here {share:g}"
    )


def _classes_that_lack(task: Task, rows: pd.DataFrame) -> list[str]:
    """Return the names of the classes that no labelled row has; none for scores, and for files without labels."""
    labels = {int(label) for label in rows["label"].dropna()} if task.kind != "score" else set[int]()
    if not labels:
        return []
    words = {number: word for word, number in task.labels.items()}
    return [words.get(number, str(number)) for number in range(task.classes) if number not in labels]


def _faults(read_files: dict[str, Any]) -> list[str]:
    """Return what is wrong with the files, a line each: refused rows, classes that lack, a dev of one label alone."""
    lines: list[str] = []
    for file in read_files.values():
        if file["drawn"]:
            lines.append(
                f"{file['file']}: {file['kept']:,} of its rows are dev, drawn by their text; there is no dev file"
            )
        if refused := file["refused"]:
            why = f"line {refused[0]['line']}: {refused[0]['reason']}"
            lines.append(f"{file['file']}: {len(refused):,} of {file['read']:,} rows are left out; {why}")
        if file.get("cut", 0) > MOST_CUT:
            share = f"{100 * file['cut']:.0f}% of its rows are longer than model.max_tokens"
            lines.append(f"{file['file']}: {share}, and lose their end")
        if file["lacking"]:
            lines.append(f"{file['file']}: no row has the label {', '.join(file['lacking'])}")
        if file["is_constant"]:
            lines.append(f"{file['file']}: all rows have one label, so that no score tells models apart")
    return lines


def _is_wanted(tasks: Tasks, name: TaskSplit, required: set[TaskSplit]) -> bool:
    """Return whether a file is read: one that trains another task's head only where a variant asks for it."""
    return name in required or not tasks[name[0]].serves


def _write(
    data_dir: Path, task: Task, split: Split, directory: Path, tokenize: Tokenize
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Read one file and write its tokens; return its part of the report, and the digests of its rows."""
    kept, refused = drawing.read(data_dir, task, split)
    (directory / task.name).mkdir(exist_ok=True)
    pq.write_table(_table(kept, tokenize), layout.examples(directory, task.name, split))
    digests = checks.digests(kept)
    about = {
        "file": task.files[drawing.source(task, split)],
        "drawn": split == "dev" and drawing.draws(task),
        "labelled": bool(digests["label"].notna().all()),
        "read": len(kept) + len(refused),
        "kept": len(kept),
        "refused": [refusal._asdict() for refusal in refused],
        "lacking": [] if split == "test" or task.serves else _classes_that_lack(task, digests),
        "is_constant": split == "dev" and digests["label"].nunique() == 1,
        "duplicates": {"folded": checks.duplicates(digests)},
        "conflicts": checks.conflicts(digests),
    }
    return about, digests


def _cut(file: Path, is_one: bool, limit: int) -> float:
    """Return the share of rows that are longer than a sequence may be, with pairs in one or in a sequence each."""
    table = read_parquet(file, ["tokens1", "tokens2"])
    first, second = (np.array([0 if ids is None else len(ids) for ids in table[column]]) for column in table)
    joined = first + second + np.where(second > 0, 3, 2)
    return float(np.mean((joined if is_one else np.maximum(first, second) + 2) > limit))


def _table(rows: list[Example], tokenize: Tokenize) -> pa.Table:
    """Return the rows with the word pieces of each sentence, [rows] lists of ids; null where there is no sentence."""
    columns: dict[str, Any] = dict(zip(Example._fields, zip(*rows, strict=True), strict=True))
    for number in ("1", "2"):
        texts = columns[f"sentence{number}"]
        columns[f"tokens{number}"] = [None] * len(rows) if None in texts else tokenize(list(texts))
    return pa.table(columns, SCHEMA)


def _write_about(directory: Path, task: str, rows: pd.DataFrame, train: pd.DataFrame) -> None:
    """Write dev-rows.parquet beside dev.parquet: what scores need of each of its rows. All are `checks.digests`."""
    cluster = checks.clusters(rows)
    about = read_parquet(layout.examples(directory, task, "dev"), ["id"]).assign(
        cluster=cluster,
        chooses=checks.halves(cluster),
        in_train=np.isin(rows["bare"], train["bare"]),
        shares=np.isin(rows[checks.SENTENCES], train[checks.SENTENCES]).any(axis=1),
    )
    with new_file(layout.rows(directory, task, "dev")) as partial:
        about.to_parquet(partial, index=False)
