"""How many train at a time, and what each gets of the machine."""

import os
import signal
import threading
from pathlib import Path

import pytest

from mtbert.errors import TrainingError
from mtbert.scale import runner
from mtbert.scale.trainings import Training

TRAININGS = [Training(variant="a", seed=seed) for seed in (1, 2, 3)]


@pytest.mark.parametrize(
    ("visible", "jobs", "part", "given"),
    [
        ("4, 6", 3, None, ["4", "6", "4"]),
        ("4,6", 8, 0.5, ["4", "6", "4", "6"]),
        ("4", 2, 1.0, ["4"]),
    ],
)
def test_gpus_are_given_in_turn_and_shared_as_far_as_asked(
    monkeypatch: pytest.MonkeyPatch, visible: str, jobs: int, part: float | None, given: list[str]
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [share["CUDA_VISIBLE_DEVICES"] for share in runner.shares(jobs, 8, part)] == given


@pytest.mark.parametrize(("jobs", "threads", "cores", "room"), [(2, 2, 4, 2), (4, 2, 4, 2), (3, 4, 2, 1), (1, 2, 8, 1)])
def test_without_a_gpu_only_as_many_train_as_the_cores_have_room_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: int, threads: int, cores: int, room: int
):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert runner.shares(jobs, threads) == [{}] * room
    said = f"{room} at a time: {jobs} trainings of {threads} threads do not fit {cores} cores"
    assert (said in capsys.readouterr().out) == (room < jobs)


def test_what_fails_is_named_with_its_log_once_the_others_have_ended(tmp_path: Path):
    done, statuses = list[str](), {1: 1, 2: 0, 3: None}
    with pytest.raises(TrainingError, match=rf"^1 of 3 failed.*\n  a-1: {tmp_path}/a-1\.log$"):
        runner.run(
            TRAININGS,
            lambda one, *_: statuses[one.seed],
            [{}, {}],
            tmp_path,
            lambda training: done.append(training.name),
        )
    assert done == ["a-2"]


def test_each_at_a_time_has_a_share_of_its_own(tmp_path: Path):
    at_once, shares = threading.Barrier(2), list[runner.Share]()

    def train(_training: Training, _log: Path, share: runner.Share, _stop: threading.Event) -> int:
        shares.append(share)
        at_once.wait(30)
        return 0

    runner.run(TRAININGS[:2], train, [{"GPU": "1"}, {"GPU": "2"}], tmp_path)
    assert sorted(share["GPU"] for share in shares) == ["1", "2"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_stops_what_trains_and_starts_no_more(tmp_path: Path, number: int):
    begun = list[str]()
    before = signal.signal(number, signal.default_int_handler)  # a shell may have told the tests to ignore it

    def train(training: Training, _log: Path, _share: runner.Share, stop: threading.Event) -> int | None:
        begun.append(training.name)
        os.kill(os.getpid(), number)
        return None if stop.wait(30) else 1

    with pytest.raises(KeyboardInterrupt):
        runner.run(TRAININGS, train, [{}], tmp_path)
    assert begun == ["a-1"]
    assert signal.signal(number, before) == signal.default_int_handler


def test_where_a_run_cannot_be_recorded_the_others_stop(tmp_path: Path):
    stopped, begun = list[bool](), threading.Event()

    def train(training: Training, _log: Path, _share: runner.Share, stop: threading.Event) -> int | None:
        if training.seed == 1:
            begun.wait(30)
            return 0
        begun.set()
        stopped.append(stop.wait(30))
        return None

    def record(_: Training) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        runner.run(TRAININGS[:2], train, [{}, {}], tmp_path, record)
    assert stopped == [True]
