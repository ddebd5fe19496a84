"""Exports of a model whose rows have several labels: logits, thresholds, and transformers' own pipeline."""

import json
from pathlib import Path

import moods
import numpy as np
import pytest

from mtbert.inference import exporting, loading
from mtbert.inference.model import Model

pytestmark = pytest.mark.usefixtures("checked_soon")
TEXT = "so happy and furious"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = moods.build(tmp_path_factory.mktemp("moods"), ["spared"])
    loaded = loading.load_any(folder / "runs/spared/1", device="cpu")
    assert isinstance(loaded, Model)
    return loaded


def test_an_export_for_onnxruntime_has_the_thresholds_beside_the_logits(model: Model, tmp_path: Path) -> None:
    from onnxruntime import InferenceSession
    from transformers import AutoTokenizer

    out = tmp_path / "out"
    exporting.export(model, "onnx", out)
    least = json.loads((out / "thresholds.json").read_text())["moods"]
    inputs = AutoTokenizer.from_pretrained(out)([TEXT], return_tensors="np")
    (logits,) = InferenceSession(out / "texts.onnx").run(["moods"], dict(inputs))
    probabilities = dict(zip(moods.WORDS, 1 / (1 + np.exp(-logits[0])), strict=True))  # type: ignore[index]
    predicted = [label for label, probability in probabilities.items() if probability >= least[label]]
    assert predicted == model.predict([TEXT])["prediction"][0]
    assert "the sigmoid of each logit is the probability of a label" in (out / "README.md").read_text()


def test_the_pipeline_of_transformers_has_the_probability_of_each_label(model: Model, tmp_path: Path) -> None:
    from transformers import pipeline

    out = tmp_path / "out"
    exporting.export(model, "hf", out)
    told = 'classify("A man plays.", truncation=True, top_k=None)  # of each label its probability: a row has those'
    assert told in (out / "README.md").read_text()
    (scores,) = pipeline("text-classification", model=str(out), trust_remote_code=True, top_k=None)([TEXT])
    expected = model.predict([TEXT]).iloc[0]
    assert {each["label"]: each["score"] for each in scores} == {  # type: ignore[index]
        label: pytest.approx(expected[f"probability_{number}"], abs=1e-4) for number, label in enumerate(moods.WORDS)
    }
