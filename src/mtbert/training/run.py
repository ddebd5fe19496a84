"""Train one run from its parts, and write weights, settings, scores, history, predictions and logs."""

import contextlib
import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import numpy
from safetensors.torch import save_file

from mtbert import files, layout
from mtbert.data.batches import Examples
from mtbert.models.encoder import hardware
from mtbert.models.encoder.hardware import Hardware, Precision
from mtbert.models.multitask import MultitaskModel
from mtbert.results import predictions
from mtbert.settings import VariantSettings
from mtbert.tasks import Split
from mtbert.training import evaluation, logs
from mtbert.training.checkpoints import Checkpoint
from mtbert.training.history import History
from mtbert.training.loop import Outcome, Trainer
from mtbert.training.phases import Phase
from mtbert.training.stopping import Stop

EMBEDDED = 1200  # dev rows of each task whose embeddings are written: all of SST-5 and STS-B


@dataclass
class Parts:
    """The parts of a run; `phases` builds each when its turn comes, `cpu_precision` is what `auto` is on a CPU.

    `changed` names parts of the model that are others than at the start although no phase trains them.
    """

    settings: VariantSettings
    seed: int
    model: MultitaskModel
    phases: Sequence[Callable[[], Phase]]
    steps: int
    examples: Mapping[Split, Mapping[str, Examples]]
    code: str = ""  # a digest of the code that all trainings share
    cpu_precision: Precision | None = None
    changed: Sequence[str] = ()
    made_from: Mapping[str, Any] = field(default_factory=dict)  # settings, data, weights and code, for the log


def hardware_of(settings: VariantSettings, of_cpu: Precision | None = None) -> Hardware:
    """Return device and precision by the settings, for this machine; `of_cpu` as for `hardware.precision`."""
    device = hardware.device(settings.run.device)
    records = device.type == "cuda" and settings.run.record_steps
    return Hardware(device, hardware.precision(settings.run.precision, device, of_cpu), records)


def train(
    parts: Parts,
    run_directory: Path,
    logs_directory: Path,
    checkpoint: Checkpoint,
    live_run: contextlib.AbstractContextManager[Any] | None = None,
) -> dict[str, Any]:
    """Train, score and write; return metrics.json's content. A failure leaves nothing behind but a checkpoint.

    The log lies in a folder of `logs_directory` of its own, named after the results: see `layout.log`.
    `live_run`, a `tracking.LiveRun`, is told of the run, and of its failure; no number of the run depends on it.

    Raises: Stopped on SIGTERM and Ctrl-C, once all that it takes to go on is written.
    """
    torch.set_num_threads(parts.settings.run.threads)  # whatever OMP_NUM_THREADS says: scores depend on it
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.perf_counter()
    stop = Stop()
    with stop.listening(), live_run or contextlib.nullcontext() as live:
        hardware.keep_memory()
        on = hardware_of(parts.settings, parts.cpu_precision)
        if on.device.type == "cuda":
            hardware.repeatable()
        parts.model.to(on.device)
        history = History(parts.settings.run.log_every, live.log if live else lambda step, values: None)
        trainer = Trainer(
            parts.model,
            parts.settings.run,
            parts.settings.described,
            on,
            history,
            evaluation.choosing(parts.examples.get("dev", {})),
            parts.seed,
            checkpoint,
            stop,
        )
        outcome = trainer.run(parts.phases, parts.steps)
        with stop.at_once():
            predicted = _predictions(parts, outcome, on)
        metrics = {
            "variant": parts.settings.variant,
            "seed": parts.seed,
            "steps": outcome.steps,
            "epoch": outcome.epochs[0],
            "epochs": outcome.epochs,
            "examples": outcome.examples,
            "device": on.device.type,
            "precision": on.precision,
            "parameters": parts.model.sizes(parts.settings.phases, parts.changed),
            **{split: predictions.scores(tables, parts.settings.described) for split, tables in predicted.items()},
        }
        with files.new_directory(run_directory) as directory:
            _write(directory, parts, metrics, predicted, on)
            history.write(directory / layout.HISTORY)
            layout.seal(directory)
        with files.new_directory(logs_directory / layout.log_key(run_directory)) as directory:
            log = _log(outcome, started, time.perf_counter() - clock, on)
            files.write_json(directory / layout.LOG, {"identity": checkpoint.identity, **log})
            files.write_json(directory / layout.INPUTS, parts.made_from)
        checkpoint.clear()
        if live:
            live.finish(run_directory)
    return metrics


def _predictions(parts: Parts, outcome: Outcome, on: Hardware) -> dict[str, dict[str, pd.DataFrame]]:
    """Predict each split with the trained model, by task."""

    def predicted(examples: Mapping[str, Examples]) -> dict[str, pd.DataFrame]:
        with on.autocast():
            return {task: evaluation.predict(parts.model, e, on.device) for task, e in examples.items()}

    dev, settings = parts.examples.get("dev", {}), parts.settings
    if len(set(outcome.epochs)) > 1:  # predict each half with the weights that the other half chose
        first, second = evaluation.choosing(dev)
        of_second = predicted(second)
        parts.model.load_state_dict(outcome.states[outcome.epochs[1]])
        of_first = predicted(first)
        parts.model.load_state_dict(outcome.states[outcome.epochs[0]])
        tables = {"dev": {}}
        for task, e in dev.items():
            places = np.argsort(~e.chooses, kind="stable")  # of the first half's rows, then of the second's
            tables["dev"][task] = pd.concat([of_first[task], of_second[task]]).set_axis(places).sort_index()
    else:
        tables = {"dev": predicted(dev)}
    tables["test"] = predicted(parts.examples.get("test", {})) if settings.run.predict_test else {}
    if rows := settings.run.train_rows:
        tables["train"] = predicted({task: parts.examples["train"][task].drawn(rows) for task in settings.tasks})
    return tables


def _write(
    directory: Path,
    parts: Parts,
    metrics: dict[str, Any],
    predicted: Mapping[str, Mapping[str, pd.DataFrame]],
    on: Hardware,
) -> None:
    """Write a run's results and its model; nothing in them depends on the clock or the host's name."""
    for split, tables in predicted.items():
        for task, table in tables.items():
            predictions.write(layout.predictions(directory, task, split), table)  # type: ignore[arg-type]
    with on.autocast():
        dev = parts.examples.get("dev", {})
        embedded = {t: evaluation.embed(parts.model, e, on.device, EMBEDDED) for t, e in dev.items()}
    by_sentence = {task: np.ascontiguousarray(rows.swapaxes(0, 1), np.float16) for task, rows in embedded.items()}
    which = {f"{task}/rows": examples.draw(EMBEDDED) for task, examples in dev.items()}
    numpy.save_file(by_sentence | which, directory / layout.EMBEDDINGS)  # [sentences, rows, width], [rows]
    state = {name: value.detach().cpu().contiguous() for name, value in parts.model.state_dict().items()}
    save_file(state, directory / layout.WEIGHTS)
    files.write_yaml(
        directory / layout.SETTINGS, {**parts.settings.model_dump(), "seed": parts.seed, "code": parts.code}
    )
    files.write_json(directory / layout.METRICS, metrics)


def _log(outcome: Outcome, started: str, seconds: float, on: Hardware) -> dict[str, Any]:
    return {
        "started": started,
        "seconds": round(seconds, 1),
        "training_seconds": round(outcome.seconds, 1),
        "resumed": outcome.resumed,
        "examples": sum(outcome.examples.values()),
        "examples_per_second": round(sum(outcome.examples.values()) / max(outcome.seconds, 1e-9), 1),
        "peak_memory_mb": logs.peak_memory_mb(),
        "device": str(on.device),
        "precision": on.precision,
        "machine": logs.machine(),
        "versions": logs.versions(),
    }
