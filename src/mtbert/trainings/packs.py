"""Trainings as a file for another machine, and their runs as a file back: no run is used before it is checked.

There the pack's folder is a build folder like any other, with checkpoints, locks and logs: what was cut off resumes.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import safetensors

from mtbert import files, layout
from mtbert.errors import DataError, UnknownNameError, first_of
from mtbert.machine import locking
from mtbert.provenance import inputs, manifests, seals
from mtbert.provenance.inputs import Machine
from mtbert.scores import collect
from mtbert.scores.schemas import Elsewhere, read_log
from mtbert.settings import Section
from mtbert.trainings import archives, dvc, many
from mtbert.trainings.many import BUILD, OUTPUT, SCRIPT, Training, say

PACK, RUNS = "mtbert-pack", "mtbert-runs"  # the folders that archives become
PACKAGE = Path("src/mtbert")
CONTENT = "pack.json"


class Pack(Section):
    """pack.json of a pack and of the archive of its runs: its trainings, and the SHA-256 of each of its files."""

    trainings: list[Training]
    files: dict[str, str]


def pack(out: Path, variants: str | None) -> None:
    """Make what trainings start from, and write those that are not up to date to a tar file.

    Args: see `mtbert pack --help`. Raises: see `dvc.prepare`.
    """
    with locking.exclusive(dvc.LOCK, "pack"):
        waiting = dvc.prepare(variants)
    if not waiting:
        say("nothing to pack: every training that params.yaml lists is up to date")
        return
    write(out, waiting)
    say(f"{out}: {len(waiting)} trainings, {out.stat().st_size / 2**20:.1f} MiB")
    say(f"elsewhere: tar -xf {out.name} && python {PACK}/run.py --jobs 2; here, then: mtbert unpack runs.tar")


def write(out: Path, packed: Sequence[Training]) -> None:
    """Write a pack: what the trainings read, runs of teachers that are not trained there, and the package."""
    paths = [SCRIPT, layout.machine(BUILD)]
    paths += [layout.plan(BUILD, "code-train"), layout.plan(BUILD, "encoder")]
    teachers = [teacher for training in packed for teacher in many.teachers(training)]
    for teacher in dict.fromkeys(teachers):
        if teacher not in packed:
            seals.check(teacher.run(), only=[layout.WEIGHTS])
            paths += [path for path in sorted(teacher.run().rglob("*")) if path.is_file()]
    for variant in dict.fromkeys(training.variant for training in (*packed, *teachers)):
        read = [BUILD / path for path in manifests.read(BUILD, variant).files]
        weights = next(path for path in read if path.name == layout.WEIGHTS)
        card = weights.with_name(layout.ENCODER_CARD)
        paths += [layout.plan(BUILD, variant), layout.manifest(BUILD, variant), card, *read]
    paths += [path for path in sorted(PACKAGE.rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    members = {path.as_posix(): path for path in paths} | {"run.py": PACKAGE / "trainings/in_pack.py"}
    content = Pack(trainings=list(packed), files={name: files.sha256(path) for name, path in members.items()})
    archives.write(out, PACK, {CONTENT: files.json_text(content.model_dump()).encode(), **members})


def train(out: Path, jobs: int | None, weights: bool, only: str | None = None) -> None:
    """Train what is not finished of an extracted pack, on the other machine, and write the archive of what is.

    Args: see `run.py --help`.

    Raises:
        DataError: the pack is damaged. TrainingError, KeyboardInterrupt: see `many.Queue.run`; the archive is written.
    """
    packed = files.read_as(Pack, Path(CONTENT), "mtbert pack")
    for name, digest in packed.files.items():
        file = Path(name).resolve()
        if not file.is_file() or files.sha256(file) != digest:
            raise DataError(f"{file} is not as it was packed; extract the pack again")
    names = [training.name for training in packed.trainings]
    if only is not None and only not in names:
        raise UnknownNameError("training", only, names)
    wanted = [training for training in packed.trainings if only in (None, training.name)]
    waiting = [training for training in wanted if not manifests.is_finished(training.run(), BUILD)]
    say(f"{len(wanted)} trainings, {len(wanted) - len(waiting)} of them finished before")
    try:
        many.run_here(waiting, jobs, Path("output").resolve())
    finally:
        _write_runs(out, packed.model_copy(update={"trainings": wanted}), weights)


def _write_runs(out: Path, packed: Pack, weights: bool) -> None:
    """Write the archive of the trainings that are finished, with the output of all."""
    runs = [training.run() for training in packed.trainings]
    finished = [run for run in runs if manifests.is_finished(run, BUILD)]
    members: dict[str, Path | bytes] = {}
    for run in finished:
        for file in sorted([*run.rglob("*"), *layout.log(run).rglob("*")]):
            if file.is_file() and (weights or file.name != layout.WEIGHTS):
                members[file.relative_to(BUILD).as_posix()] = file
    for training in packed.trainings:
        output = Path("output", f"{training.name}.log")
        if output.is_file():
            members[output.as_posix()] = output
    members[CONTENT] = files.json_text(packed.model_dump()).encode()  # last: an archive that is cut off lacks it
    archives.write(out, RUNS, members)
    say(f"{out}: {len(finished)} of {len(packed.trainings)} runs, {out.stat().st_size / 2**20:.1f} MiB")


def unpack(archive: Path) -> None:
    """Check the runs of an archive that `run.py` wrote, put them into their folders, and have DVC record them.

    Raises:
        DataError: the archive is damaged, and nothing of it was used; or runs are missing, cannot be read or were made
            from something else than lies here, and the others are recorded.
        SystemExit: a stage before the trainings failed, or DVC could not record, and DVC has printed why.
    """
    with locking.exclusive(dvc.LOCK, "unpack"):
        dvc.prepare()
        arrived, faults = take(archive)
        dvc.commit(*arrived)
    say(f"{len(arrived)} runs in place and recorded; `dvc repro` goes on with them")
    if faults:
        title = f"{archive}: not all of it could be used, the others are recorded"
        raise DataError("\n  ".join([title, *faults]))


def take(archive: Path) -> tuple[list[Training], list[str]]:
    """Check the runs of an archive, and put those that can be used into their folders.

    Returns:
        The trainings whose runs are there, and what is wrong with the others, a line each.

    Raises:
        DataError: the archive is damaged, or stages/train.py was another.
    """
    listed = dvc.listed()
    arrived, faults = list[Training](), list[str]()
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=".", suffix=files.PARTIAL) as scratch:
        archives.extract(archive, Path(scratch))
        folder = Path(scratch, RUNS)
        packed = files.read_as(Pack, folder / CONTENT, "run.py")
        if packed.files.get(SCRIPT.as_posix()) != files.sha256(SCRIPT):
            raise DataError(f"{archive} was made with another {SCRIPT} than lies here; pack and train again")
        for training in packed.trainings:
            output = folder / "output" / f"{training.name}.log"
            if output.is_file():
                files.write_text(OUTPUT / output.name, output.read_text("utf-8", errors="replace"))
            try:
                _check(training, folder, listed)
            except DataError as error:
                faults.append(f"{training.name}: {error}")
                continue
            arrived.append(training)
            here = training.run()
            if not manifests.is_finished(here, BUILD) or seals.lacks_weights(here):
                _copy(training.run(folder), folder)
    return arrived, faults


def _check(training: Training, folder: Path, listed: Sequence[Training]) -> None:
    """Raise DataError where the run of a training in an extracted archive cannot be used here."""
    if training not in listed:
        names = first_of([other.name for other in listed], 8)
        raise DataError(f"params.yaml does not list its variant or seed, but {names}")
    run = training.run(folder)
    if not run.is_dir():
        raise DataError(f"not finished; its output is {OUTPUT / training.name}.log")
    _check_run(run)


def _check_run(run: Path) -> None:
    """Mark a foreign run, and check that it is whole, was made from what lies here, and can be collected."""
    try:
        _mark(run)
        seals.check(run)
        if not manifests.is_finished(run, BUILD):
            raise DataError(f"{run} was made from other settings, data, weights or code than lie in {BUILD}")
        collect.read_models(BUILD, [run], pictures=False)
        for file in run.glob("*.safetensors"):
            safetensors.safe_open(file, framework="numpy")
    except DataError:
        raise
    except Exception as error:  # of what a stranger may have written: many types, with one message
        raise DataError(f"it cannot be read: {error}") from None


def _mark(run: Path) -> None:
    """Write elsewhere.json into a run of another machine, or one without its weights."""
    machine = ran_on(run)
    here = inputs.machine(BUILD).model_copy(update={"precision": None})  # which a log does not state
    if machine != here or not (run / layout.WEIGHTS).exists():
        write_elsewhere(run, machine)


def ran_on(run: Path) -> Machine:
    """Return the machine that a run was made on, by its log; DataError where that does not say it."""
    log = read_log(run)
    if log is None or log.machine is None:
        raise DataError("its log does not say on which machine it ran")
    return Machine(**log.machine, torch=log.versions.get("torch", ""))


def write_elsewhere(run: Path, machine: Machine) -> None:
    """Write elsewhere.json into a run, and seal it as it is here, without weights that did not come."""
    files.write_json(run / layout.ELSEWHERE, Elsewhere(machine=machine).model_dump())
    digests = files.read_as(dict[str, str], run / layout.DIGESTS, "run.py")
    if not (run / layout.WEIGHTS).exists():
        digests.pop(layout.WEIGHTS, None)
    files.write_json(run / layout.DIGESTS, digests | {layout.ELSEWHERE: files.sha256(run / layout.ELSEWHERE)})


def _copy(run: Path, folder: Path) -> None:
    """Put a run and its log where a training here would have; each is there whole, or what was there before is."""
    for source in (layout.log(run), run):
        with files.new_directory(BUILD / source.relative_to(folder)) as fresh:
            shutil.copytree(source, fresh, dirs_exist_ok=True)
