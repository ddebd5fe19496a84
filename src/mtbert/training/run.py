"""One run from ready parts to what it leaves behind: weights, settings, scores, history, predictions, logs."""

import datetime
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from safetensors.torch import save_file

from mtbert import files, predictions
from mtbert.data.batches import Examples
from mtbert.encoder import hardware
from mtbert.model import MultitaskModel
from mtbert.settings import VariantSettings
from mtbert.tasks import Split
from mtbert.tracking import LiveRun
from mtbert.training import evaluation, logs
from mtbert.training.history import History
from mtbert.training.loop import Outcome, Trainer
from mtbert.training.phases import Phase


@dataclass
class Parts:
    """All that a run is made of; `phases` makes each phase when its turn comes."""

    settings: VariantSettings
    seed: int
    model: MultitaskModel
    phases: Iterable[Phase]
    steps: int
    examples: Mapping[Split, Mapping[str, Examples]]


def device_and_precision(settings: VariantSettings) -> tuple[torch.device, str]:
    """What the `run` section comes to on this machine."""
    device = hardware.device(settings.run.device)
    return device, hardware.precision(settings.run.precision, device)


def train(parts: Parts, run_directory: Path, logs_directory: Path) -> dict[str, Any]:
    """Train, score and write; returns metrics.json's content. Nothing is left behind where it fails."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.perf_counter()
    with LiveRun(parts.settings.model_dump(), parts.seed) as live:  # ends the run in MLflow too where this one fails
        device, precision = device_and_precision(parts.settings)
        accelerator = Accelerator(mixed_precision="bf16" if precision == "bf16" else "no", cpu=device.type == "cpu")
        parts.model.to(device)
        history = History(parts.settings.run.log_every, live.log)
        trainer = Trainer(
            parts.model, parts.settings.run, accelerator, history, parts.examples.get("dev", {}), parts.seed
        )
        outcome = trainer.run(parts.phases, parts.steps)
        with files.new_directory(run_directory) as directory:
            metrics = _write_results(directory, parts, outcome, history, accelerator)
        with files.new_directory(logs_directory) as directory:
            history.write_speed(directory / "speed.csv")
            took = time.perf_counter() - clock
            files.write_json(directory / "run.json", _log(outcome, started, took, str(device), precision))
        live.finish(run_directory, logs_directory)
    return metrics


def _write_results(
    directory: Path, parts: Parts, outcome: Outcome, history: History, accelerator: Accelerator
) -> dict[str, Any]:
    """Everything in a run's directory; none of it depends on the clock or the host's name."""
    model, settings = parts.model, parts.settings
    metrics: dict[str, Any] = {
        "variant": settings.variant,
        "seed": parts.seed,
        "steps": outcome.steps,
        "epoch": outcome.epoch,
        "parameters": model.sizes(),
    }
    for split in ("dev", "test"):
        examples = parts.examples.get(split, {})
        with accelerator.autocast():
            tables = {task: evaluation.predict(model, e, accelerator.device) for task, e in examples.items()}
        for task, table in tables.items():
            predictions.write(predictions.path(directory, task, split), table, examples[task].task)
        metrics[split] = evaluation.scores(tables, examples)
    if settings.run.train_rows:
        metrics["train"] = _train_scores(parts, accelerator)
    state = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    save_file(state, directory / "model.safetensors")
    files.write_yaml(directory / "settings.yaml", {**settings.model_dump(), "seed": parts.seed})
    files.write_json(directory / "metrics.json", metrics)
    history.write(directory / "history.csv")
    return metrics


def _train_scores(parts: Parts, accelerator: Accelerator) -> dict[str, float]:
    """Scores on the first training rows of the variant's own tasks."""
    examples = {task: parts.examples["train"][task] for task in parts.settings.tasks}
    device, rows = accelerator.device, parts.settings.run.train_rows
    with accelerator.autocast():
        tables = {task: evaluation.predict(parts.model, e, device, rows) for task, e in examples.items()}
    return evaluation.scores(tables, examples)


def _log(outcome: Outcome, started: str, seconds: float, device: str, precision: str) -> dict[str, Any]:
    return {
        "started": started,
        "seconds": round(seconds, 1),
        "training_seconds": round(outcome.seconds, 1),
        "examples": outcome.examples,
        "examples_per_second": round(outcome.examples / outcome.seconds, 1) if outcome.seconds else 0.0,
        "peak_memory_mb": logs.peak_memory_mb(),
        "device": device,
        "precision": precision,
        "machine": logs.machine(),
        "versions": logs.versions(),
    }
