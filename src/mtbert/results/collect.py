"""Read every run of a build directory once, check that it is whole, vote, and make the three tables of it."""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
Tables = dict[tuple[str, str], Frame]  # of one run, by task and split


@dataclass
class Collected:
    """The tables, and what was asked for and is not there: variant (or ensemble) and seed."""

    results: Results
    missing: list[tuple[str, int]]


def collect(build: Path) -> Collected:
    """Return the results of all runs that build/plan/catalog.yaml asks for.

    Raises:
        SettingsError: no catalog.
        DataError: nothing has run, a run was altered or is not whole, or runs do not fit together; named.
    """
    catalog = files.read_plan(build / "plan" / "catalog.yaml", "profile", "seeds", "variants")
    reader = _Reader(build, catalog)
    for name, seed in _asked(catalog):
        reader.read(name, seed)
    asked = set(_asked(catalog))
    for name, entry in (catalog.get("ensembles") or {}).items():
        for seed in catalog["seeds"] if entry["selected"] else ():
            if all((member, seed) in asked for member in entry["members"]):
                reader.vote(name, entry, seed)
    if not reader.runs:
        raise DataError(f"no results below {build}; `dvc repro` makes those that params.yaml asks for")
    reader.untrained()
    results = Results(
        tables.joined([pd.DataFrame(reader.runs)], "runs"),
        tables.joined(itertools.chain.from_iterable(reader.predictions.values()), "predictions"),
        tables.joined(reader.history, "history"),
    )
    of_votes = tables.scores(results)
    for at in results.runs.index[results.runs["kind"] == "ensemble"]:
        for column, value in of_votes[results.runs.at[at, "variant"], int(results.runs.at[at, "seed"])].items():
            results.runs.loc[at, column] = value
    tables.check(results, str(build))
    return Collected(results, reader.missing)


def write(build: Path, out: Path, votes: Path) -> list[tuple[str, int]]:
    """Write the tables and the votes of a build directory anew; return what is missing."""
    collected = collect(build)
    with files.new_directory(out) as partial:
        tables.write(collected.results, partial)
    write_votes(collected.results, votes)
    return collected.missing


def _asked(catalog: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, entry in catalog["variants"].items():
        if entry["selected"]:
            yield from ((name, seed) for seed in entry.get("seeds") or catalog["seeds"])


class _Reader:
    """What was read so far."""

    def __init__(self, build: Path, catalog: Mapping[str, Any]) -> None:
        self.build, self.catalog = build, catalog
        self.runs: list[dict[str, Any]] = []
        self.predictions: dict[tuple[str, int], list[Frame]] = {}
        self.history: list[Frame] = []
        self.missing: list[tuple[str, int]] = []
        self.exact: dict[tuple[str, int], Tables] = {}  # of members, for votes
        self.facts = {"data": json.dumps(_data(build, catalog)), "start": json.dumps(_start(build, catalog))}
        self.texts = json.loads(self.facts["data"])["whose"] == "sample"
        self.members = {m for e in (catalog.get("ensembles") or {}).values() if e["selected"] for m in e["members"]}

    def read(self, name: str, seed: int) -> None:
        """Add a run; where its folder is missing, say so in `missing`."""
        place = self.build / "runs" / name / str(seed)
        if not place.is_dir():
            self.missing.append((name, seed))
            return
        again = f"dvc repro train@{name}-{seed}"
        there = sorted(file.relative_to(place).as_posix() for file in place.glob("predictions/*.parquet"))
        files.check_sealed(place, again, only=[METRICS, SETTINGS, HISTORY, EMBEDDINGS, files.ELSEWHERE, *there])
        said = files.read_as(RunMetrics, place / METRICS, again).model_dump()
        settings = files.read_as(dict[str, Any], place / SETTINGS, again, files.read_yaml)
        entry = self.catalog["variants"][name]
        self.runs.append(_run(self.build, place, said, settings, entry) | self.facts)
        first = (name, seed) == next((key for key in _asked(self.catalog) if key[0] == name), None)
        drawn = places.of_run(place / EMBEDDINGS, settings["tasks"], again) if first else {}
        exact = {(task, split): self._predicted(place, task, split, drawn) for task, split in _predictions(there)}
        self.predictions[name, seed] = [
            table.assign(variant=name, seed=seed, task=task, split=split) for (task, split), table in exact.items()
        ]
        if name in self.members:
            self.exact[name, seed] = exact
        self.history.append(_history(place / HISTORY, again).assign(variant=name, seed=seed))

    def _predicted(self, place: Path, task: str, split: str, drawn: Mapping[str, np.ndarray]) -> Frame:
        """One prediction file with what is known of its rows; `drawn`: places of the first dev rows by t-SNE."""
        table: Frame = predictions.read(predictions.path(place, task, split))  # type: ignore[arg-type]
        table = table.assign(row=np.arange(len(table)), overall=table.get("overall", table["scored"]))
        table = pd.concat([table, _rows(self.build, task, split, table["id"], self.texts)], axis=1)
        if split == "dev" and task in drawn:
            table = table.join(places.beside(drawn[task], table["label"].to_numpy(float), task))
        return table

    def vote(self, name: str, entry: Mapping[str, Any], seed: int) -> None:
        """Add an ensemble's vote; where a member is missing, say so in `missing`."""
        members = entry["members"]
        if not all((member, seed) in self.exact for member in members):
            self.missing.append((name, seed))
            return
        of_members = {member: self.exact[member, seed] for member in members}
        self.predictions[name, seed] = vote.of_members(name, members, of_members, seed)
        tasks = [task for task in TASKS if any((table["task"] == task).all() for table in self.predictions[name, seed])]
        settings = {key: entry.get(key) for key in ("paper", "row", "members")} | {"tasks": tasks}
        first = next(run for run in self.runs if (run["variant"], run["seed"]) == (members[0], seed))
        settings |= {"profile": self.catalog["profile"], "run": json.loads(first["settings"]).get("run")}
        told = [run for run in self.runs if run["variant"] in members and run["seed"] == seed]
        weights = {key: first[key] if key == "encoder" else sum(run[key] for run in told) for key in tables.WEIGHTS}
        about = {"kind": "ensemble", "variant": name, "seed": seed, "settings": json.dumps(settings)}
        changed = dict.fromkeys(change for run in told for change in run["overrides"].split("; ") if change)
        self.runs.append(about | weights | self.facts | {"overrides": "; ".join(changed)})

    def untrained(self) -> None:
        """Add the scores of the starting weights without any training, where the stage `encoder` has left them."""
        file = self.build / "encoders" / "base" / "untrained.json"
        if not file.is_file():
            return
        told = files.read_as(Untrained, file, "dvc repro encoder")
        scores = {f"dev_{task}": score for task in ("qqp", "sts") if (score := getattr(told, task)) is not None}
        settings = {"tasks": [column.removeprefix("dev_") for column in scores], "row": "Untrained encoder, cosine"}
        about = {"kind": "encoder", "variant": tables.UNTRAINED, "seed": 0, "overrides": ""}
        settings |= {"profile": self.catalog["profile"]}
        self.runs.insert(0, about | {"settings": json.dumps(settings)} | scores | self.facts)


def _run(
    build: Path, place: Path, said: Mapping[str, Any], settings: Mapping[str, Any], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of `runs` of a training."""
    name, seed = place.parent.name, int(place.name)
    scores = {f"{split}_{metric}": value for split in SPLITS for metric, value in said[split].items()}
    examples = {f"examples_{task}": count for task, count in (said["examples"] or {}).items() if task in TASKS}
    manifest = build / "init" / f"{name}.json"
    init = files.read_json(manifest) if manifest.is_file() else {"data": None, "encoder": {}}
    changed = [f"{key}={json.dumps(value)}" for key, value in (entry.get("overrides") or {}).items()]
    return {
        "kind": "variant", "variant": name, "seed": seed, **scores, **examples, **said["parameters"],
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


def _predictions(names: list[str]) -> list[tuple[str, str]]:
    """Return task and split of each prediction file, in the order of TASKS."""
    stems = {Path(name).stem for name in names}
    return [(task, split) for task in TASKS for split in SPLITS if f"{task}-{split}" in stems]


def _rows(build: Path, task: str, split: str, ids: pd.Series, with_texts: bool) -> Frame:
    """Return what is known of a file's rows: cluster (-1 for none), leaks, and on the sample their text."""
    nothing = pd.DataFrame({"cluster": -1, "in_train": False, "in_pretraining": False, "shares": False}, ids.index)
    file = build / "data" / task / f"{split}-rows.parquet"
    if split != "dev" or not file.is_file():
        return nothing.assign(text=None)
    known: Frame = files.read_parquet(file, ROW)
    if not known["id"].equals(ids):
        raise DataError(f"{file} and the predictions of {task} are of other rows; `dvc repro` makes both again")
    flags = {name: known[name] != "" for name in ("in_train", "in_pretraining")}
    return known.assign(**flags, text=_texts(build, task) if with_texts else None).drop(columns="id")


def _texts(build: Path, task: str) -> Frame:
    table: Frame = files.read_parquet(build / "data" / task / "dev.parquet", ["sentence1", "sentence2"])
    return table.apply(lambda row: " / ".join(text for text in row if isinstance(text, str)), axis=1)


def _history(file: Path, again: str) -> Frame:
    try:
        return pd.read_csv(file, usecols=["phase", "step", "name", "value"])
    except ValueError as error:  # not UTF-8, no table, or without one of the columns
        raise DataError(f"{file} is damaged: {error}; `{again}` makes it again") from None


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
            said: dict[str, Any] = {"ensemble": run["variant"], "seed": run["seed"], "dev": {}, "test": {}}
            for split, metric in itertools.product(vote.VOTED_SPLITS, tables.METRICS):
                if pd.notna(value := run[f"{split}_{metric}"]):
                    said[split][metric] = value
            files.write_json(place / METRICS, said | {"members": results.about[run["variant"]].members})
        for task, split in itertools.product(TASKS.values(), vote.VOTED_SPLITS):
            columns = ["id", "label", "prediction", *predictions.probability_columns(task), "scored", "overall"]
            for variant, seed, table in results.of(task.name, split):
                if results.about[variant].members:
                    file = predictions.path(partial / variant / str(seed), task.name, split)
                    table = table[columns].astype({"id": str} | dict.fromkeys(columns[3:-2], float))
                    predictions.write(file, table, task)
        for place in partial.glob("*/*"):
            files.seal(place)
