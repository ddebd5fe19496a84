"""How many train at a time, and what each gets of the machine."""

import os
import threading

import pytest

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


def test_what_fails_is_returned_and_what_is_stopped_is_neither_done_nor_failed():
    stop, done = threading.Event(), list[str]()

    def train(training: Training) -> int | None:
        return {1: 0, 2: 1, 3: None}[training.seed]

    failed = runner.run(TRAININGS, train, 2, stop, lambda training: done.append(training.name))
    assert ([one.name for one in failed], done) == (["a-2"], ["a-1"])
    stop.set()
    assert runner.run(TRAININGS, train, 2, stop) == []


def test_where_a_run_cannot_be_recorded_the_others_stop():
    stop = threading.Event()

    def record(_: Training) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        runner.run(TRAININGS, lambda one: 0 if one.seed == 1 else stop.wait(30) and None, 2, stop, record)
    assert stop.is_set()
