"""An export's folder as the server reads it: only as it was exported; and what it computes."""

import json
from pathlib import Path

import numpy as np
import pytest
import served

from mtbert import files
from mtbert.errors import MtbertError
from mtbert.provenance import seals
from mtbert.serving import graphs
from mtbert.serving.description import FILE, ServedTask, ServingError
from mtbert.serving.graphs import EncodedRow, Graphs

CLASSES = ServedTask(graph="texts", form="text", kind="classes", labels=["1", "2", "3"], names=["low", "mid", "high"])
BINARY = ServedTask(graph="texts", form="text", kind="binary", labels=["no", "yes"], names=["no", "yes"])
SETS = ServedTask(
    graph="texts", form="text", kind="sets", labels=["j", "a"], names=["joy", "anger"], thresholds=[0.5, 0.9]
)
SCORE = ServedTask(graph="pairs", form="pair", kind="score", lowest=0.0, highest=5.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return served.export(tmp_path_factory.mktemp("made") / "out")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder that a test alters."""
    return served.export(tmp_path / "out")


def sequences(rows: list[EncodedRow]) -> list[list[list[int]]]:
    return [[sequence.ids for sequence in row.sequences] for row in rows]


def test_texts_and_pairs_are_framed_and_what_is_too_long_is_cut(folder: Path) -> None:
    model = Graphs(folder)  # 8 tokens
    rows = model.encode("text", [["a b c a b c"], ["a b c a b c a"]])
    assert sequences(rows) == [[[2, 5, 6, 7, 5, 6, 7, 3]], [[2, 5, 6, 7, 5, 6, 7, 3]]]
    assert [row.is_cut for row in rows] == [False, True]
    rows = model.encode("pair", [["a", "b"], ["a a a", "b b b"]])
    assert sequences(rows) == [[[2, 5, 3, 6, 3]], [[2, 5, 5, 3, 6, 6, 6, 3]]]
    assert [row.is_cut for row in rows] == [False, True]
    rows = model.encode("pair-apart", [["a", "b"], ["a a a", "b b b b b b b"]])
    assert sequences(rows) == [[[2, 5, 3], [2, 6, 3]], [[2, 5, 5, 5, 3], [2, 6, 6, 6, 6, 6, 6, 3]]]
    assert [row.is_cut for row in rows] == [False, True]


def test_a_batch_is_padded_and_its_second_sentences_have_another_type(folder: Path) -> None:
    model = Graphs(folder)
    texts = model.run("texts", ["spam"], model.encode("text", [["a"], ["a b c"]]))  # less the sum of the ids
    assert texts["spam"].tolist() == [[-10.0], [-23.0]]
    pairs = model.run("pairs", ["same"], model.encode("pair", [["a", "b c"], ["a", "b"]]))  # and 100 for each type 1
    assert pairs["same"].tolist() == [[326.0], [219.0]]
    apart = model.run("pairs-apart", ["near"], model.encode("pair-apart", [["a", "b"], ["a b", "c"]]))
    assert apart["near"].tolist() == [[21.0], [28.0]]


def test_only_the_tasks_that_are_asked_are_computed(folder: Path) -> None:
    model = Graphs(folder)
    assert [*model.run("texts", ["tone"], model.encode("text", [["a"]]))] == ["tone"]


def test_answers_have_labels_names_and_probabilities_or_a_score() -> None:
    assert graphs.answers(CLASSES, np.log(np.array([[0.1, 0.7, 0.2]], np.float32))) == [
        {
            "label": "2",
            "name": "mid",
            "probabilities": {"1": pytest.approx(0.1), "2": pytest.approx(0.7), "3": pytest.approx(0.2)},
        }
    ]
    assert graphs.answers(BINARY, np.array([[np.log(4)], [-1000.0]], np.float32)) == [
        {"label": "yes", "name": "yes", "probabilities": {"no": pytest.approx(0.2), "yes": pytest.approx(0.8)}},
        {"label": "no", "name": "no", "probabilities": {"no": 1.0, "yes": 0.0}},
    ]
    assert graphs.answers(SCORE, np.array([[4.5]], np.float32)) == [{"score": 4.5, "lowest": 0.0, "highest": 5.0}]


def test_of_several_labels_a_row_has_those_that_reach_their_threshold() -> None:
    logits = np.log(np.array([[4.0, 4.0], [0.25, 19.0]], np.float32))  # probabilities 0.8, 0.8 and 0.2, 0.95
    assert graphs.answers(SETS, logits) == [
        {"labels": ["j"], "names": ["joy"], "probabilities": {"j": pytest.approx(0.8), "a": pytest.approx(0.8)}},
        {"labels": ["a"], "names": ["anger"], "probabilities": {"j": pytest.approx(0.2), "a": pytest.approx(0.95)}},
    ]


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_numbers_that_are_not_finite_are_no_answer(own: Path, number: str) -> None:
    served._graph(own / "texts.onnx", {"tone": [[float(number)]] * 3, "spam": [[1.0]]}, 0.0)
    seals.seal(own)
    model = Graphs(own)
    with pytest.raises(MtbertError, match=r"^texts.onnx computed a number of tone that is not finite$"):
        model.run("texts", ["tone", "spam"], model.encode("text", [["a"]]))


@pytest.mark.parametrize("name", ["texts.onnx", "tokenizer.json", FILE])
def test_an_altered_file_is_refused(own: Path, name: str) -> None:
    content = (own / name).read_bytes()
    (own / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(ServingError, match=rf"/{name} is not as it was exported: its SHA-256 is \w+\.\.\., digests"):
        Graphs(own)


@pytest.mark.parametrize("name", ["pairs.onnx", "tokenizer.json"])
def test_a_missing_file_is_named(own: Path, name: str) -> None:
    (own / name).unlink()
    with pytest.raises(ServingError, match=rf"/{name} is missing; `mtbert export VARIANT FOLDER --format onnx`"):
        Graphs(own)


def test_a_graph_without_a_digest_is_refused(own: Path) -> None:
    digests = files.read_json(own / "digests.json")
    del digests["pairs.onnx"]
    files.write_json(own / "digests.json", digests)
    with pytest.raises(ServingError, match=r"digests.json has no digest of pairs.onnx"):
        Graphs(own)


def test_the_card_may_be_changed(own: Path) -> None:
    (own / "README.md").write_text("before")
    seals.seal(own)
    (own / "README.md").write_text("after")
    Graphs(own)


def test_other_folders_are_refused_with_what_makes_one(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("")
    with pytest.raises(ServingError, match=rf"has no {FILE} \(it holds model.safetensors\); `mtbert export VARIANT"):
        Graphs(tmp_path)
    with pytest.raises(ServingError, match="nowhere is no folder; allowed: a folder that `mtbert export VARIANT"):
        Graphs(tmp_path / "nowhere")


def test_a_task_of_an_unknown_kind_or_without_an_output_is_refused(own: Path) -> None:
    about = json.loads((own / FILE).read_text())
    about["tasks"]["other"] = about["tasks"]["tone"]
    files.write_json(own / FILE, about)
    seals.seal(own)
    with pytest.raises(ServingError, match=r"texts.onnx has no output other, only tone, spam"):
        Graphs(own)
    about["tasks"]["other"]["kind"] = "many"
    files.write_json(own / FILE, about)
    seals.seal(own)
    with pytest.raises(
        Exception, match=r"tasks.other.kind: Input should be 'classes', 'binary', 'score' or 'sets', got 'many'"
    ):
        Graphs(own)


@pytest.mark.parametrize("task", [CLASSES, BINARY, SETS, SCORE])
def test_answers_are_as_openapi_describes_them(task: ServedTask) -> None:
    from mtbert.serving.app import RowAnswer

    outputs = len(task.labels) if task.kind in ("classes", "sets") else 1
    (answer,) = graphs.answers(task, np.ones((1, outputs)))
    row = {"answers": {"task": answer}, "cut": False}
    assert RowAnswer.model_validate(row).model_dump() == row
