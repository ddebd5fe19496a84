"""How many train at a time, and what each gets of the machine."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mtbert.errors import TrainingError
from mtbert.trainings import many
from mtbert.trainings.many import Training

TRAININGS = [Training(variant="a", seed=seed) for seed in (1, 2, 3)]


def test_gpus_are_given_in_turn(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4, 6")
    assert many.gpus_of(3, 8, many.gpus()) == ["4", "6", "4"]


def test_each_training_sees_its_gpu_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    script = tmp_path / "train.py"
    script.write_text("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])")
    monkeypatch.setattr(many, "SCRIPT", script)
    monkeypatch.setattr(many, "threads", lambda _: 1)
    monkeypatch.setattr(many, "teachers", lambda _: [])
    monkeypatch.setattr(many, "gpus", lambda: ["5", "7"])
    many.run_here(TRAININGS[:2], 2, tmp_path)
    assert {(tmp_path / f"a-{seed}.log").read_text() for seed in (1, 2)} == {"5\n", "7\n"}


@pytest.mark.parametrize(("named", "count", "found"), [("-1", 0, []), ("0", 0, []), (None, 2, ["0", "1"])])
def test_only_gpus_that_can_be_used_are_counted(monkeypatch: pytest.MonkeyPatch, named, count: int, found: list[str]):
    monkeypatch.setattr("torch.cuda.device_count", lambda: count)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert many.gpus() == found


@pytest.mark.parametrize(("jobs", "threads", "cores", "room"), [(2, 2, 4, 2), (4, 2, 4, 2), (3, 4, 2, 1), (1, 2, 8, 1)])
def test_without_a_gpu_only_as_many_train_as_the_cores_have_room_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], jobs: int, threads: int, cores: int, room: int
):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)), raising=False)
    assert many.gpus_of(jobs, threads, []) == [many.NO_GPU] * room
    assert (f"{room} at a time" in capsys.readouterr().out) == (room < jobs)


class Job:
    """A training that ends with a status after so many looks at it; None: not before it is stopped."""

    def __init__(self, status: int, looks: int | None = 1):
        self.status, self.looks, self.stopped = status, looks, False

    def poll(self) -> int | None:
        self.looks = self.looks and self.looks - 1
        return self.status if self.looks == 0 else None

    def terminate(self) -> None:
        self.stopped, self.looks = True, 1

    def wait(self, timeout: float) -> None:
        pass


@pytest.mark.parametrize("jobs", [200, None])
def test_no_more_train_at_a_time_than_can_share_the_gpus(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, jobs: int | None
):
    given = list[list[str]]()
    monkeypatch.setattr(many.Queue, "run", lambda queue: given.append(queue.free))
    monkeypatch.setattr(many, "threads", lambda _: 1)
    monkeypatch.setattr(many, "teachers", lambda _: [])
    monkeypatch.setattr(many, "gpus", lambda: ["5", "7"])
    monkeypatch.setattr(many.starting, "cores", lambda: 200)
    monkeypatch.setattr(many, "_memory_of", lambda *_: None)
    monkeypatch.setattr(many.mps, "gpu_for_many", contextlib.nullcontext)
    many.run_here([Training(variant="a", seed=seed) for seed in range(1, 301)], jobs, tmp_path)
    assert given == [["5", "7"] * 48]
    said = capsys.readouterr().out
    assert ("96 at a time: no more than 48 can share a GPU" if jobs else "at most 96; --jobs") in said


def test_a_signal_while_the_service_starts_ends_it_and_trains_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    events = list[str]()

    @contextlib.contextmanager
    def service():
        os.kill(os.getpid(), signal.SIGTERM)
        yield ""
        events.append("the service ends")

    monkeypatch.setattr(many.Queue, "run", lambda _: events.append("trains"))
    monkeypatch.setattr(many, "threads", lambda _: 1)
    monkeypatch.setattr(many, "teachers", lambda _: [])
    monkeypatch.setattr(many, "gpus", lambda: ["5"])
    monkeypatch.setattr(many.mps, "gpu_for_many", service)
    before = signal.signal(signal.SIGTERM, lambda *_: events.append("ends at once"))
    with pytest.raises(KeyboardInterrupt):
        many.run_here(TRAININGS, 2, tmp_path)
    signal.signal(signal.SIGTERM, before)
    assert events == ["the service ends"]


def test_the_next_training_gets_the_gpu_where_the_fewest_train(tmp_path: Path):
    queue = many.Queue(TRAININGS, lambda *_: Job(0), ["5", "5", "7"], tmp_path, print)
    queue.start_next("5")
    assert queue.next_gpu() == "7"


def test_all_that_stop_have_one_deadline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    class Hung(Job):
        def wait(self, timeout: float) -> None:
            waits.append(timeout)
            time.sleep(timeout)
            raise subprocess.TimeoutExpired("training", timeout)

        def kill(self) -> None:
            killed.append(self)

    waits, killed = list[float](), list[Hung]()
    monkeypatch.setattr(many, "PATIENCE", 0.2)
    queue = many.Queue(TRAININGS, lambda *_: Hung(0), [many.NO_GPU] * 3, tmp_path, print)
    for _ in TRAININGS:
        queue.start_next(many.NO_GPU)
    queue.stop()
    assert len(killed) == 3
    assert sum(waits) <= 0.2


STUDENT, SST, STS = (Training(variant=name, seed=1) for name in ("student", "sst", "sts"))


def trained_in_order(tmp_path: Path, wanted: list[Training], jobs: int, statuses: dict[Training, int]) -> list[str]:
    """What starts and ends, in order, of trainings with so many at a time; `student` learns from the other two."""
    events = list[str]()

    def start(training: Training, *_: object) -> Job:
        events.append(f"{training.variant} starts")
        return Job(statuses.get(training, 0))

    with contextlib.suppress(TrainingError):
        many.Queue(
            wanted,
            start,
            [{}] * jobs,
            tmp_path,
            lambda training: events.append(f"{training.variant} ends"),
            teachers={STUDENT: [SST, STS]},
        ).run()
    return events


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_student_waits_until_its_teachers_have_ended_and_others_go_before_it(tmp_path: Path, jobs: int):
    events = trained_in_order(tmp_path, [SST, STUDENT, STS], jobs, {})
    assert events[-2:] == ["student starts", "student ends"]
    assert sorted(events[:-2]) == ["sst ends", "sst starts", "sts ends", "sts starts"]


def test_a_student_whose_teachers_are_there_waits_for_nothing(tmp_path: Path):
    assert trained_in_order(tmp_path, [STUDENT], 2, {}) == ["student starts", "student ends"]


def test_a_student_of_a_teacher_that_failed_starts_and_says_so_itself(tmp_path: Path):
    events = trained_in_order(tmp_path, [SST, STS, STUDENT], 1, {SST: 1, STUDENT: 1})
    assert events == ["sst starts", "sts starts", "sts ends", "student starts"]


def test_what_fails_is_named_with_its_log_once_the_others_have_ended(tmp_path: Path):
    done, jobs = list[str](), {1: Job(1), 2: Job(0), 3: Job(-signal.SIGKILL)}
    with pytest.raises(TrainingError, match=rf"^2 of 3 failed.*\n  a-1: {tmp_path}.*\n  a-3: .*\(exit status -9"):
        many.Queue(
            TRAININGS,
            lambda one, *_: jobs[one.seed],
            [many.NO_GPU] * 2,
            tmp_path,
            lambda training: done.append(training.name),
        ).run()
    assert done == ["a-2"]


def test_the_next_training_gets_the_gpu_of_one_that_has_ended(tmp_path: Path):
    looks, given = {1: 2, 2: 1, 3: 1}, list[tuple[str, str]]()

    def start(training: Training, _: Path, gpu: str) -> Job:
        given.append((training.name, gpu))
        return Job(0, looks[training.seed])

    many.Queue(TRAININGS, start, ["1", "2"], tmp_path, print).run()
    assert given == [("a-1", "1"), ("a-2", "2"), ("a-3", "2")]


@pytest.mark.parametrize(
    ("total", "gpus", "expected"),
    [
        # in order: the small one does not overtake the second large one
        (8, "00", "large-1 begins, large-1 ends, large-2 begins, small-3 begins, large-2 ends, small-3 ends"),
        (8, "01", "large-1 begins, large-2 begins, large-1 ends, small-3 begins, large-2 ends, small-3 ends"),
        # one that needs more than there is trains alone
        (5, "00", "large-1 begins, large-1 ends, large-2 begins, large-2 ends, small-3 begins, small-3 ends"),
    ],
)
def test_each_starts_once_its_gpu_has_memory_for_it(tmp_path: Path, total: int, gpus: str, expected: str):
    told = list[str]()

    def start(training: Training, *_: object) -> Job:
        told.append(f"{training.name} begins")
        return Job(0, training.seed)

    many.Queue(
        [Training(variant=name, seed=seed) for seed, name in enumerate(("large", "large", "small"), start=1)],
        start,
        gpus,
        tmp_path,
        lambda training: told.append(f"{training.name} ends"),
        many.Memory(total, {"large": 6, "small": 2}),
    ).run()
    assert ", ".join(told) == expected


def test_what_variants_need_of_the_smallest_gpu_is_known_beforehand(monkeypatch: pytest.MonkeyPatch):
    memories = [SimpleNamespace(total_memory=80), SimpleNamespace(total_memory=40)]
    monkeypatch.setattr("torch.cuda.get_device_properties", lambda number: memories[number])
    monkeypatch.setattr(many, "_needed", {"a": 3.0}.get)
    assert many._memory_of(TRAININGS, 2) == many.Memory(40, {"a": 3.0})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_stops_what_trains_and_starts_no_more(tmp_path: Path, number: int):
    jobs, done = list[Job](), list[Training]()
    before = signal.signal(number, signal.default_int_handler)  # a shell may have told the tests to ignore it

    def start(*_: object) -> Job:
        os.kill(os.getpid(), number)
        jobs.append(Job(0, None))
        return jobs[-1]

    with pytest.raises(KeyboardInterrupt):
        many.Queue(TRAININGS, start, [many.NO_GPU], tmp_path, done.append).run()
    assert done == TRAININGS[:1]  # since it has ended well
    assert [job.stopped for job in jobs] == [True]
    assert signal.signal(number, before) == signal.default_int_handler


def test_where_a_run_cannot_be_recorded_the_others_stop(tmp_path: Path):
    jobs = {1: Job(0), 2: Job(0, None)}

    def record(_: Training) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        many.Queue(TRAININGS[:2], lambda one, *_: jobs[one.seed], [many.NO_GPU] * 2, tmp_path, record).run()
    assert jobs[2].stopped
