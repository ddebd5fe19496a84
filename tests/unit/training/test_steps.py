"""Steps that a GPU repeats: the same bytes as steps that run as they come, and refused where Python decides."""

import contextlib
import dataclasses
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
import replays
import torch
from models import small_batch
from runs import checkpoint, parts, settings

from mtbert import files
from mtbert.data.batches import LENGTHS
from mtbert.models.encoder import streams
from mtbert.models.encoder.hardware import Hardware
from mtbert.training import loop, run, steps
from mtbert.training.steps import CudaGraphs, StepRunner
from mtbert.training.stopping import Stopped


def trained(folder: Path, monkeypatch: pytest.MonkeyPatch, made_runner, **phase) -> Path:
    """Train with steps made by `made_runner`, from rates that are tensors, of batches of few lengths."""
    made = parts(settings(phase={"epoch_length": "8 steps", **phase}), 1)

    def placed(build):
        built = build()
        for stream in built.streams.values():
            stream.lengths = LENGTHS
        for group in built.optimiser.param_groups:
            group["lr"] = torch.tensor(group["lr"])
        return built

    monkeypatch.setattr(loop, "runner_of", made_runner)
    phases = [lambda build=build: placed(build) for build in made.phases]
    run.train(dataclasses.replace(made, phases=phases), folder / "run", folder / "logs", checkpoint(folder))
    return folder / "run"


@pytest.mark.parametrize(
    "phase",
    [
        {},
        {"sampler": {"name": "interleaved"}, "weighting": {"name": "uncertainty"}},
        {"weighting": {"name": "fixed", "weights": {"sst": 2.0}}},
        {"weighting": {"name": "dynamic"}},
        {"objectives": [{"name": "smart", "early": 0.5}]},
        {"objectives": [{"name": "simcse"}]},
        {"objectives": [{"name": "simcse_linear", "negatives": 2}]},
        {"schedule": {"name": "slanted_triangular"}},
    ],
    ids=str,
)
def test_repeated_steps_end_in_the_same_bytes(tmp_path, monkeypatch, phase):
    made = list[StepRunner]()

    def recorded(*_) -> StepRunner:
        made.append(StepRunner(replays.Replays()))
        return made[-1]

    repeated = trained(tmp_path / "repeated", monkeypatch, recorded, **phase)
    plain = trained(tmp_path / "plain", monkeypatch, lambda *_: StepRunner(), **phase)
    assert made[0].recorded
    for name in ("model.safetensors", "history.csv", "predictions/sts-dev.parquet"):
        assert files.sha256(repeated / name) == files.sha256(plain / name)


def test_a_training_that_is_stopped_and_goes_on_ends_in_the_same_bytes(tmp_path, monkeypatch):
    whole = trained(tmp_path / "whole", monkeypatch, lambda *_: StepRunner(replays.Replays()))
    due, stops = loop.Trainer._checkpoint_where_due, [11, 5]

    def stopping(trainer, phase):
        if stops and trainer.outcome.steps == stops[-1]:
            stops.pop()
            trainer.stop.asked = signal.SIGTERM
        due(trainer, phase)

    monkeypatch.setattr(loop.Trainer, "_checkpoint_where_due", stopping)
    for _ in range(2):
        with pytest.raises(Stopped):
            trained(tmp_path / "stopped", monkeypatch, lambda *_: StepRunner(replays.Replays()))
    stopped = trained(tmp_path / "stopped", monkeypatch, lambda *_: StepRunner(replays.Replays()))
    assert stops == []
    for name in ("model.safetensors", "history.csv", "predictions/sts-dev.parquet"):
        assert files.sha256(whole / name) == files.sha256(stopped / name)


@pytest.mark.parametrize(
    ("phase", "who"),
    [
        ({"weighting": {"name": "random"}}, "weighting"),
        ({"weighting": {"name": "dynamic_average"}}, "weighting"),
        ({"weighting": {"name": "famo"}, "sampler": {"name": "interleaved"}}, "weighting"),
        ({"gradients": {"name": "pcgrad"}, "sampler": {"name": "interleaved"}}, "gradients"),
    ],
    ids=str,
)
def test_a_technique_that_keeps_numbers_on_the_processor_is_not_recorded(capsys, phase, who):
    (build,) = parts(settings(phase=phase), 1).phases
    assert steps.runner_of(build(), Hardware(torch.device("cuda"), records=True)).recorder is None
    assert who in capsys.readouterr().out


def test_a_step_that_waits_for_a_number_is_refused_by_the_stand_in():
    with pytest.raises(AssertionError, match="waits for a number"):
        replays.Replays().record(lambda: torch.ones(1).item())


def test_the_first_step_of_a_kind_runs_as_it_comes_the_second_is_recorded_and_all_from_there_on_are_started():
    events = []

    class Recorder:
        def watch(self, compute):
            return compute(), ""

        def record(self, compute):
            events.append("recorded")
            return compute(), lambda: events.append("started")

    class Result:
        def copied(self):
            return self

    computed = StepRunner(Recorder())
    for tokens in (6, 6, 6, 8):
        computed.run({"sst": small_batch("sst", tokens=tokens)}, lambda _: events.append("ran") or Result())
    assert events == ["ran", "recorded", "ran", "started", "started", "ran"]


def test_steps_that_wait_run_as_they_come_from_there_on(capsys):
    class Recorder:
        def watch(self, compute):
            return compute(), "line 3 waits for a number"

    computed = StepRunner(Recorder())
    assert [computed.run({"sst": small_batch("sst")}, lambda _: 5) for _ in range(2)] == [5, 5]
    assert "line 3 waits" in capsys.readouterr().out


def test_a_recorded_step_reads_the_batch_that_comes():
    first, second = (small_batch("sst", seed=seed) for seed in (1, 2))
    steps.write({"sst": second}, {"sst": first})
    for name in ("input_ids", "mask", "token_types", "labels"):
        assert torch.equal(getattr(first, name), getattr(second, name))


def test_a_fault_while_a_step_is_recorded_is_raised_once_its_streams_are_joined(monkeypatch: pytest.MonkeyPatch):
    told = []

    @contextlib.contextmanager
    def graph(*_):
        yield
        told.append("the recording ends as if nothing was wrong")

    def compute():
        raise torch.OutOfMemoryError("too large")

    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", SimpleNamespace)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: SimpleNamespace(device="the GPU"))
    monkeypatch.setattr(streams, "join", told.append)
    with pytest.raises(torch.OutOfMemoryError, match="too large"):
        CudaGraphs([]).record(compute)
    assert told == ["the GPU"]
