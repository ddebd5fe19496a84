"""When a seed has ended, what makes its answer, and when the next one comes."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from mtbert.trainings import dvc, interim_answers, many
from mtbert.trainings.interim_answers import InterimAnswers
from mtbert.trainings.many import Training

BAR = "  3%|#| 12/400 [00:10<02:05,  3.10step/s, sst 1.234]"


def training(name: str) -> Training:
    variant, seed = name.split("-")
    return Training(variant=variant, seed=int(seed))


def queue(tmp_path: Path, waiting: Sequence[str], running: Sequence[str] = (), free: int = 0) -> many.Queue:
    """A queue in which these run and wait."""
    wanted = [training(name) for name in (*running, *waiting)]
    made = many.Queue(wanted, lambda *_: None, [many.NO_GPU] * (free + len(running)), tmp_path, print)
    for _ in running:
        made.start_next(many.NO_GPU)
    return made


class Answers:
    """Starts of answers; each ends with this status once it is looked at."""

    def __init__(self, status: int | None = 0) -> None:
        self.status = self.returncode = status
        self.starts: list[tuple[list[int], int]] = []
        self.ended: list[str] = []

    def __call__(self, seeds: Sequence[int], of: int, following: str) -> Any:
        self.starts.append(([*seeds], of))
        return self

    def poll(self) -> int | None:
        return self.status

    def terminate(self) -> None:
        self.ended.append("terminated")

    def wait(self, timeout: float | None = None) -> None:
        if timeout is not None:
            raise subprocess.TimeoutExpired("answer", timeout)

    def kill(self) -> None:
        self.ended.append("killed")


@pytest.fixture(autouse=True)
def _output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "interim.log").write_text("a warning\nthe fault\n")
    monkeypatch.setattr(interim_answers, "LOG", tmp_path / "interim.log")
    monkeypatch.setattr(interim_answers, "_examples", lambda variant: {"small": 1.0, "large": 3.0}.get(variant, 1.0))


def test_no_answer_is_made_while_another_is(tmp_path: Path):
    answers = Answers(status=None)
    followed = InterimAnswers([1, 2, 3], start=answers)
    followed.look(queue(tmp_path, ["a-1", "a-2", "a-3"]))
    followed.look(queue(tmp_path, ["a-2", "a-3"]))
    assert answers.starts == [([], 3)]


def test_all_variants_of_a_seed_train_before_the_next_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "params.yaml").write_text("variants: [a, b]\nseeds: [2, 1]\n")
    monkeypatch.setattr(dvc, "PARAMS", tmp_path / "params.yaml")
    assert [one.name for one in dvc.listed()] == ["a-2", "b-2", "a-1", "b-1"]


@pytest.mark.parametrize(
    ("waiting", "running", "expected"),
    [
        (["a-2", "b-2"], ["b-1"], [([], 3)]),  # the page of the baselines
        (["b-2", "a-3"], ["a-2"], [([1], 3)]),
        (["b-3"], ["a-3"], [([1, 2], 3)]),
        ([], [], []),  # the last answer is that of `dvc repro`
        (["b-1"], ["a-2"], [([], 3)]),
    ],
)
def test_a_seed_is_answered_once_none_of_its_trainings_waits_or_runs(
    tmp_path: Path, waiting: list[str], running: list[str], expected: list
):
    answers = Answers(status=None)
    followed = InterimAnswers([1, 2, 3], start=answers)
    for _ in range(2):
        followed.look(queue(tmp_path, waiting, running))
    assert answers.starts == expected


@pytest.mark.parametrize(
    ("waiting", "running", "expected"),
    [
        (["b-2", "a-3", "a-4"], ["a-2"], [([], 4)]),  # seed 1 has predicted one of two folds
        (["a-4"], ["a-3"], [([1, 2], 4)]),
        (["b-4"], ["a-4"], [([1, 2], 4)]),
    ],
)
def test_of_folds_an_answer_needs_a_seed_for_each(
    tmp_path: Path, waiting: list[str], running: list[str], expected: list
):
    answers = Answers(status=None)
    followed = InterimAnswers([1, 2, 3, 4], folds=2, start=answers)
    for _ in range(2):
        followed.look(queue(tmp_path, waiting, running))
    assert answers.starts == expected


def test_while_a_page_is_made_it_is_said(tmp_path: Path):
    followed = InterimAnswers([1, 2], start=Answers(status=None))
    made = queue(tmp_path, [], ["a-2"])
    followed.look(made)
    assert followed.states(made) == ["the page from 1 of 2 seeds is being made"]


def test_why_a_page_was_not_made_is_said_and_trainings_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    followed = InterimAnswers([1, 2], start=Answers(status=1))
    for _ in range(3):
        followed.look(queue(tmp_path, [], ["a-2"]))
    fault = f"no whole page from 1 of 2 seeds, and trainings go on: the fault ({interim_answers.LOG})\n"
    assert capsys.readouterr().err == fault


def test_an_answer_that_is_not_needed_any_more_is_ended(tmp_path: Path):
    answers = Answers(status=None)
    followed = InterimAnswers([1, 2], start=answers)
    followed.look(queue(tmp_path, [], ["a-2"]))
    followed.close()
    assert answers.ended == ["terminated", "killed"]
    assert followed.process is None


def test_the_state_of_a_progress_bar_is_read_from_what_a_training_prints(tmp_path: Path):
    made = queue(tmp_path, [], ["a-1"])
    log = made.outputs[training("a-1")]
    assert made.progress(training("a-1")) is None
    log.write_text("a, seed 1: 400 steps on sst\nembeddings:  5%|#| 64/1200 [00:09<01:00, 6.9row/s]\r")
    assert made.progress(training("a-1")) is None
    log.write_text(f"  0%| | 0/400 [00:00<?, ?step/s]\r{BAR}\rlater")
    far = made.progress(training("a-1"))
    assert far is not None
    assert (far.steps, far.of) == (12, 400)
    assert far.left == pytest.approx(125, abs=5)


def test_the_time_of_an_answer_is_worked_out_from_what_was_measured(tmp_path: Path):
    """small-1 took 10 s, large-1 has 125 s left; small-2 takes 10 s, large-2 as long as large-1."""
    made = queue(tmp_path, ["small-2", "large-2"], ["large-1"], free=1)
    assert interim_answers.left(made, 1) is None
    made.outputs[training("large-1")].write_text(BAR)
    made.seconds[training("small-1")] = 10.0
    made.begun[training("large-1")] = time.monotonic() - 15  # so that it takes 140 s
    assert interim_answers.left(made, 1) == pytest.approx(125, abs=5)
    assert interim_answers.left(made, 2) == pytest.approx(10 + 140, abs=5)  # beside large-1, behind small-2


def test_a_variant_that_nobody_has_measured_takes_as_long_as_others_for_as_many_examples(tmp_path: Path):
    made = queue(tmp_path, ["large-1"], free=1)
    made.seconds[training("small-1")] = 10.0
    assert interim_answers.left(made, 1) == pytest.approx(30, abs=1)


def test_the_line_on_progress_says_who_is_how_far_and_when_the_answer_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(many, "REPORT_EVERY", 0)
    monkeypatch.setattr(time, "localtime", lambda _: time.strptime("14:32", "%H:%M"))
    made = queue(tmp_path, ["a-2"], ["a-1", "b-1"])
    made.answers = InterimAnswers([1, 2], start=Answers())
    made.outputs[training("a-1")].write_text(BAR)
    capsys.readouterr()
    made.report()
    line = "0 of 3 trained; a-1 12 of 400 steps; b-1 begins; the answer from {} comes at about 14:32\n"
    assert capsys.readouterr().out == line.format("1 of 2 seeds")
    made.answers = InterimAnswers([1, 2], folds=2, start=Answers())
    made.report()
    assert capsys.readouterr().out == line.format("the last")
