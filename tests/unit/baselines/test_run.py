"""The stage's work: folders that are read as any model's are, and that predict again."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtbert import files, layout
from mtbert.baselines import run, stored
from mtbert.data import tokens
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import DataError
from mtbert.inference import exporting, loading, speed
from mtbert.inference.exporting import ExportError
from mtbert.pretrained import embeddings
from mtbert.provenance import inputs, seals
from mtbert.scores import collect
from mtbert.scores.columns import COSTS
from mtbert.scores.schemas import Costs
from mtbert.tasks import Task, dump_task
from mtbert.tracking import record

TOPIC = Task("topic", 2, ("text",), "topic", "accuracy", labels={"bug": 0, "praise": 1})
SAME = Task("same", 1, ("a", "b"), "same", "pearson", highest=5.0)
TASKS = {"topic": TOPIC, "same": SAME}
WORDS = {0: ["crash error", "screen freeze", "error again"], 1: ["love it", "great thanks", "love thanks"]}


class Encoder:
    """Embeds a text by its vowels."""

    def encode(self, texts: list[str], show_progress_bar: bool = False) -> np.ndarray:
        return np.array([[text.count(vowel) + 1 for vowel in "aeiou"] for text in texts], np.float32)


def write(build: Path, task: str, split: str, rows: list[tuple]) -> None:
    table = pd.DataFrame(rows, columns=["id", "sentence1", "sentence2", "label"])
    file = layout.examples(build / "data", task, split)
    file.parent.mkdir(parents=True, exist_ok=True)
    table.astype({"label": float}).assign(cluster=range(len(table))).to_parquet(file)


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(embeddings, "embedding_model", lambda *_: Encoder())
    monkeypatch.setattr(tokens, "wordpieces", lambda _: lambda texts: [[7] * len(text.split()) for text in texts])
    monkeypatch.setattr(tokens, "special_tokens", lambda _: SpecialTokens(1, 2, 0))
    encoder = layout.encoder(tmp_path)
    for name in ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"):
        files.write_text(encoder / name, name)
    card = {"name": "made", "source": "", "sha256": "0" * 64, "note": "", "layers": 1, "width": 5, "positions": 64}
    files.write_json(encoder / "encoder.json", card | {"pooler": False})
    seals.seal(encoder)
    files.write_json(layout.data_report(tmp_path / "data"), {"files": {}, "whose": "own"})
    for split, count in (("train", 30), ("dev", 10), ("test", 4)):
        known = split != "test"
        topic = [(f"{split}{n}", f"{WORDS[n % 2][n % 3]} {n}", None, n % 2 if known else None) for n in range(count)]
        write(tmp_path, "topic", split, topic)
        same = [
            (f"{split}{n}", f"{n} a dog", f"{n} a {'dog' if n % 2 else 'tree'}", 5.0 * (n % 2)) for n in range(count)
        ]
        write(tmp_path, "same", split, same if known else [(*row[:3], None) for row in same])
    seals.seal(tmp_path / "data")
    files.write_yaml(tmp_path / "plan/code-baselines.yaml", {"baselines/linear.py": "c0de"})
    files.write_json(tmp_path / "machine.json", {"processor": "i386", "accelerator": "", "torch": "2.13.0"})
    return tmp_path


def trained(build: Path) -> list[str]:
    """Train all; the lines that are said."""
    lines: list[str] = []
    run.train_all(build, TASKS, build / "baselines", lines.append)
    return lines


def test_each_score_is_said_as_soon_as_it_is_known(build: Path):
    lines = [re.sub(r" +", " ", re.sub(r"[0-9.]+ s$", "", line)).split() for line in trained(build)]
    assert [line[:3] for line in lines] == [
        ["topic", "baseline-majority", "accuracy"], ["topic", "baseline-tfidf", "accuracy"],
        ["topic", "baseline-embeddings", "accuracy"], ["topic", "untrained-encoder", "accuracy"],
        ["same", "baseline-majority", "Pearson"], ["same", "baseline-tfidf", "Pearson"],
        ["same", "baseline-embeddings", "Pearson"], ["same", "untrained-encoder", "Pearson"],
    ]  # fmt: skip
    assert [line[3] for line in lines[:2]] == ["0.500", "1.000"]


def test_a_folder_holds_scores_of_dev_and_predictions_of_test_and_its_log_the_time(build: Path):
    trained(build)
    folder = build / "baselines/baseline-tfidf/0"
    seals.check(folder)
    metrics = files.read_json(folder / "metrics.json")
    assert (metrics["variant"], metrics["seed"], metrics["dev"]["topic"], metrics["test"]) == (
        "baseline-tfidf",
        0,
        1,
        {},
    )
    test = pd.read_parquet(folder / "predictions/topic-test.parquet")
    assert [*test] == ["id", "label", "prediction", "probability_0", "probability_1", "scored"]
    assert (test["prediction"].tolist(), test["label"].isna().all()) == ([0, 1, 0, 1], True)
    assert [*pd.read_parquet(folder / "predictions/same-dev.parquet")] == ["id", "label", "prediction", "scored"]
    log = files.read_json(layout.log(folder) / "run.json")
    assert {*log["seconds_by_task"]} == {"topic", "same"}
    assert "seconds" not in metrics


def test_a_folder_says_what_the_baseline_was_made_from(build: Path):
    trained(build)
    made_from = inputs.of_model(build / "baselines/baseline-tfidf/0")
    assert made_from is not None
    assert (made_from.settings["variant"], made_from.seed) == ("baseline-tfidf", 0)
    assert made_from.code == {"baselines/linear.py": "c0de"}
    of_data = [name for name in made_from.files if name.startswith("data/")]
    assert of_data == [f"data/{task}/{file}.parquet" for task in ("same", "topic") for file in ("dev", "test", "train")]
    assert made_from.files["data/topic/dev.parquet"] == files.sha256(build / "data/topic/dev.parquet")
    assert made_from.files["encoders/base/config.json"] == files.sha256(build / "encoders/base/config.json")
    assert made_from.machine == inputs.machine(build)


def test_each_row_of_folds_is_predicted_by_a_baseline_that_did_not_see_it(build: Path):
    rows = [(f"row{n}", f"{WORDS[n % 2][n % 3]} {n}", None, n % 2) for n in range(12)]
    for split in ("train", "dev"):
        write(build, "topic", split, rows)
        file = layout.examples(build / "data", "topic", split)
        table = pd.read_parquet(file)  # whoever sees the other fold alone predicts the other class
        table.assign(fold=table["label"].astype(int)).to_parquet(file)
    task = replace(TOPIC, folds=2)
    run.train_all(build, {"topic": task}, build / "baselines", lambda _: None)
    for name in (*run.BASELINES, run.UNTRAINED):
        assert files.read_json(build / f"baselines/{name}/0/metrics.json")["dev"]["topic"] == 0
    test = pd.read_parquet(build / "baselines/baseline-majority/0/predictions/topic-test.parquet")
    assert test["prediction"].tolist() == [1, 1, 1, 1]  # by the first, which saw fold 1 alone


def test_labels_of_dev_change_no_coefficient(build: Path):
    trained(build)
    weights = [(build / f"baselines/{name}/0/model.safetensors").read_bytes() for name in run.BASELINES]
    file = layout.examples(build / "data", "topic", "dev")
    table = pd.read_parquet(file)
    table.assign(label=1 - table["label"]).to_parquet(file)
    trained(build)
    assert [(build / f"baselines/{name}/0/model.safetensors").read_bytes() for name in run.BASELINES] == weights
    assert files.read_json(build / "baselines/baseline-tfidf/0/metrics.json")["dev"]["topic"] == 0


def test_a_task_without_dev_labels_or_train_has_no_models(build: Path):
    write(build, "topic", "dev", [("a", "love it", None, None)])
    layout.examples(build / "data", "same", "train").unlink()
    trained(build)
    assert sorted(folder.parent.name for folder in layout.baselines_of(build, "*")) == ["untrained-encoder"]


@pytest.mark.parametrize("name", [*run.BASELINES])
def test_a_model_that_is_loaded_predicts_what_the_stage_predicted(build: Path, name: str):
    trained(build)
    model = loading.load_any(name, build=build)
    dev = pd.read_parquet(layout.examples(build / "data", "topic", "dev"))
    written = pd.read_parquet(build / f"baselines/{name}/0/predictions/topic-dev.parquet")
    found = model.predict(task="topic", rows=dev["sentence1"].tolist())
    columns = ["prediction", "probability_0", "probability_1"]
    assert np.array_equal(found[columns].to_numpy(), written[columns].to_numpy())
    pairs = pd.read_parquet(layout.examples(build / "data", "same", "dev"))[["sentence1", "sentence2"]]
    scores = model.predict(task="same", rows=[*pairs.itertuples(index=False, name=None)])["prediction"]
    assert np.array_equal(
        scores, pd.read_parquet(build / f"baselines/{name}/0/predictions/same-dev.parquet")["prediction"]
    )


def write_plan(build: Path) -> None:
    """A plan that selects no variant, and what collecting reads beside it."""
    catalog = {"profile": "own", "seeds": [1], "data_dir": "mine", "encoder": {"name": "made"}, "held_out": None}
    described = {name: dump_task(task) for name, task in TASKS.items()}
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"variants": {}, "ensembles": {}, "tasks": described})
    for task in TASKS:
        dev = pd.read_parquet(layout.examples(build / "data", task, "dev"))
        shared = dev[["id"]].assign(in_train=False, shares=False, shared_cluster=-1)
        shared.to_parquet(layout.shared(build / "data", task))


def test_predictions_have_the_clusters_that_tasks_share(build: Path):
    trained(build)
    write_plan(build)
    file = layout.shared(build / "data", "topic")
    table = pd.read_parquet(file)
    shared = [7, *[-1] * (len(table) - 1)]
    table.assign(shared_cluster=shared).to_parquet(file)
    predicted = collect.read_models(build, layout.baselines_of(build, "baseline-majority")).predictions
    of_dev = predicted[predicted["split"] == "dev"]
    assert of_dev[of_dev["task"] == "topic"]["shared_cluster"].tolist() == shared
    assert of_dev[of_dev["task"] == "same"]["shared_cluster"].eq(-1).all()


def test_the_tables_hold_each_baseline_with_predictions_weights_and_times(build: Path):
    trained(build)
    write_plan(build)
    measured = speed.measure(build)
    assert {*measured.costs} == {*run.BASELINES}
    assert {*measured.seconds} == {*run.BASELINES, "untrained-encoder"}
    files.write_json(layout.speed(build), measured.model_dump())
    results = collect.read_models(build, layout.baselines_of(build, "*"))
    runs = results.runs.set_index("variant")
    assert runs["kind"].to_dict() == dict.fromkeys(run.BASELINES, "baseline") | {"untrained-encoder": "encoder"}
    assert runs.loc["baseline-majority", "stored"] == 2 + 1  # the share of each class of topic, the mean of same
    assert runs.loc[[*run.BASELINES], ["seconds", *COSTS]].notna().all(axis=None)
    assert {*results.predictions["variant"]} == {*run.BASELINES, "untrained-encoder"}
    dev = results.by_run["baseline-tfidf", 0, "dev"]["topic"]
    assert dev["confidence"].between(0.5, 1).all()
    assert dev["cluster"].tolist() == [*range(10)]


def test_a_baseline_is_a_run_in_mlflow_with_its_scores_and_seconds(build: Path):
    trained(build)
    write_plan(build)
    folder = layout.baselines_of(build, "baseline-tfidf")[0]
    found = record.of_baseline(folder, record.read_catalog(build))
    assert (found.name, found.tags["variant"], found.params["tasks"]) == (
        "data=mine baseline-tfidf seed 0", "baseline-tfidf", '["topic", "same"]',
    )  # fmt: skip
    values = {entry.name: entry.value for entry in found.entries}
    assert values["final/dev/topic"] == 1
    assert values["parameters/stored"] == files.read_json(folder / "metrics.json")["weights"]
    assert values["run/seconds"] == files.read_json(layout.log(folder) / "run.json")["seconds"]


def test_a_baseline_of_another_encoder_or_of_damaged_weights_is_refused(build: Path):
    trained(build)
    files.write_text(layout.encoder(build) / "model.safetensors", "another")
    seals.seal(layout.encoder(build))
    with pytest.raises(loading.ModelError, match="was trained with another encoder than lies in"):
        loading.load_any("baseline-embeddings", build=build)
    folder = build / "baselines/baseline-tfidf/0"
    (folder / "model.safetensors").write_bytes(b"damaged")
    seals.seal(folder)
    with pytest.raises(DataError, match=r"does not fit config.json: .*`dvc repro baselines` makes both"):
        loading.load_any("baseline-tfidf", build=build)


def test_a_device_that_computes_nothing_is_refused(build: Path):
    trained(build)
    told = "baseline-tfidf computes on the CPU, and the device is cuda; allowed: auto, cpu"
    with pytest.raises(loading.ModelError, match=told):
        loading.load_any("baseline-tfidf", build=build, device="cuda")


@pytest.mark.parametrize("name", ["baseline-majority", "baseline-tfidf"])
@pytest.mark.parametrize("task", ["topic", "same"])
def test_the_code_of_an_export_s_card_computes_the_same(build: Path, tmp_path: Path, name: str, task: str):
    trained(build)
    model = loading.load_any(name, build=build)
    exporting.export(model, "hf", tmp_path / "out")
    columns = [["love ☃ it", "a dog"], ["I love it", ""]][: 1 + (task == "same")]
    code = re.findall("```python\n(.*?)```", (tmp_path / "out/README.md").read_text(), re.DOTALL)[0]
    asked = f"task, columns = {task!r}, {columns!r}"
    of_task = re.sub(r"^task, columns = .*$", lambda _: asked, code, flags=re.MULTILINE)
    names = {"folder": str(tmp_path / "out")}
    exec(of_task, names)
    trained_model = stored.read(build / f"baselines/{name}/0", TASKS, Encoder().encode)[task]
    expected = trained_model.predict(columns)
    if task == "same":
        assert np.asarray(names["outputs"])[:, 0].clip(0, 5) == pytest.approx(expected["prediction"], abs=1e-6)
    else:
        by_class = np.stack([expected["probability_0"], expected["probability_1"]], axis=1)
        assert np.asarray(names["outputs"]) == pytest.approx(by_class, abs=1e-6)


@pytest.mark.parametrize(("name", "is_cut"), [("baseline-tfidf", False), ("baseline-embeddings", True)])
def test_a_text_that_is_longer_than_the_encoder_takes_is_cut_for_embeddings_alone(build: Path, name: str, is_cut: bool):
    trained(build)
    texts = ["love " * 62, "love " * 63]  # with two tokens around them, and 64 that the encoder takes
    assert loading.load_any(name, build=build).predict(task="topic", rows=texts)["cut"].tolist() == [False, is_cut]


def test_a_baseline_has_no_other_seed(build: Path):
    trained(build)
    with pytest.raises(loading.ModelError, match="baseline-tfidf is a baseline, which no seed changes; got seed 3"):
        loading.load_any("baseline-tfidf", 3, build)


def test_a_baseline_has_one_form(build: Path, tmp_path: Path):
    trained(build)
    with pytest.raises(ExportError, match=r"baseline-tfidf is a baseline, which has one form.*got --format onnx"):
        exporting.export(loading.load_any("baseline-tfidf", build=build), "onnx", tmp_path / "out")


def write_others(folder: Path) -> None:
    """Predictions of dev that somebody made: all of topic, all of same, and a price."""
    (folder / "others/gpt").mkdir(parents=True)
    topic = "".join(f"dev{n},{'praise' if n % 2 else 'bug'},0.75\n" for n in range(10))
    (folder / "others/gpt/topic-dev.csv").write_text(f"id,prediction,probability\n{topic}")
    same = "".join(f"dev{n},{n % 2 + n / 100}\n" for n in range(10))
    (folder / "others/gpt/same-dev.csv").write_text(f"id,prediction\n{same}")
    (folder / "others/gpt/costs.yaml").write_text("price: 0.4\ncurrency: EUR\nmilliseconds: 800\n")


def test_predictions_of_others_are_a_row_beside_the_baselines(build: Path):
    write_others(build / "mine")
    lines: list[str] = []
    run.train_all(build, TASKS, build / "baselines", lines.append, build / "mine")
    assert [line.split() for line in lines[:2]] == [
        ["same", "other-gpt", "Pearson", "0.998"], ["topic", "other-gpt", "accuracy", "1.000"],
    ]  # fmt: skip
    folder = build / "baselines/other-gpt/0"
    metrics = files.read_json(folder / "metrics.json")
    assert (metrics.get("weights"), metrics["dev"]["topic"], metrics["test"]) == (None, 1, {})
    made_from = inputs.of_model(folder)
    assert made_from is not None
    digest = files.sha256(build / "mine/others/gpt/topic-dev.csv")
    assert made_from.settings["files"]["topic-dev.csv"] == digest
    write_plan(build)
    files.write_json(layout.speed(build), speed.measure(build).model_dump())
    results = collect.read_models(
        build, [folder for name in ("baseline-*", "other-*") for folder in layout.baselines_of(build, name)]
    )
    row = results.runs.set_index("variant").loc["other-gpt"]
    assert (row["kind"], row["milliseconds"], row[["stored", "seconds"]].isna().all()) == ("baseline", 800.0, True)
    assert results.costs == dict.fromkeys(run.BASELINES, Costs()) | {
        "other-gpt": Costs(price=0.4, currency="EUR", milliseconds=800)
    }
    assert results.by_run["other-gpt", 0, "dev"]["topic"]["confidence"].tolist() == [0.75] * 10
    entries = record.of_baseline(folder, record.read_catalog(build)).entries
    assert [entry.name for entry in entries if "parameters" in entry.name] == []


def test_faulty_predictions_of_others_end_the_stage_before_anything_is_trained_or_removed(build: Path):
    trained(build)
    write_others(build / "mine")
    (build / "mine/others/gpt/same-dev.csv").write_text("id,prediction\ndev0,1\n")
    lines: list[str] = []
    with pytest.raises(DataError, match=r"same-dev\.csv: 9 of 10 rows of dev have no prediction, first id 'dev1'"):
        run.train_all(build, TASKS, build / "baselines", lines.append, build / "mine")
    assert (lines, len(layout.baselines_of(build, "*"))) == ([], 4)
