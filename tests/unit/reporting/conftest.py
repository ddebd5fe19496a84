"""A small synthetic build directory: every score is chosen, so every line of the report can be written out."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtbert import files, metrics, predictions
from mtbert.tasks import TASKS

ROWS = 100  # so that a hundredth is a score
HIGHEST = {"sst": 4.0, "qqp": 1.0, "sts": 5.0}  # label of every other row; that of the rest is 0
PAPER = "pals-for-pals"
RUN = {"run": {"keep": "last", "selection": "whole", "threads": 2}}


def catalog(seeds: list[int], pals_selected: bool = True) -> dict:
    """Three single-task variants, one of all tasks, one not selected, and a vote."""
    single = {
        f"bert-{task}": {"paper": PAPER, "row": "Fine-tuned BERT", "tasks": [task], "selected": True}
        for task in metrics.MAIN_TASKS
    }
    every = {"paper": PAPER, "tasks": ["sst", "qqp", "sts"]}
    return {
        "profile": "sample",
        "seeds": seeds,
        "keep": "last",
        "selection": "whole",
        "encoder": {"name": "tiny", "note": "untrained"},
        "variants": single
        | {"pals": every | {"row": "Original PALs", "selected": pals_selected}}
        | {"frozen-bert": every | {"row": "Frozen BERT", "selected": False}},
        "ensembles": {"vote": {"paper": PAPER, "row": "PALs ensemble", "members": ["pals"], "selected": pals_selected}},
    }


def predicted(labels: np.ndarray, task: str, score: float) -> np.ndarray:
    """Predictions whose accuracy or Pearson's r is `score`."""
    if TASKS[task].metric == "accuracy":
        return np.where(np.arange(ROWS) < round(score * ROWS), labels, HIGHEST[task] - labels)
    other = np.tile([1.0, 1.0, -1.0, -1.0], ROWS // 4)  # of no correlation with the labels
    return score * (labels / 2.5 - 1) + np.sqrt(1 - score**2) * other


def predict(directory: Path, task: str, split: str, score: float | None) -> None:
    """Predictions of that score; without labels where it is None."""
    labels = np.tile([HIGHEST[task], 0.0], ROWS // 2)
    said = predicted(labels, task, 1.0 if score is None else score)
    table = pd.DataFrame({"id": [f"r{row}" for row in range(ROWS)], "label": labels, "prediction": said})
    table = table.assign(label=float("nan")) if score is None else table
    for column in predictions.probability_columns(TASKS[task]):
        table[column] = 1 / TASKS[task].classes
    table["scored"] = table["overall"] = True
    predictions.write(predictions.path(directory, task, split), table, TASKS[task])  # pyright: ignore


def write_run(directory: Path, scores: dict[str, float], test: dict[str, float], about: dict) -> None:
    """Metrics and predictions of one run: dev as given, test withheld where it is not."""
    files.write_json(
        directory / "metrics.json",
        about | {"dev": scores | metrics.overall(scores), "test": test | metrics.overall(test)},
    )
    for task in scores:
        predict(directory, task, "dev", scores[task])
        predict(directory, task, "test", test.get(task))
    files.seal(directory)


def write_log(file: Path) -> None:
    machine = {"processor": "Some CPU", "cores": 2, "memory_gb": 23.4, "accelerator": ""}
    run = {"started": "2025-01-01T00:00:00", "seconds": 125.4, "training_seconds": 100.0}
    run |= {"examples_per_second": 120.0, "peak_memory_mb": 900.0}
    files.write_json(file, run | {"machine": machine, "versions": {"torch": "2.13.0"}})


@pytest.fixture
def make_build(tmp_path: Path) -> Callable[..., Path]:
    """A function that writes a build directory: `pals` has dev scores that rise by 0.01 with each seed."""

    def make(seeds: tuple[int, ...] = (1,), test: dict[str, float] | None = None) -> Path:
        build = tmp_path / "build"
        files.write_yaml(build / "plan" / "catalog.yaml", catalog(list(seeds)))
        for at, seed in enumerate(seeds):
            dev = {"sst": 0.4 + at / 100, "qqp": 0.8 + at / 100, "sts": 0.6 + at / 100}
            runs = {"pals": dev} | {f"bert-{task}": {task: value + 0.05} for task, value in dev.items()}
            for name, scores in runs.items():
                place = build / "runs" / name / str(seed)
                weights = {"encoder": 1_000_000, "added": 250_000, "trained": 1_250_000, "stored": 1_250_000}
                known = {task: value for task, value in (test or {}).items() if task in scores}
                about = {"variant": name, "seed": seed, "steps": 4, "epoch": 1, "parameters": weights}
                about |= {"examples": {"sst": 12000}, "device": "cpu", "precision": "bf16"}
                lines = [f"0,{step},loss/{task},{2 / step}" for step in (1, 2, 4) for task in scores]
                files.write_text(place / "history.csv", "phase,step,name,value\n" + "\n".join(lines) + "\n")
                files.write_yaml(place / "settings.yaml", RUN)
                write_run(place, scores, known, about)
                write_log(files.log_directory(build, place) / "run.json")
            about = {"ensemble": "vote", "seed": seed, "members": ["pals"]}
            write_run(build / "ensembles" / "vote" / str(seed), dev, test or {}, about)
            files.seal(build / "ensembles" / "vote" / str(seed))
        return build

    return make
