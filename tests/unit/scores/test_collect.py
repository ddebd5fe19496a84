"""Reading a build directory's runs: whole, altered, missing, voted."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import built
import made
import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import seals
from mtbert.scores import checks, collect, ensembles, outdated, predictions, tables
from mtbert.scores.model_rows import Source
from mtbert.scores.results import Results
from mtbert.tasks import COURSE


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return built.build(tmp_path)


def test_a_run_becomes_a_row_with_all_that_is_known_of_it(build: Path):
    row = collect.collect(build).runs.iloc[0].dropna().to_dict()
    assert [json.loads(row.pop(name)) for name in ("settings", "data", "start")] == [
        {"paper": "pals-for-pals", "profile": "own", "row": "one", "tasks": ["sst"]},
        {"name": "mine", "whose": "own", "rows": {}, "faults": []},
        {"name": "tiny"},
    ]
    assert row == {
        "kind": "variant", "variant": "one", "seed": 1, "steps": 20, "epoch": 1, **built.SIZES, "examples_sst": 640,
        "epochs": "", "machine": "i386, torch 2.13.0", "code": "c0de", "overrides": "pals.dim=8",
        "dev_sst": pytest.approx(2 / 3),
    }  # fmt: skip


def test_votes_are_rows_of_the_same_tables(build: Path):
    ensembles.vote_all(build, build / "votes")
    results = collect.collect(build)
    assert results.runs["kind"].tolist() == ["variant", "variant", "ensemble"]
    said = results.by_run["vote", 1, "dev"]["sst"]["prediction"]
    assert said.tolist() == [0.0, 1.0, 0.0]  # a tie goes to the more probable class, and else to the lower
    assert (results.about["vote"].members, results.runs["dev_sst"][2]) == (["one", "two"], pytest.approx(2 / 3))


def test_what_is_there_is_collected(build: Path):
    (build / "runs/two").rename(build / "aside")
    assert collect.collect(build).runs["variant"].tolist() == ["one"]
    (build / "runs/one").rename(build / "aside-too")
    with pytest.raises(DataError, match="no results below"):
        collect.collect(build)


def test_a_model_of_a_part_of_train_is_not_collected(build: Path):
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["variants"]["two"]["part"] = {"of": "one", "share": 0.5}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    assert collect.collect(build).runs["variant"].tolist() == ["one"]


def test_models_of_other_rows_or_classes_are_refused_by_name(build: Path):
    train = build / "data/sst/train.parquet"
    train.parent.mkdir()
    pd.DataFrame({"label": [0.0]}).to_parquet(train)
    for name in ("one", "two"):
        built.trained_on(build / f"runs/{name}/1", files.sha256(train), title="SST", matters=0.5)
    assert collect.collect(build).runs["variant"].tolist() == ["one", "two"]
    built.trained_on(build / "runs/two/1", "other")
    with pytest.raises(
        DataError, match=r"^\S+/runs/two/1: made before .* data sst/train\.parquet changed; .*`dvc repro train@two-1`"
    ):
        collect.collect(build)
    built.trained_on(build / "runs/two/1", files.sha256(train), classes=4)
    with pytest.raises(DataError, match=r"^\S+/runs/two/1: made before .* sst\.classes 4 -> 5; "):
        collect.collect(build)


@pytest.mark.parametrize(
    ("model", "ids", "rows"), [("runs/one/2", ["b"], [1]), ("baselines/baseline-tfidf/0", ["a", "b"], [0, 1])]
)
def test_of_folds_a_run_has_the_rows_of_its_fold_and_a_baseline_all(
    tmp_path: Path, model: str, ids: list[str], rows: list[int]
):
    dev = pd.DataFrame({"id": ["a", "b"], "cluster": [7, 8], "fold": [0, 1]})
    shared = pd.DataFrame({"id": ["a", "b"], "in_train": False, "shares": False, "shared_cluster": -1})
    (tmp_path / "data/sst").mkdir(parents=True)
    dev.to_parquet(tmp_path / "data/sst/dev.parquet")
    shared.to_parquet(tmp_path / "data/sst/dev-shared.parquet")
    source = Source(tmp_path, {}, {}, None)
    facts = collect._facts_of_dev(source, tmp_path / model, replace(COURSE["sst"], folds=2), pd.Series(ids))
    assert facts["row"].tolist() == rows


@pytest.mark.parametrize("name", ["metrics.json", "settings.yaml", "history.csv", "predictions/sst-test.parquet"])
def test_an_altered_run_is_refused_by_name(build: Path, name: str):
    file = build / "runs/two/1" / name
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(DataError, match=f"runs/two/1 is not as it was written .altered: {name}"):
        collect.collect(build)


def test_baselines_and_the_untrained_encoder_are_rows_before_all_others(build: Path):
    built.baseline(build, "baseline-tfidf", [0.0, 1.0, 2.0])
    built.baseline(build, "untrained-encoder", [0.0, 1.0, 0.0])
    results = collect.collect(build)
    first, second = results.runs.iloc[:2].to_dict("records")
    assert (first["kind"], first["variant"], first["dev_sst"]) == ("encoder", "untrained-encoder", pytest.approx(2 / 3))
    assert (second["kind"], second["variant"], second["dev_sst"]) == ("baseline", "baseline-tfidf", 1.0)
    assert (second["seed"], second["stored"], json.loads(second["settings"])["profile"]) == (0, 7, "own")
    assert [*results.about] == ["one", "two"]
    assert results.trained["variant"].tolist() == ["one", "two"]
    assert results.untrained == {"sst": pytest.approx(2 / 3)}
    assert results.by_run["untrained-encoder", 0, "dev"]["sst"]["prediction"].tolist() == [0.0, 1.0, 0.0]


def test_a_score_of_a_baseline_that_its_predictions_do_not_say_is_refused(build: Path):
    folder = built.baseline(build, "baseline-tfidf", [0.0, 1.0, 2.0])
    metrics = files.read_json(folder / "metrics.json")
    files.write_json(folder / "metrics.json", metrics | {"dev": {"sst": 0.5}})
    seals.seal(folder)
    with pytest.raises(DataError, match=r"dev_sst not as the predictions say.*: baseline-tfidf, seed 0"):
        collect.collect(build)


def test_evidence_whose_untrained_encoder_has_no_predictions_is_still_read(build: Path):
    results = collect.collect(build)
    old = results.runs.iloc[[0]].assign(kind="encoder", variant="untrained-encoder", seed=0, dev_sst=0.4)
    runs = pd.concat([old, results.runs], ignore_index=True)
    checks.check(Results(runs, results.predictions, results.history), "old")


def test_the_first_seed_of_a_variant_has_places(build: Path):
    place = build / "runs/one/1"
    table = pd.read_parquet(place / "predictions/sst-dev.parquet")
    predictions.write(layout.predictions(place, "sst", "dev"), pd.concat([table, table], ignore_index=True))
    embedded = np.random.default_rng(0).normal(size=(1, 6, 4)).astype(np.float16)
    save_file({"sst": embedded, "sst/rows": np.arange(6)}, place / "embeddings.safetensors")
    seals.seal(place)
    second = shutil.copytree(place, place.with_name("2"))
    files.write_json(second / "metrics.json", files.read_json(second / "metrics.json") | {"seed": 2})
    files.write_text(second / "history.csv", "phase,step,name,value\n1,10,loss/sst,1.4\n")
    seals.seal(second)
    (build / "runs/two").rename(build / "aside")
    catalog = files.read_yaml(build / "plan/catalog.yaml", "")
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"seeds": [1, 2]})
    placed = collect.collect(build).points
    assert placed[["variant", "seed", "task"]].drop_duplicates().to_numpy().tolist() == [["one", 1, "sst"]]
    assert (placed["row"].tolist(), placed["x"].notna().sum()) == ([0, 1, 2, 3, 4, 5], 6)


def test_labels_are_counted_by_class_or_by_fifths_of_a_range_where_they_are_known(build: Path):
    for name, labels in (("sst/train", [0, 4, 4]), ("sts/train", [0, 0.9, 1, 5]), ("sts/test", [None, None])):
        file = build / f"data/{name}.parquet"
        file.parent.mkdir(exist_ok=True)
        pd.DataFrame({"label": labels}, dtype=float).to_parquet(file)
    rows = {
        task: {split: dict(of) for split, of in splits.items()}
        for task, splits in collect.collect(build).data.rows.items()
    }
    assert rows == {
        "sst": {"train": {"rows": 3, "labels": [1, 0, 0, 0, 2]}},
        "sts": {"train": {"rows": 4, "labels": [2, 1, 0, 0, 1]}, "test": {"rows": 2, "labels": []}},
    }


def test_data_that_do_not_say_what_dev_shares_are_refused(build: Path):
    file = build / "data/sst/dev.parquet"
    file.parent.mkdir(exist_ok=True)
    pd.DataFrame({"id": ["a"], "label": [0.0], "cluster": [0]}).to_parquet(file)
    with pytest.raises(DataError, match=r"dev-shared\.parquet is missing; run the stage that makes it"):
        collect.collect(build)


def test_times_that_were_measured_are_columns_of_a_run(build: Path):
    cost = {"milliseconds": 2.5, "batch_milliseconds": 0.5, "megabytes": 91.0}
    keys = {name: {"1": layout.log_key(build / f"runs/{name}/1")} for name in ("one", "two")}
    said = {"machine": "i386", "costs": {"one": cost}, "seconds": {"one": {"1": 60.0}, "two": {}}}
    files.write_json(build / "speed/speed.json", said | {"models": keys})
    runs = collect.collect(build).runs.set_index("variant")
    assert runs.loc["one", ["seconds", *cost]].tolist() == [60.0, 2.5, 0.5, 91.0]
    assert runs.loc["two", ["seconds", *cost]].isna().all()


def test_times_of_a_model_that_was_trained_again_are_not_those_of_the_new_one(build: Path):
    cost = {"milliseconds": 2.5, "batch_milliseconds": 0.5, "megabytes": 91.0}
    keys = {"one": {"1": layout.log_key(build / "runs/one/1")}}
    said = {"machine": "i386", "costs": {"one": cost}, "seconds": {"one": {"1": 60.0}}, "models": keys}
    files.write_json(build / "speed/speed.json", said)
    made_from = build / "runs/one/1/inputs.json"
    files.write_json(made_from, files.read_json(made_from) | {"code": {"loop.py": "other"}})
    seals.seal(made_from.parent)
    assert collect.collect(build).runs.set_index("variant").loc["one", ["seconds", *cost]].isna().all()


def test_a_run_that_was_copied_to_another_name_or_seed_is_refused(build: Path):
    shutil.copytree(build / "runs/one/1", build / "runs/one/2")
    catalog = files.read_yaml(build / "plan/catalog.yaml")
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"seeds": [1, 2]})
    with pytest.raises(DataError, match=r"runs/one/2 holds the model of one, seed 1: it was copied .*train@one-2"):
        collect.collect(build)


def planned(build: Path, name: str, dim: int) -> None:
    """Have the plan and the manifest of a variant say that number."""
    settings = {"variant": name, "tasks": ["sst"], "phases": [], "model": {"adapter": {"name": "pals", "dim": dim}}}
    files.write_yaml(build / f"plan/{name}.yaml", settings | {"sources": {}})
    files.write_json(build / f"manifest/{name}.json", made.MANIFEST | {"settings": settings})


def trained_with(build: Path, name: str, dim: int) -> None:
    """Have a run say that it was trained with that number."""
    planned(build, name, dim)
    manifest = files.read_json(build / f"manifest/{name}.json")
    files.write_json(build / f"runs/{name}/1/inputs.json", manifest | {"seed": 1})
    seals.seal(build / f"runs/{name}/1")


@pytest.fixture
def outdated_build(build: Path) -> Path:
    """Of `two` the number has changed since, and no training of it has ended."""
    trained_with(build, "one", 204)
    trained_with(build, "two", 204)
    ensembles.vote_all(build, build / "votes")
    planned(build, "two", 60)
    return build


def test_a_run_of_other_settings_than_those_of_now_is_left_out_and_so_is_its_vote(outdated_build: Path):
    assert collect.collect(outdated_build).runs["variant"].tolist() == ["one"]
    left_out = outdated.in_words(outdated.of_build(outdated_build))
    assert left_out == "Left out: two-1, trained before these changed: pals.dim 204 -> 60."
    assert outdated.after_dvc(outdated.of_build(outdated_build)) == (
        f"{left_out} DVC takes them for runs of now; `dvc repro --force --single-item train@two-1` trains them again."
    )


def test_where_all_runs_are_of_other_settings_there_are_no_results(outdated_build: Path):
    planned(outdated_build, "one", 60)
    with pytest.raises(DataError, match=r"no results below .* Left out: one-1, two-1, trained before .* 204 -> 60\.$"):
        collect.collect(outdated_build)


def test_tables_say_which_runs_they_do_not_have_as_these_are_now(outdated_build: Path):
    planned(outdated_build, "two", 204)
    tables.write(collect.collect(outdated_build), outdated_build / "results")
    assert outdated.of_tables(outdated_build) == ""
    planned(outdated_build, "two", 60)
    of_before = "These tables are of runs of before: two-1, trained before these changed: pals.dim 204 -> 60."
    assert outdated.of_tables(outdated_build) == of_before
    built.run(outdated_build, "two", [0.0, 1.0, 2.0])
    trained_with(outdated_build, "two", 60)
    shutil.rmtree(outdated_build / "runs/one")
    results = outdated_build / "results"
    assert outdated.of_tables(outdated_build) == (
        f"{results} is without new runs: two-1. {results} is of runs that are gone, or not selected: one-1."
    )


def test_a_merged_model_is_a_row_of_its_own_and_its_scale_is_no_setting(build: Path):
    shutil.move(built.run(build, "joined", [0.0, 1.0, 2.0]), build / "merged/joined/1")
    file = build / "merged/joined/1/settings.yaml"
    files.write_yaml(file, files.read_yaml(file) | {"members": ["one", "two"], "merge": "ties", "scale": 0.4})
    seals.seal(file.parent)
    plan = files.read_yaml(build / "plan/catalog.yaml")
    plan["ensembles"]["joined"] = {"selected": True, "members": ["one", "two"], "merge": "ties"}
    files.write_yaml(build / "plan/catalog.yaml", plan)
    ensembles.vote_all(build, build / "votes")
    results = collect.collect(build)
    row = results.runs.set_index("variant").loc["joined"]
    assert (row["kind"], row["dev_sst"], row["stored"], row["machine"]) == ("ensemble", 1.0, 1010, "i386, torch 2.13.0")
    assert "scale" not in json.loads(row["settings"])
    assert (results.about["joined"].encoders, results.about["vote"].encoders) == (1, 2)
