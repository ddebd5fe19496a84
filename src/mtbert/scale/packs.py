"""Write a pack of trainings, and take back the runs that were made of one: nothing is placed before it is checked."""

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
from mtbert.scale import archives, pipeline
from mtbert.scale.packed import PACK, RUNS, WEIGHTS
from mtbert.scale.trainings import (
    BUILD,
    OUTPUT,
    PACKAGE,
    SCRIPT,
    Pack,
    Returned,
    Training,
    check_run,
    code,
    is_finished,
    log_of,
    needed,
    say,
)
from mtbert.schemas import Elsewhere, Origin, RunMetrics
from mtbert.tasks import TASKS

ROUNDING = 1e-6  # by which two sums of the same numbers may differ
SHOWN = 8  # names in a message


def pack(out: Path, variants: str | None, seeds: Sequence[int], weights: str | None) -> None:
    """Make what trainings start from, and write those that are not up to date to a tar file.

    Args:
        out: the file.
        variants: to be set in params.yaml first: names with spaces between, or all; None for what it says.
        seeds: the same; none for what params.yaml says.
        weights: fp32 or fp16, the precision that starting weights are rounded to: encoder.weights in params.yaml.

    Raises:
        SettingsError, SystemExit: see `pipeline.prepare`.
    """
    settings = [f"seeds=[{','.join(map(str, seeds))}]"] if seeds else []
    settings += [f"encoder.weights={weights}"] if weights else []
    with locking.alone(pipeline.LOCK, "pack"):
        waiting = pipeline.prepare(variants, settings)
    if not waiting:
        say("nothing to pack: every training that params.yaml lists is up to date")
        return
    write(out, waiting)
    say(f"{out}: {len(waiting)} trainings, {out.stat().st_size / 2**20:.1f} MiB")
    say(f"elsewhere: tar -xf {out.name} && python {PACK}/run.py --jobs 2; here, then: mtbert unpack runs.tar")


def write(out: Path, trainings: Sequence[Training]) -> None:
    """Write a pack; what the trainings read lies below `build`."""
    shared = dict.fromkeys(file for training in trainings for file in needed(training.variant))
    members = {file.as_posix(): file for file in (*shared, *code())} | {"run.py": PACKAGE / "scale/run.py"}
    about = Pack(trainings=list(trainings), files={name: files.sha256(file) for name, file in members.items()})
    archives.write(out, PACK, {"pack.json": files.json_text(about.model_dump()).encode(), **members})


def unpack(archive: Path) -> None:
    """Check, place and record the runs of an archive that `run.py` wrote.

    Raises:
        DataError: the archive is damaged, and nothing of it was used; or runs are missing, failed, cannot be read or
            were made from something else than lies here, and the others are recorded.
        SystemExit: a stage before the trainings failed, or DVC could not record; which it has told.
    """
    with locking.alone(pipeline.LOCK, "unpack"):
        pipeline.prepare(None, [])
        taken, faults = take(archive)
        pipeline.commit(taken)
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
        for training in (*returned.done, *returned.failed, *returned.missing):
            if (output := folder / "output" / f"{training.name}.log").is_file():
                files.write_text(OUTPUT / output.name, output.read_text("utf-8", errors="replace"))
        taken, faults = list[Training](), list[str]()
        for training in returned.done:
            try:
                check(training, folder)
            except DataError as error:
                faults.append(f"{training.name}: {error}")
                continue
            taken.append(training)
            if not is_finished(training, BUILD) or files.left_elsewhere(BUILD / "runs" / training.place):
                _place(training, folder)
    faults += [f"{one.name}: failed; its output is {OUTPUT / one.name}.log" for one in returned.failed]
    if names := [training.name for training in returned.missing]:
        faults.append(f"{first_of(names, SHOWN)}: not finished when the archive was written")
    return taken, faults


def check(training: Training, folder: Path) -> None:
    """Check that a foreign run is listed, whole, made from what lies here, and readable; DataError where it is not."""
    listed = pipeline.listed()
    if training not in listed:
        names = first_of([one.name for one in listed], SHOWN)
        raise DataError(f"params.yaml does not list its variant or seed, but {names}")
    try:
        _mark(training, folder)
        check_run(training, folder)
        _read(training, folder / "runs" / training.place)
    except (safetensors.SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"it cannot be read: {error}") from None


def _mark(training: Training, folder: Path) -> None:
    """Write elsewhere.json into a run of another machine, or one without its weights; it has its own digest."""
    run, (log, about) = folder / "runs" / training.place, log_of(training, folder)
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


def _read(training: Training, run: Path) -> None:
    """Read every file of a run as its users do; an error where they could not."""
    metrics = files.read_as(RunMetrics, run / "metrics.json", "run.py")
    if (metrics.variant, metrics.seed) != (training.variant, training.seed):
        raise DataError(f"its metrics.json is of {metrics.variant}, seed {metrics.seed}")
    for split in ("dev", "test", "train"):
        found = sorted((run / "predictions").glob(f"*-{split}.parquet"))
        tables = {file.stem.removesuffix(f"-{split}"): predictions.read(file) for file in found}
        for task, table in tables.items():
            wanted = {"id", "label", "prediction", "scored", "overall", *predictions.probability_columns(TASKS[task])}
            if missing := wanted - {*table}:
                raise DataError(f"predictions of {task}, {split} lack {', '.join(sorted(missing))}")
        said, scores = getattr(metrics, split), predictions.scores(tables)
        if scores.keys() != said.keys() or any(abs(scores[name] - said[name]) > ROUNDING for name in said):
            raise DataError(f"metrics.json says {said} of {split}, but it is {scores}")
    for file in (file for file in run.iterdir() if file.is_file()):
        if file.name not in READERS:
            raise DataError(f"{file.name} is no file of a run")
        READERS[file.name](file)


def _open_weights(file: Path) -> None:
    with safetensors.safe_open(file, "numpy") as weights:
        weights.keys()


def _read_history(file: Path) -> None:
    pd.read_csv(file, usecols=["name", "step", "value"], dtype={"step": "int64", "value": "float64"})


READERS: dict[str, Callable[[Path], object]] = {  # of the files of a run but predictions
    "metrics.json": partial(files.read_as, RunMetrics, remedy="run.py"),
    "settings.yaml": partial(files.read_as, dict[str, Any], remedy="run.py", read=files.read_yaml),
    "history.csv": _read_history,
    files.DIGESTS: files.read_json,
    files.ELSEWHERE: partial(files.read_as, Elsewhere, remedy="run.py"),
    WEIGHTS: _open_weights,
    "embeddings.safetensors": _open_weights,
}


def _place(training: Training, folder: Path) -> None:
    """Put a run and its log where a training here would have; each is there whole, or what was there before is."""
    run = folder / "runs" / training.place
    for source in (files.log_directory(folder, run), run):
        with files.new_directory(BUILD / source.relative_to(folder)) as fresh:
            shutil.copytree(source, fresh, dirs_exist_ok=True)
