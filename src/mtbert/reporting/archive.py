"""The evidence: what every number of a report comes from, small enough to commit and without any sentence.

    facts/                  the plan, what the check of the data counted, the machine, what pretraining came to
    runs.parquet            a line a run or vote: its metrics, settings, history and digests as they are, and its log
    predictions/TASK-SPLIT  a line a row: id, label, whether it is scored and, of dev, its cluster and what it shares
                            with training rows; then a column `NAME/SEED` for each run with what it said, and
                            `NAME/SEED/scored` for a run that scores other rows than the first run does
    probabilities/TASK      of dev, in thousandths: a column `NAME/SEED/CLASS` for each class but the last
    labels, clouds          how often each label comes; where t-SNE has put the sentences' embeddings
    sentences/              of the sample alone, whose sentences are this project's own
    digests.json            the SHA-256 of each of these files

`unpack` makes a build directory of it that holds as much as the report reads. `add` keeps the runs that lie in the
evidence already, so that trainings of several machines or weeks come together. Predictions where labels are withheld
are left out, as no score comes of them; embeddings and weights are, too.
"""

import itertools
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.outputs import PRETRAINED, DataReport, Elsewhere, Origin
from mtbert.reporting import catalog as catalogs
from mtbert.reporting import corpora, embeddings, mistakes, searches, sentences
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.tasks import SPLITS, TASKS, Split, Task

NAME = "evidence"
TEXTS = ("metrics.json", "settings.yaml", "history.csv", files.ELSEWHERE)  # of a run: kept word for word
PLAN = "plan/catalog.yaml"
COUNTS = "data/report.json"
DEV_ROWS = "dev-rows.parquet"
OVERLAPS = ("overlaps", "overlaps with pretraining")  # in COUNTS
FACTS = ("plan/pretrain-*.yaml", "machine.json", "encoders/*/metrics.json")  # kept so, too
ROW = ["id", "label", "scored"]
OTHERWISE = "/scored"  # ends the column that says which rows a run scores, where it is not those of the first run
SHARED = ["cluster", "in_train", "in_pretraining", "shares"]  # of a dev row
ALONE = "`mtbert evidence` without --add packs the runs of the build directory alone"
WITHHELD = pd.DataFrame({"id": ["withheld"], "label": [np.nan], "prediction": [0.0], "scored": [True]})


Vote = Callable[[str, Sequence[str], int, Path, Path], object]  # as `ensembling.ensemble`


def main(build: Path, reports: Path, more: bool = False, vote: Vote | None = None, anew: bool = False) -> None:
    """Pack the evidence of what lies below `build` into its report's folder below `reports`.

    With `more`, `add` it; with `anew`, add variants that were trained anew.
    """
    directory = files.report_directory(build, reports) / NAME
    if (more or anew) and directory.exists():
        add(build, directory, vote, anew)
    else:
        pack(build, directory)
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    print(f"{directory} is written: {size / 1e6:.2f} MB")


def pack(build: Path, directory: Path) -> None:
    """Write the evidence of a build directory's selected runs anew.

    Raises:
        SettingsError: no catalog.
        DataError: nothing has run, a run is not as it was written, or two runs' prediction files hold other rows.
    """
    _pack(build, directory, {})


def _pack(build: Path, directory: Path, earlier: Mapping[Path, dict[str, Any]]) -> None:
    """Pack, with the lines of runs that were unpacked, by their place, as they were: their digests are of all files."""
    completed = catalogs.read_completed(build)
    with files.new_directory(directory) as partial:
        _pack_facts(build, completed, partial / "facts")
        lines = [
            earlier.get(entry.directory(build, seed)) or _run(build, entry, seed) for entry, seed in completed.runs
        ]
        _parquet(pd.DataFrame(lines), partial / "runs.parquet")
        for task in TASKS.values():
            _pack_task(build, completed, task, partial)
        _parquet(_labels(build), partial / "labels.parquet")
        embeddings.write(embeddings.clouds(build, completed), partial / "clouds.parquet")
        files.seal(partial)


def add(build: Path, directory: Path, vote: Vote | None = None, anew: bool = False) -> None:
    """Write the evidence of the runs that lie in it and of a build directory's; of a run in both, the build's.

    Args:
        build: a build directory.
        directory: of the evidence.
        vote: makes the votes that neither of them has, and both together have all members of.
        anew: the build's variants were trained anew: the evidence keeps none of their runs, nor votes of these.

    Raises:
        DataError: as for `pack` and `unpack`, or the evidence holds runs of a variant that the build's plan lacks, or
            of another profile, encoder, settings for all, pretraining or number of rows of a corpus.
    """
    with tempfile.TemporaryDirectory(prefix="mtbert-") as name:
        whole = Path(name)
        unpack(directory, whole)
        earlier = files.read_plan(whole / PLAN)
        if anew:
            _drop({entry.name for entry, _ in catalogs.read_completed(build).runs}, earlier, whole)
        clouds = embeddings.read(whole / embeddings.CLOUDS)
        for task, by_variant in embeddings.clouds(build, catalogs.read_completed(build)).items():
            clouds.setdefault(task, {}).update(by_variant)
        embeddings.write(clouds, whole / embeddings.CLOUDS)
        plan = _both_asked(earlier, files.read_plan(build / PLAN))
        lines = files.read_parquet(directory / "runs.parquet").to_dict("records")
        lines = [_with_machine(line, whole, build) for line in lines if _place(whole, line).is_dir()]
        _lay_over(build, whole)
        files.write_yaml(whole / PLAN, plan)
        if vote is not None:
            _vote(whole, plan, vote)
        _pack(whole, directory, {place: line for line in lines if not (place := _place(whole, line)).is_symlink()})


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
    for place in (*runs, *logs, build / "machine.json", *_pretrained(build, whole), *build.glob("data/*/*")):
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
    _parquet(rows.assign(in_pretraining=known), there)


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


def _pack_facts(build: Path, completed: Completed, facts: Path) -> None:
    """Word for word, but for the place of the data, and refused rows, of which the number is kept."""
    for file in (file for pattern in FACTS for file in sorted(build.glob(pattern))):
        files.write_text(facts / file.relative_to(build), file.read_text(encoding="utf-8"))
    content = files.read_plan(build / PLAN)
    files.write_yaml(facts / PLAN, content | ({"data_dir": completed.data} if completed.data else {}))
    if (report := build / COUNTS).is_file():
        files.write_json(facts / COUNTS, _counted(files.read_json(report)))
    for searched in searches.files_of(completed.profile, searches.place(build)):
        files.write_text(facts / "searches" / searched.name, searched.read_text(encoding="utf-8"))


def _counted(report: dict[str, Any]) -> dict[str, Any]:
    """The check of the data with as many refused rows and conflicts, and nothing of what these hold."""
    of_files = {
        name: counts | {"refused": [{}] * len(counts["refused"]), "conflicts": [None] * len(counts["conflicts"])}
        for name, counts in report["files"].items()
    }
    return report | {"files": of_files}


def _run(build: Path, entry: CompletedEntry, seed: int) -> dict[str, Any]:
    place = entry.directory(build, seed)
    texts = {
        name: entry.file(build, seed, name).read_text(encoding="utf-8") if (place / name).is_file() else ""
        for name in TEXTS
    }
    log = None if entry.members else files.log_directory(build, place) / "run.json"
    withheld = [
        f"{task}-{split}" for task in entry.tasks for split in SPLITS if _withheld(build, entry, seed, task, split)
    ]
    about = {"kind": entry.kind, "name": entry.name, "seed": seed, "withheld": " ".join(withheld)}
    said = log.read_text(encoding="utf-8") if log is not None and log.is_file() else ""
    return {**about, **texts, files.DIGESTS: (place / files.DIGESTS).read_text(encoding="utf-8"), "run.json": said}


def _withheld(build: Path, entry: CompletedEntry, seed: int, task: str, split: Split) -> bool:
    file = entry.predictions(build, seed, task, split)
    return file is not None and bool(files.read_parquet(file, ["label"])["label"].isna().all())


def _pack_task(build: Path, completed: Completed, task: Task, directory: Path) -> None:
    """Predictions of each split, probabilities of dev and, of the sample, the sentences."""
    for split in SPLITS:
        tables = dict(_predicted(build, completed, task, split))
        if not tables:
            continue
        rows = _rows(tables, f"{split} predictions of {task.name}")
        said = {run: _packed(table["prediction"].to_numpy(dtype=float), task) for run, table in tables.items()}
        said |= {f"{run}{OTHERWISE}": table["scored"] for run, table in tables.items() if _otherwise(table, rows)}
        about = build / "data" / task.name / DEV_ROWS
        if split == "dev" and about.is_file():
            rows = pd.concat([rows, _shared(about, len(rows))], axis=1)
        _parquet(
            pd.concat([rows, pd.DataFrame(said)], axis=1), directory / "predictions" / f"{task.name}-{split}.parquet"
        )
        if split == "dev" and task.kind != "score":
            _parquet(_probabilities(tables, task), directory / "probabilities" / f"{task.name}.parquet")
    corpus = build / "data" / task.name / "dev.parquet"
    if sentences.may_be_committed(completed) and corpus.is_file():
        texts = files.read_parquet(corpus, ["id", "sentence1", "sentence2", "label"])
        _parquet(texts, directory / "sentences" / f"{task.name}.parquet")


def _predicted(build: Path, completed: Completed, task: Task, split: Split) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every run's predictions whose labels are known, by the run's name and seed."""
    for entry, seed in completed.runs:
        file = entry.predictions(build, seed, task.name, split) if task.name in entry.tasks else None
        if file is not None and not (table := predictions.read(file))["label"].isna().to_numpy().all():
            yield f"{entry.name}/{seed}", table


def _rows(tables: Mapping[str, pd.DataFrame], what: str) -> pd.DataFrame:
    """Ids and labels, which all have to share: a column a run has no room for others; and what the first run scores."""
    (first, reference), *others = tables.items()
    for run, table in others:
        if not table[["id", "label"]].equals(reference[["id", "label"]]):
            raise DataError(
                f"{what} by {first} and by {run} hold other rows or labels, so that they make no evidence together; "
                "train both on the same data (`dvc repro`)"
            )
    return pd.DataFrame(reference, columns=ROW).reset_index(drop=True)


def _otherwise(table: pd.DataFrame, rows: pd.DataFrame) -> bool:
    return not np.array_equal(table["scored"], rows["scored"])


def _packed(values: np.ndarray, task: Task) -> np.ndarray:
    """The same numbers in fewer bytes where they fit."""
    small = values.astype(np.uint8 if task.kind != "score" else np.float32)
    return small if np.array_equal(small.astype(float), values) else values


def _shared(file: Path, rows: int) -> pd.DataFrame:
    """Which dev rows share a sentence, as numbers; and whether training or pretraining has them, without which row."""
    table = files.read_parquet(file, SHARED)
    if len(table) != rows:
        raise DataError(f"{file} holds {len(table)} rows, the predictions {rows}; `dvc repro` makes both again")
    return table.assign(**{name: table[name] != "" for name in ("in_train", "in_pretraining")})


def _probabilities(tables: Mapping[str, pd.DataFrame], task: Task) -> pd.DataFrame:
    return pd.DataFrame(
        {
            f"{run}/{label}": column
            for run, table in tables.items()
            for label, column in enumerate(mistakes.thousandths(table, task).T)
        }
    )


def _labels(build: Path) -> pd.DataFrame:
    """How often each label comes in the sets whose shares the report draws."""
    lines = []
    for task, split in itertools.product(corpora.LABELLED, ("train", "dev")):
        file = build / "data" / task / f"{split}.parquet"
        if file.is_file():
            counts = files.read_parquet(file, ["label"])["label"].value_counts().sort_index()
            lines += [{"task": task, "split": split, "label": label, "rows": rows} for label, rows in counts.items()]
    return pd.DataFrame(lines, columns=["task", "split", "label", "rows"])


def _parquet(table: pd.DataFrame, file: Path) -> None:
    with files.new_file(file) as partial:
        table.to_parquet(partial, index=False, compression="zstd", compression_level=19)


# --- back -------------------------------------------------------------------------------------------------------------


def unpack(directory: Path, build: Path) -> None:
    """Make a build directory of the evidence, from which the report is written.

    Raises:
        DataError: there is no evidence, a file of it is altered, missing or too many, or a run's own files are not
            those of its digests.
    """
    _check(directory)
    for file in (file for file in (directory / "facts").rglob("*") if file.is_file()):
        files.write_text(build / file.relative_to(directory / "facts"), file.read_text(encoding="utf-8"))
    runs = files.read_parquet(directory / "runs.parquet")
    places = {f"{run['name']}/{run['seed']}": _place(build, run) for run in runs.to_dict("records")}
    for run in runs.to_dict("records"):
        _unpack_run(run, places[f"{run['name']}/{run['seed']}"])
    for file in sorted((directory / "predictions").glob("*.parquet")):
        _unpack_task(directory, file, build, places)
    for run in runs.to_dict("records"):
        place = places[f"{run['name']}/{run['seed']}"]
        files.seal(place)
        if run["run.json"]:
            files.write_text(files.log_directory(build, place) / "run.json", run["run.json"])
    _unpack_data(directory, build)
    (build / "searches").mkdir(exist_ok=True)  # none of where this runs


def _check(directory: Path) -> None:
    if not (directory / files.DIGESTS).is_file():
        raise DataError(f"{directory} holds no {files.DIGESTS}, so `mtbert evidence` did not write it")
    digests = files.read_as(dict[str, str], directory / files.DIGESTS, f"git checkout {directory}")
    if said := files.differences(directory, digests):
        raise DataError(f"the evidence in {directory} is not as it was packed ({said}); `git checkout {directory}` "
                        "brings back what was committed")  # fmt: skip


def _place(build: Path, run: Mapping[str, Any]) -> Path:
    return build / ("ensembles" if run["kind"] == "ensemble" else "runs") / run["name"] / str(run["seed"])


def _unpack_run(run: Mapping[str, Any], place: Path) -> None:
    """A run's own words, which have to be those of its digests; and of what is withheld, that it was predicted."""
    digests = json.loads(run[files.DIGESTS])
    for name in (name for name in TEXTS if run[name]):
        files.write_text(place / name, run[name])
        if files.sha256(place / name) != digests.get(name):
            raise DataError(f"in the evidence {name} of {run['name']}, seed {run['seed']}, is not as its run left it")
    for what in run["withheld"].split():
        task, split = what.rsplit("-", 1)
        _predict(place, WITHHELD, TASKS[task], cast(Split, split), np.zeros((1, TASKS[task].classes)))


def _unpack_task(directory: Path, file: Path, build: Path, places: Mapping[str, Path]) -> None:
    """Every run's prediction file of a task and split and, of dev, which rows share a sentence."""
    name, split = file.stem.rsplit("-", 1)
    task, packed = TASKS[name], files.read_parquet(file)
    runs = [column for column in packed if column not in (*ROW, *SHARED) and not column.endswith(OTHERWISE)]
    if unknown := [run for run in runs if run not in places]:
        raise DataError(f"{file} holds predictions of {', '.join(unknown)}, which runs.parquet does not list")
    if set(SHARED) <= set(packed):
        shared = packed[["id", *SHARED]]
        words = {column: np.where(shared[column], "yes", "") for column in ("in_train", "in_pretraining")}
        _parquet(shared.assign(**words), build / "data" / name / DEV_ROWS)
    counts = files.read_parquet(directory / "probabilities" / f"{name}.parquet") if _likely(task, split) else None
    for run in runs:
        scored = packed[f"{run}{OTHERWISE}" if f"{run}{OTHERWISE}" in packed else "scored"]
        table = packed[ROW].assign(scored=scored, prediction=packed[run].astype(float))
        likely = np.zeros((len(table), task.classes))
        if counts is not None:
            columns = [f"{run}/{label}" for label in range(len(predictions.probability_columns(task)) - 1)]
            likely = mistakes.of_thousandths(counts[columns].to_numpy())
        _predict(places[run], table, task, cast(Split, split), likely)


def _likely(task: Task, split: str) -> bool:
    return split == "dev" and task.kind != "score"


def _predict(place: Path, table: pd.DataFrame, task: Task, split: Split, likely: np.ndarray) -> None:
    columns = predictions.probability_columns(task)
    whole = pd.concat([table, pd.DataFrame(likely[:, : len(columns)], table.index, columns)], axis=1)
    file = predictions.path(place, task.name, split)
    predictions.write(file, pd.DataFrame(whole, columns=["id", "label", "prediction", *columns, "scored"]), task)


def _unpack_data(directory: Path, build: Path) -> None:
    """Labels, sentences where there are any, and the places of embeddings."""
    for key, lines in files.read_parquet(directory / "labels.parquet").groupby(["task", "split"]):
        task, split = cast(tuple[str, str], key)
        labels = np.repeat(lines["label"].to_numpy(), lines["rows"].to_numpy())
        _parquet(pd.DataFrame({"label": labels}), build / "data" / task / f"{split}.parquet")
    for file in (directory / "sentences").glob("*.parquet"):
        _parquet(files.read_parquet(file), build / "data" / file.stem / "dev.parquet")
    _parquet(files.read_parquet(directory / "clouds.parquet"), build / embeddings.CLOUDS)
