"""Exports in int8, in half precision and for shorter texts: proved on dev, else not written."""

import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from pipeline import preloaded
from safetensors.torch import load_file

from mtbert import files
from mtbert.inference import compressing, exporting, loading, outside, proving
from mtbert.inference.compressing import Compression
from mtbert.inference.exporting import ExportError, export
from mtbert.inference.model import Model
from mtbert.tasks import read_build

INT8, HALF = Compression(int8=True, unproved=True), Compression(half=True, unproved=True)
ENCODERS_TYPES = [
    "Gather embeddings.word_embeddings", "MatMul attention.self.query", "MatMul attention.self.key",
    "MatMul attention.self.value", "MatMul attention.output.dense", "MatMul intermediate.dense", "MatMul output.dense",
]  # fmt: skip
ROW = re.compile(r"\| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\d+) of (\d+) \| (\S+) \| (\w+) \|")


@pytest.fixture
def load(build: Path) -> Callable[[str], Model]:
    return partial(loading.load_any, build=build, device="cpu")


@pytest.fixture(scope="module")
def full_exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("full")


@pytest.fixture(autouse=True)
def soon(full_exports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full exports are made once and not checked; the processes that load them have imported transformers before."""

    def write_once(model: Model, form: str, out: Path, *options: object) -> None:
        folder = full_exports / f"{model.name}-{form}"
        if not folder.exists():
            folder.mkdir()
            write(model, form, folder, *options)
        shutil.copytree(folder, out, dirs_exist_ok=True)

    write = exporting._write
    monkeypatch.setattr(exporting, "_write", write_once)
    monkeypatch.setattr(exporting, "_check", lambda *_: None)
    monkeypatch.setattr(sys, "executable", preloaded.python())


@pytest.fixture
def wide_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """A difference matters from a fifth on, so that 250 rows prove much."""
    wide = {name: replace(task, matters=0.2) for name, task in read_build(Path("none")).items()}
    monkeypatch.setattr(proving, "read_build", lambda _: wide)


def logits(model: Model, form: str, folder: Path) -> dict[str, np.ndarray]:
    """Of dev's first rows, as the card loads the export."""
    texts = {name: [column[:8] for column in dev.columns] for name, dev in proving.read_dev(model).items()}
    (outputs,) = outside.outputs_of(model, form, folder, texts, [1]).outputs
    return {task: np.array(rows) for task, rows in outputs.items()}


@pytest.mark.usefixtures("wide_margin")
def test_int8_is_proved_loads_as_its_card_says_and_is_smaller(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("crossed")
    export(model, "onnx", tmp_path / "full")
    export(model, "onnx", tmp_path / "small", compression=Compression(int8=True))
    card = (tmp_path / "small/README.md").read_text()
    assert "Made smaller by `--int8`, and proved on dev to be as good as the full export." in card
    assert [(row[0], row[5], row[7]) for row in ROW.findall(card)] == [
        ("SST-5", "250", "proved"), ("STS-B", "250", "proved"),
    ]  # fmt: skip
    sizes = re.search(r"\| MB of graphs \| (\S+) \| (\S+) \|", card)
    assert float(sizes[2]) < float(sizes[1])
    assert {file.name for file in (tmp_path / "small").iterdir()} == {
        file.name for file in (tmp_path / "full").iterdir()
    }
    before, after = (logits(model, "onnx", tmp_path / name) for name in ("full", "small"))
    for task in model.tasks:
        assert 0 < np.abs(after[task] - before[task]).max() < 0.3


@pytest.mark.usefixtures("wide_margin")
def test_what_answers_hang_on_stays_in_fp32(load: Callable[[str], Model], tmp_path: Path) -> None:
    export(load("crossed"), "onnx", tmp_path / "full")
    assert compressing.node_types(tmp_path / "full") == ENCODERS_TYPES
    compressing.write(tmp_path / "full", tmp_path / "small", INT8)
    weights = {one.name: one.data_type for one in onnx.load(str(tmp_path / "small/texts.onnx")).graph.initializer}
    heads = {kind for name, kind in weights.items() if ".heads." in name}
    assert heads == {onnx.TensorProto.FLOAT}
    assert onnx.TensorProto.INT8 in weights.values()


def test_a_dev_that_is_too_small_to_prove_it_is_said_and_nothing_is_left(
    load: Callable[[str], Model], tmp_path: Path
) -> None:
    model = load("crossed")
    with pytest.raises(
        ExportError,
        match=r"crossed is not proved to be as good with --half, since dev has too few rows: sst \d.*margin",
    ):
        export(model, "hf", tmp_path / "out", compression=Compression(half=True))
    assert list(tmp_path.iterdir()) == []
    export(model, "hf", tmp_path / "out", compression=HALF)
    card = (tmp_path / "out/README.md").read_text()
    assert "**Not proved to be as good as the full export**: dev has too few rows." in card


def test_where_no_answer_changes_no_type_of_nodes_is_tried(
    load: Callable[[str], Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    monkeypatch.setattr(compressing, "_to_int8", lambda graph, out, _: onnx.save(onnx.load(str(graph)), str(out)))
    monkeypatch.setattr(proving, "_changed_by_type", lambda *_: tried.append(_) or {})
    with pytest.raises(ExportError, match=r"dev has too few rows: sst .* 0 of 250 answers change\); it is not kept"):
        export(load("crossed"), "onnx", tmp_path / "out", compression=Compression(int8=True))
    assert tried == []


@pytest.mark.usefixtures("wide_margin")
def test_a_collapse_is_not_kept_and_names_what_costs_it(
    load: Callable[[str], Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here of the embeddings' int8: all of them are 0."""

    def collapsing(graph: Path, out: Path, types: list[str] | None) -> None:
        to_int8(graph, out, types)
        model = onnx.load(str(out))
        for weight in model.graph.initializer:
            if weight.name.endswith("word_embeddings.weight_quantized"):
                weight.raw_data = bytes(len(weight.raw_data))
        onnx.save(model, str(out))

    to_int8 = compressing._to_int8
    monkeypatch.setattr(compressing, "_to_int8", collapsing)
    with pytest.raises(
        ExportError,
        match=r"crossed is worse on dev with --int8: .*sts 0\.\d+ to -?0\.\d+ .*; quantised alone, Gather "
        r"embeddings.word_embeddings changes \d{3}.*; it is not kept$",
    ):
        export(load("crossed"), "onnx", tmp_path / "out", compression=INT8)
    assert list(tmp_path.iterdir()) == []


def test_half_and_shorter_texts_of_transformers(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("crossed")
    export(model, "hf", tmp_path / "full")
    export(model, "hf", tmp_path / "half", compression=replace(HALF, max_tokens=10))
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("full", "half"))
    assert {str(weight.dtype) for weight in after.values()} == {"torch.float16"}
    assert before.keys() == after.keys()
    content = files.read_json(tmp_path / "half/config.json")
    assert (content["dtype"], content["max_tokens"]) == ("float16", 10)
    assert files.read_json(tmp_path / "half/tokenizer_config.json")["model_max_length"] == 10
    assert "Made smaller by `--half --max-tokens 10`" in (tmp_path / "half/README.md").read_text()


def test_half_of_onnx(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("crossed")
    export(model, "onnx", tmp_path / "full")
    export(model, "onnx", tmp_path / "half", compression=HALF)
    before, after = (logits(model, "onnx", tmp_path / name) for name in ("full", "half"))
    for task in model.tasks:
        assert after[task] == pytest.approx(before[task], abs=0.02)


@pytest.mark.parametrize(
    ("form", "compression", "fault"),
    [
        ("hf", Compression(int8=True), "--int8 is for format onnx; got hf"),
        ("sentence-transformers", Compression(half=True), "--half is for format onnx or hf; got sentence-transformers"),
        (
            "onnx",
            Compression(int8=True, half=True),
            "--int8 and --half are two precisions of the same weights; give",
        ),
        (
            "hf",
            Compression(unproved=True),
            "--unproved is for an export that is made smaller: --int8, --half or",
        ),
        ("hf", Compression(max_tokens=16), "--max-tokens is 16; allowed: 8 to 15, as the model was trained with 16"),
        ("hf", Compression(max_tokens=7), "--max-tokens is 7; allowed: 8 to 15"),
    ],
)
def test_what_cannot_be_made_smaller_is_refused(
    load: Callable[[str], Model], tmp_path: Path, form: str, compression: Compression, fault: str
) -> None:
    with pytest.raises(ExportError, match=fault):
        export(load("apart-in-fp32"), form, tmp_path / "out", compression=compression)
    assert list(tmp_path.iterdir()) == []


def test_without_dev_nothing_is_judged(
    load: Callable[[str], Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load("crossed")
    monkeypatch.setattr(model, "run", tmp_path / "elsewhere/runs/crossed/1")
    with pytest.raises(ExportError, match=r"crossed: a smaller export is judged on dev, and .* has no data"):
        export(model, "hf", tmp_path / "out", compression=HALF)
