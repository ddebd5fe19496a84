"""Read every run of a build directory once, check that it is whole, vote, and make the three tables of it."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from safetensors import SafetensorError
from safetensors.numpy import load_file

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.metrics import MAIN_TASKS
from mtbert.results import places, tables, vote
from mtbert.results.tables import Frame, Results
from mtbert.schemas import DataReport, Elsewhere, Manifest, RunMetrics, Untrained
from mtbert.tasks import SPLITS, TASKS

METRICS, SETTINGS, HISTORY, EMBEDDINGS = "metrics.json", "settings.yaml", "history.csv", "embeddings.safetensors"
OF_A_RUN = ("seed", "code", "variant", "catalog")  # what settings.yaml states beside the settings
ROW = ["id", "cluster", "in_train", "in_pretraining", "shares"]
VOTED_SPLITS = ("dev", "test")
Run = tuple[str, int]  # variant or ensemble, and seed
Tables = dict[str, dict[str, Frame]]  # of one run, by split and task


def write(build: Path, out: Path) -> list[Run]:
    """Write the tables of a build directory anew, with their digests; return what is missing."""
    results, missing = collect(build)
    tables.write(results, out)
    files.seal(out)
    return missing


def collect(build: Path, pictures: bool = True) -> tuple[Results, list[Run]]:
    """Return the results of all runs that build/plan/catalog.yaml asks for, and the runs and votes that are missing.

    `pictures` adds places of sentences to the first seed of each variant, which takes seconds.

    Raises:
        DataError: no catalog, nothing has run, a run was altered or is not whole, or runs do not fit together; named.
    """
    catalog = files.read_plan(build / "plan" / "catalog.yaml", "profile", "seeds", "variants", "data_dir")
    ensembles = catalog.get("ensembles") or {}
    asked, votes = (
        [(name, seed) for name, entry in entries.items() if entry["selected"] for seed in catalog["seeds"]]
        for entries in (catalog["variants"], ensembles)
    )
    there = {(name, seed): place for name, seed in asked if (place := build / "runs" / name / str(seed)).is_dir()}
    if not there:
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    encoder = {"name": "", "note": ""} | (catalog.get("encoder") or {})
    facts = {"data": json.dumps(_data(build, catalog)), "start": json.dumps(encoder)}
    runs = {run: _run(build, place, catalog["variants"][run[0]]) | facts for run, place in there.items()}
    predicted = {run: _predicted(build, place) for run, place in there.items()}
    for name, seed in votes:
        members = ensembles[name]["members"]
        if all((member, seed) in runs for member in members):
            predicted[name, seed] = _vote(name, {member: predicted[member, seed] for member in members})
            row = _row_of_vote(ensembles[name], [runs[member, seed] for member in members], predicted[name, seed])
            runs[name, seed] = {"kind": "ensemble", "variant": name, "seed": seed} | row | facts
    for run in {name: (name, seed) for name, seed in reversed(there) if pictures}.values():  # a variant's first seed
        _add_places(there[run], predicted[run]["dev"])
    results = Results(
        tables.joined([pd.DataFrame([*_untrained(build, catalog, facts), *runs.values()])], "runs"),
        tables.joined(
            (
                table.assign(variant=name, seed=seed, task=task, split=split)
                for (name, seed), of_run in predicted.items()
                for split, of_split in of_run.items()
                for task, table in of_split.items()
            ),
            "predictions",
        ),
        tables.joined(
            (_history(place).assign(variant=name, seed=seed) for (name, seed), place in there.items()), "history"
        ),
    )
    tables.check(results, str(build))
    return results, [run for run in [*asked, *votes] if run not in runs]


def _again(place: Path) -> str:
    return f"dvc repro train@{place.parent.name}-{place.name}"


def _run(build: Path, place: Path, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of `runs` of a training; DataError where its folder is not as it was written."""
    name, again = place.parent.name, _again(place)
    predicted = [predictions.path(Path(), *one).as_posix() for one in itertools.product(TASKS, SPLITS)]
    files.check_sealed(place, again, only=[METRICS, SETTINGS, HISTORY, EMBEDDINGS, files.ELSEWHERE, *predicted])
    said = files.read_as(RunMetrics, place / METRICS, again).model_dump()
    settings = files.read_as(dict[str, Any], place / SETTINGS, again, files.read_yaml)
    scores = {f"{split}_{metric}": value for split in SPLITS for metric, value in said[split].items()}
    examples = {f"examples_{task}": count for task, count in (said["examples"] or {}).items() if task in TASKS}
    init = files.read_as(Manifest, build / "init" / f"{name}.json", "dvc repro init")
    data = {path: digest for path, digest in init.files.items() if path.startswith("data/")}
    elsewhere = place / files.ELSEWHERE
    origin = files.read_as(Elsewhere, elsewhere, "mtbert unpack").machine if elsewhere.is_file() else init.machine
    changed = [f"{key}={json.dumps(value)}" for key, value in (entry.get("overrides") or {}).items()]
    return {
        "kind": "variant", "variant": name, "seed": int(place.name), **scores, **examples, **said["parameters"],
        **{key: said[key] for key in ("steps", "epoch", "device", "precision")},
        "epochs": " ".join(map(str, said["epochs"])), "threads": settings.get("run", {}).get("threads"),
        "machine": ", ".join(filter(None, (origin.processor, origin.accelerator, f"torch {origin.torch}"))),
        "code": settings.get("code"), "data_digest": files.sha256_of(files.json_text(data).encode()),
        "start_digest": next((init.files[path] for path in init.files if path.endswith("model.safetensors")), None),
        "overrides": "; ".join(changed),
        "settings": json.dumps({key: value for key, value in settings.items() if key not in OF_A_RUN}),
    }  # fmt: skip


def _predicted(build: Path, place: Path) -> Tables:
    """Return a run's predictions with what is known of the rows."""
    found: Tables = {split: {} for split in SPLITS}
    for split, task in itertools.product(SPLITS, TASKS):
        file = predictions.path(place, task, split)
        if file.is_file():
            table: Frame = files.read_parquet(file)
            found[split][task] = table.assign(row=np.arange(len(table)), **_known(build, task, split, table["id"]))
    return found


def _known(build: Path, task: str, split: str, ids: Frame) -> dict[str, Any]:
    """Return columns of what is known of a file's rows: their cluster (-1 for none), and what may have been seen."""
    file = build / "data" / task / f"{split}-rows.parquet"
    if split != "dev" or not file.is_file():
        return {"cluster": -1, "in_train": False, "in_pretraining": False, "shares": False}
    known: Frame = files.read_parquet(file, ROW)
    if not known["id"].equals(ids):
        raise DataError(f"{file} and the predictions of {task} are of other rows; `dvc repro` makes both again")
    return {name: known[name] for name in ROW[1:]}


def _add_places(place: Path, of_dev: dict[str, Frame]) -> None:
    """Add places in a picture to the tables of the main tasks, whose first sentences the run has embedded."""
    if not (file := place / EMBEDDINGS).is_file():
        return
    try:
        kept = load_file(file)
    except (SafetensorError, OSError) as error:
        raise DataError(f"{file} is damaged: {error}; `{_again(place)}` makes it again") from None
    for task in kept.keys() & of_dev.keys() & {*MAIN_TASKS}:
        drawn = places.beside(kept[task].astype(np.float32), of_dev[task]["label"].to_numpy(float))
        of_dev[task] = of_dev[task].join(drawn)


def _history(place: Path) -> Frame:
    try:
        return pd.read_csv(place / HISTORY, usecols=["phase", "step", "name", "value"])
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{place / HISTORY} is damaged: {error}; `{_again(place)}` makes it again") from None


def _vote(name: str, members: Mapping[str, Tables]) -> Tables:
    """Return an ensemble's vote on each task and split that all members predicted; DataError for none."""
    voted: Tables = {split: {} for split in VOTED_SPLITS}
    for split, task in itertools.product(VOTED_SPLITS, TASKS):
        if all(task in by_split[split] for by_split in members.values()):
            of_members = {member: by_split[split][task] for member, by_split in members.items()}
            voted[split][task] = vote.vote(of_members, TASKS[task])
    if not any(voted.values()):
        raise DataError(f"{name}: no task was predicted by all of {', '.join(members)}")
    return voted


def _row_of_vote(entry: Mapping[str, Any], members: list[dict[str, Any]], voted: Tables) -> dict[str, Any]:
    """Return what the row of `runs` of a vote has from its members: weights, settings, overrides, and its scores."""
    weights = {key: sum(run[key] for run in members) for key in tables.WEIGHTS} | {"encoder": members[0]["encoder"]}
    settings = {key: entry.get(key) for key in ("paper", "row", "members")}
    settings |= {"tasks": [task for task in TASKS if any(task in of_split for of_split in voted.values())]}
    settings |= {key: json.loads(members[0]["settings"]).get(key) for key in ("profile", "run")}
    changed = dict.fromkeys(change for run in members for change in run["overrides"].split("; ") if change)
    scores = {split: predictions.scores(of_split) for split, of_split in voted.items()}
    by_column = {f"{split}_{metric}": score for split, told in scores.items() for metric, score in told.items()}
    return weights | by_column | {"settings": json.dumps(settings), "overrides": "; ".join(changed)}


def _untrained(build: Path, catalog: Mapping[str, Any], facts: dict[str, str]) -> list[dict[str, Any]]:
    """Return the row of the starting weights without any training, where the stage `encoder` has scored them."""
    file = build / "encoders" / "base" / "untrained.json"
    if not file.is_file() or catalog.get("held_out"):  # which are other rows than it was scored on
        return []
    told = files.read_as(Untrained, file, "dvc repro encoder")
    scores = {task: score for task, score in (("qqp", told.qqp), ("sts", told.sts)) if score is not None}
    settings = {"tasks": list(scores), "row": "Untrained encoder, cosine", "profile": catalog["profile"]}
    about = {"kind": "encoder", "variant": tables.UNTRAINED, "seed": 0, "overrides": ""}
    return [about | {"settings": json.dumps(settings)} | {f"dev_{t}": score for t, score in scores.items()} | facts]


def _data(build: Path, catalog: Mapping[str, Any]) -> dict[str, Any]:
    """Return the corpora: the folder's path (its name alone where the path is of this machine), whose, and counts."""
    folder = Path(catalog["data_dir"])
    report = files.read_as(DataReport, build / "data" / "report.json", "dvc repro preprocess").model_dump()
    shown = folder.name if folder.is_absolute() or ".." in folder.parts else catalog["data_dir"]
    shown += f", dev: {held} held-out training rows" if (held := catalog.get("held_out")) else ""
    return {"name": shown, "whose": report["whose"], "report": report}
