"""Make tokens and a report from corpus files: what the `preprocess` stage does.

`TASK/SPLIT.parquet` holds the examples: id, sentence1, sentence2, label, line, tokens1, tokens2, `hash`, by which a row
is drawn or spared, and `cluster`, which rows have in common that share a sentence or group. Of a task with folds, train
and dev both have all rows: `fold` says in which of them a row is dev. `dev_folds` of train are the folds whose training
does not read the row, bit f for fold f: it is dev there, or its group is another task's.

`TASK/dev-shared.parquet` holds what rows of dev share with other files: `in_train` (whether the sentences are a row of
train, case, spacing and punctuation dropped; with folds, a row of the other folds), `shares` (a sentence with train),
and `shared_cluster` over all tasks, -1 where no other task has rows of it. No training reads it.

`report.json` lists what was read, refused and found twice, `digests.json` all that was written. The same files give the
same bytes.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from mtbert import layout
from mtbert.data import checks, drawing, held_out, official, readers, several
from mtbert.data.readers import Example
from mtbert.data.tokens import SpecialTokens, Tokenize, once
from mtbert.errors import DataError, first_of
from mtbert.files import compressed, new_directory, new_file, read_arrow, read_parquet, sha256, write_json
from mtbert.provenance import seals
from mtbert.tasks import SPLITS, Split, Task, Tasks, read_folder

TaskSplit = tuple[str, Split]  # task and split
Digests = dict[TaskSplit, Any]  # pandas.DataFrames, as `checks.digests` returns them
Folds = Mapping[str, np.ndarray]  # by task that has folds, the fold of each row, [rows]
MOST_REFUSED = 0.01  # of a file's rows: more are no slips, but another kind of label
FEW = 3  # faulty rows, of a file of any size
MOST_IN_TRAIN = 0.25  # of dev's rows, in the train of a task: more are no coincidence
MOST_CUT = 0.02  # of a split's rows: more are a fault of the file
AS_BERTS = SpecialTokens(start=101, end=102, padding=0, mask=103)
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
    held_out_rows: int = 0,
    most_refused: float = MOST_REFUSED,
    longest: Mapping[str, tuple[bool, int]] | None = None,
    special_tokens: SpecialTokens = AS_BERTS,
    pretraining: Collection[str] = (),
) -> dict[str, Any]:
    """Read every corpus file below `data_dir` into the new directory `out`.

    Args:
        data_dir: the folder of cs224n/ and nli/.
        out: replaced as a whole, once all is written.
        tokenize: maps texts to the ids of their word pieces, without special tokens.
        required: tasks and splits that the variants need; others may be missing.
        held_out_rows: number of training rows of each required task that take the place of its dev rows; 0: none.
        most_refused: the largest share of a required file's rows that may be faulty, and are then left out.
        longest: by task, whether pairs are one sequence, and how many tokens a sequence may have.
        special_tokens: what the encoder's tokenizer puts around sentences, which counts there, too.
        pretraining: tasks whose train pretraining reads; the digests of these files go into a file of their own.

    Returns:
        The content of report.json: rows read, kept and refused, duplicates and conflicts of each file; what is wrong
        with them (`faults`, a line each); and the kind of data (`whose`, see `official.data_kind`).

    Raises:
        DataError: a required file is missing or has too many faulty rows, or a file has another format.
    """
    tasks = read_folder(data_dir)
    names = _file_names(tasks)
    present = [key for key, name in names.items() if (data_dir / name).is_file() and _is_wanted(tasks, key, required)]
    if missing := sorted(required.difference(present)):
        raise _missing_files(data_dir, {key: names[key] for key in missing})
    with new_directory(out) as directory:
        entries: dict[str, dict[str, Any]] = {}
        digests: Digests = {}
        splits = drawing.Splits(data_dir, tasks)
        tokenizers = {name: once(tokenize) for name in _shared_files(names)}
        for task, split in present:
            tokenize_file = tokenizers.get(names[task, split], tokenize)
            entry, rows = _write(splits, tasks[task], split, directory, tokenize_file)
            if (task, split) in required:
                _check_refused(data_dir, tasks[task], entry, rows, most_refused)
            entries[f"{task}/{split}"] = entry
            digests[task, split] = rows
        if held_out_rows:
            _hold_out(directory, [task for task, split in required if split == "dev"], held_out_rows, digests)
        _write_facts_of_rows(directory, tasks, digests, _folds(splits, tasks, digests), entries)
        for task, split in present:
            file = layout.examples(directory, task, split)
            if longest and task in longest and file.is_file():  # held-out rows have no test
                is_joined, limit = longest[task]
                room = limit - special_tokens.count(pair=is_joined and tasks[task].is_pair)
                entries[f"{task}/{split}"]["cut"] = _share_cut(file, is_joined, room)
        report = {
            "files": entries,
            "faults": _faults(entries, _shared_files(names)),
            "whose": "own" if held_out_rows else official.data_kind(_digests_of_files(data_dir, names, present)),
        }
        write_json(layout.data_report(directory), report)
        _write_pretraining(directory, pretraining)
        seals.seal(directory)
    return report


def _write_pretraining(directory: Path, tasks: Collection[str]) -> None:
    """Write the lines of digests.json, the folder's seal, that are of the examples that pretraining reads."""
    read = [layout.examples(directory, task, "train") for task in tasks]
    write_json(layout.pretraining(directory), {file.relative_to(directory).as_posix(): sha256(file) for file in read})


def _folds(splits: drawing.Splits, tasks: Tasks, digests: Digests) -> Folds:
    """Return the fold of each row, by task that has folds."""
    return {
        name: splits.folds(tasks[name], rows["line"])
        for (name, split), rows in digests.items()
        if split == "dev" and tasks[name].folds
    }


def _file_names(tasks: Tasks) -> dict[TaskSplit, str]:
    """Return the name of each split's file, below the data folder."""
    names: dict[TaskSplit, str] = {}
    for task in tasks.values():
        for split in SPLITS:
            source = drawing.source(task, split)
            if source in task.files:
                names[task.name, split] = task.files[source]
    return names


def _digests_of_files(data_dir: Path, names: Mapping[TaskSplit, str], present: Sequence[TaskSplit]) -> dict[str, str]:
    """Return the SHA-256 of each file, by its name."""
    return {names[key]: sha256(data_dir / names[key]) for key in present}


def _shared_files(names: Mapping[TaskSplit, str]) -> set[str]:
    """Return the names of the files that have the labels of several tasks."""
    tasks_by_file: dict[str, set[str]] = {}
    for (task, _), name in names.items():
        tasks_by_file.setdefault(name, set()).add(task)
    return {name for name, tasks in tasks_by_file.items() if len(tasks) > 1}


def _is_wanted(tasks: Tasks, key: TaskSplit, required: set[TaskSplit]) -> bool:
    """Return whether a file is read: one that trains another task's head only where a variant asks for it."""
    task, _ = key
    return key in required or not tasks[task].serves


def _missing_files(data_dir: Path, names: Mapping[TaskSplit, str]) -> DataError:
    listing = ", ".join(f"{name} (for {task}/{split})" for (task, split), name in names.items())
    return DataError(
        f"the variants need files that are missing: {listing}; looked below {data_dir}, which is data_dir in "
        f"params.yaml{compressed(data_dir, names.values())}"
    )


def _check_refused(data_dir: Path, task: Task, entry: dict[str, Any], rows: pd.DataFrame, most_refused: float) -> None:
    """Raise DataError where more of a file's rows are faulty than may be, with the labels that it holds."""
    faulty = [refusal for refusal in entry["refused"] if refusal["is_faulty"]]
    if not are_too_many(len(faulty), entry["read"], most_refused):
        return
    share = math.ceil(100 * len(faulty) / entry["read"]) / 100
    raise DataError(
        f"{data_dir / entry['file']}: {len(faulty):,} of {entry['read']:,} rows cannot be used, more than "
        f"{100 * most_refused:g}%. {_other_labels(task, faulty, rows)}First, line {faulty[0]['line']}: "
        f"{faulty[0]['reason']}. To leave such rows out, set most_refused in params.yaml to the share that may be "
        f"faulty, here {share:g}"
    )


def are_too_many(faulty: int, read: int, most_refused: float) -> bool:
    """Return whether more of the rows that were read are faulty than may be.

    As many as FEW are slips, however small the file is; where `most_refused` is 0, none may be faulty.
    """
    return faulty > (max(FEW, most_refused * read) if most_refused else 0)


def _other_labels(task: Task, faulty: list[dict[str, Any]], rows: pd.DataFrame) -> str:
    """Return a sentence on the labels of a file and on those that are allowed; nothing where all of them are."""
    in_faulty_rows = {refusal["label"] for refusal in faulty if refusal["label"]}
    if not in_faulty_rows:
        return ""
    words = task.class_labels
    numbers = rows["label"].dropna().unique()
    if task.several:
        in_other_rows = several.labels_of(task, numbers.tolist())
    else:
        in_other_rows = {words[int(label)] if words else f"{label:g}" for label in numbers}
    labels = first_of(sorted(in_other_rows | in_faulty_rows), readers.MOST_LABELS)
    return f"Its {task.label} holds {labels}; allowed: {readers.allowed_labels(task)}. "


def _hold_out(directory: Path, tasks: Sequence[str], count: int, digests: Digests) -> None:
    """Move rows of each task's train to its dev, in the written files and in the digests."""
    masks = held_out.draw({task: digests[task, "train"] for task in sorted(tasks)}, count)
    for task, is_held_out in masks.items():
        train = digests[task, "train"]
        held_out.move(directory, task, is_held_out)
        digests[task, "train"] = train[~is_held_out]
        digests.pop((task, "test"), None)
        digests[task, "dev"] = train[is_held_out].reset_index(drop=True)


def classes_without_rows(task: Task, rows: pd.DataFrame) -> list[str]:
    """Return the labels of the classes that no labelled row has; none for scores, and for files without labels."""
    if task.kind == "score":
        return []
    labels = {int(label) for label in rows["label"].dropna()}
    if not labels:
        return []
    if task.several:
        present = several.labels_of(task, [*map(float, labels)])
        return [label for label in task.class_labels if label not in present]
    return [label for number, label in enumerate(task.class_labels) if number not in labels]


def _faults(entries: dict[str, Any], shared_files: Collection[str]) -> list[str]:
    """Return what is wrong with the files, a line each: such as refused rows, or a dev that is part of train."""
    lines: list[str] = []
    for key, entry in entries.items():
        task, split = key.split("/")
        file = f"{entry['file']}, task {task}" if entry["file"] in shared_files else entry["file"]
        if entry.get("folds"):
            rows = f"each of its {entry['kept']:,} rows is predicted by a model that did not see it"
            lines.append(f"{file}: {rows} ({entry['folds']} folds, {entry['drawn']})")
        elif entry["drawn"]:
            lines.append(
                f"{file}: {entry['kept']:,} of its rows are dev, {entry['drawn']}; tasks.yaml names no dev file"
            )
        lines += _faults_of_dev(task, file, entry)
        if refused := entry["refused"]:
            why = f"line {refused[0]['line']}: {refused[0]['reason']}"
            lines.append(f"{file}: {len(refused):,} of {entry['read']:,} rows are left out; {why}")
        if entry.get("cut", 0) > MOST_CUT:
            share = f"{100 * entry['cut']:.0f}%"
            lines.append(f"{file}: {share} of its {split} rows are longer than model.max_tokens, and lose their end")
        lines += _faults_of_groups(split, file, entry)
        lines += _faults_of_labels(file, entry)
    return lines


def _faults_of_labels(file: str, entry: dict[str, Any]) -> Iterator[str]:
    """Yield which labels no row has, which every row has, and whether all rows have one."""
    if entry["lacking"]:
        yield f"{file}: no row has the label {', '.join(entry['lacking'])}"
    if entry.get("in_all"):
        yield f"{file}: every row has the label {', '.join(entry['in_all'])}"
    if entry["is_constant"]:
        yield f"{file}: all rows have one label, so no score can tell models apart"


def _faults_of_dev(task: str, file: str, entry: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each train that holds more dev rows than coincidence explains."""
    for other, count in entry.get("in_train", {}).items():
        if count <= MOST_IN_TRAIN * entry["kept"]:
            continue
        share = f"{file}: {count:,} of {entry['kept']:,} dev rows"
        if other == task:
            yield f"{share} are in train, too"
        else:
            yield f"{share} of {task} are in train of {other}, so a model of both tasks has seen their text"


def _faults_of_groups(split: str, file: str, entry: dict[str, Any]) -> Iterator[str]:
    """Yield a line for rows whose group train may have."""
    if without := entry.get("without_group"):
        yield f"{file}: {without:,} of {entry['kept']:,} {split} rows have no {entry['group_on']}, so train may have it"


def _write(
    splits: drawing.Splits, task: Task, split: Split, directory: Path, tokenize: Tokenize
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Read one file and write its tokens; return its entry in the report, and the digests of its rows."""
    examples, refusals, in_file = splits.read(task, split)
    (directory / task.name).mkdir(exist_ok=True)
    pq.write_table(_table(examples, tokenize), layout.examples(directory, task.name, split))
    digests = checks.digests(examples).assign(hash=np.array([*map(drawing.hash_of, examples)], np.uint64))
    entry = {
        "file": task.files[drawing.source(task, split)],
        "drawn": split == "dev" and task.draws_dev and drawing.rule_in_words(task),
        "labelled": bool(digests["label"].notna().all()),
        "read": in_file,
        "kept": len(examples),
        "refused": [refusal._asdict() for refusal in refusals],
        "lacking": [] if split == "test" or task.serves else classes_without_rows(task, digests),
        **({"in_all": several.in_all(task, [*digests["label"].dropna()])} if task.several else {}),
        "is_constant": split == "dev" and digests["label"].nunique() == 1,
        "duplicates": checks.duplicates(digests),
        "conflicts": checks.conflicts(digests),
    }
    if task.folds and split == "dev":
        entry |= {"folds": task.folds}
    if task.group_on:
        entry |= {"group_on": task.group_on, "without_group": sum(not row.group for row in examples)}
    return entry, digests


def _rows_in_train(task: str, digests: Digests, folds: Folds) -> dict[str, int]:
    """Return how many rows of a task's dev are in the train of each task, as a shared model learns all; 0s left out."""
    counts: dict[str, int] = {}
    for other, split in digests:
        if split == "train" and (count := int(_is_in_train(task, other, digests, folds, ["unpunctuated"]).sum())):
            counts[other] = count
    return counts


def _is_in_train(task: str, other: str, digests: Digests, folds: Folds, columns: list[str]) -> np.ndarray:
    """Return whether a row of a task's dev has one of these digests in common with train of another task, [rows].

    Where both have folds, train is that of the other folds: of the trainings whose dev has the row.
    """
    dev, train = digests[task, "dev"][columns], digests.get((other, "train"), checks.digests([]))[columns]
    if task not in folds or other not in folds:
        return np.asarray(np.isin(dev, train).any(axis=1))
    is_known = np.zeros(len(dev), dtype=bool)
    for fold in np.unique(folds[task]):
        is_dev = folds[task] == fold
        is_known[is_dev] = np.isin(dev[is_dev], train[folds[other] != fold]).any(axis=1)
    return is_known


def _share_cut(file: Path, is_joined: bool, room: int) -> float:
    """Return the share of rows that are cut; bi-encoded sentences count one by one."""
    table = read_parquet(file, ["tokens1", "tokens2"])
    first, second = (np.array([0 if ids is None else len(ids) for ids in table[column]]) for column in table)
    lengths = first + second if is_joined else np.maximum(first, second)
    return float(np.mean(lengths > room))


def _table(rows: list[Example], tokenize: Tokenize) -> pa.Table:
    """Return the rows with the word pieces of each sentence, [rows] lists of ids; null where there is no sentence."""
    columns: dict[str, Any] = dict(zip(Example._fields, zip(*rows, strict=True), strict=True))
    for number in ("1", "2"):
        texts = columns[f"sentence{number}"]
        columns[f"tokens{number}"] = [None] * len(rows) if None in texts else tokenize(list(texts))
    return pa.table(columns, SCHEMA)


def _dev_folds(tasks: Tasks, digests: Digests, folds: Folds) -> dict[str, np.ndarray]:
    """Return by task the folds whose training does not read each row of train, [rows]: bit f for fold f.

    Those are the folds in which the row is dev, and in which another task has its group.
    """
    dev_folds: dict[str, np.ndarray] = {}
    for (task, split), rows in digests.items():
        if split != "train":
            continue
        bits = 1 << folds[task] if task in folds else np.zeros(len(rows), int)
        for other, fold_of_row in folds.items():
            if tasks[task].group_on and other != task and tasks[other].group_on == tasks[task].group_on:
                groups = digests[other, "dev"]["group"]
                for fold in range(tasks[other].folds):
                    bits |= np.isin(rows["group"], groups[fold_of_row == fold]).astype(int) << fold
        dev_folds[task] = bits
    return dev_folds


def _write_facts_of_rows(
    directory: Path, tasks: Tasks, digests: Digests, folds: Folds, entries: dict[str, dict[str, Any]]
) -> None:
    """Write what splits and scores need of rows, and into the entries of dev in the report what train holds of them."""
    _add_columns(directory, tasks, digests, folds)
    _write_shared(directory, digests, folds)
    for task, split in digests:
        if split == "dev":
            entries[f"{task}/dev"]["in_train"] = _rows_in_train(task, digests, folds)


def _add_columns(directory: Path, tasks: Tasks, digests: Digests, folds: Folds) -> None:
    """Add to the files of examples what splits and scores need of rows."""
    dev_folds = _dev_folds(tasks, digests, folds)
    for (task, split), rows in digests.items():
        columns = {"hash": rows["hash"].to_numpy(), "cluster": checks.clusters(rows)}
        if task in folds and split != "test":
            columns["fold"] = folds[task]
        if split == "train":
            columns["dev_folds"] = dev_folds[task]
        file = layout.examples(directory, task, split)
        table = read_arrow(file)
        for name, values in columns.items():
            table = table.append_column(name, pa.array(values))
        pq.write_table(table, file)


def _write_shared(directory: Path, digests: Digests, folds: Folds) -> None:
    """Write dev-shared.parquet of each task that has a dev."""
    with_dev = [task for task, split in digests if split == "dev"]
    shared_clusters = checks.shared_clusters({task: digests[task, "dev"] for task in with_dev})
    for task in with_dev:
        table = read_parquet(layout.examples(directory, task, "dev"), ["id"]).assign(
            in_train=_is_in_train(task, task, digests, folds, ["unpunctuated"]),
            shares=_is_in_train(task, task, digests, folds, [*checks.SENTENCES]),
            shared_cluster=shared_clusters[task],
        )
        with new_file(layout.shared(directory, task)) as partial:
            table.to_parquet(partial, index=False)
