"""Add a build directory's runs to evidence, so that trainings of several machines or weeks come together."""

import itertools
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from mtbert import files
from mtbert.errors import DataError, first_of
from mtbert.outputs import PRETRAINED, DataReport, Elsewhere, Origin
from mtbert.reporting import catalog as catalogs
from mtbert.reporting import corpora, embeddings
from mtbert.reporting.archive import layout
from mtbert.reporting.archive.layout import COUNTS, DEV_ROWS, PLAN
from mtbert.reporting.archive.packing import pack
from mtbert.reporting.archive.unpacking import unpack

OVERLAPS = ("overlaps", "overlaps with pretraining")  # in the check of the data
ALONE = "`mtbert evidence` without --add packs the runs of the build directory alone"
NAMED = 3  # runs in a message
Vote = Callable[[str, Sequence[str], int, Path, Path], object]  # as `ensembling.ensemble`


def add(build: Path, directory: Path, vote: Vote | None = None, anew: bool = False) -> None:
    """Write the evidence of the runs that lie in it and of a build directory's; of a run in both, the build's.

    Args:
        build: a build directory.
        directory: of the evidence.
        vote: makes the votes that neither of them has, and both together have all members of.
        anew: the build's variants were trained anew: the evidence keeps none of their runs, nor votes of these.

    Raises:
        DataError: as for `pack` and `unpack`, or the evidence holds runs of a variant that the build's plan lacks, or
            of another profile, encoder, settings for all, pretraining or number of rows of a corpus; or, with `anew`,
            seeds that the build lacks of a variant that the same code trained.
    """
    with tempfile.TemporaryDirectory(prefix="mtbert-") as name:
        whole = Path(name)
        unpack(directory, whole)
        earlier = files.read_plan(whole / PLAN)
        completed = catalogs.read_completed(build)
        if anew:
            _refuse_loss_of_seeds(build, completed, whole)
            _drop({entry.name for entry in completed.ran}, earlier, whole)
        clouds = embeddings.read(whole / embeddings.CLOUDS)
        for task, by_variant in embeddings.clouds(build, completed).items():
            clouds.setdefault(task, {}).update(by_variant)
        embeddings.write(clouds, whole / embeddings.CLOUDS)
        plan = _both_asked(earlier, files.read_plan(build / PLAN))
        lines = files.read_parquet(directory / "runs.parquet").to_dict("records")
        lines = [_with_machine(line, whole, build) for line in lines if layout.place(whole, line).is_dir()]
        _lay_over(build, whole)
        files.write_yaml(whole / PLAN, plan, in_order=True)
        if vote is not None:
            _vote(whole, plan, vote)
        kept = {place: line for line in lines if not (place := layout.place(whole, line)).is_symlink()}
        pack(whole, directory, kept)


def refuse_loss(build: Path, directory: Path) -> None:
    """DataError where the evidence that lies there holds runs which the build directory lacks."""
    file = directory / "runs.parquet"
    if not file.is_file():
        return
    held = files.read_parquet(file, ["kind", "name", "seed"]).itertuples(index=False, name=None)
    brought = {(entry.name, seed) for entry, seed in catalogs.read_completed(build).runs}
    lost = [f"{name}/{seed}" for kind, name, seed in held if kind != "ensemble" and (name, seed) not in brought]
    if lost:
        raise DataError(
            f"{directory} holds {len(lost)} runs that {build} lacks: {first_of(lost, NAMED)}; `mtbert evidence --add` "
            "keeps them. For an evidence without them, name another folder of reports, or remove this one first"
        )


def _refuse_loss_of_seeds(build: Path, completed: catalogs.Completed, whole: Path) -> None:
    """DataError where the evidence has seeds of a variant that the build lacks, and that the build's code trained."""
    lost = []
    for entry in completed.variants:
        codes = {entry.settings(build, seed).get("code") for seed in entry.seeds}
        places = sorted((whole / "runs" / entry.name).glob("*/settings.yaml"))
        lost += [
            f"{entry.name}/{file.parent.name}"
            for file in places
            if int(file.parent.name) not in entry.seeds and files.read_yaml(file).get("code") in codes
        ]
    if lost:
        raise DataError(
            f"--anew would remove {first_of(lost, NAMED)}, which the same code trained as the runs in {build}; "
            "`mtbert evidence --add` keeps them"
        )


def _drop(variants: set[str], plan: dict[str, Any], whole: Path) -> None:
    """Remove these variants' runs and the votes of these, also from what the plan asks for."""
    votes = {name for name, row in (plan.get("ensembles") or {}).items() if variants & set(row["members"])}
    for group, folder, names in (("variants", "runs", variants), ("ensembles", "ensembles", votes)):
        for name in names & (plan.get(group) or {}).keys():
            plan[group][name]["selected"] = False
            shutil.rmtree(whole / folder / name, ignore_errors=True)


def _both_asked(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    """The later plan, which asks besides for what the earlier one did; DataError where the two train otherwise."""
    for name, one, two in ((key, earlier.get(key), later.get(key)) for key in ("profile", "encoder", "overrides")):
        if one != two:
            raise DataError(
                f"the evidence was made with {name} {one}, what lies in the build directory with {two}; {ALONE}"
            )
    seeds = _asked_seeds(earlier, later)
    for group in ("variants", "ensembles"):
        asked = {name for name, row in (earlier.get(group) or {}).items() if row["selected"]}
        if lacking := asked - (later.get(group) or {}).keys():
            raise DataError(
                f"the evidence holds {', '.join(sorted(lacking))}, which params.yaml does not list; {ALONE}"
            )
        for name in (name for name in asked if not later[group][name]["selected"]):
            departures = {key: value for key, value in earlier[group][name].items() if key == "departures"}
            later[group][name] |= departures | {"selected": True}
    for row in (later.get("ensembles") or {}).values():
        row["selected"] |= all(later["variants"][member]["selected"] for member in row["members"])
    return _with_seeds(later, _in_order(earlier["seeds"], later["seeds"]), seeds)


def _with_seeds(plan: dict[str, Any], seeds: list[int], of_variants: Mapping[str, list[int]]) -> dict[str, Any]:
    """The plan with these seeds and, in the row of each variant of which not all were asked for, with its own."""
    for name, row in plan["variants"].items():
        row.pop("seeds", None)
        if row["selected"] and of_variants[name] != seeds:
            row["seeds"] = of_variants[name]
    return plan | {"seeds": seeds}


def _asked_seeds(*plans: Mapping[str, Any]) -> dict[str, list[int]]:
    """The seeds that any of the plans asks for, by variant; in the order of the plan's own."""
    seeds = _in_order(*(plan["seeds"] for plan in plans))
    asked: dict[str, set[int]] = {}
    for plan in plans:
        for name, row in plan["variants"].items():
            asked.setdefault(name, set()).update(row.get("seeds", plan["seeds"]) if row["selected"] else ())
    return {name: [seed for seed in seeds if seed in those] for name, those in asked.items()}


def _in_order(*several: Sequence[int]) -> list[int]:
    """Each seed once, as they were first asked for: the first ones stay the first look, and later ones change none."""
    return list(dict.fromkeys(itertools.chain(*several)))


def _vote(whole: Path, plan: Mapping[str, Any], vote: Vote) -> None:
    """Make the votes that are missing; on dev alone, since predictions without known labels are not kept."""
    asked = {name: row["members"] for name, row in (plan.get("ensembles") or {}).items() if row["selected"]}
    for name, seed in itertools.product(asked, cast(list[int], plan["seeds"])):
        members = asked[name]
        runs = [whole / "runs" / member / str(seed) for member in members]
        made = whole / "ensembles" / name / str(seed)
        if made.exists() or not all(run.is_dir() for run in runs):
            continue
        voters = whole / "voters" / name
        for run in runs:
            said = voters / run.relative_to(whole / "runs")
            for file in (run / "predictions").glob("*-dev.parquet"):
                (said / "predictions").mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, said / "predictions" / file.name)
            files.seal(said)
        vote(name, members, seed, voters, made)


def _with_machine(line: dict[str, Any], whole: Path, build: Path) -> dict[str, Any]:
    """A run's line, saying where it was made if that was where the evidence was begun, and this is another machine."""
    begun, here = (directory / "machine.json" for directory in (whole, build))
    if line["kind"] == "ensemble" or line[files.ELSEWHERE] or not (begun.is_file() and here.is_file()):
        return line
    machine = files.read_as(Origin, begun, "mtbert evidence")
    if machine == files.read_as(Origin, here, f"rm {here} && dvc repro machine"):
        return line
    text = files.json_text(Elsewhere(machine=machine, left={}).model_dump())
    digests = json.loads(line[files.DIGESTS]) | {files.ELSEWHERE: files.sha256_of(text.encode())}
    return line | {files.ELSEWHERE: text, files.DIGESTS: files.json_text(digests)}


def _lay_over(build: Path, whole: Path) -> None:
    """Facts, data and runs of a build directory in the place of those that were unpacked.

    Raises:
        DataError: a corpus had other rows, or a pretraining other settings.
    """
    shutil.rmtree(whole / "searches", ignore_errors=True)  # those of the repository are read instead
    runs = [entry.directory(build, seed) for entry, seed in catalogs.read_completed(build).runs]
    logs = [files.log_directory(build, run) for run in runs]
    if (build / COUNTS).is_file():
        files.write_json(whole / COUNTS, _both_counted(whole / COUNTS, build / COUNTS))
    facts = [build / "machine.json", build / "encoders/base/untrained.json", *_pretrained(build, whole)]
    for place in (*runs, *logs, *facts, *build.glob("data/*/*")):
        there = whole / place.relative_to(build)
        if place.name == DEV_ROWS and there.exists():
            _both_knew(place, there)
        elif place.exists():
            _link(place, there)


def _link(place: Path, there: Path) -> None:
    if there.is_dir():
        shutil.rmtree(there)
    there.unlink(missing_ok=True)
    there.parent.mkdir(parents=True, exist_ok=True)
    there.symlink_to(place.resolve())


def _both_counted(before: Path, here: Path) -> dict[str, Any]:
    """What the check of the data found here, with what it found before of corpora that are not here."""
    earlier, later = _checked(before), _checked(here)
    kept = ({name: counts["kept"] for name, counts in found["files"].items()} for found in (earlier, later))
    _refuse_other_counts(*kept)
    found = earlier | later | {"files": earlier["files"] | later["files"]}
    there = {counts.get("file") for counts in found["files"].values()}
    lacking = dict.fromkeys([*later.get("missing", []), *earlier.get("missing", [])])
    joined = {"missing": [name for name in lacking if name not in there]}
    joined |= {key: _overlaps(earlier.get(key, []), later.get(key, [])) for key in OVERLAPS}
    return found | {key: value for key, value in joined.items() if key in found}


def _checked(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {"files": {}}
    return files.read_as(DataReport, file, "dvc repro preprocess").model_dump(by_alias=True, exclude_unset=True)


def _refuse_other_counts(there: Mapping[str, int], here: Mapping[str, int]) -> None:
    """A corpus with another number of rows is another one, on which no run repeats an earlier one."""
    unlike = [name for name in there if name in here and here[name] != there[name]]
    if unlike:
        told = "; ".join(f"{there[name]:,} rows of {name} there, {here[name]:,} here" for name in unlike)
        raise DataError(f"the evidence was made with other data than what lies in the build directory: {told}; {ALONE}")


def _overlaps(earlier: Sequence[Any], later: Sequence[Any]) -> list[Any]:
    """Of each two sets what was found last, in the order in which `preprocess` writes them."""
    found = {(one["of"], one["with"]): one for one in (*earlier, *later)}
    order = {name: at for at, name in enumerate(corpora.CORPORA)}
    return [found[pair] for pair in sorted(found, key=lambda pair: [order.get(name, len(order)) for name in pair])]


def _both_knew(here: Path, there: Path) -> None:
    """What dev rows share, here; and that a pretraining read one, as known before, since its corpora may lack here."""
    rows, before = (files.read_parquet(file) for file in (here, there))
    if rows["id"].tolist() != before["id"].tolist():
        raise DataError(f"the dev rows of {here.parent.name} are not those that the evidence was made with; {ALONE}")
    known = rows["in_pretraining"].where(rows["in_pretraining"] != "", before["in_pretraining"])
    layout.write(rows.assign(in_pretraining=known), there)


def _pretrained(build: Path, whole: Path) -> list[Path]:
    """Plans and results of pretrainings that take the place of those that were unpacked.

    A plan that does not need one says nothing of what earlier runs started from.
    """
    places = []
    for name in PRETRAINED:
        plan, results = f"plan/pretrain-{name}.yaml", f"encoders/{name}/metrics.json"
        before, here = (_needed(directory / plan) for directory in (whole, build))
        if before and here and (unlike := catalogs.first_difference(before, here, f"pretrain.{name}")):
            raise DataError(
                f"the evidence was made with {unlike[0]}, what lies in the build directory with {unlike[1]}; {ALONE}"
            )
        if here or not before:
            places += [build / plan, build / results]
    return places


def _needed(plan: Path) -> dict[str, Any] | None:
    """A pretraining's settings; None where no variant of the plan starts from it."""
    settings = files.read_plan(plan, "needed") if plan.is_file() else {"needed": False}
    return settings if settings["needed"] else None
