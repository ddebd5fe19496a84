"""On the machine that a pack was brought to: train what it holds, and write one archive of the runs.

The pack's folder is a build folder like any other, with checkpoints, locks and logs: what was cut off resumes.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from mtbert import files
from mtbert.errors import DataError
from mtbert.scale import archives, runner
from mtbert.scale.trainings import BUILD, SCRIPT, Pack, Returned, Training, is_finished, say, threads

PACK, RUNS = "mtbert-pack", "mtbert-runs"  # the folders that archives become
WEIGHTS = "model.safetensors"


def run(folder: Path, out: Path, jobs: int, weights: bool, only: str | None = None) -> None:
    """Train what is not finished, and write the archive of what is.

    Args:
        folder: of the extracted pack.
        out: the archive of runs.
        jobs: how many at a time, at least 1.
        weights: whether the trained weights go into the archive.
        only: the name of one training; None for all.

    Raises:
        DataError: the pack is damaged. TrainingError, KeyboardInterrupt: see `runner.run`; the archive is written.
    """
    pack = files.read_as(Pack, folder / "pack.json", "mtbert pack")
    for name, digest in pack.files.items():
        if not (folder / name).is_file() or files.sha256(folder / name) != digest:
            raise DataError(f"{folder / name} is not as it was packed; extract the pack again")
    trainings = [training for training in pack.trainings if only in (None, training.name)]
    waiting = [training for training in trainings if not is_finished(training, folder / BUILD)]
    say(f"{len(trainings)} trainings, {len(trainings) - len(waiting)} of them finished before")
    stopped = False
    try:
        if waiting:
            shares = runner.shares(min(jobs, len(waiting)), max(threads(one, folder / BUILD) for one in waiting))
            runner.run(waiting, partial(runner.here, folder=folder), shares, folder / "output")
    except KeyboardInterrupt:
        stopped = True
        raise
    finally:
        count = bring(folder, out, trainings, weights, stopped)
        say(f"{out}: {count} of {len(trainings)} runs, {out.stat().st_size / 2**20:.1f} MiB")


def bring(folder: Path, out: Path, trainings: Sequence[Training], weights: bool, stopped: bool) -> int:
    """Write the archive of the trainings that are finished, with the output of all; return their number."""
    build = folder / BUILD
    done = [training for training in trainings if is_finished(training, build)]
    left = [training for training in trainings if training not in done]
    failed, missing = ([], left) if stopped else (left, [])
    returned = Returned(script=files.sha256(folder / SCRIPT), done=done, failed=failed, missing=missing)
    members: dict[str, archives.Member] = {"runs.json": files.json_text(returned.model_dump()).encode()}
    for training in done:
        run = build / "runs" / training.place
        for file in sorted(path for top in (run, files.log_directory(build, run)) for path in top.rglob("*")):
            if file.is_file() and (weights or file.name != WEIGHTS):
                members[file.relative_to(build).as_posix()] = file
    for training in trainings:
        if (output := folder / "output" / f"{training.name}.log").is_file():
            members[f"output/{output.name}"] = output
    archives.write(out, RUNS, members)
    return len(done)
