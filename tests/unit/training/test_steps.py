"""Steps that a GPU repeats: the same bytes as steps that run as they come, and refused where Python decides."""

import contextlib
import dataclasses
import json
import signal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import replays
import torch
from models import small_batch
from runs import checkpoint, parts, settings

from mtbert import files
from mtbert.data.batches import LENGTHS, Examples, Stream
from mtbert.data.tokens import SpecialTokens
from mtbert.learning.objectives.simcse import SimCse
from mtbert.machine import streams
from mtbert.machine.hardware import Hardware
from mtbert.tasks import COURSE
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


def recording(monkeypatch: pytest.MonkeyPatch, made: list[StepRunner]):
    """What makes the runner of a phase as on a GPU, with the stand-in, and lists it."""
    monkeypatch.setattr(steps, "CudaGraphs", lambda generators: replays.Replays())

    def runner_of(phase, _, model) -> StepRunner:
        made.append(steps.runner_of(phase, Hardware(torch.device("cpu"), records=True), model))
        return made[-1]

    return runner_of


def not_recording(*_) -> StepRunner:
    """What computes steps kernel by kernel, of batches that are padded as if they were recorded."""
    runner = StepRunner()
    runner.pads = True
    return runner


@pytest.mark.parametrize(
    "phase",
    [
        {},
        {"sampler": {"name": "interleaved"}, "weighting": {"name": "uncertainty"}},
        {"weighting": {"name": "fixed", "weights": {"sst": 2.0}}},
        {"weighting": {"name": "dynamic"}},
        {"weighting": {"name": "random"}},
        {"weighting": {"name": "dynamic_average"}, "epochs": 4},
        {"objectives": [{"name": "smart", "early": 0.5}]},
        {"objectives": [{"name": "simcse"}]},
        {"objectives": [{"name": "simcse_linear", "negatives": 2}]},
        {"schedule": {"name": "slanted_triangular"}},
    ],
    ids=str,
)
def test_repeated_steps_end_in_the_same_bytes(tmp_path, monkeypatch, phase):
    made = list[StepRunner]()
    repeated = trained(tmp_path / "repeated", monkeypatch, recording(monkeypatch, made), **phase)
    plain = trained(tmp_path / "plain", monkeypatch, not_recording, **phase)
    assert made[0].recorded
    for kind in made[0].watched:
        assert len({tokens for _, _, tokens, _ in kind}) == 1
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
        ({"weighting": {"name": "famo"}, "sampler": {"name": "interleaved"}}, "weighting"),
        ({"gradients": {"name": "pcgrad"}, "sampler": {"name": "interleaved"}}, "gradients"),
    ],
    ids=str,
)
def test_a_technique_that_keeps_numbers_on_the_processor_is_not_recorded(capsys, phase, who):
    (build,) = parts(settings(phase=phase), 1).phases
    assert steps.runner_of(build(), Hardware(torch.device("cuda"), records=True), torch.nn.Module()).recorder is None
    assert who in capsys.readouterr().out


def test_a_number_of_a_technique_that_a_step_changes_ends_recording(tmp_path, monkeypatch, capsys):
    term = SimCse.term
    monkeypatch.setattr(SimCse, "scale", 1.0, raising=False)
    monkeypatch.setattr(SimCse, "term", lambda self, *inputs: self.scale * term(self, *inputs))
    monkeypatch.setattr(SimCse, "after_step", lambda self, done: setattr(self, "scale", 1 - done))
    made = list[StepRunner]()
    phase = {"objectives": [{"name": "simcse"}]}
    recorded = trained(tmp_path / "recorded", monkeypatch, recording(monkeypatch, made), **phase)
    assert (made[0].recorder, made[0].recorded) == (None, {})
    assert "one kernel at a time: simcse.scale is computed by Python and changes" in capsys.readouterr().out
    plain = trained(tmp_path / "plain", monkeypatch, lambda *_: StepRunner(), **phase)
    assert files.sha256(recorded / "model.safetensors") == files.sha256(plain / "model.safetensors")


def test_numbers_and_texts_of_techniques_and_modules_are_compared():
    module = torch.nn.Linear(2, 3)
    module.note, module.share, module.ready, module.table = "a", 0.5, True, {"a": 1}
    assert steps.constants({"model.head": module}) == {
        "model.head.training": True,
        "model.head.in_features": 2,
        "model.head.out_features": 3,
        "model.head.note": "a",
        "model.head.share": 0.5,
        "model.head.ready": True,
    }


@pytest.mark.parametrize("encoding", ["cross", "bi"])
def test_most_interleaved_steps_of_real_lengths_are_replayed(encoding):
    counted = json.loads((Path(__file__).parents[3] / "benchmarks/lengths.json").read_text())[encoding]
    special = SpecialTokens(start=2, end=3, padding=0)
    streams_of = {}
    for task, counts in counted.items():
        lengths = np.random.default_rng(0).choice(len(counts), 108 * 64, p=np.array(counts) / sum(counts))
        table = pd.DataFrame(
            {
                "id": [str(number) for number in range(len(lengths))],
                "label": 0.0,
                "tokens1": [np.full(length - 2, 7) for length in lengths],
            }
        )
        examples = Examples(table, COURSE["sst"], encoding, special, 128)
        streams_of[task] = Stream(examples, 64, 1, lengths=LENGTHS, name=task)
    replayed = []

    class Recorder:
        def watch(self, compute):
            return compute(), ""

        def record(self, compute):
            starts = iter([lambda: None])
            return compute(), lambda: next(starts, lambda: replayed.append(1))()

    class Result:
        def copied(self):
            return self

    runner = StepRunner(Recorder())
    for _ in range(108):
        runner.run(runner.padded({task: stream.next() for task, stream in streams_of.items()}), lambda _: Result())
    assert len(replayed) >= 0.75 * 108


def test_a_batch_is_padded_with_what_no_sequence_reads():
    batch = dataclasses.replace(small_batch("sst", rows=2, tokens=3), padding=9)
    longer = batch.padded(5)
    assert longer.input_ids[:, 3:].tolist() == [[9, 9]] * 2
    assert [getattr(longer, name)[:, 3:].sum().item() for name in ("mask", "token_types")] == [0, 0]
    assert torch.equal(longer.input_ids[:, :3], batch.input_ids)


def test_batches_are_padded_alike_only_where_steps_are_recorded():
    batches = {"sst": small_batch("sst", tokens=3), "sts": small_batch("sts", tokens=5)}
    assert StepRunner().padded(batches) is batches
    assert [batch.input_ids.shape[1] for batch in StepRunner(replays.Replays()).padded(batches).values()] == [5, 5]


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
