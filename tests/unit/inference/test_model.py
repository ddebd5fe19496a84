"""Trained models predict as their training's own prediction files do."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import trained

import mtbert
from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.inference import exporting, modeling
from mtbert.inference.answers import ModelError
from mtbert.provenance import seals
from mtbert.tasks import COURSE


@pytest.fixture
def copy(build: Path, tmp_path: Path) -> Path:
    return shutil.copytree(build, tmp_path / "build")


def predicted(folder: Path, task: str, split: str) -> pd.DataFrame:
    return pd.read_parquet(folder / "predictions" / f"{task}-{split}.parquet")


@pytest.mark.parametrize("name", ["crossed", "apart"])
@pytest.mark.parametrize("task", ["sst", "sts"])
def test_predictions_of_the_test_rows_equal_the_training_s_to_the_last_digit(build: Path, name: str, task: str):
    folder = build / "runs" / name / "1"
    ours, its = mtbert.load(folder).predict(trained.rows(build, task, "test"), task), predicted(folder, task, "test")
    columns = [column for column in its.columns if column not in ("id", "label", "scored")]
    np.testing.assert_array_equal(ours[columns], its[columns])


def test_classes_have_names_and_probabilities(build: Path):
    table = mtbert.load("crossed", build=build).predict(task="sst", rows=["the plot is simple .", "the cast is bad ."])
    probabilities = table[[f"probability_{number}" for number in range(5)]]
    assert list(table.columns) == ["prediction", "class", *probabilities.columns, "cut"]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert list(table["class"]) == [
        COURSE["sst"].class_names[int(number)] for number in probabilities.to_numpy().argmax(1)
    ]


def test_every_class_of_every_task_has_one_name():
    names = {name: COURSE[name].class_names for name in ("sst", "qqp", "sts", "cfimdb", "snli", "mnli")}
    assert [len(set(of_task)) for of_task in names.values()] == [5, 2, 0, 2, 3, 3]
    assert COURSE["snli"].class_names == ("contradiction", "neutral", "entailment")


@pytest.mark.parametrize(("name", "room"), [("crossed", 13), ("apart", 15)])
def test_what_is_longer_than_a_sequence_is_cut_and_told(build: Path, name: str, room: int):
    model = mtbert.load(name, build=build)
    word = next(word for word in ["the", "plot", "is"] if len(model.tokenize([word])[0]) == 1)
    fits, longer = " ".join([word] * (room - 1)), " ".join([word] * room)
    second = word if name == "crossed" else fits
    table = model.predict(task="sts", rows=[(fits, second), (longer, second)])
    assert list(table["cut"]) == [False, True]
    assert list(model.predict(task="sst", rows=[" ".join([word] * 14), " ".join([word] * 15)])["cut"]) == [False, True]


@pytest.mark.parametrize(
    ("task", "rows", "said"),
    [
        ("sts", [("a", " ")], "sts: row 1: sentence2 is empty"),
        ("sts", [("a", "b"), ("a",)], "sts: row 2: needs two texts, got 1"),
        ("sst", [], "sst needs a list of rows, each one text; got no row"),
        ("sst", "a film", "sst needs a list of rows, each one text; got a text"),
        ("sst", ["a film", 5], "sst: row 2: sentence is 5; allowed: text"),
    ],
)
def test_rows_that_cannot_be_predicted(build: Path, task: str, rows: list, said: str):
    with pytest.raises(DataError, match=said):
        mtbert.load("crossed", build=build).predict(rows, task)


def test_what_is_not_finite_is_no_prediction(build: Path):
    model = mtbert.load("crossed", build=build)
    words = ["the", "plot"] if model.tokenize(["the"]) != model.tokenize(["plot"]) else ["the", "."]
    with torch.no_grad():
        model.network.encoder.backbone.word_embeddings.weight[model.tokenize(words)[1][0]] = float("nan")
    said = r"^crossed, seed 1, sst: row 2: what is computed is not finite .*`dvc repro train@crossed-1 --force --single"
    with pytest.raises(ModelError, match=said):
        model.predict(task="sst", rows=words)


def test_another_task_is_refused_and_one_of_several_has_to_be_named(build: Path):
    model = mtbert.load("crossed", build=build)
    with pytest.raises(ModelError, match="crossed, seed 1: unknown task 'sst2'; did you mean sst"):
        model.predict(["a film"], "sst2")
    with pytest.raises(ModelError, match="crossed has several tasks; choose one: sst, sts"):
        model.task(None)


def test_what_is_not_there(build: Path, tmp_path: Path):
    for name in ("crosed", "c?ossed", "*", "../runs/crossed", ""):
        with pytest.raises(ModelError, match="unknown model"):
            mtbert.load(name, build=build)
    (tmp_path / "logs/before/1/a").mkdir(parents=True)
    with pytest.raises(
        ModelError, match=r"before has been trained here, .*; `dvc exp run -S 'variants=\[before\]'` re"
    ):
        mtbert.load("before", build=tmp_path)
    said = (
        r"crossed is not trained with seed 2 \(seeds that are: 1\); `dvc exp run -S 'variants=\[crossed\]' -S "
        r"'seeds=\[1,2\]'` trains it, or restores it"
    )
    with pytest.raises(ModelError, match=said):
        mtbert.load("crossed", seed=2, build=build)
    with pytest.raises(ModelError, match="runs is no folder of a finished run"):
        mtbert.load(build / "runs")
    with pytest.raises(ModelError, match="nothing is trained there"):
        mtbert.load("crossed", build=tmp_path)


def test_a_model_of_the_plan_that_is_not_there_names_the_variants_that_make_it(build: Path, copy: Path):
    merged = {"members": ["crossed", "apart"], "merge": "mean"}
    planned = {"seeds": [3], "variants": {"other": {}}, "ensembles": {"merged": merged}}
    files.write_yaml(copy / "plan/catalog.yaml", planned)
    said = r"other is not in .*; `dvc exp run -S 'variants=\[other\]' -S 'seeds=\[3\]'` trains or restores it"
    with pytest.raises(ModelError, match=said):
        mtbert.load("other", build=copy)
    said = r"merged is not in .*; `dvc exp run -S 'variants=\[crossed,apart\]' -S 'seeds=\[3\]'` trains or"
    with pytest.raises(ModelError, match=said):
        mtbert.load("merged", build=copy)
    shutil.copytree(copy / "runs/crossed/1", copy / "merged/merged/3")
    said = (
        r"merged is not trained with seed 4 \(.*: 3\); `dvc exp run -S 'variants=\[crossed,apart\]' -S 'seeds=\[3,4\]'`"
    )
    with pytest.raises(ModelError, match=said):
        mtbert.load("merged", 4, copy)


def test_a_run_that_was_altered_or_lacks_its_weights(copy: Path):
    weights = copy / "runs/crossed/1/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    with pytest.raises(DataError, match="is not as it was written"):
        mtbert.load("crossed", build=copy)
    weights.unlink()
    with pytest.raises(DataError, match=r"model\.safetensors \(missing\).*dvc repro train@crossed-1"):
        mtbert.load("crossed", build=copy)


def test_an_encoder_that_was_altered_is_refused(copy: Path):
    tokenizer = copy / "encoders/base/tokenizer.json"
    tokenizer.write_text(tokenizer.read_text().replace(": 50", ": 51", 1))
    with pytest.raises(DataError, match=r"encoders/base is not as it was written \(altered: tokenizer\.json\)"):
        mtbert.load("crossed", build=copy)


@pytest.mark.parametrize("is_of_an_earlier_version", [False, True])
def test_an_encoder_that_the_run_was_not_trained_with_is_refused(copy: Path, is_of_an_earlier_version: bool):
    encoder, run = copy / "encoders/base", copy / "runs/crossed/1"
    tokenizer = encoder / "tokenizer.json"
    digests = {"encoders/base/tokenizer.json": files.sha256(tokenizer)}
    folder = layout.log(run) if is_of_an_earlier_version else run
    files.write_json(folder / "inputs.json", {"settings": {}, "code": {}, "files": digests})
    seals.seal(run)
    mtbert.load("crossed", build=copy)
    tokenizer.write_text(tokenizer.read_text().replace(": 50", ": 51", 1))
    seals.seal(encoder)  # as the stage that makes another encoder does
    with pytest.raises(
        DataError, match=r"trained with other files than lie in .*encoders/base now \(tokenizer\.json\)"
    ):
        mtbert.load("crossed", build=copy)


def test_a_seed_beside_a_folder_is_refused_unless_it_is_the_folders(build: Path):
    assert mtbert.load(build / "runs/crossed/1", seed=1).seed == 1
    with pytest.raises(ModelError, match=r"^seed is 2, but .*crossed/1 is the folder of one run"):
        mtbert.load(build / "runs/crossed/1", seed=2)


def test_a_run_brings_its_encoder_along(copy: Path, tmp_path: Path):
    elsewhere = tmp_path / "taken"
    shutil.copytree(copy / "runs/crossed/1", elsewhere)
    with pytest.raises(DataError, match=r"encoders/base/digests\.json is missing"):
        mtbert.load(elsewhere)
    shutil.copytree(copy / "encoders/base", elsewhere / "encoder", ignore=shutil.ignore_patterns("*.safetensors"))
    rows, here = trained.rows(copy, "sst", "test"), mtbert.load("crossed", build=copy)
    pd.testing.assert_frame_equal(
        mtbert.load(elsewhere).predict(task="sst", rows=rows), here.predict(task="sst", rows=rows)
    )


def test_a_temperature_divides_the_logits_of_predictions_and_exports(copy: Path):
    plain = mtbert.load("crossed", build=copy)
    folder = copy / "runs/crossed/1"
    files.write_json(folder / "metrics.json", files.read_json(folder / "metrics.json") | {"temperatures": {"sst": 2.0}})
    seals.seal(folder)
    scaled = mtbert.load("crossed", build=copy)
    names = [f"probability_{number}" for number in range(5)]
    before, after = (model.predict(["the plot is simple ."], "sst")[names].to_numpy() for model in (plain, scaled))
    np.testing.assert_allclose(after, np.sqrt(before) / np.sqrt(before).sum(), rtol=1e-5)
    batch = modeling.batch(torch.tensor([[1, 9, 8, 2]]), None, None, "sst")
    with torch.no_grad():
        logits = [exporting.rebuilt(model).outputs_of(["sst"], batch)["sst"] for model in (plain, scaled)]
    torch.testing.assert_close(logits[1], logits[0] / 2)
