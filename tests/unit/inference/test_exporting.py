"""Exports as other libraries load them, in processes that know no mtbert: their outputs are the model's own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from safetensors import SafetensorError
from safetensors.torch import load_file

from mtbert.inference import exporting, loading
from mtbert.inference.exporting import ExportError, export
from mtbert.inference.predicting import Model

TEXTS = ["A man plays.", "Someone plays a guitar, and nobody listens."]
OTHERS = ["A woman sings.", "It rains."]
ALONE = (
    "import json, sys; sys.modules['mtbert'] = None; import torch; texts, others, folder = json.loads(sys.argv[1])\n"
)
HF = """
from transformers import AutoModel, AutoTokenizer
model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
apart = model.config.pair_encoding == "bi"
one = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
pairs = ([*texts, *others],) if apart else (texts, others)
both = dict(tokenizer(*pairs, padding=True, truncation=True, return_tensors="pt"), sequences=1 + apart)
said = [model(**one, task="sst").logits, model(**both, task="sts").logits]
half = model.half()
said += [half(**one, task="sst").logits, half(**both, task="sts").logits]
print(json.dumps([each.float().tolist() for each in said]))
"""
SENTENCES = """
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
print(json.dumps([model.encode(texts, task=task).tolist() for task in ("sst", "sts")]))
"""


@pytest.fixture
def load(build: Path) -> Callable[[str], Model]:
    return partial(loading.load, build=build, device="cpu")


def outside(tmp_path: Path, code: str, folder: Path) -> list:
    """What code prints in a process without mtbert, without the network."""
    environment = {**os.environ, "HF_MODULES_CACHE": str(tmp_path / "modules"), "HF_HUB_OFFLINE": "1"}
    given = [sys.executable, "-c", ALONE + code, json.dumps([TEXTS, OTHERS, str(folder)])]
    done = subprocess.run(
        given, env=environment, capture_output=True, text=True, check=False, cwd=tmp_path, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def logits(model: Model, task: str) -> np.ndarray:
    """The model's own, by the examples that it makes of the texts."""
    rows = [(text,) for text in TEXTS] if task == "sst" else list(zip(TEXTS, OTHERS, strict=True))
    examples, _ = model.examples(model.task(task), rows)
    with torch.no_grad():
        return model.network(examples.batch([0, 1])).numpy()


@pytest.mark.parametrize("name", ["crossed", "apart"])
def test_transformers_loads_it_with_its_code_and_says_the_same(
    name: str, load: Callable[[str], Model], tmp_path: Path
) -> None:
    model = load(name)
    export(model, "hf", tmp_path / "out")
    sst, sts, *halves = outside(tmp_path, HF, tmp_path / "out")
    assert np.array(sst) == pytest.approx(logits(model, "sst"), abs=1e-6)
    assert np.array(sts) == pytest.approx(logits(model, "sts"), abs=1e-6)
    for half, whole in zip(halves, (sst, sts), strict=True):
        assert np.array(half) == pytest.approx(np.array(whole), abs=0.02)
    suffixes = {file.suffix for file in (tmp_path / "out").iterdir()}
    assert suffixes == {".md", ".json", ".safetensors", ".py", ".yaml"}
    weights = load_file(tmp_path / "out" / "model.safetensors")
    assert weights.keys() == {f"model.{key}" for key in model.network.state_dict()}


def test_sentence_transformers_gives_each_tasks_embeddings(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("apart-in-fp32")  # a run in bf16 encodes in bf16, an export never does
    export(model, "sentence-transformers", tmp_path / "out")
    found = outside(tmp_path, SENTENCES, tmp_path / "out")
    for task, embeddings in zip(("sst", "sts"), found, strict=True):
        assert np.array(embeddings) == pytest.approx(model.encode(TEXTS, task), abs=1e-6)


@pytest.mark.parametrize("name", ["crossed", "apart"])
def test_onnx_takes_any_batch_and_length(name: str, load: Callable[[str], Model], tmp_path: Path) -> None:
    import onnxruntime

    model = load(name)
    export(model, "onnx", tmp_path / "out")
    assert sorted(file.name for file in (tmp_path / "out").glob("*.onnx")) == ["sst.onnx", "sts.onnx"]
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / "sts.onnx"))
    for count in (1, 3):
        rows = list(zip(TEXTS * 2, OTHERS * 2, strict=True))[:count]
        examples, _ = model.examples(model.task("sts"), rows)
        batch = examples.batch(range(count))
        given = {"input_ids": batch.input_ids, "attention_mask": batch.mask, "token_type_ids": batch.token_types}
        said = session.run(None, {key: value.numpy() for key, value in given.items()})[0]
        with torch.no_grad():
            assert np.asarray(said) == pytest.approx(model.network(batch).numpy(), abs=1e-4)


def test_the_card_tells_what_the_hub_reads_and_how_it_came_to_be(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("crossed")
    export(model, "hf", tmp_path / "out")
    card = ModelCard.load(tmp_path / "out" / "README.md")
    about = card.data.to_dict()
    told = about["library_name"], about["license"], about["tags"]
    assert told == ("transformers", "apache-2.0", ["mtbert", "sst", "sts"])
    for task, title in (("sst", "SST-5 | accuracy"), ("sts", "STS-B | Pearson's r")):
        (line,) = (line for line in card.text.splitlines() if line.startswith(f"| {title} |"))
        score, low, high = map(float, re.findall(r"-?\d\.\d{3}", line))
        assert score == pytest.approx(model.metrics.dev[task], abs=5e-4)
        assert low < score < high
    assert "sentences are generated" in card.text


def test_what_cannot_be_is_said_and_nothing_changes(load: Callable[[str], Model], tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="crossed encodes both sentences of a pair together"):
        export(load("crossed"), "sentence-transformers", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="exists; name a new folder"):
        export(load("crossed"), "hf", tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_model_that_its_settings_do_not_make_is_refused(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("crossed")
    model.network.pooling["sst"] = "cls"
    with pytest.raises(ExportError, match="rebuilt from its settings, sst has other outputs"):
        export(model, "hf", tmp_path / "out")


def test_a_disk_that_is_full_leaves_nothing_and_no_traceback(
    load: Callable[[str], Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise SafetensorError("No space left on device")

    monkeypatch.setattr(exporting.modeling.MtbertModel, "save_pretrained", full)
    with pytest.raises(ExportError, match="out cannot be written: No space left on device"):
        export(load("crossed"), "hf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
