"""On the machine that a pack was brought to: train what it holds, and write one archive of the runs.

The pack's folder is a build folder like any other, with checkpoints, locks and logs: what was cut off resumes.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from mtbert import files
from mtbert.errors import DataError, TrainingError, first_of
from mtbert.scale import archives, runner
from mtbert.scale.trainings import BUILD, SCRIPT, Pack, Returned, Training, is_finished, say, threads

PACK, RUNS = "mtbert-pack", "mtbert-runs"  # the folders that archives become
WEIGHTS = "model.safetensors"
SHOWN = 8  # names in a message


def run(folder: Path, out: Path, jobs: int, weights: bool, only: str | None = None) -> None:
    """Train what is not finished, and write the archive of what is.

    Args:
        folder: of the extracted pack.
        out: the archive of runs.
        jobs: how many at a time, at least 1.
        weights: whether the trained weights go into the archive.
        only: the name of one training; None for all.

    Raises:
        DataError: the pack is damaged. TrainingError: trainings failed; the others are in the archive.
        SystemExit: 130 where it was stopped, once the archive is written.
    """
    pack = _read(folder)
    trainings = [training for training in pack.trainings if only in (None, training.name)]
    waiting = [training for training in trainings if not is_finished(training, folder / BUILD, folder / BUILD)]
    say(f"{len(trainings)} trainings, {len(trainings) - len(waiting)} of them finished before")
    most = max((threads(training, folder / BUILD) for training in waiting), default=1)
    shares = runner.shares(min(jobs, len(waiting)), most) if waiting else []
    with runner.heeded() as stop:
        here = runner.Here(stop, shares, folder / "output", folder)
        failed = runner.run(waiting, here, len(shares), stop)
        returned = bring(folder, out, trainings, failed, weights)
    say(f"{out}: {len(returned.done)} of {len(trainings)} runs, {out.stat().st_size / 2**20:.1f} MiB")
    if names := [training.name for training in returned.missing]:
        say(f"not finished: {first_of(names, SHOWN)}; the same command goes on from their checkpoints")
    if failed:
        logs = "\n".join(f"  {training.name}: {folder / 'output' / training.name}.log" for training in failed)
        raise TrainingError(f"{len(failed)} of {len(trainings)} failed, the others are in {out}\n{logs}")
    if stop.is_set():
        sys.exit(130)


def _read(folder: Path) -> Pack:
    """Return what a pack holds; DataError where a file is not as it was packed."""
    pack = files.read_as(Pack, folder / "pack.json", "mtbert pack")
    for name, digest in pack.files.items():
        if not (folder / name).is_file() or files.sha256(folder / name) != digest:
            raise DataError(f"{folder / name} is not as it was packed; extract the pack again")
    return pack


def bring(
    folder: Path, out: Path, trainings: Sequence[Training], failed: Sequence[Training], weights: bool
) -> Returned:
    """Write the archive of the trainings that are finished, with the output of all that were begun."""
    build = folder / BUILD
    done = [training for training in trainings if is_finished(training, build, build)]
    missing = [training for training in trainings if training not in done and training not in failed]
    lost = [training for training in failed if training not in done]
    returned = Returned(script=files.sha256(folder / SCRIPT), done=done, failed=lost, missing=missing)
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
    return returned
