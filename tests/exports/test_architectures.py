"""Every architecture, trained with PALs, predicts and is exported: other libraries load it, and say the same."""

import json
import os
import subprocess
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import architectures
import numpy as np
import pandas as pd
import pytest
import trained
from architectures import ONE_EACH
from pipeline import preloaded

from mtbert import cli, files
from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import wordpieces
from mtbert.inference import exporting, loading
from mtbert.pretrained import fetching, folders
from mtbert.pretrained.settings import EncoderSettings
from mtbert.provenance import seals

KINDS = [kind for kind in ONE_EACH if kind != "bert"]
PALS = {"name": "pals", "dim": 8, "heads": 2}
APART = "apart-in-fp32"  # what others load computes in fp32
HEADS = {"sst": {"name": "linear"}, "sts": {"name": "squared_cosine"}}  # which two embeddings suffice to compute
EXPORTS = [("crossed", "hf"), ("crossed", "onnx"), (APART, "hf"), (APART, "sentence-transformers")]
TEXTS = {
    "sst": {"text": ["a man plays a guitar .", "It rains, 42 日本 ☃", "the cat sleeps here " * 20]},
    "sts": {"text": ["a man plays .", "Naïve."], "text_pair": ["someone plays a guitar ." * 20, "the same"]},
}
OUTSIDE = """
import json, sys
sys.modules["mtbert"] = None
import torch
from onnxruntime import InferenceSession
from sentence_transformers import SentenceTransformer
from transformers import AutoModel, AutoTokenizer

def given(tokenizer, apart, columns, kind):
    columns = [sum(columns, [])] if apart else columns
    return tokenizer(*columns, padding=True, truncation=True, return_tensors=kind)

def hf(folder, task, columns):
    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    apart = task in model.config.apart
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    return model(**given(tokenizer, apart, columns, "pt"), task=task, sequences=1 + apart).logits

def onnx(folder, task, columns):
    inputs = given(AutoTokenizer.from_pretrained(folder), False, columns, "np")
    graph = "pairs" if len(columns) == 2 else "texts"
    return torch.tensor(InferenceSession(f"{folder}/{graph}.onnx").run([task], dict(inputs))[0])

def cosines(folder, task, columns):
    model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
    first, second = (model.encode(column, task=task, convert_to_tensor=True) for column in columns)
    return 5 * torch.cosine_similarity(first, second)[:, None] ** 2

FORMS = {"hf": hf, "onnx": onnx, "sentence-transformers": cosines}
found = {}
with torch.no_grad():
    for name, form, task, columns in json.loads(sys.argv[1]):
        outputs = FORMS[form](f"{name}-{form}", task, columns)
        found[f"{name} {form} {task}"] = (outputs.softmax(1) if task == "sst" else outputs).tolist()
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=KINDS)
def build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder with variants `crossed` and `apart-in-fp32` of that architecture."""
    root = tmp_path_factory.mktemp(request.param)
    theirs = architectures.folder(request.param, root / "theirs")
    settings = EncoderSettings(name=str(theirs), revision=folders.digest(theirs))
    base = root / "build" / "encoders" / "base"
    fetching.fetch(settings, Path("unused"), base)
    seals.seal(base)
    preprocess(trained.DATA, root / "build" / "data", wordpieces(base), set())
    for name, encoding in (("crossed", "cross"), (APART, "bi")):
        heads = HEADS if name == APART else {"sst": {"name": "mlp"}, "sts": {"name": "mlp"}}
        pooling = {"sst": "mean", "sts": "cls"}
        more = {"adapter": PALS, "heads": heads, "pooling": pooling, "token_types": "by_sentence", "max_tokens": 40}
        trained.train(root / "build", trained.settings(name, pair_encoding=encoding, **more))
    return root / "build"


@pytest.fixture(scope="module")
def outside(build: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process without mtbert and without the network makes of the exports, through their own tokenizers."""
    root = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "_check", lambda *_: None)  # a process of its own for each, which takes seconds
        for name, form in EXPORTS:
            exporting.export(loading.load_any(name, build=build, device="cpu"), form, root / f"{name}-{form}")
    asked = [(name, form, task, [*TEXTS[task].values()]) for name, form in EXPORTS for task in tasks_of(form)]
    done = subprocess.run(
        [preloaded.python(), "-c", OUTSIDE, json.dumps(asked)],
        env={**os.environ, "HF_MODULES_CACHE": str(root / "modules"), "HF_HUB_OFFLINE": "1"},
        cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return {"root": root, **json.loads(done.stdout.splitlines()[-1])}


def tasks_of(form: str) -> list[str]:
    return ["sts"] if form == "sentence-transformers" else ["sst", "sts"]  # a pair's score is that of its embeddings


def predicted(build: Path, name: str, task: str, scratch: Path) -> np.ndarray:
    """The probabilities or the score that `mtbert predict` writes: [rows, classes or 1]."""
    given, out = scratch / "texts.csv", scratch / "predicted.csv"
    pd.DataFrame(TEXTS[task]).to_csv(given, index=False)
    with pytest.raises(SystemExit, match="0"):
        cli.app(["predict", name, "--task", task, "-f", str(given), "-o", str(out), "--build", str(build)])
    table = pd.read_csv(out)
    assert table["cut"].any()  # so that where a row ends is compared, too
    return table.filter(regex="probability" if task == "sst" else "^prediction$").to_numpy()


def test_a_loaded_model_predicts_what_the_training_wrote(build: Path):
    model = loading.load_any("crossed", build=build, device="cpu")
    written = files.read_parquet(build / "runs/crossed/1/predictions/sts-test.parquet")["prediction"]
    found = model.predict(task="sts", rows=trained.rows(build, "sts", "test"))["prediction"]
    np.testing.assert_allclose(found, written, atol=1e-5)
    assert not model.network.encoder.typed


def test_it_is_served_with_the_files_that_mlflow_is_given(build: Path, tmp_path: Path):
    with warnings.catch_warnings(action="ignore"):  # MLflow's own, about types
        from mtbert.inference.served import PyfuncModel
        from mtbert.tracking import models
    models._collect(build / "runs/crossed/1", "base", tmp_path / models.RUN)
    server, texts = PyfuncModel(), pd.DataFrame(TEXTS["sts"])
    server.load_context(SimpleNamespace(artifacts={models.RUN: str(tmp_path / models.RUN)}))
    expected = loading.load_any("crossed", build=build).predict(
        task="sts", rows=list(texts.itertuples(index=False, name=None))
    )
    assert server.predict(None, texts, {"task": "sts"}) == expected.to_dict("records")


@pytest.mark.parametrize(("name", "form", "task"), [(*one, task) for one in EXPORTS for task in tasks_of(one[1])])
def test_others_load_an_export_and_say_what_predict_says(
    build: Path, outside: dict[str, Any], tmp_path: Path, name: str, form: str, task: str
):
    said = np.array(outside[f"{name} {form} {task}"])
    np.testing.assert_allclose(said, predicted(build, name, task, tmp_path), atol=1e-4 if form == "onnx" else 1e-5)


def test_the_card_names_the_architecture(build: Path, outside: dict[str, Any]):
    title = loading.load_any("crossed", build=build, device="cpu").network.encoder.backbone.title
    assert title in ("RoBERTa", "ModernBERT", "DeBERTa")
    assert f"\nA {title} for " in (outside["root"] / "crossed-hf/README.md").read_text()
