"""Trainings as a file for another machine, and their runs as a file back: nothing is placed before it is checked.

There the pack's folder is a build folder like any other, with checkpoints, locks and logs: what was cut off resumes.
"""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import safetensors

from mtbert import files, layout
from mtbert.command import locking
from mtbert.errors import DataError, first_of
from mtbert.inputs import manifests
from mtbert.results import collect
from mtbert.results.schemas import Elsewhere, Origin
from mtbert.scale import archives, dvc, trainings
from mtbert.scale.trainings import BUILD, OUTPUT, SCRIPT, Training, say
from mtbert.settings import Section

PACK, RUNS = "mtbert-pack", "mtbert-runs"  # the folders that archives become
PACKAGE = Path("src/mtbert")
ABOUT = "pack.json"


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
    """Write a pack: what the trainings read, and the package."""
    planned = [layout.plan(BUILD, name) for name in (manifests.CODE, manifests.ENCODER)]
    read = [SCRIPT, layout.machine(BUILD), *planned]
    for variant in dict.fromkeys(training.variant for training in packed):
        manifest = layout.manifest(BUILD, variant)
        named = [BUILD / path for path in manifests.read(manifest).files]
        card = next(path for path in named if path.name == "config.json").with_name("encoder.json")
        read += [layout.plan(BUILD, variant), manifest, card, *named]
    read += [file for file in sorted(PACKAGE.rglob("*")) if file.is_file() and file.suffix != ".pyc"]
    members = {file.as_posix(): file for file in read} | {"run.py": PACKAGE / "scale/run.py"}
    about = Pack(trainings=list(packed), files={name: files.sha256(file) for name, file in members.items()})
    archives.write(out, PACK, {ABOUT: files.json_text(about.model_dump()).encode(), **members})


def train(out: Path, jobs: int | None, weights: bool, only: str | None = None) -> None:
    """On the other machine, in an extracted pack, train what is not finished, and write the archive of what is.

    Args: see `run.py --help`.

    Raises:
        DataError: the pack is damaged. TrainingError, KeyboardInterrupt: see `trainings.run`; the archive is written.
    """
    packed = files.read_as(Pack, Path(ABOUT), "mtbert pack")
    for file, digest in ((Path(name).resolve(), digest) for name, digest in packed.files.items()):
        if not file.is_file() or files.sha256(file) != digest:
            raise DataError(f"{file} is not as it was packed; extract the pack again")
    wanted = [training for training in packed.trainings if only in (None, training.name)]
    waiting = [training for training in wanted if not manifests.is_finished(training.run(), BUILD)]
    say(f"{len(wanted)} trainings, {len(wanted) - len(waiting)} of them finished before")
    try:
        trainings.run_here(waiting, jobs, Path("output").resolve())
    finally:
        _bring(out, packed.model_copy(update={"trainings": wanted}), weights)


def _bring(out: Path, packed: Pack, weights: bool) -> None:
    """Write the archive of the trainings that are finished, with the output of all."""
    runs = [training.run() for training in packed.trainings]
    done = [run for run in runs if manifests.is_finished(run, BUILD)]
    members = dict[str, Path | bytes]()
    for run in done:
        for file in sorted([*run.rglob("*"), *layout.log(run).rglob("*")]):
            if file.is_file() and (weights or file.name != layout.WEIGHTS):
                members[file.relative_to(BUILD).as_posix()] = file
    outputs = (Path("output", f"{training.name}.log") for training in packed.trainings)
    members |= {output.as_posix(): output for output in outputs if output.is_file()}
    members[ABOUT] = files.json_text(packed.model_dump()).encode()  # last: an archive that is cut off lacks it
    archives.write(out, RUNS, members)
    say(f"{out}: {len(done)} of {len(packed.trainings)} runs, {out.stat().st_size / 2**20:.1f} MiB")


def unpack(archive: Path) -> None:
    """Check, place and record the runs of an archive that `run.py` wrote.

    Raises:
        DataError: the archive is damaged, and nothing of it was used; or runs are missing, cannot be read or were made
            from something else than lies here, and the others are recorded.
        SystemExit: a stage before the trainings failed, or DVC could not record; which it has told.
    """
    with locking.exclusive(dvc.LOCK, "unpack"):
        dvc.prepare()
        taken, faults = take(archive)
        dvc.commit(*taken)
    say(f"{len(taken)} runs in place and recorded; `dvc repro` goes on with them")
    if faults:
        raise DataError("\n  ".join([f"{archive}: not all of it could be used, the others are recorded", *faults]))


def take(archive: Path) -> tuple[list[Training], list[str]]:
    """Check the runs of an archive and place them; return those in place, and what is wrong with the others.

    Raises:
        DataError: the archive is damaged, or stages/train.py was another.
    """
    taken, faults, listed = list[Training](), list[str](), dvc.listed()
    with tempfile.TemporaryDirectory(dir=BUILD, prefix=".", suffix=files.PARTIAL) as scratch:
        archives.extract(archive, Path(scratch))
        folder = Path(scratch, RUNS)
        packed = files.read_as(Pack, folder / ABOUT, "run.py")
        if packed.files.get(SCRIPT.as_posix()) != files.sha256(SCRIPT):
            raise DataError(f"{archive} was made with another {SCRIPT} than lies here; pack and train again")
        for training in packed.trainings:
            if (output := folder / "output" / f"{training.name}.log").is_file():
                files.write_text(OUTPUT / output.name, output.read_text("utf-8", errors="replace"))
            try:
                if training not in listed:
                    names = first_of([one.name for one in listed], 8)
                    raise DataError(f"params.yaml does not list its variant or seed, but {names}")
                if not (run := training.run(folder)).is_dir():
                    raise DataError(f"not finished; its output is {OUTPUT / training.name}.log")
                _check(run, training)
            except DataError as error:
                faults.append(f"{training.name}: {error}")
                continue
            taken.append(training)
            here = training.run()
            if not manifests.is_finished(here, BUILD) or layout.left_elsewhere(here):
                _place(run, folder)
    return taken, faults


def _check(run: Path, training: Training) -> None:
    """Check that a foreign run is whole, was made from what lies here, and is such that `collect` takes it."""
    try:
        _mark(run)
        manifests.check_run(run, BUILD)
        collect.of_folders(BUILD, [run], pictures=False)
        for file in run.glob("*.safetensors"):
            safetensors.safe_open(file, framework="numpy")
    except DataError:
        raise
    except Exception as error:  # of what a stranger may have written: many types, with one message
        raise DataError(f"it cannot be read: {error}") from None


def _mark(run: Path) -> None:
    """Write elsewhere.json into a run of another machine, or one without its weights; it has its own digest."""
    log = manifests.log(run)
    if log.machine is None:
        raise DataError("its log does not say on which machine it ran")
    digests = files.read_as(dict[str, str], run / layout.DIGESTS, "run.py")
    left = {name: digests.pop(name) for name in [layout.WEIGHTS] if name in digests and not (run / name).exists()}
    ran_on = Origin(**log.machine.model_dump(), torch=log.versions.get("torch", ""))
    here = files.read_as(Origin, layout.machine(BUILD), "dvc repro machine")
    if not left and ran_on == here.model_copy(update={"precision": None}):
        return
    place = layout.log(run)
    files.write_json(run / layout.ELSEWHERE, Elsewhere(machine=ran_on, left=left).model_dump())
    files.write_json(run / layout.DIGESTS, digests | {layout.ELSEWHERE: files.sha256(run / layout.ELSEWHERE)})
    place.rename(layout.log(run))


def _place(run: Path, folder: Path) -> None:
    """Put a run and its log where a training here would have; each is there whole, or what was there before is."""
    for source in (layout.log(run), run):
        with files.new_directory(BUILD / source.relative_to(folder)) as fresh:
            shutil.copytree(source, fresh, dirs_exist_ok=True)
