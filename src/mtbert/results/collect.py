"""Read every run of a build directory once, check that it is whole, vote, and make the three tables of it."""

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.results import places, predictions, tables, vote
from mtbert.results.schemas import Elsewhere, Manifest, Origin, RunMetrics, Speed
from mtbert.results.tables import Frame, Results
from mtbert.tasks import COURSE, SPLITS, Task, Tasks, of_build, stated

OF_A_RUN = ("seed", "code", "variant", "catalog", "scale")  # what settings.yaml states beside the settings
READ = (layout.METRICS, layout.SETTINGS, layout.HISTORY, layout.EMBEDDINGS, layout.ELSEWHERE)  # of a run's files
ROW = ["id", "cluster", "in_train", "shares"]
VOTED_SPLITS = ("dev", "test")
FIFTHS = 5  # of a score's range, by which its labels are counted
Run = tuple[str, int]  # variant or ensemble, and seed
Tables = dict[str, dict[str, Frame]]  # of one run, by split and task


def collect(build: Path) -> Results:
    """Return the results of all runs that build/plan/catalog.yaml asks for and that are there, with their votes.

    Raises:
        DataError: no catalog, nothing has run, or as for `of_runs`.
    """
    catalog = _catalog(build)
    asked, votes = (
        [(name, seed) for name, entry in catalog[kind].items() if entry["selected"] for seed in catalog["seeds"]]
        for kind in ("variants", "ensembles")
    )
    there = {(name, seed): place for name, seed in asked if (place := layout.run(build, name, seed)).is_dir()}
    merged = {(name, seed): place for name, seed in votes if (place := layout.merged(build, name, seed)).is_dir()}
    votes = [(name, seed) for name, seed in votes if not catalog["ensembles"][name].get("merge")]
    if not there:
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    return of_runs(build, there | merged, votes)


def _catalog(build: Path) -> dict[str, Any]:
    keys = ("profile", "seeds", "variants", "ensembles", "data_dir", "encoder")
    return layout.read_catalog(build, *keys)


def of_runs(build: Path, there: Mapping[Run, Path], votes: Sequence[Run], pictures: bool = True) -> Results:
    """Return the results of the runs in these folders, made from what lies in `build`, with such votes as they allow.

    `pictures` adds places of sentences to the first seed of each variant, which takes five seconds of a core each.

    Raises:
        DataError: a run was altered or is not whole, or runs do not fit together; named.
    """
    catalog = _catalog(build)
    tasks = of_build(build)
    folder = Path(catalog["data_dir"])  # its name alone where the path is of this machine
    shown = folder.name if folder.is_absolute() or ".." in folder.parts else catalog["data_dir"]
    shown += f", dev: {held} held-out training rows" if (held := catalog.get("held_out")) else ""
    data = {"name": shown, "whose": layout.data_kind(build), "faults": _faults_of_data(build)}
    data["rows"] = _rows(build, tasks) if pictures else {}
    if tasks != COURSE:
        data["tasks"] = {name: stated(replace(task, files={})) for name, task in tasks.items()}
    speed = _speed(build)
    facts = {"data": json.dumps(data), "start": json.dumps(catalog["encoder"])}
    runs = {
        run: _run(build, place, catalog["variants"].get(run[0], {}), tasks) | _took(speed, *run) | facts
        for run, place in there.items()
    }
    predicted = {run: _predicted(build, place, tasks) for run, place in there.items()}
    for name, seed in votes:
        entry = catalog["ensembles"][name]
        members = entry["members"]
        if all((member, seed) in runs for member in members):
            predicted[name, seed] = _vote({member: predicted[member, seed] for member in members}, tasks)
            row = _row_of_vote(entry, [runs[member, seed] for member in members], predicted[name, seed], tasks)
            runs[name, seed] = {"kind": "ensemble", "variant": name, "seed": seed} | row | facts
    if pictures:
        _add_places(there, predicted, tasks)
    results = Results(
        tables.joined([pd.DataFrame([*_untrained(build, catalog, facts), *runs.values()])], "runs", tasks),
        tables.joined(
            (
                table.assign(variant=name, seed=seed, task=task, split=split)
                for (name, seed), of_run in predicted.items()
                for split, of_split in of_run.items()
                for task, table in of_split.items()
            ),
            "predictions",
            tasks,
        ),
        tables.joined(
            [_history(place).assign(variant=name, seed=seed) for (name, seed), place in there.items()],
            "history",
            tasks,
        ),
    )
    tables.check(results, str(build))
    return results


def _speed(build: Path) -> Speed | None:
    file = layout.speed(build)
    return files.read_as(Speed, file, "dvc repro speed") if file.is_file() else None


def _took(speed: Speed | None, name: str, seed: int) -> dict[str, float | None]:
    """Return the columns of `runs` on time; a merge takes no training."""
    if speed is None:
        return {}
    return {"seconds": speed.seconds.get(name, {}).get(str(seed)), "milliseconds": speed.milliseconds.get(name)}


def _faults_of_data(build: Path) -> list[str]:
    """Return what preprocessing found wrong with the files, a line each."""
    file = layout.data_report(build)
    return files.read_json(file).get("faults", []) if file.is_file() else []


def _rows(build: Path, tasks: Tasks) -> dict[str, dict[str, Any]]:
    """Return how many rows each split of each task has, and how many of each label, as in `tables.Rows`."""
    found: dict[str, dict[str, Any]] = {}
    for (name, task), split in itertools.product(tasks.items(), SPLITS):
        file = layout.examples(build, name, split)
        if file.is_file():
            labels = files.read_parquet(file, ["label"])["label"].to_numpy(float)
            counts = [] if np.isnan(labels).any() else _counted(labels, task)
            found.setdefault(name, {})[split] = {"rows": len(labels), "labels": counts}
    return found


def _counted(labels: np.ndarray, task: Task) -> list[int]:
    """Return how many labels are of each class, or in each fifth of a score's range."""
    score = task.kind == "score"
    bins, ends = (FIFTHS, (task.lowest, task.highest)) if score else (task.classes, (0, task.classes))
    return np.histogram(labels, bins, ends)[0].tolist()


def _add_places(there: Mapping[Run, Path], predicted: Mapping[Run, Tables], tasks: Tasks) -> None:
    """Join places of sentences to the predictions of each variant's first seed."""
    embedded = [run for run, place in there.items() if (place / layout.EMBEDDINGS).is_file()]
    first = {name: (name, seed) for name, seed in reversed(embedded)}
    runs = [*first.values()]
    labels = [{t: table["label"].to_numpy(float) for t, table in predicted[run]["dev"].items()} for run in runs]
    found = places.of_runs([there[run] / layout.EMBEDDINGS for run in runs], labels, tasks)
    for run, of_run in zip(runs, found, strict=True):
        for task, frame in of_run.items():
            predicted[run]["dev"][task] = predicted[run]["dev"][task].join(frame)


def _run(build: Path, place: Path, entry: Mapping[str, Any], tasks: Tasks) -> dict[str, Any]:
    """Return the row of `runs` of a training; DataError where its folder is not as it was written."""
    name, again = place.parent.name, layout.remedy(place)
    predicted = [layout.predictions(Path(), *one).as_posix() for one in itertools.product(tasks, SPLITS)]
    layout.check_sealed(place, only=[*READ, *predicted])
    said = files.read_as(RunMetrics, place / layout.METRICS, again).model_dump()
    settings = files.read_as(dict[str, Any], place / layout.SETTINGS, again, files.read_yaml)
    scores = {f"{split}_{metric}": value for split in SPLITS for metric, value in said[split].items()}
    examples = {
        f"examples_{task}": count
        for task, count in (said["examples"] or {}).items()
        if task in tasks and not tasks[task].serves
    }
    origin = _origin(build, place)
    changed = [f"{key}={json.dumps(value)}" for key, value in (entry.get("overrides") or {}).items()]
    kind = "ensemble" if settings.get("members") else "variant"
    return {
        "kind": kind, "variant": name, "seed": int(place.name), **scores, **examples, **said["parameters"],
        **{key: said[key] for key in ("steps", "epoch", "device", "precision")},
        "epochs": " ".join(map(str, said["epochs"])), "threads": settings.get("run", {}).get("threads"),
        "machine": ", ".join(filter(None, (origin.processor, origin.accelerator, f"torch {origin.torch}"))),
        "code": settings.get("code"), "overrides": "; ".join(changed),
        "settings": json.dumps({key: value for key, value in settings.items() if key not in OF_A_RUN}),
    }  # fmt: skip


def _origin(build: Path, place: Path) -> Origin:
    """Return where a run was made; a merge, which has no manifest, in this build folder."""
    elsewhere, manifest = place / layout.ELSEWHERE, layout.manifest(build, place.parent.name)
    if elsewhere.is_file():
        return files.read_as(Elsewhere, elsewhere, "mtbert unpack").machine
    if layout.stage(place) == "merge":
        return files.read_as(Origin, layout.machine(build), "dvc repro machine")
    return files.read_as(Manifest, manifest, "dvc repro manifest").machine


def _predicted(build: Path, place: Path, tasks: Tasks) -> Tables:
    """Return a run's predictions with what is known of the rows."""
    found: Tables = {split: {} for split in SPLITS}
    for split, task in itertools.product(SPLITS, tasks):
        file = layout.predictions(place, task, split)
        if file.is_file():
            table: Frame = files.read_parquet(file)
            rows = layout.rows(build, task, split)  # of dev alone
            known = _known(rows, table["id"]) if rows.is_file() else {"cluster": -1, "in_train": False, "shares": False}
            probabilities = table[predictions.probability_columns(tasks[task])]
            sure = {tables.SURE: probabilities.max(axis=1)} if len(probabilities.columns) else {}
            found[split][task] = table.assign(row=np.arange(len(table)), **known, **sure)
    return found


def _known(file: Path, ids: Frame) -> dict[str, Frame]:
    """Return columns of what preprocessing found of rows: their cluster, and what of them is in train."""
    known: Frame = files.read_parquet(file, ROW)
    if not known["id"].equals(ids):
        raise DataError(f"{file} and the predictions are of other rows; `dvc repro` makes both again")
    return {name: known[name] for name in ROW[1:]}


def _history(place: Path) -> Frame:
    try:
        return pd.read_csv(place / layout.HISTORY, usecols=["phase", "step", "name", "value"])
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{place / layout.HISTORY} is damaged: {error}") from None


def _vote(members: Mapping[str, Tables], tasks: Tasks) -> Tables:
    """Return an ensemble's vote on each task and split that all members predicted."""
    voted: Tables = {split: {} for split in VOTED_SPLITS}
    for split, task in itertools.product(VOTED_SPLITS, tasks):
        if all(task in by_split[split] for by_split in members.values()):
            of_members = {member: by_split[split][task] for member, by_split in members.items()}
            voted[split][task] = vote.vote(of_members, tasks[task])
    return voted


def _row_of_vote(
    entry: Mapping[str, Any], members: list[dict[str, Any]], voted: Tables, tasks: Tasks
) -> dict[str, Any]:
    """Return what the row of `runs` of a vote has from its members: weights, settings, overrides, and its scores."""
    weights = {key: sum(run[key] for run in members) for key in tables.WEIGHTS} | {"encoder": members[0]["encoder"]}
    settings = {key: entry[key] for key in ("paper", "row", "members") if entry.get(key)}
    settings |= {"tasks": [task for task in tasks if any(task in of_split for of_split in voted.values())]}
    first = json.loads(members[0]["settings"])
    settings |= {key: first[key] for key in ("profile", "run") if key in first}
    changed = dict.fromkeys(change for run in members for change in run["overrides"].split("; ") if change)
    scores = {split: predictions.scores(of_split, tasks) for split, of_split in voted.items()}
    by_column = {f"{split}_{metric}": score for split, told in scores.items() for metric, score in told.items()}
    return weights | by_column | {"settings": json.dumps(settings), "overrides": "; ".join(changed)}


def _untrained(build: Path, catalog: Mapping[str, Any], facts: dict[str, str]) -> list[dict[str, Any]]:
    """Return the row of the starting weights without any training, where the stage `encoder` has scored them."""
    file = layout.encoder(build) / "untrained.json"
    if not file.is_file() or catalog.get("held_out"):  # which are other rows than it was scored on
        return []
    told = files.read_as(dict[str, float], file, "dvc repro encoder")
    about = {"kind": "encoder", "variant": tables.UNTRAINED, "seed": 0}
    settings = json.dumps({"tasks": [], "profile": catalog["profile"]})
    return [about | {"settings": settings} | {f"dev_{task}": score for task, score in told.items()} | facts]
