"""Interim answers: all variants train with one seed, then with the next, and after each seed but the last one is made.

A process of its own (`interim`) makes and prints it, beside the trainings that go on, from the seeds whose trainings
have ended. What it prints on standard error is in OUTPUT, as of a training.
Where tasks have folds, an answer needs as many seeds as folds, which predict each row together: no other is made.
When the next one comes is worked out from the steps that were measured so far. A training that was not measured takes
as long as others have for as many examples.
"""

import functools
import heapq
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

from mtbert import files, layout
from mtbert.tasks import whole_repeats
from mtbert.trainings.many import BUILD, OUTPUT, Answers, Queue, Training, end_with_parent

PATIENCE = 10.0  # seconds in which an interim answer that is not needed any more has to end
SOON = 12 * 3600.0  # seconds within which a time of day says enough
LOG = OUTPUT / "interim.log"


class InterimAnswers(Answers):
    """Has an answer made after each seed but the last, and a page of the baselines before the first.

    Args:
        seeds: of all trainings, in order, also of those that were trained before.
        folds: how many folds the tasks have; 0 without folds.
        start: starts what makes an answer from seeds, of so many; its last argument says what comes next.

    Attributes:
        answered: how many seeds the last answer is from; -1 before the page of the baselines.
        process: makes an answer, and merges models for its page afterwards; None while none is made.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        folds: int = 0,
        start: Callable[[Sequence[int], int, str], subprocess.Popen[bytes]] | None = None,
    ) -> None:
        self.seeds = seeds
        counts = range(1, len(seeds) + 1)
        self._answerable = [count for count in counts if len(whole_repeats(seeds[:count], folds)) == count]
        self.start = start or _start
        self.answered = -1
        self.process: subprocess.Popen[bytes] | None = None

    def look(self, queue: Queue) -> None:
        """Start an answer where a seed has ended."""
        ended = self._ended(queue)
        status = self.process.poll() if self.process else None
        if status is not None:
            self._say_fault(status)
            self.process = None
        if self.process is None and self.answered < ended < len(self.seeds):
            self.answered = ended
            self.process = self.start(self.seeds[:ended], len(self.seeds), self._next(queue))

    def states(self, queue: Queue) -> list[str]:
        """Return whether an answer, or its page, is being made, and when the next one comes."""
        about = _in_words(self.answered, len(self.seeds))
        being_made = f"the page from {about} is being made" if self.process else ""
        return [*filter(None, [being_made, self._next(queue)])]

    def close(self) -> None:
        """End an answer that is being made: a better one follows."""
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def _ended(self, queue: Queue) -> int:
        """Return from how many seeds an answer can be made: ended ones, whether or not each training succeeded."""
        open_seeds = {training.seed for training in (*queue.waiting, *queue.running)}
        ended = next((number for number, seed in enumerate(self.seeds) if seed in open_seeds), len(self.seeds))
        return max((count for count in self._answerable if count <= ended), default=0)

    def _next(self, queue: Queue) -> str:
        """Return when the next answer can be made, in words; nothing where too little was measured."""
        ended = self._ended(queue)
        following = next((count for count in self._answerable if count > ended), 0)
        seconds = left(queue, self.seeds[following - 1]) if following else None
        if seconds is None:
            return ""
        until = time.localtime(time.time() + seconds)
        at = time.strftime("%H:%M" if seconds < SOON else "%a %H:%M", until)
        seeds = "the last" if following == len(self.seeds) else _in_words(following, len(self.seeds))
        return f"the answer from {seeds} comes at about {at}"

    def _say_fault(self, status: int) -> None:
        """Say on standard error why an answer, or its page with merged models, was not made."""
        if status == 0:
            return
        about = _in_words(self.answered, len(self.seeds))
        lines = LOG.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"exit status {status}"
        print(f"no whole page from {about}, and trainings go on: {why} ({LOG})", file=sys.stderr, flush=True)


def _in_words(seeds: int, of: int) -> str:
    return f"{seeds} of {of} seeds" if seeds else "the baselines"


def _start(seeds: Sequence[int], of: int, following: str) -> subprocess.Popen[bytes]:
    """Start what makes an answer, with one thread."""
    paths = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))
    listed = ",".join(map(str, seeds))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with LOG.open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "mtbert.trainings.interim", str(BUILD), listed, str(of), following],
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,  # Ctrl-C at the terminal is for the process that follows trainings
            preexec_fn=end_with_parent,
        )


def left(queue: Queue, seed: int) -> float | None:
    """Return the seconds until all trainings of a seed have ended; None where nothing was measured."""
    whole = _measured(queue)
    if not whole:
        return None
    now = time.monotonic()
    ends = [0.0] * len(queue.free)  # of those that run, and later of those that take their places
    last = 0.0
    for training in queue.running:
        ends.append(max(0.0, _estimated(training, whole) - (now - queue.begun[training])))
        if training.seed == seed:
            last = max(last, ends[-1])
    heapq.heapify(ends)
    of_seed = [number for number, training in enumerate(queue.waiting) if training.seed == seed]
    for training in queue.waiting[: max(of_seed, default=-1) + 1]:
        end = ends[0] + _estimated(training, whole)
        heapq.heapreplace(ends, end)
        if training.seed == seed:
            last = max(last, end)
    return last


def _measured(queue: Queue) -> dict[Training, float]:
    """Return the seconds of trainings from start to end: of those that ended, and of variants of which none has ended.

    A variant with a training that ended is estimated from those that ended, since one may end before its last step.
    """
    whole = dict(queue.seconds)
    ended = {training.variant for training in whole}
    for training in queue.running:
        far = queue.progress(training) if training.variant not in ended else None
        if far is not None and far.left is not None:
            whole[training] = time.monotonic() - queue.begun[training] + far.left
    return whole


def _estimated(training: Training, whole: Mapping[Training, float]) -> float:
    """Return the seconds of a training from start to end: its own, its variant's, or others' for as many examples."""
    if training in whole:
        return whole[training]
    alike = [seconds for other, seconds in whole.items() if other.variant == training.variant]
    if alike:
        return fmean(alike)
    return _examples(training.variant) * sum(whole.values()) / sum(_examples(other.variant) for other in whole)


@functools.cache
def _examples(variant: str) -> float:
    """Return about how many examples a training of a variant sees."""
    from mtbert.variants.settings import VariantSettings

    settings = layout.read_planned(VariantSettings, layout.plan(BUILD, variant))
    examples = 0.0
    for phase in settings.phases:
        turns = phase.epoch_length.steps or 0
        for task in () if phase.epoch_length.steps else phase.tasks:
            turns += phase.turns(settings.task_of(task), _rows(task))
        examples += phase.epochs * turns * phase.batch_size
    return max(examples, 1.0)


def _rows(task: str) -> int:
    """Return the training rows of a task."""
    return len(files.read_parquet(layout.examples(layout.data(BUILD), task, "train"), ["id"]))
