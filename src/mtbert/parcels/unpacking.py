"""Take runs that were made elsewhere: check that they were made from what lies here, place them, have DVC record them.

All is checked before anything is placed. What lies here already, whole and made from the same, stays as it is.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mtbert import files, locking, repository
from mtbert.errors import DataError, first_of
from mtbert.parcels import archives, parcel
from mtbert.parcels.parcel import BUILD, Parcel, Returned, say
from mtbert.parcels.running import RUNS_CONTENTS, RUNS_TOP

OUTPUT = BUILD / "parcels"  # what trainings elsewhere said


@dataclass
class Sorted:
    """What became of the runs of an archive: those to place, those there already, and what is wrong with the others."""

    fresh: list[Parcel] = field(default_factory=list)
    present: list[Parcel] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def unpack(archive: Path) -> None:
    """Check, place and record the runs of an archive that `running.run` wrote; say what became of each.

    Raises:
        DataError: the archive is damaged, and nothing of it was used; or runs are missing, failed or were made from
            something else than lies here, and the others are recorded.
        SystemExit: a stage before the trainings failed, or DVC could not record; which it has told.
    """
    with locking.alone(repository.LOCK, "unpack"), archives.extracted(archive, BUILD) as folder:
        returned = archives.read_contents(folder / RUNS_TOP, Returned, RUNS_CONTENTS, "mtbert run-packed")
        repository.dvc("repro", "init")
        found = sort(returned, folder / RUNS_TOP)
        for one in found.fresh:
            place(one, folder / RUNS_TOP)
        record([*found.fresh, *found.present])
        _keep_output(folder / RUNS_TOP)
    say(f"{len(found.fresh)} runs placed, {len(found.present)} already there; `dvc repro` goes on with them")
    faults = [*found.faults, *_untrained(returned)]
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults)
        raise DataError(f"{archive}: not all of it could be used, the others are recorded\n{lines}")


def _untrained(returned: Returned) -> list[str]:
    failed = [f"{name}: failed; its output is {OUTPUT / f'{name}.log'}" for name in returned.failed]
    unfinished = first_of(returned.missing, parcel.SHOWN)
    return [*failed, *([f"{unfinished}: not finished when the archive was written"] if unfinished else [])]


def sort(returned: Returned, folder: Path) -> Sorted:
    """Check every run against what lies here."""
    found, seeds = Sorted(), files.read_plan(BUILD / "plan" / "catalog.yaml", "seeds")["seeds"]
    for one in returned.parcels:
        try:
            _check(one, folder, seeds)
        except DataError as error:
            found.faults.append(f"{one.name}: {error}")
        else:
            (found.present if _is_here(one, folder) else found.fresh).append(one)
    return found


def _check(one: Parcel, folder: Path, seeds: Sequence[int]) -> None:
    if one.seed not in seeds:
        raise DataError(f"params.yaml lists the seeds {', '.join(map(str, seeds))}; add {one.seed} to take it")
    here = parcel.of(one.variant, one.seed)
    if others := parcel.differences(one, here):
        raise DataError(f"made with other {' and '.join(others)} than lie here now; pack and train it again")
    parcel.check_run(one, folder / "runs" / one.place, BUILD)


def _is_here(one: Parcel, folder: Path) -> bool:
    """Whether its run is here, made from the same, with all that came."""
    run = BUILD / "runs" / one.place
    try:
        parcel.check_run(one, run, BUILD)
    except DataError:
        return False
    return not files.left_elsewhere(run) or bool(files.left_elsewhere(folder / "runs" / one.place))


def place(one: Parcel, folder: Path) -> None:
    """Put a run and its log where a training here would have; each is there whole, or what was there before is."""
    run = folder / "runs" / one.place
    log = files.log_directory(folder, run)
    for source, target in ((log, BUILD / log.relative_to(folder)), (run, BUILD / run.relative_to(folder))):
        with files.new_directory(target) as fresh:
            shutil.copytree(source, fresh, dirs_exist_ok=True)


def record(parcels: Sequence[Parcel]) -> None:
    """Have DVC record the runs that it does not count as up to date: in dvc.lock, its cache and its run cache."""
    changed = set(repository.changed()) if parcels else set()
    repository.record([one.stage for one in parcels if one.stage in changed])


def _keep_output(folder: Path) -> None:
    for file in sorted((folder / "output").glob("*.log")):
        with files.new_file(OUTPUT / file.name) as partial:
            shutil.copyfile(file, partial)
