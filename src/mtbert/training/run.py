"""Train one run from its parts, and write weights, settings, scores, history, predictions and logs."""

import contextlib
import datetime
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors import numpy
from safetensors.torch import save_file

from mtbert import files, layout
from mtbert.data.batches import Examples
from mtbert.machine import hardware
from mtbert.machine.hardware import Hardware, Precision
from mtbert.models.multitask import MultitaskModel
from mtbert.provenance import seals
from mtbert.provenance.inputs import Inputs
from mtbert.scores import predictions
from mtbert.tasks import Split
from mtbert.training import calibration, evaluation, logs
from mtbert.training.checkpoints import Checkpoint
from mtbert.training.history import History
from mtbert.training.loop import Outcome, Trainer
from mtbert.training.phases import Phase, trained_on_last
from mtbert.training.stopping import Stop
from mtbert.variants.settings import VariantSettings

EMBEDDED = 1200  # dev rows of each task whose embeddings are written: all of SST-5 and STS-B


@dataclass
class Parts:
    """The parts of a run.

    Attributes:
        phases: functions that build each phase when its turn comes.
        steps: of all phases together.
        code: a digest of the code that all trainings share.
        cpu_precision: what the precision `auto` is on a CPU.
        choosing: the examples of each task on which epochs are chosen.
        changed: parts of the model that differ from the start although no phase trains them, as in a merge.
        encoder_revision: the digest of the encoder's folder; None for an encoder that the project knows by name. It is
            for the log: what the folder becomes is among the inputs.
        made_from: what is written as inputs.json; None writes none.
    """

    settings: VariantSettings
    seed: int
    model: MultitaskModel
    phases: Sequence[Callable[[], Phase]]
    steps: int
    examples: Mapping[Split, Mapping[str, Examples]]
    choosing: Mapping[str, Examples] = field(default_factory=dict)
    code: str = ""
    cpu_precision: Precision | None = None
    changed: Sequence[str] = ()
    encoder_revision: str | None = None
    made_from: Inputs | None = None


def hardware_of(settings: VariantSettings, cpu_precision: Precision | None = None) -> Hardware:
    """Return device and precision by the settings, for this machine; `cpu_precision` as for `hardware.precision`."""
    device = hardware.training_device(settings.run.device)
    records = device.type == "cuda" and settings.run.record_steps
    return Hardware(device, hardware.precision(settings.run.precision, device, cpu_precision), records)


@dataclass(frozen=True)
class Result:
    """What came of a training, or of a merge, which trains nothing.

    Attributes:
        started: in UTC.
        on: what it computed on.
        outcome: its steps, and the epoch that was kept.
        history: what it logged.
        temperatures: by task with classes, what logits are divided by; none where no rows were spared.
    """

    started: datetime.datetime
    on: Hardware
    outcome: Outcome
    history: History
    temperatures: Mapping[str, float] = field(default_factory=dict)


def train(
    parts: Parts,
    run_directory: Path,
    logs_directory: Path,
    checkpoint: Checkpoint,
    live_run: contextlib.AbstractContextManager[Any] | None = None,
) -> dict[str, Any]:
    """Train, score and write; return metrics.json's content. A failure leaves nothing behind but a checkpoint.

    `live_run`, a `tracking.LiveRun`, is told of the run, and of its failure; no number of the run depends on it.

    Raises: Stopped on SIGTERM and Ctrl-C, once all that it takes to go on is written.
    """
    started = datetime.datetime.now(datetime.UTC)
    stop = Stop()
    with stop.listening(), live_run or contextlib.nullcontext() as live:
        on = prepare(parts)
        history = History(parts.settings.run.log_every, live.log if live else lambda step, values: None)
        trainer = _trainer(parts, on, history, on_the_same_hardware(checkpoint, on), stop)
        outcome = trainer.run(parts.phases, parts.steps)
        with stop.at_once():
            temperatures = calibrate(parts.model, spared_rows(parts), on)
            predicted = predict_splits(parts, on)
        result = Result(started, on, outcome, history, temperatures)
        metrics = write_model(parts, result, predicted, run_directory, logs_directory)
        checkpoint.clear()
        if live:
            live.finish(run_directory)
    return metrics


def write_model(
    parts: Parts,
    result: Result,
    predicted: Mapping[str, Mapping[str, pd.DataFrame]],
    run_directory: Path,
    logs_directory: Path,
) -> dict[str, Any]:
    """Write a trained or merged model and its log, both whole or not at all; return metrics.json's content.

    The log lies in a folder of `logs_directory` of its own, named after the inputs: see `layout.log`.
    """
    metrics = _metrics(parts, result, predicted)
    with files.new_directory(run_directory) as directory:
        _write(directory, parts, metrics, predicted, result.history)
        _write_embeddings(directory, parts, result.on)
        seals.seal(directory)
    with files.new_directory(logs_directory / layout.log_key(run_directory)) as directory:
        files.write_json(directory / layout.LOG, _log(parts, result))
        _write_inputs(directory, parts)  # once more: what is told of a run when DVC has taken its folder away
    return metrics


def best_score(parts: Parts) -> float:
    """Train, and return the score that chose the best epoch; write nothing."""
    on = prepare(parts)
    history = History(parts.settings.run.log_every, lambda step, values: None)
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(parts, on, history, Checkpoint(Path(folder), ""), Stop())
        return trainer.run(parts.phases, parts.steps).score


def prepare(parts: Parts) -> Hardware:
    """Return what the run computes on, set up for it, with the model there."""
    torch.set_num_threads(parts.settings.run.threads)  # whatever OMP_NUM_THREADS says: scores depend on it
    hardware.keep_memory()
    on = hardware_of(parts.settings, parts.cpu_precision)
    if on.device.type == "cuda":
        hardware.repeatable()
        torch.cuda.reset_peak_memory_stats()  # of an earlier training in this process
    parts.model.to(on.device)
    return on


def _trainer(parts: Parts, on: Hardware, history: History, checkpoint: Checkpoint, stop: Stop) -> Trainer:
    return Trainer(
        model=parts.model,
        settings=parts.settings.run,
        described=parts.settings.described,
        hardware=on,
        history=history,
        choosing=parts.choosing,
        seed=parts.seed,
        checkpoint=checkpoint,
        stop=stop,
    )


def on_the_same_hardware(checkpoint: Checkpoint, on: Hardware) -> Checkpoint:
    """Return the checkpoint as one of this PyTorch, kind of device and precision: others would end in other bytes."""
    kind = torch.cuda.get_device_name(on.device) if on.device.type == "cuda" else on.device.type
    here = f"torch {torch.__version__}, {kind}, {on.precision}{', recorded' if on.records else ''}"
    identity = f"{checkpoint.identity}, {here}"
    return replace(checkpoint, identity=identity)


def calibrate(model: MultitaskModel, rows: Mapping[str, Examples], on: Hardware) -> dict[str, float]:
    """Give the head of each task its temperature, and return them by task.

    Args:
        model: trained or merged.
        rows: by task with classes, training rows that it did not learn from; those that chose the epoch, since there
            are no others.
        on: what it computes on.
    """
    temperatures: dict[str, float] = {}
    for name, examples in rows.items():
        head = model.head(name)
        with on.autocast():
            outputs = evaluation.outputs(model, examples, on.device).cpu()
        head.temperature = calibration.temperature(head.log_probabilities(outputs).double().numpy(), examples.labels)
        temperatures[name] = head.temperature
    return temperatures


def spared_rows(parts: Parts) -> dict[str, Examples]:
    """Return by task with classes the training rows that no phase trained on, of a training that spared some."""
    phases = parts.settings.phases
    if parts.settings.run.selection != "spared" or not phases:
        return {}
    rows: dict[str, Examples] = {}
    for name, examples in parts.choosing.items():
        spared = {phase.spared for phase in phases if name in phase.tasks}
        if examples.task.has_one_class and spared == {phases[-1].spared}:
            rows[name] = examples
    return rows


def predict_splits(parts: Parts, on: Hardware) -> Mapping[str, Mapping[str, pd.DataFrame]]:
    """Predict each split with the trained or merged model; return the tables by split and task."""
    settings = parts.settings
    tables = {"dev": _predict(parts.model, parts.examples.get("dev", {}), on), "test": dict[str, pd.DataFrame]()}
    if settings.run.predict_test:
        tables["test"] = _predict(parts.model, parts.examples.get("test", {}), on)
    if settings.run.train_rows:
        tables["train"] = _predict(parts.model, _train_rows(parts), on)
    return tables


def _train_rows(parts: Parts) -> dict[str, Examples]:
    """Draw the training rows of each task that are scored, of those that it was last trained on."""
    settings = parts.settings
    rows: dict[str, Examples] = {}
    for task in settings.tasks:
        examples = trained_on_last(settings.phases, task, parts.examples["train"][task])
        rows[task] = examples.drawn(settings.run.train_rows)
    return rows


def _predict(model: MultitaskModel, examples: Mapping[str, Examples], on: Hardware) -> dict[str, pd.DataFrame]:
    """Predict the examples of each task."""
    with on.autocast():
        return {task: evaluation.predict(model, rows, on.device) for task, rows in examples.items()}


def _metrics(parts: Parts, result: Result, predicted: Mapping[str, Mapping[str, pd.DataFrame]]) -> dict[str, Any]:
    """Return metrics.json's content."""
    outcome, on = result.outcome, result.on
    metrics = {
        "variant": parts.settings.variant,
        "seed": parts.seed,
        "steps": outcome.steps,
        "epoch": outcome.epoch,
        "chosen_by": [] if outcome.kept_state is None else [outcome.score],
        "examples": outcome.examples,
        "device": on.device.type,
        "precision": on.precision,
        "parameters": parts.model.sizes(parts.settings.phases, parts.changed),
    }
    for split, tables in predicted.items():
        metrics[split] = predictions.scores(tables, parts.settings.described)
    if beside := predictions.scores_beside(predicted["dev"], parts.settings.described):
        metrics["beside"] = beside
    if result.temperatures:
        metrics["temperatures"] = result.temperatures
    return metrics


def _write(
    directory: Path,
    parts: Parts,
    metrics: dict[str, Any],
    predicted: Mapping[str, Mapping[str, pd.DataFrame]],
    history: History,
) -> None:
    """Write a run's results and its model; nothing in them depends on the clock or the host's name."""
    for split, tables in predicted.items():
        for task, table in tables.items():
            predictions.write(layout.predictions(directory, task, split), table)  # type: ignore[arg-type]
    state = {name: value.detach().cpu().contiguous() for name, value in parts.model.state_dict().items()}
    save_file(state, directory / layout.WEIGHTS)
    files.write_yaml(
        directory / layout.SETTINGS, {**parts.settings.model_dump(), "seed": parts.seed, "code": parts.code}
    )
    files.write_json(directory / layout.METRICS, metrics)
    history.write(directory / layout.HISTORY)
    _write_inputs(directory, parts)


def _write_inputs(directory: Path, parts: Parts) -> None:
    if parts.made_from:
        files.write_text(directory / layout.INPUTS, parts.made_from.text())


def _write_embeddings(directory: Path, parts: Parts, on: Hardware) -> None:
    """Write the embeddings of rows drawn from each task's dev, and the numbers of these rows."""
    embeddings: dict[str, np.ndarray] = {}
    for task, examples in parts.examples.get("dev", {}).items():
        with on.autocast():
            embedded = evaluation.embed(parts.model, examples, on.device, EMBEDDED)
        embeddings[task] = np.ascontiguousarray(embedded.swapaxes(0, 1), np.float16)  # [sentences, rows, width]
        embeddings[f"{task}/rows"] = examples.numbers[examples.draw(EMBEDDED)]  # [rows]
    numpy.save_file(embeddings, directory / layout.EMBEDDINGS)


def _log(parts: Parts, result: Result) -> dict[str, Any]:
    outcome, on = result.outcome, result.on
    seconds = (datetime.datetime.now(datetime.UTC) - result.started).total_seconds()
    return {
        "started": result.started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "training_seconds": round(outcome.seconds, 1),
        "resumed": outcome.resumed,
        "examples": sum(outcome.examples.values()),
        "examples_per_second": round(sum(outcome.examples.values()) / max(outcome.seconds, 1e-9), 1),
        "peak_memory_mb": logs.peak_memory_mb(),
        "peak_gpu_memory_mb": logs.peak_gpu_memory_mb(),
        "device": str(on.device),
        "precision": on.precision,
        "encoder_revision": parts.encoder_revision,
        "machine": logs.machine(),
        "versions": logs.versions(),
    }
