"""Make the four tasks of a support desk from generated sentences, in each form that people have: `python desk.py OUT`.

topic (four words), urgent (yes or no), dup (pairs, 0 or 1) and rel (pairs, a score of 0 to 5).
"""

import csv
import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Rows = list[dict[str, Any]]
TOPICS = {
    "billing": ("invoice", "charge", "refund", "card", "price"),
    "bug": ("crash", "error", "freeze", "screen", "failure"),
    "praise": ("love", "thanks", "great", "happy", "wonderful"),
    "question": ("how", "where", "which", "why", "when"),
}
FILLERS = ("the", "my", "account", "app", "order", "page", "today", "again", "please", "with", "on", "it")
HURRY = ("now", "urgent", "immediately", "asap")
SIZES = {"topic": (240, 80), "urgent": (180, 60), "dup": (240, 100), "rel": (240, 100)}
FORMS = ("csv", "semicolon", "tsv", "jsonl", "parquet", "csv.gz")


def sentence(random: np.random.Generator, topic: str, hurried: bool = False) -> str:
    words = [*random.choice(TOPICS[topic], 2, replace=False), *random.choice(FILLERS, 4), *HURRY[: 2 * hurried]]
    return " ".join(random.permutation(words))


def made(task: str, rows: int, random: np.random.Generator) -> Rows:
    """Return rows of a task; a label says what the words say."""
    found: Rows = []
    for number in range(rows):
        topic, other = random.choice([*TOPICS], 2, replace=False)
        same = bool(number % 2)
        first, second = sentence(random, topic), sentence(random, topic if same else other)
        if task == "topic":
            found.append({"text": f"{first} {number}", "topic": topic})
        elif task == "urgent":
            found.append({"body": f"{sentence(random, topic, same)} {number}", "urgent": "yes" if same else "no"})
        elif task == "dup":
            found.append({"sentence1": f"{first} {number}", "sentence2": f"{second} {number}", "label": int(same)})
        else:
            score = round(float(random.uniform(3, 5) if same else random.uniform(0, 2)), 1)
            found.append({"sentence1": f"{first} {number}", "sentence2": f"{second} {number}", "score": score})
    return found


def content(rows: Rows, form: str) -> bytes:
    """Return rows as the bytes of a file."""
    buffer = io.StringIO(newline="")
    if form.startswith("jsonl"):
        buffer.write("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        separator = {"semicolon": ";", "tsv": "\t"}.get(form, ",")
        writer = csv.DictWriter(buffer, [*rows[0]], delimiter=separator)
        writer.writeheader()
        writer.writerows(rows)
    text = buffer.getvalue().encode("utf-8-sig" if form == "csv" else "utf-8")
    return gzip.compress(text, mtime=0) if form.endswith(".gz") else text


def write(folder: Path, form: str = "csv", sizes: dict[str, tuple[int, int]] = SIZES) -> None:
    """Write TASK-train and TASK-dev of every task in a form."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(7)
    for task, counts in sizes.items():
        for split, count in zip(("train", "dev"), counts, strict=True):
            rows = made(task, count, random)
            file = folder / f"{task}-{split}.{'csv' if form == 'semicolon' else form}"
            if form == "parquet":
                pq.write_table(pa.Table.from_pylist(rows), file)
            else:
                file.write_bytes(content(rows, form))


if __name__ == "__main__":
    for each in FORMS:
        write(Path(sys.argv[1]) / each, each)
