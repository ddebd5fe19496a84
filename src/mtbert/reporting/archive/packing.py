"""Write the evidence of a build directory's runs."""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.reporting import catalog as catalogs
from mtbert.reporting import corpora, embeddings, mistakes, searches, sentences
from mtbert.reporting.archive import layout
from mtbert.reporting.archive.layout import COUNTS, DEV_ROWS, OTHERWISE, PLAN, ROW, SHARED, TEXTS
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.tasks import SPLITS, TASKS, Split, Task

ALIKE = "train both on the same data (`dvc repro`)"
# Kept word for word.
FACTS = ("plan/pretrain-*.yaml", "machine.json", "encoders/*/metrics.json", "encoders/base/untrained.json")


def pack(build: Path, directory: Path, earlier: Mapping[Path, dict[str, Any]] | None = None) -> None:
    """Write the evidence of a build directory's selected runs anew.

    Args:
        build: a build directory.
        directory: of the evidence.
        earlier: the lines of runs that were unpacked, by their place; kept as they are, as their digests are of files
            that evidence lacks.

    Raises:
        SettingsError: no catalog.
        DataError: nothing has run, a run is not as it was written, or two runs' prediction files hold other rows.
    """
    earlier = earlier or {}
    completed = catalogs.read_completed(build)
    with files.new_directory(directory) as partial:
        _pack_facts(build, completed, partial / "facts")
        lines = [
            earlier.get(entry.directory(build, seed)) or _run(build, entry, seed) for entry, seed in completed.runs
        ]
        layout.write(pd.DataFrame(lines), partial / "runs.parquet")
        for task in TASKS.values():
            _pack_task(build, completed, task, partial)
        layout.write(_labels(build), partial / "labels.parquet")
        embeddings.write(embeddings.clouds(build, completed), partial / "clouds.parquet")
        files.seal(partial)


def _pack_facts(build: Path, completed: Completed, facts: Path) -> None:
    """Word for word, but for the place of the data, and refused rows, of which the number is kept."""
    for file in (file for pattern in FACTS for file in sorted(build.glob(pattern))):
        files.write_text(facts / file.relative_to(build), file.read_text(encoding="utf-8"))
    content = files.read_plan(build / PLAN)
    files.write_yaml(facts / PLAN, content | ({"data_dir": completed.data} if completed.data else {}), in_order=True)
    if (report := build / COUNTS).is_file():
        files.write_json(facts / COUNTS, _counted(files.read_json(report)))
    for searched in searches.files_of(completed.profile, searches.place(build)):
        files.write_text(facts / "searches" / searched.name, searched.read_text(encoding="utf-8"))


def _counted(report: dict[str, Any]) -> dict[str, Any]:
    """The check of the data with as many refused rows and conflicts, and nothing of what these hold."""
    of_files = {
        name: counts | {"refused": [{}] * len(counts["refused"]), "conflicts": [None] * len(counts["conflicts"])}
        for name, counts in report["files"].items()
    }
    return report | {"files": of_files}


def _run(build: Path, entry: CompletedEntry, seed: int) -> dict[str, Any]:
    place = entry.directory(build, seed)
    texts = {
        name: entry.file(build, seed, name).read_text(encoding="utf-8") if (place / name).is_file() else ""
        for name in TEXTS
    }
    log = None if entry.members else files.log_directory(build, place) / "run.json"
    withheld = [
        f"{task}-{split}" for task in entry.tasks for split in SPLITS if _withheld(build, entry, seed, task, split)
    ]
    about = {"kind": entry.kind, "name": entry.name, "seed": seed, "withheld": " ".join(withheld)}
    said = log.read_text(encoding="utf-8") if log is not None and log.is_file() else ""
    return {**about, **texts, files.DIGESTS: (place / files.DIGESTS).read_text(encoding="utf-8"), "run.json": said}


def _withheld(build: Path, entry: CompletedEntry, seed: int, task: str, split: Split) -> bool:
    file = entry.predictions(build, seed, task, split)
    return file is not None and bool(files.read_parquet(file, ["label"])["label"].isna().all())


def _pack_task(build: Path, completed: Completed, task: Task, directory: Path) -> None:
    """Predictions of each split, probabilities of dev and, of the sample, the sentences."""
    for split in SPLITS:
        tables = dict(_predicted(build, completed, task, split))
        if not tables:
            continue
        what = f"{split} predictions of {task.name}"
        if split == "train":
            rows = _of_any(tables, what)
            tables = {run: _among(rows, table) for run, table in tables.items()}
        else:
            rows = _of_all(tables, what)
        said = {run: _packed(table["prediction"].to_numpy(dtype=float), task) for run, table in tables.items()}
        said |= {f"{run}{OTHERWISE}": table["scored"] for run, table in tables.items() if _otherwise(table, rows)}
        about = build / "data" / task.name / DEV_ROWS
        if split == "dev" and about.is_file():
            rows = pd.concat([rows, _shared(about, len(rows))], axis=1)
        layout.write(
            pd.concat([rows, pd.DataFrame(said)], axis=1), directory / "predictions" / f"{task.name}-{split}.parquet"
        )
        if layout.has_probabilities(task, split):
            layout.write(_probabilities(tables, task), directory / "probabilities" / f"{task.name}.parquet")
    corpus = build / "data" / task.name / "dev.parquet"
    if sentences.may_be_committed(completed) and corpus.is_file():
        texts = files.read_parquet(corpus, ["id", "sentence1", "sentence2", "label"])
        layout.write(texts, directory / "sentences" / f"{task.name}.parquet")


def _predicted(build: Path, completed: Completed, task: Task, split: Split) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every run's predictions whose labels are known, by the run's name and seed."""
    for entry, seed in completed.runs:
        file = entry.predictions(build, seed, task.name, split) if task.name in entry.tasks else None
        if file is not None and not (table := predictions.read(file))["label"].isna().to_numpy().all():
            yield f"{entry.name}/{seed}", table


def _of_any(tables: Mapping[str, pd.DataFrame], what: str) -> pd.DataFrame:
    """The rows that any run scores: which of the training rows these are is up to the code that trained it."""
    every = pd.concat([pd.DataFrame(table, columns=ROW) for table in tables.values()])
    rows = every.drop_duplicates(["id", "label"], ignore_index=True)
    if not rows["id"].is_unique:
        raise DataError(f"{what} hold other labels, so that they make no evidence together; {ALIKE}")
    return rows


def _among(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """A run's predictions in these rows; NaN where it has none."""
    said = rows[["id"]].merge(table[["id", "prediction", "scored"]], how="left", on="id", validate="1:1")
    return said.assign(scored=said["scored"].where(said["scored"].notna(), rows["scored"]).astype(bool))


def _of_all(tables: Mapping[str, pd.DataFrame], what: str) -> pd.DataFrame:
    """Ids and labels, which all have to share: a column a run has no room for others; and what the first run scores."""
    (first, reference), *others = tables.items()
    for run, table in others:
        if not table[["id", "label"]].equals(reference[["id", "label"]]):
            raise DataError(
                f"{what} by {first} and by {run} hold other rows or labels, so that they make no evidence together; "
                f"{ALIKE}"
            )
    return pd.DataFrame(reference, columns=ROW).reset_index(drop=True)


def _otherwise(table: pd.DataFrame, rows: pd.DataFrame) -> bool:
    return not np.array_equal(table["scored"], rows["scored"])


def _packed(values: np.ndarray, task: Task) -> np.ndarray:
    """The same numbers in fewer bytes where they fit."""
    whole = task.kind != "score" and not np.isnan(values).any()
    small = values.astype(np.uint8 if whole else np.float32)
    return small if np.array_equal(small.astype(float), values, equal_nan=True) else values


def _shared(file: Path, rows: int) -> pd.DataFrame:
    """Which dev rows share a sentence, as numbers; and whether training or pretraining has them, without which row."""
    table = files.read_parquet(file, SHARED)
    if len(table) != rows:
        raise DataError(f"{file} holds {len(table)} rows, the predictions {rows}; `dvc repro` makes both again")
    return table.assign(**{name: table[name] != "" for name in ("in_train", "in_pretraining")})


def _probabilities(tables: Mapping[str, pd.DataFrame], task: Task) -> pd.DataFrame:
    return pd.DataFrame(
        {
            f"{run}/{label}": column
            for run, table in tables.items()
            for label, column in enumerate(mistakes.thousandths(table, task).T)
        }
    )


def _labels(build: Path) -> pd.DataFrame:
    """How often each label comes in the sets whose shares the report draws."""
    lines = []
    for task, split in itertools.product(corpora.LABELLED, ("train", "dev")):
        file = build / "data" / task / f"{split}.parquet"
        if file.is_file():
            counts = files.read_parquet(file, ["label"])["label"].value_counts().sort_index()
            lines += [{"task": task, "split": split, "label": label, "rows": rows} for label, rows in counts.items()]
    return pd.DataFrame(lines, columns=["task", "split", "label", "rows"])
