"""A small build directory with all that the page of a report shows, and a page made of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors.numpy import save_file

from mtbert import files, metrics, predictions
from mtbert.reporting import answers, published, tables
from mtbert.reporting import page as rendered
from mtbert.reporting.claims import Answer, Claim, Comparison, Part, Verdict
from mtbert.reporting.sections import SECTIONS
from mtbert.reporting.sections.base import Report
from mtbert.tasks import TASKS, Task

HOSTILE = "<script>document.title = 'taken'</script> & <b>bold</b>"  # what a corpus may hold
ROWS, WIDTH = 24, 8
PAPER = "pals-for-pals"
CHANGED = {"pals.dim": 276}  # of what ships, in one of the variants
RUNS = {  # variant: its row, its tasks, and whether it encodes the sentences of a pair apart
    "bert-sst": ("Fine-tuned BERT", ("sst",), False),
    "bert-qqp": ("Fine-tuned BERT", ("qqp",), False),
    "bert-sts": ("Fine-tuned BERT", ("sts",), False),
    "pals": ("Original PALs", metrics.MAIN_TASKS, False),
    "sbert-pals": ("SBERT PALs", metrics.MAIN_TASKS, True),
}


def write(build: Path, data_dir: str = "data/sample", seeds: Sequence[int] = (1, 2)) -> Path:
    """Runs of three variants and a vote; a fourth variant was not asked for."""
    variants = {
        name: {"paper": PAPER, "row": row, "tasks": list(tasks), "selected": True}
        for name, (row, tasks, _) in RUNS.items()
    }
    variants["frozen-bert"] = variants["pals"] | {"row": "Frozen BERT", "selected": False}
    variants["pals"]["departures"] = CHANGED
    vote = {"paper": PAPER, "row": "PALs ensemble", "members": ["pals", "sbert-pals"], "selected": True}
    about = {"profile": "sample", "seeds": list(seeds), "keep": "last", "selection": "whole", "data_dir": data_dir}
    about["overrides"] = ["pals.dim=276"]
    encoder = {"name": "tiny", "note": "An untrained encoder."}
    plan = about | {"encoder": encoder, "variants": variants, "ensembles": {"vote": vote}}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    for seed in seeds:
        for name, (_, tasks, apart) in RUNS.items():
            _run(build, build / "runs" / name / str(seed), name, tasks, seed, apart)
        vote = build / "ensembles/vote" / str(seed)
        _results(vote, metrics.MAIN_TASKS, seed, {"ensemble": "vote", "members": ["pals", "sbert-pals"]})
    for task in metrics.MAIN_TASKS:
        _corpus(build, TASKS[task])
    counts = {"exact": 1, "folded": 2, "bare": 3}
    checked = {"labelled": True, "read": ROWS, "kept": ROWS, "refused": [], "duplicates": counts, "conflicts": []}
    files.write_json(build / "data/report.json", {"files": {"sst/dev": checked, "sts/dev": checked | {"kept": 9}}})
    return build


def _run(build: Path, place: Path, name: str, tasks: Sequence[str], seed: int, apart: bool) -> None:
    lines = [f"0,{step},loss/{task},{2 / step}" for step in (1, 2, 4) for task in tasks]
    files.write_text(place / "history.csv", "phase,step,name,value\n" + "\n".join(lines) + "\n")
    random = np.random.default_rng(seed)
    shapes = {task: (2 if apart and TASKS[task].is_pair else 1, ROWS, WIDTH) for task in tasks}
    save_file(
        {t: random.normal(size=s).astype(np.float16) for t, s in shapes.items()}, place / "embeddings.safetensors"
    )
    added = 250_000 * (len(name) - 3)
    weights = {"encoder": 1_000_000, "added": added, "trained": 1_250_000, "stored": 1_000_000 + added}
    about = {"parameters": weights, "steps": 4, "epoch": 1, "variant": name}
    _results(place, tasks, seed, about | {"examples": {"sst": 1200}, "device": "cpu", "precision": "fp32"})
    machine = {"processor": "Some CPU", "cores": 2, "memory_gb": 23.4, "accelerator": ""}
    log: dict[str, Any] = {"seconds": 65.0 * seed, "training_seconds": 30.0 * len(tasks)}
    log |= {"examples_per_second": 120.0, "peak_memory_mb": 900.0}
    file = files.log_directory(build, place) / "run.json"
    files.write_json(file, log | {"machine": machine, "versions": {"torch": "2.13.0"}})


def _results(place: Path, tasks: Sequence[str], seed: int, about: dict[str, Any]) -> None:
    """Predictions of dev, of which the last row does not count, and the scores that follow from them."""
    scores = {}
    for at, task in enumerate(tasks):
        random = np.random.default_rng([seed, at, len(place.parent.name)])
        labels = _labels(TASKS[task])
        predicted = np.where(random.random(ROWS) < 0.3, np.roll(labels, 1), labels)
        table = pd.DataFrame({"id": [f"{task}-{row}" for row in range(ROWS)], "label": labels, "prediction": predicted})
        for label, column in enumerate(predictions.probability_columns(TASKS[task])):
            table[column] = np.where(predicted == label, 0.9, 0.1 / max(TASKS[task].classes - 1, 1))
        table["scored"] = table["overall"] = np.arange(ROWS) < ROWS - 1
        predictions.write(predictions.path(place, task, "dev"), table, TASKS[task])
        scores[task] = predictions.score(table, TASKS[task])
    files.write_json(
        place / "metrics.json", about | {"seed": seed, "dev": scores | metrics.overall(scores), "test": {}}
    )
    files.seal(place)


def _labels(task: Task) -> np.ndarray:
    """All classes in turn; of scores, from the lowest to the highest."""
    return np.arange(ROWS) % task.classes * 1.0 if task.kind != "score" else np.linspace(0, 5, ROWS).round(1)


def _corpus(build: Path, task: Task) -> None:
    second = [f"another {row}" if task.is_pair else None for row in range(ROWS)]
    ids = [f"{task.name}-{row}" for row in range(ROWS)]
    first = [f"{HOSTILE} {task.name} {row}" for row in range(ROWS)]
    table = pd.DataFrame({"id": ids, "sentence1": first, "sentence2": second, "label": _labels(task)})
    (build / "data" / task.name).mkdir(parents=True)
    table.to_parquet(build / "data" / task.name / "dev.parquet")


def verdict(answer: Answer, statement: str = "PALs help.", *confounded: str) -> Verdict:
    """A made-up one, with a comparison where the claim was run."""
    part = Part(
        ours=("pals",), other=("bert-sst",), metric="sst", expects="higher", published=0.05, matters=0.01,
        confounded=confounded,
    )  # fmt: skip
    found = Comparison(
        ("pals",), ("bert-sst",), "sst", 0.031, 0.01, 0.052, 0.004, 0.012, 2, 2202, 0.024, {"McNemar": 0.03},
        refuted=0.34,
    )  # fmt: skip
    claim = Claim(name="pals-help", paper=PAPER, section="4", statement=statement, parts=(part,))
    deciding = (0,) if answer in answers.PROVED else ()
    compared = None if answer == "not run" else found
    return Verdict(claim, answer, f"Why it is: {answer}.", (answer,), (compared,), deciding=deciding)


VERDICTS = [
    verdict("holds"),
    verdict("does not hold", HOSTILE),
    verdict("cannot be told from these runs", "PALs help.", "the order of tasks"),
    verdict("not run"),
]


def page(
    build: Path, local: bool = True, verdicts: Sequence[Verdict] = VERDICTS, baseline: bool = False
) -> str:  # fmt: skip
    """The page of a build directory; with a baseline, the rows of the first table are tested against it."""
    report = Report.read(build, SECTIONS)
    report.verdicts = list(verdicts)
    report.tables = tables.compare(published.load(), report.completed, report.scores, report.weights)
    if baseline:
        report.tables = tables.against(report.tables, report.evidence, {f"{PAPER}-table-1": ("sbert-pals",)})
    return rendered.render(report, local)
