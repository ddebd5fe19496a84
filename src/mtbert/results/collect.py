"""Read every run of a build directory once, check that it is whole, vote, and make the three tables of it."""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.results import places, tables, vote
from mtbert.results.tables import Frame, Results
from mtbert.schemas import PRETRAINED, DataReport, Elsewhere, Origin, RunMetrics, Untrained
from mtbert.tasks import SPLITS, TASKS

METRICS, SETTINGS, HISTORY, EMBEDDINGS = "metrics.json", "settings.yaml", "history.csv", "embeddings.safetensors"
OF_A_RUN = ("seed", "code", "variant", "catalog")  # what settings.yaml states beside the settings
ROW = ["id", "cluster", "in_train", "in_pretraining", "shares"]
VOTED_SPLITS = ("dev", "test")
Run = tuple[str, int]  # variant or ensemble, and seed
Tables = dict[str, dict[str, Frame]]  # of one run, by split and task


def write(build: Path, out: Path, votes: Path) -> list[Run]:
    """Write the tables and the votes of a build directory anew; return what is missing."""
    results, missing = collect(build)
    tables.write(results, out)
    write_votes(results, votes)
    return missing


def collect(build: Path, pictures: bool = True) -> tuple[Results, list[Run]]:
    """Return the results of all runs that build/plan/catalog.yaml asks for, and the runs and votes that are missing.

    `pictures` adds places of sentences to the first seed of each variant, which takes seconds.

    Raises:
        SettingsError: no catalog.
        DataError: nothing has run, a run was altered or is not whole, or runs do not fit together; named.
    """
    catalog = files.read_plan(build / "plan" / "catalog.yaml", "profile", "seeds", "variants")
    data = _data(build, catalog)
    facts = {"data": json.dumps(data), "start": json.dumps(_start(build, catalog))}
    asked = _asked(catalog)
    folders = {(name, seed): build / "runs" / name / str(seed) for name, seed in asked}
    there = {run: place for run, place in folders.items() if place.is_dir()}
    if not there:
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    runs = {run: _run(build, place, catalog["variants"][run[0]]) | facts for run, place in there.items()}
    predicted = {run: _predicted(build, place, data["whose"] == "sample") for run, place in there.items()}
    history = [_history(place).assign(variant=name, seed=seed) for (name, seed), place in there.items()]
    for name, seed in (votes := _votes(catalog, asked)):
        entry = catalog["ensembles"][name]
        if all((member, seed) in runs for member in entry["members"]):
            predicted[name, seed] = _vote(name, {member: predicted[member, seed] for member in entry["members"]})
            row = _row_of_vote(entry, [runs[member, seed] for member in entry["members"]], predicted[name, seed])
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
        tables.joined(history, "history"),
    )
    tables.check(results, str(build))
    return results, [run for run in [*asked, *votes] if run not in runs]


def _asked(catalog: Mapping[str, Any]) -> list[Run]:
    selected = [(name, entry) for name, entry in catalog["variants"].items() if entry["selected"]]
    return [(name, seed) for name, entry in selected for seed in entry.get("seeds") or catalog["seeds"]]


def _votes(catalog: Mapping[str, Any], asked: list[Run]) -> list[Run]:
    """Return the ensembles and seeds that are asked for, with all of their members."""
    selected = {name: entry for name, entry in (catalog.get("ensembles") or {}).items() if entry["selected"]}
    votes = [(name, seed) for name in selected for seed in catalog["seeds"]]
    return [(name, seed) for name, seed in votes if {(m, seed) for m in selected[name]["members"]} <= {*asked}]


def _again(place: Path) -> str:
    return f"dvc repro train@{place.parent.name}-{place.name}"


def _run(build: Path, place: Path, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of `runs` of a training; DataError where its folder is not as it was written."""
    name, again = place.parent.name, _again(place)
    there = [file.relative_to(place).as_posix() for file in place.glob("predictions/*.parquet")]
    files.check_sealed(place, again, only=[METRICS, SETTINGS, HISTORY, EMBEDDINGS, files.ELSEWHERE, *there])
    said = files.read_as(RunMetrics, place / METRICS, again).model_dump()
    settings = files.read_as(dict[str, Any], place / SETTINGS, again, files.read_yaml)
    scores = {f"{split}_{metric}": value for split in SPLITS for metric, value in said[split].items()}
    examples = {f"examples_{task}": count for task, count in (said["examples"] or {}).items() if task in TASKS}
    manifest = build / "init" / f"{name}.json"
    init = files.read_json(manifest) if manifest.is_file() else {"data": None, "encoder": {}}
    changed = [f"{key}={json.dumps(value)}" for key, value in (entry.get("overrides") or {}).items()]
    return {
        "kind": "variant", "variant": name, "seed": int(place.name), **scores, **examples, **said["parameters"],
        **{key: said[key] for key in ("steps", "epoch", "device", "precision")},
        "epochs": " ".join(map(str, said["epochs"])), "threads": settings.get("run", {}).get("threads"),
        "machine": _machine(build, place), "code": settings.get("code"),
        "data_digest": files.sha256_of(files.json_text(init["data"]).encode()) if init["data"] else None,
        "start_digest": init["encoder"].get("model.safetensors"), "overrides": "; ".join(changed),
        "settings": json.dumps({key: value for key, value in settings.items() if key not in OF_A_RUN}),
    }  # fmt: skip


def _machine(build: Path, place: Path) -> str:
    """Return processor, accelerator and PyTorch's version of the machine that trained a run."""
    if (place / files.ELSEWHERE).is_file():
        origin = files.read_as(Elsewhere, place / files.ELSEWHERE, "mtbert unpack").machine
    elif (build / "machine.json").is_file():
        origin = files.read_as(Origin, build / "machine.json", f"rm {build / 'machine.json'} && dvc repro machine")
    else:
        return ""
    return ", ".join(filter(None, (origin.processor, origin.accelerator, f"torch {origin.torch}")))


def _predicted(build: Path, place: Path, with_texts: bool) -> Tables:
    """Return a run's predictions with what is known of the rows."""
    found: Tables = {split: {} for split in SPLITS}
    for split, task in itertools.product(SPLITS, TASKS):
        file = predictions.path(place, task, split)
        if file.is_file():
            table: Frame = predictions.read(file)
            table = table.assign(row=np.arange(len(table)), overall=table.get("overall", table["scored"]))
            found[split][task] = table.assign(**_known(build, task, split, table["id"], with_texts))
    return found


def _known(build: Path, task: str, split: str, ids: Frame, with_texts: bool) -> dict[str, Any]:
    """Return columns of what is known of a file's rows: cluster (-1 for none), leaks, and on the sample their text."""
    file = build / "data" / task / f"{split}-rows.parquet"
    if split != "dev" or not file.is_file():
        return {"cluster": -1, "in_train": False, "in_pretraining": False, "shares": False, "text": None}
    known: Frame = files.read_parquet(file, ROW)
    if not known["id"].equals(ids):
        raise DataError(f"{file} and the predictions of {task} are of other rows; `dvc repro` makes both again")
    flags = {name: known[name] != "" for name in ("in_train", "in_pretraining")}
    text = _texts(build, task) if with_texts else None
    return {"cluster": known["cluster"], "shares": known["shares"], "text": text} | flags


def _texts(build: Path, task: str) -> Frame:
    table: Frame = files.read_parquet(build / "data" / task / "dev.parquet", ["sentence1", "sentence2"])
    return table.apply(lambda row: " / ".join(row.dropna()), axis=1)


def _add_places(place: Path, of_dev: dict[str, Frame]) -> None:
    """Add places in a picture to the tables of tasks whose sentences the run has embedded."""
    for task, embedded in places.of_run(place / EMBEDDINGS, _again(place)).items():
        if task in of_dev:
            of_dev[task] = of_dev[task].join(places.beside(embedded, of_dev[task]["label"].to_numpy(float)))


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
    if not file.is_file():
        return []
    told = files.read_as(Untrained, file, "dvc repro encoder")
    scores = {task: score for task, score in (("qqp", told.qqp), ("sts", told.sts)) if score is not None}
    settings = {"tasks": list(scores), "row": "Untrained encoder, cosine", "profile": catalog["profile"]}
    about = {"kind": "encoder", "variant": tables.UNTRAINED, "seed": 0, "overrides": ""}
    return [about | {"settings": json.dumps(settings)} | {f"dev_{t}": score for t, score in scores.items()} | facts]


def _data(build: Path, catalog: Mapping[str, Any]) -> dict[str, Any]:
    """Return the corpora: name, whose, the counts of their check, and how often each label comes."""
    name = catalog.get("data_dir") or "data/sample"
    file = build / "data" / "report.json"
    content: dict[str, Any] = {"name": _shown(name), "whose": files.whose_data(build, name)}
    if file.is_file():
        report = files.read_as(DataReport, file, "dvc repro preprocess").model_dump(by_alias=True)
        for counts in report["files"].values():  # as many, and nothing of what they hold
            counts |= {"refused": [{}] * len(counts["refused"]), "conflicts": [None] * len(counts["conflicts"])}
        content["report"] = report
    for task, split in itertools.product((t for t in TASKS if TASKS[t].kind != "score"), ("train", "dev")):
        corpus = build / "data" / task / f"{split}.parquet"
        if corpus.is_file():
            counts = files.read_parquet(corpus, ["label"])["label"].dropna().astype(int).value_counts().sort_index()
            labels = content.setdefault("labels", {}).setdefault(task, {})
            labels[split] = {str(label): int(count) for label, count in counts.items()}
    return content


def _shown(data_dir: str) -> str:
    """Return the folder's path, or its name alone where the path is of this machine."""
    return Path(data_dir).name if Path(data_dir).is_absolute() or ".." in Path(data_dir).parts else data_dir


def _start(build: Path, catalog: Mapping[str, Any]) -> dict[str, Any]:
    """Return the starting weights, and what each pretraining came to that a variant starts from."""
    encoder = catalog.get("encoder") or {}
    content: dict[str, Any] = {"name": encoder.get("name", ""), "note": encoder.get("note") or ""}
    for name, kind in PRETRAINED.items():
        file = build / "encoders" / name / "metrics.json"
        if file.is_file():
            content[name] = files.read_as(kind, file, f"dvc repro pretrain@{name}").model_dump()
    return content


def write_votes(results: Results, folder: Path) -> None:
    """Write each vote as a folder of its own, anew, as `mtbert predict`, `mtbert compare` and MLflow find it."""
    with files.new_directory(folder) as partial:
        for run in results.runs[results.runs["kind"] == "ensemble"].to_dict("records"):
            place = partial / run["variant"] / str(run["seed"])
            said: dict[str, Any] = {"ensemble": run["variant"], "seed": run["seed"]}
            for split in VOTED_SPLITS:
                scores = {metric: run[f"{split}_{metric}"] for metric in tables.METRICS}
                said[split] = {metric: score for metric, score in scores.items() if pd.notna(score)}
                for task, table in results.by_run.get((run["variant"], run["seed"], split), {}).items():
                    columns = predictions.columns(TASKS[task])
                    of_task = table[columns].astype({"id": str} | dict.fromkeys(columns[3:-2], float))
                    predictions.write(predictions.path(place, task, split), of_task, TASKS[task])
            files.write_json(place / METRICS, said | {"members": results.about[run["variant"]].members})
            files.seal(place)
