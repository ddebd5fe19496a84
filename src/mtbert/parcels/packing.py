"""Pack every training that is not up to date into one file, what they share once."""

from collections.abc import Sequence
from pathlib import Path

from mtbert import files, locking, repository
from mtbert.parcels import archives, parcel
from mtbert.parcels.parcel import CONTENTS, TOP, Pack

START = "run.py"  # beside the list of contents


def pack(out: Path, variants: str | None, seeds: Sequence[int], weights: str | None) -> None:
    """Make what trainings start from, and write those that are not up to date to `out`; say what is in it.

    Args:
        out: the pack, a tar file.
        variants: as `repository.names` takes them, set in params.yaml; None for what it says.
        seeds: the same; none for what params.yaml says.
        weights: fp32 or fp16, the precision that starting weights are rounded to: encoder.weights in params.yaml.

    Raises:
        SettingsError: params.yaml launches each training on several processes.
        SystemExit: a stage before the trainings failed, which DVC has told.
    """
    settings = [] if variants is None else [f"variants=[{repository.names(variants)}]"]
    settings += [f"seeds=[{','.join(map(str, seeds))}]"] if seeds else []
    settings += [f"encoder.weights={weights}"] if weights else []
    with locking.alone(repository.LOCK, "pack"):
        repository.dvc(*(repository.setting(*settings) if settings else ["repro"]), "init")
        repository.one_process_each()
        stages = repository.changed()
    if not stages:
        parcel.say("nothing to pack: every training that params.yaml lists is up to date")
        return
    trainings = [repository.variant_and_seed(stage) for stage in stages]
    write(out, in_order(trainings, files.read_yaml(repository.PARAMS)["variants"]))
    size = out.stat().st_size / 2**20
    parcel.say(f"{out}: {len(stages)} trainings, {size:.1f} MiB")
    parcel.say(f"elsewhere: tar -xf {out.name} && python {TOP}/{START} --jobs 2; here, then: mtbert unpack runs.tar")


def write(out: Path, trainings: Sequence[tuple[str, int]]) -> None:
    """Write the parcels of these variants and seeds; their inputs lie below `build`."""
    parcels = [parcel.of(variant, seed) for variant, seed in trainings]
    shared = dict.fromkeys(file for variant, _ in trainings for file in parcel.needed(variant))
    members: dict[str, archives.Member] = {file.as_posix(): file for file in (*shared, *parcel.code())}
    members[START] = parcel.ALONE
    archives.write(out, TOP, Pack(files={}, parcels=parcels), CONTENTS, members)


def in_order(trainings: Sequence[tuple[str, int]], variants: Sequence[str]) -> list[tuple[str, int]]:
    """As params.yaml lists the variants, all seeds of one before the next: a pack trains in this order."""
    return sorted(trainings, key=lambda training: (variants.index(training[0]), training[1]))
