"""Trainings as a file for another machine, and their runs as a file back: nothing is placed before it is checked.

There the pack's folder is a build folder like any other, with checkpoints, locks and logs: what was cut off resumes.
"""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import safetensors

from mtbert import files, inputs, locking, predictions
from mtbert.errors import DataError, first_of
from mtbert.scale import archives, grid, trainings
from mtbert.scale.trainings import BUILD, OUTPUT, SCRIPT, Training, is_finished, say
from mtbert.schemas import Elsewhere, Origin, RunMetrics
from mtbert.settings import Section
from mtbert.tasks import TASKS

PACK, RUNS = "mtbert-pack", "mtbert-runs"  # the folders that archives become
PACKAGE = Path("src/mtbert")
WEIGHTS = "model.safetensors"
ROUNDING = 1e-6  # by which two sums of the same numbers may differ
SHOWN = 8  # names in a message
CANNOT_READ = (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError)


class Pack(Section):
    """pack.json of a pack: its trainings, and the SHA-256 of each file."""

    trainings: list[Training]
    files: dict[str, str]


class Returned(Section):
    """runs.json of an archive of runs: `done` are in it; `script` is the SHA-256 of stages/train.py."""

    script: str
    done: list[Training]
    failed: list[Training] = []
    missing: list[Training]


def pack(out: Path, variants: str | None, seeds: Sequence[int], weights: str | None) -> None:
    """Make what trainings start from, and write those that are not up to date to a tar file.

    Args: see `mtbert pack --help`. Raises: see `grid.prepare`.
    """
    settings = [f"seeds=[{','.join(map(str, seeds))}]"] if seeds else []
    settings += [f"encoder.weights={weights}"] if weights else []
    with locking.alone(grid.LOCK, "pack"):
        waiting = grid.prepare(variants, settings)
    if not waiting:
        say("nothing to pack: every training that params.yaml lists is up to date")
        return
    write(out, waiting)
    say(f"{out}: {len(waiting)} trainings, {out.stat().st_size / 2**20:.1f} MiB")
    say(f"elsewhere: tar -xf {out.name} && python {PACK}/run.py --jobs 2; here, then: mtbert unpack runs.tar")


def write(out: Path, packed: Sequence[Training]) -> None:
    """Write a pack: what the trainings read, and the package."""
    read = {SCRIPT: None}
    for variant in dict.fromkeys(training.variant for training in packed):
        init = BUILD / "init" / f"{variant}.json"
        named = [BUILD / path for path in inputs.named(init)]
        card = next(path for path in named if path.name == "config.json").with_name("encoder.json")
        read |= dict.fromkeys([BUILD / "plan" / f"{variant}.yaml", init, BUILD / inputs.MACHINE, card, *named])
    code = (file for file in sorted(PACKAGE.rglob("*")) if file.is_file() and file.suffix != ".pyc")
    members = {file.as_posix(): file for file in (*read, *code)} | {"run.py": PACKAGE / "scale/run.py"}
    about = Pack(trainings=list(packed), files={name: files.sha256(file) for name, file in members.items()})
    archives.write(out, PACK, {"pack.json": files.json_text(about.model_dump()).encode(), **members})


def train(folder: Path, out: Path, jobs: int, weights: bool, only: str | None = None) -> None:
    """On the other machine, train what is not finished, and write the archive of what is.

    Args: `folder` of the extracted pack; the others: see `run.py --help`.

    Raises:
        DataError: the pack is damaged. TrainingError, KeyboardInterrupt: see `trainings.run`; the archive is written.
    """
    packed, build = files.read_as(Pack, folder / "pack.json", "mtbert pack"), folder / BUILD
    for name, digest in packed.files.items():
        if not (folder / name).is_file() or files.sha256(folder / name) != digest:
            raise DataError(f"{folder / name} is not as it was packed; extract the pack again")
    wanted = [training for training in packed.trainings if only in (None, training.name)]
    waiting = [training for training in wanted if not is_finished(training, build)]
    say(f"{len(wanted)} trainings, {len(wanted) - len(waiting)} of them finished before")
    try:
        trainings.run_here(waiting, jobs, folder / "output", folder=folder)
    finally:
        _bring(folder, out, wanted, weights)


def _bring(folder: Path, out: Path, wanted: Sequence[Training], weights: bool) -> None:
    """Write the archive of the trainings that are finished, with the output of all."""
    build = folder / BUILD
    done = [training for training in wanted if is_finished(training, build)]
    missing = [training for training in wanted if training not in done]
    returned = Returned(script=files.sha256(folder / SCRIPT), done=done, missing=missing)
    members: dict[str, archives.Member] = {"runs.json": files.json_text(returned.model_dump()).encode()}
    for training in done:
        run = build / "runs" / training.place
        for file in sorted(path for top in (run, files.log_directory(build, run)) for path in top.rglob("*")):
            if file.is_file() and (weights or file.name != WEIGHTS):
                members[file.relative_to(build).as_posix()] = file
    for training in wanted:
        if (output := folder / "output" / f"{training.name}.log").is_file():
            members[f"output/{output.name}"] = output
    archives.write(out, RUNS, members)
    say(f"{out}: {len(done)} of {len(wanted)} runs, {out.stat().st_size / 2**20:.1f} MiB")


def unpack(archive: Path) -> None:
    """Check, place and record the runs of an archive that `run.py` wrote.

    Raises:
        DataError: the archive is damaged, and nothing of it was used; or runs are missing, cannot be read or were made
            from something else than lies here, and the others are recorded.
        SystemExit: a stage before the trainings failed, or DVC could not record; which it has told.
    """
    with locking.alone(grid.LOCK, "unpack"):
        grid.prepare(None, [])
        taken, faults = take(archive)
        grid.commit(*taken)
    say(f"{len(taken)} runs in place and recorded; `dvc repro` goes on with them")
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise DataError(f"{archive}: not all of it could be used, the others are recorded\n{lines}")


def take(archive: Path) -> tuple[list[Training], list[str]]:
    """Check the runs of an archive and place them; return those in place, and what is wrong with the others.

    Raises:
        DataError: the archive is damaged, or stages/train.py was another.
    """
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=".", suffix=files.PARTIAL) as scratch:
        archives.extract(archive, Path(scratch))
        folder = Path(scratch, RUNS)
        returned = files.read_as(Returned, folder / "runs.json", "run.py")
        if returned.script != files.sha256(SCRIPT):
            raise DataError(f"{archive} was made with another {SCRIPT} than lies here; pack and train again")
        left, listed = [*returned.failed, *returned.missing], grid.listed()
        for training in (*returned.done, *left):
            if (output := folder / "output" / f"{training.name}.log").is_file():
                files.write_text(OUTPUT / output.name, output.read_text("utf-8", errors="replace"))
        taken, faults = list[Training](), list[str]()
        for training in returned.done:
            try:
                if training not in listed:
                    names = first_of([one.name for one in listed], SHOWN)
                    raise DataError(f"params.yaml does not list its variant or seed, but {names}")
                _check(training, folder)
            except DataError as error:
                faults.append(f"{training.name}: {error}")
                continue
            taken.append(training)
            if not is_finished(training) or files.left_elsewhere(BUILD / "runs" / training.place):
                _place(training, folder)
    return taken, [*faults, *(f"{one.name}: not finished; its output is {OUTPUT / one.name}.log" for one in left)]


def _check(training: Training, folder: Path) -> None:
    """Check that a foreign run is whole, made from what lies here, and readable; DataError where it is not."""
    run = folder / "runs" / training.place
    try:
        _mark(training, folder)
        trainings.check(training, folder)
        _check_scores(training, run)
        for file in (file for file in run.iterdir() if file.is_file()):
            if file.name not in READERS:
                raise DataError(f"{file.name} is no file of a run")
            READERS[file.name](file)
    except CANNOT_READ as error:
        raise DataError(f"it cannot be read: {error}") from None


def _mark(training: Training, folder: Path) -> None:
    """Write elsewhere.json into a run of another machine, or one without its weights; it has its own digest."""
    run, (log, about) = folder / "runs" / training.place, trainings.log_of(training, folder)
    if {file.name for file in log.iterdir()} - {"run.json", "speed.csv"}:
        raise DataError("its log holds other files than a log does")
    if about.machine is None:
        raise DataError("its log does not say on which machine it ran")
    digests = files.read_as(dict[str, str], run / files.DIGESTS, "run.py")
    left = {name: digests.pop(name) for name in [WEIGHTS] if name in digests and not (run / name).exists()}
    machine, torch = about.machine, about.versions["torch"]
    ran_on = Origin(processor=machine.processor, accelerator=machine.accelerator, torch=torch)
    if not left and ran_on == files.read_as(Origin, BUILD / inputs.MACHINE, "dvc repro machine"):
        return
    files.write_json(run / files.ELSEWHERE, Elsewhere(machine=ran_on, left=left).model_dump())
    files.write_json(run / files.DIGESTS, digests | {files.ELSEWHERE: files.sha256(run / files.ELSEWHERE)})
    log.rename(files.log_directory(folder, run))


def _check_scores(training: Training, run: Path) -> None:
    """Check that a run's metrics.json is its own, and says what its predictions come to."""
    metrics = files.read_as(RunMetrics, run / "metrics.json", "run.py")
    if (metrics.variant, metrics.seed) != (training.variant, training.seed):
        raise DataError(f"its metrics.json is of {metrics.variant}, seed {metrics.seed}")
    for split in ("dev", "test", "train"):
        found = sorted((run / "predictions").glob(f"*-{split}.parquet"))
        tables = {file.stem.removesuffix(f"-{split}"): predictions.read(file) for file in found}
        for task, table in tables.items():
            if missing := {"id", *predictions.probability_columns(TASKS[task])} - {*table}:
                raise DataError(f"predictions of {task}, {split} lack {', '.join(sorted(missing))}")
        said, scores = getattr(metrics, split), predictions.scores(tables)
        if scores.keys() != said.keys() or any(abs(scores[name] - said[name]) > ROUNDING for name in said):
            raise DataError(f"metrics.json says {said} of {split}, but it is {scores}")


READERS: dict[str, Callable[[Path], object]] = {  # of the files of a run but predictions
    "metrics.json": files.read_json,
    "settings.yaml": partial(files.read_as, dict[str, Any], remedy="run.py", read=files.read_yaml),
    "history.csv": partial(pd.read_csv, usecols=["name", "step", "value"], dtype={"step": "int64", "value": "float64"}),
    files.DIGESTS: files.read_json,
    files.ELSEWHERE: partial(files.read_as, Elsewhere, remedy="run.py"),
    WEIGHTS: partial(safetensors.safe_open, framework="numpy"),
    "embeddings.safetensors": partial(safetensors.safe_open, framework="numpy"),
}


def _place(training: Training, folder: Path) -> None:
    """Put a run and its log where a training here would have; each is there whole, or what was there before is."""
    run = folder / "runs" / training.place
    for source in (files.log_directory(folder, run), run):
        with files.new_directory(BUILD / source.relative_to(folder)) as fresh:
            shutil.copytree(source, fresh, dirs_exist_ok=True)
