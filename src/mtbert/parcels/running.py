"""Train what a pack holds, several trainings side by side, and write one archive of the runs.

Each training is the stage's own script in a process of its own, in the pack's folder, which then is a build folder like
any other: with checkpoints, locks and logs. So what was cut off goes on where it was.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtbert import files, inputs, machine
from mtbert.errors import DataError, TrainingError, first_of
from mtbert.outputs import Elsewhere, Origin
from mtbert.parcels import archives, parcel
from mtbert.parcels.parcel import BUILD, CONTENTS, SCRIPT, TOP, Pack, Parcel, Returned, say

RUNS_TOP, RUNS_CONTENTS = "mtbert-runs", "runs.json"
WEIGHTS = "model.safetensors"
POLL = 0.2  # seconds
TELL = 30.0  # seconds between two lines of a training that runs
PATIENCE = 60.0  # seconds in which a training that is stopped has to write its checkpoint
KILLED = -signal.SIGKILL  # a process that ended so said nothing of it
MARGIN = 60.0  # seconds before the end of the minutes, or a tenth of them, in which all is brought to its end


@dataclass
class Running:
    """A training that runs."""

    parcel: Parcel
    share: dict[str, str]
    process: subprocess.Popen[bytes]
    since: float = field(default_factory=time.monotonic)


def of_archive(archive: Path) -> Path:
    """The folder beside a pack that it is extracted to, unless it was before.

    Raises:
        DataError: the archive is damaged, or another pack's folder is there.
    """
    folder = archive.with_name(f"{archive.name}.work") / TOP
    folder.parent.mkdir(parents=True, exist_ok=True)
    with archives.extracted(archive, folder.parent) as fresh:
        archives.read_contents(fresh / TOP, Pack, CONTENTS, "mtbert pack")
        if not folder.exists():
            (fresh / TOP).rename(folder)
        elif files.sha256(folder / CONTENTS) != files.sha256(fresh / TOP / CONTENTS):
            raise DataError(f"{folder} is of another pack than {archive}; remove it, or give the pack another name")
    return folder


def start(folder: Path, out: Path, jobs: int, minutes: float | None, weights: bool) -> None:
    """`run`, as a process whose work it is: SIGTERM and Ctrl-C stop the trainings in order, and the runs are written.

    Raises: TrainingError where trainings failed. SystemExit: 130 where a signal stopped it.
    """
    signals: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: signals.append(number))
    run(folder, out, jobs, minutes, weights, signals)
    if signals:
        sys.exit(130)


def run(folder: Path, out: Path, jobs: int, minutes: float | None, weights: bool, signals: Sequence[int] = ()) -> None:
    """Train what is not finished, `jobs` at a time, and write the archive of what is.

    Args:
        folder: of the extracted pack.
        out: the archive of runs.
        jobs: how many at a time, at least 1; with fewer GPUs, several share one.
        minutes: after which all has to be over; None for no limit.
        weights: whether the trained weights go into the archive.
        signals: becomes non-empty when all is to stop.

    Raises:
        DataError: the pack is damaged. TrainingError: trainings failed; the others are in the archive.
    """
    until = time.monotonic() + seconds_of(minutes)
    pack = archives.read_contents(folder, Pack, CONTENTS, "mtbert pack")
    waiting = [one for one in pack.parcels if not finished(one, folder)]
    done = len(pack.parcels) - len(waiting)
    say(f"{len(pack.parcels)} trainings, {done} of them finished before; output in {folder / 'output'}")
    _tell_threads(folder, waiting, jobs)
    failed = train(waiting, folder, machine.shares(min(jobs, len(waiting))) if waiting else [], until, signals)
    returned = bring(folder, out, pack.parcels, [one.name for one in failed], weights)
    say(f"{out}: {len(returned.parcels)} of {len(pack.parcels)} runs, {out.stat().st_size / 2**20:.1f} MiB")
    if returned.missing:
        say(
            f"not finished: {first_of(returned.missing, parcel.SHOWN)}; the same command goes on from their checkpoints"
        )
    if failed:
        logs = "\n".join(f"  {one.name}: {_output(folder, one)}" for one in failed)
        raise TrainingError(f"{len(failed)} of {len(pack.parcels)} failed, the others are in {out}\n{logs}")


def seconds_of(minutes: float | None) -> float:
    """How long trainings may go on, so that all is over in these minutes."""
    return float("inf") if minutes is None else max(0.0, minutes * 60 - min(MARGIN, minutes * 6))


def finished(one: Parcel, folder: Path) -> bool:
    """Whether its run lies in the folder, whole and made from what lies there."""
    try:
        parcel.check_run(one, folder / BUILD / "runs" / one.place, folder / BUILD)
    except DataError:
        return False
    return True


def _tell_threads(folder: Path, waiting: Sequence[Parcel], jobs: int) -> None:
    """Say so where trainings have more threads than there are cores; the number is a setting, and stays."""
    plans = [files.read_plan(folder / BUILD / "plan" / f"{one.variant}.yaml", "run") for one in waiting]
    threads = max((plan["run"]["threads"] for plan in plans), default=1) * min(jobs, len(waiting))
    if threads > machine.cores():
        say(f"{threads} threads on {machine.cores()} cores: run.threads in params.yaml is for where the pack is made")


def train(
    waiting: Sequence[Parcel],
    folder: Path,
    shares: Sequence[dict[str, str]],
    until: float,
    signals: Sequence[int] = (),
) -> list[Parcel]:
    """Train with one worker for each share until all is done, the time is over or a signal came; those that failed."""
    left, free, running, failed = list(waiting), list(shares), list[Running](), list[Parcel]()
    tell = time.monotonic() + TELL
    try:
        while (left or running) and not signals and time.monotonic() < until:
            while left and free:
                running.append(_start(left.pop(0), folder, free.pop(0)))
            time.sleep(POLL)
            if time.monotonic() > tell:
                tell += TELL
                _tell_progress(running, folder)
            for training in [training for training in running if training.process.poll() is not None]:
                running.remove(training)
                free.append(training.share)
                count = f"{len(waiting) - len(left) - len(running)} of {len(waiting)}"
                if not _ended_well(training, count):
                    failed.append(training.parcel)
    finally:
        _stop(running)
    return failed


def _start(one: Parcel, folder: Path, share: dict[str, str]) -> Running:
    say(f"{one.name}: started")
    file = _output(folder, one)
    file.parent.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join(filter(None, ["src", os.environ.get("PYTHONPATH")]))  # a cluster's modules use it, too
    with file.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, str(SCRIPT), one.variant, str(one.seed)],
            cwd=folder,
            env=os.environ | share | {"PYTHONPATH": paths, "MTBERT_LIVE": "off"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C at the terminal is for this process alone, which stops all in order
        )
    return Running(one, share, process)


def _ended_well(training: Running, count: str) -> bool:
    status = training.process.returncode
    seconds = time.monotonic() - training.since
    killed = f": {how_it_ended(status)}" if status == KILLED else ""  # else its output says why
    say(f"{training.parcel.name}: {'failed' if status else 'trained'} after {seconds:.0f} s ({count}){killed}")
    return status == 0


def how_it_ended(status: int) -> str:
    """In words, with what may help; a status below 0 is the signal that ended it."""
    if status == KILLED:
        return "it was killed, as a system does that runs out of memory; fewer at a time (--jobs) need less"
    return f"it ended with status {status}"


def _tell_progress(running: Sequence[Running], folder: Path) -> None:
    """The last line of each output: step, time gone and left, loss."""
    for training in running:
        lines = _output(folder, training.parcel).read_text("utf-8", errors="replace").split("\n")
        if last := [line for line in lines if line.strip()][-1:]:
            say(f"{training.parcel.name}: {last[0].strip()}")


def _stop(running: Sequence[Running]) -> None:
    """Have each write its checkpoint and end; kill what does not."""
    for training in running:
        training.process.terminate()
    until = time.monotonic() + PATIENCE
    for training in running:
        try:
            training.process.wait(max(0.0, until - time.monotonic()))
            say(f"{training.parcel.name}: stopped")
        except subprocess.TimeoutExpired:
            training.process.kill()
            training.process.wait()
            say(f"{training.parcel.name}: killed, since it did not stop; its last checkpoint is kept")


def _output(folder: Path, one: Parcel) -> Path:
    return folder / "output" / f"{one.name}.log"


def bring(folder: Path, out: Path, parcels: Sequence[Parcel], failed: Sequence[str], weights: bool) -> Returned:
    """Write the archive of those that are finished, with the output of all that were begun."""
    members: dict[str, archives.Member] = {}
    done: list[Parcel] = []
    begun = files.read_as(Origin, folder / BUILD / inputs.MACHINE, "mtbert pack")
    for one in parcels:
        if finished(one, folder):
            members |= brought(one, folder / BUILD, begun, weights)
            done.append(one)
        if (output := _output(folder, one)).is_file():
            members[f"output/{one.name}.log"] = output
    here = {one.name for one in done}
    missing = [one.name for one in parcels if one.name not in here and one.name not in failed]
    returned = Returned(files={}, parcels=done, failed=[name for name in failed if name not in here], missing=missing)
    archives.write(out, RUNS_TOP, returned, RUNS_CONTENTS, members)
    return returned


def brought(one: Parcel, build: Path, begun: Origin, weights: bool) -> dict[str, archives.Member]:
    """The files of a run and its log; where it is another than DVC would make here, it says so itself.

    Args:
        one: the training.
        build: where its run and log lie.
        begun: the machine that the run is to count for.
        weights: whether the trained weights are among the files.
    """
    run = build / "runs" / one.place
    log = files.log_directory(build, run)
    names = files.read_as(dict[str, str], run / files.DIGESTS, "mtbert run-packed")
    ran_on = parcel.origin(log)
    left = {} if weights else {WEIGHTS: names[WEIGHTS]}
    members: dict[str, archives.Member] = {name: run / name for name in names.keys() - left.keys()}
    digests = (run / files.DIGESTS).read_bytes()
    if left or ran_on != begun:
        elsewhere = files.json_text(Elsewhere(machine=ran_on, left=left).model_dump()).encode()
        members[files.ELSEWHERE] = elsewhere
        kept = {name: digest for name, digest in names.items() if name not in left}
        digests = files.json_text(kept | {files.ELSEWHERE: files.sha256_of(elsewhere)}).encode()
    members[files.DIGESTS] = digests
    key = files.sha256_of(digests)[: files.LOG_KEY]
    logs = {f"logs/{one.place.as_posix()}/{key}/{file.name}": file for file in sorted(log.iterdir())}
    return {f"runs/{one.place.as_posix()}/{name}": content for name, content in members.items()} | logs
