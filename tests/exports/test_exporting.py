"""Exports as other libraries load them, in processes that know no mtbert: their outputs are the model's own."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from pipeline import preloaded
from safetensors.torch import load_file
from transformers.modeling_outputs import SequenceClassifierOutput

from mtbert import files, layout
from mtbert.data.batches import Batch
from mtbert.inference import cards, exporting, loading, modeling
from mtbert.inference.exporting import ExportError, export
from mtbert.inference.model import Model
from mtbert.training import evaluation

TEXTS = ["A man plays.", "Someone plays a guitar, and nobody listens."]
OTHERS = ["A woman sings.", "It rains."]
FORMS = {
    **dict.fromkeys(("crossed", "typed", "apart", "matched", "alone"), "hf"),
    "apart-in-fp32": "sentence-transformers",
}
OUTSIDE = """
import json, sys
sys.modules["mtbert"] = None
texts, others, root = json.loads(sys.argv[1])
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from transformers import AutoModel, AutoTokenizer, pipeline

def said(folder):
    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    apart = "sts" in model.config.apart
    one = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    pairs = ([*texts, *others],) if apart else (texts, others)
    both = dict(tokenizer(*pairs, padding=True, truncation=True, return_tensors="pt"), sequences=1 + apart)
    whole = [model(**one, task="sst").logits, model(**both, task="sts").logits]
    half = model.half()
    halves = [half(**one, task="sst").logits, half(**both, task="sts").logits]
    return [each.float().tolist() for each in whole + halves]

model = SentenceTransformer(f"{root}/apart-in-fp32", trust_remote_code=True, device="cpu")
embedded = [model.encode(texts, task=task).tolist() for task in ("sst", "sts")]
unnamed = [model.encode(texts).tolist(), model.encode_query(texts).tolist(), model.encode_document(texts).tolist()]
evaluated = EmbeddingSimilarityEvaluator(texts, others, [0.0, 1.0])(model)
classify = pipeline("text-classification", model=f"{root}/alone", trust_remote_code=True)
classified = classify(texts, truncation=True, top_k=None)
others = {name: said(f"{root}/{name}") for name in ("crossed", "typed", "apart", "matched")}
found = {"unnamed": unnamed, "evaluated": [*evaluated], "classified": classified}
print(json.dumps({**others, **found, "apart-in-fp32": embedded}))
"""


@pytest.fixture
def load(build: Path) -> Callable[[str], Model]:
    return partial(loading.load_any, build=build, device="cpu")


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports are not loaded again in a process of their own, which takes seconds."""
    monkeypatch.setattr(exporting, "_check", lambda *_: None)


@pytest.fixture(scope="module")
def outside(build: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list]]:
    """Exports in one folder, and what a process without mtbert and without the network makes of them."""
    root = tmp_path_factory.mktemp("exports")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exporting, "_check", lambda *_: None)
        for name, form in FORMS.items():
            export(loading.load_any(name, build=build, device="cpu"), form, root / name)
    environment = {**os.environ, "HF_MODULES_CACHE": str(root / "modules"), "HF_HUB_OFFLINE": "1"}
    given = [preloaded.python(), "-c", OUTSIDE, json.dumps([TEXTS, OTHERS, str(root)])]
    done = subprocess.run(
        given, env=environment, capture_output=True, text=True, check=False, cwd=root, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return root, json.loads(done.stdout.splitlines()[-1])


def logits(model: Model, task: str) -> np.ndarray:
    """The model's own, by the examples that it makes of the texts."""
    rows = [(text,) for text in TEXTS] if task == "sst" else list(zip(TEXTS, OTHERS, strict=True))
    examples, _ = model.examples(model.task(task), rows)
    return logits_of(model, examples.batch([0, 1]))


def logits_of(model: Model, batch: Batch) -> np.ndarray:
    """What a head puts out, as scores where it is one of scores, which may count them in other units."""
    with torch.no_grad():
        outputs, head = model.network(batch), model.network.head(batch.task)
    return (head.scores(outputs).unsqueeze(-1) if head.task.kind == "score" else outputs).numpy()


@pytest.mark.parametrize("name", ["crossed", "typed", "apart", "matched"])
def test_transformers_loads_it_with_its_code_and_says_the_same(
    name: str, load: Callable[[str], Model], outside: tuple[Path, dict[str, list]]
) -> None:
    model, (root, said) = load(name), outside
    sst, sts, *halves = said[name]
    assert np.array(sst) == pytest.approx(logits(model, "sst"), abs=1e-6)
    assert np.array(sts) == pytest.approx(logits(model, "sts"), abs=1e-6)
    for half, whole in zip(halves, (sst, sts), strict=True):
        assert np.array(half) == pytest.approx(np.array(whole), abs=0.02)
    assert {file.suffix for file in (root / name).iterdir()} == {".md", ".json", ".safetensors", ".py", ".yaml"}
    weights = load_file(root / name / "model.safetensors")
    assert weights.keys() == {f"model.{key}" for key in model.network.state_dict()}


def test_sentence_transformers_gives_each_tasks_embeddings(
    load: Callable[[str], Model], outside: tuple[Path, dict[str, list]]
) -> None:
    model = load("apart-in-fp32")  # a run in bf16 encodes in bf16, an export never does
    for task, embeddings in zip(("sst", "sts"), outside[1]["apart-in-fp32"], strict=True):
        rows = [(text, text)[: len(model.task(task).sentences)] for text in TEXTS]
        examples, _ = model.examples(model.task(task), rows)
        own = evaluation.embed(model.network, examples, model.device)[:, 0]
        assert np.array(embeddings) == pytest.approx(own, abs=1e-6)


def test_without_a_task_embeddings_are_of_pairs_scores(outside: tuple[Path, dict[str, list]]) -> None:
    """Also those of a query and of a document, and for the library's evaluators, which name no task of ours."""
    _, sts = outside[1]["apart-in-fp32"]
    assert outside[1]["unnamed"] == [sts, sts, sts]
    assert outside[1]["evaluated"] == ["pearson_cosine", "spearman_cosine"]


@pytest.mark.usefixtures("unchecked")
def test_the_task_of_embeddings_is_chosen_at_export(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("apart-in-fp32")
    export(model, "sentence-transformers", tmp_path / "out", "sst")
    assert files.read_json(tmp_path / "out/config.json")["embedding_task"] == "sst"
    assert "`encode_document` and the library's evaluators, it is `sst`." in (tmp_path / "out/README.md").read_text()
    with pytest.raises(ExportError, match=r"--task is cola; allowed: sst, sts$"):
        export(model, "sentence-transformers", tmp_path / "more", "cola")
    with pytest.raises(ExportError, match=r"--task is sst, but format hf has no embeddings; allowed: sentence-tr"):
        export(model, "hf", tmp_path / "more", "sst")


def test_a_pipeline_names_the_classes_of_the_only_task(
    load: Callable[[str], Model], outside: tuple[Path, dict[str, list]]
) -> None:
    rows = load("alone").predict(task="sst", rows=TEXTS)
    for found, (_, row) in zip(outside[1]["classified"], rows.iterrows(), strict=True):
        assert len(found) == 5
        assert found[0]["label"] == row["class"]
        assert found[0]["score"] == pytest.approx(max(row[f"probability_{number}"] for number in range(5)), abs=1e-5)


@pytest.mark.usefixtures("unchecked")
def test_a_card_says_pipeline_where_there_is_one(load: Callable[[str], Model], tmp_path: Path) -> None:
    cases = (("alone", "hf"), ("crossed", "hf"), ("alone", "sentence-transformers"), ("alone", "onnx"))
    cards_of = {case: ModelCard(cards.card(load(case[0]), case[1])) for case in cases}
    tags = [card.data.to_dict().get("pipeline_tag") for card in cards_of.values()]
    assert tags == ["text-classification", None, "sentence-similarity", None]
    assert ['pipeline("text-classification"' in card.text for card in cards_of.values()] == [True, False, False, False]


def test_a_pipeline_has_two_classes_of_one_logit(monkeypatch: pytest.MonkeyPatch) -> None:
    """0.88 is the sigmoid of 2."""
    logits = SequenceClassifierOutput(logits=torch.tensor([[2.0]]))
    monkeypatch.setattr(modeling.MtbertModel, "forward", lambda *_, **__: logits)
    model = modeling.MtbertForSequenceClassification.__new__(modeling.MtbertForSequenceClassification)
    assert model.forward(IDS).logits.softmax(dim=-1)[0].tolist() == pytest.approx([0.1192, 0.8808], abs=1e-4)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ["apart", "typed", "matched"])
def test_onnx_takes_any_batch_and_length_and_what_the_tokenizer_returns(
    load: Callable[[str], Model], tmp_path: Path, name: str
) -> None:
    """Of a single sentence (sst), and of pairs (sts): apart, two sequences each, or with types of tokens."""
    import onnxruntime

    model, rows = load(name), {"sst": [(text,) for text in TEXTS * 2], "sts": [*zip(TEXTS, OTHERS, strict=True)] * 2}
    export(model, "onnx", tmp_path / "out", each=True)
    assert sorted(file.name for file in (tmp_path / "out").glob("*.onnx")) == ["sst.onnx", "sts.onnx"]
    for task, count in (("sst", 1), ("sst", 3), ("sts", 1), ("sts", 3)):
        session = onnxruntime.InferenceSession(str(tmp_path / "out" / f"{task}.onnx"))
        examples, _ = model.examples(model.task(task), rows[task][:count])
        batch = examples.batch(range(count))
        every = {"input_ids": batch.input_ids, "attention_mask": batch.mask, "token_type_ids": batch.token_types}
        names = files.read_json(tmp_path / "out/tokenizer_config.json")["model_input_names"]
        assert [one.name for one in session.get_inputs()] == names
        given = {key: every[key] for key in names}
        said = session.run(None, {key: value.numpy() for key, value in given.items()})[0]
        assert np.asarray(said) == pytest.approx(logits_of(model, batch), abs=1e-4)


def test_graphs_for_each_task_are_of_onnx_alone(load: Callable[[str], Model], tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="--each is for format onnx, which has graphs; got hf"):
        export(load("crossed"), "hf", tmp_path / "out", each=True)


@torch.no_grad()
def test_transformers_answers_all_tasks_that_take_such_rows(load: Callable[[str], Model]) -> None:
    model = load("crossed")
    exported = exporting.rebuilt(model)
    ids = torch.tensor([[2, 5, 6, 3]])
    for options, task in (({}, "sst"), ({"pairs": True, "token_type_ids": torch.zeros_like(ids)}, "sts")):
        together: Any = exported(ids, **options).logits
        assert [*together] == [task]
        alone = exported(ids, task=task, token_type_ids=torch.zeros_like(ids)).logits
        torch.testing.assert_close(together[task], alone)
    with pytest.raises(ValueError, match="no task takes pairs with sequences=2; name one of sst, sts"):
        exported(ids, sequences=2)


@pytest.mark.usefixtures("unchecked")
def test_the_card_tells_what_the_hub_reads_and_how_it_came_to_be(load: Callable[[str], Model], tmp_path: Path) -> None:
    model = load("crossed")
    export(model, "hf", tmp_path / "out")
    card = ModelCard.load(tmp_path / "out" / "README.md")
    about = card.data.to_dict()
    told = about["library_name"], about["license"], about["language"], about["tags"]
    assert told == ("transformers", "apache-2.0", "en", ["mtbert", "sst", "sts"])
    for task, title in (("sst", "SST-5 | accuracy"), ("sts", "STS-B | Pearson")):
        assert f"| {title} | {model.metrics.dev[task]:.3f} |\n" in card.text
    assert "sentences are generated" in card.text


def test_the_card_of_own_data_names_tasks_and_metrics_and_no_language(
    load: Callable[[str], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load("crossed")
    own = replace(model.task("sst"), title="", metric="f1", classes=2, names=("ham", "spam"))
    model.settings.described["sst"] = own
    monkeypatch.setattr(layout, "data_kind", lambda _: "own")
    card = ModelCard(cards.card(model, "hf"))
    assert "language" not in card.data.to_dict()
    assert " for sst, STS-B, trained by mtbert: " in card.text
    assert f"| sst | F1 of spam | {model.metrics.dev['sst']:.3f} |\n" in card.text


def test_what_cannot_be_is_said_and_nothing_changes(load: Callable[[str], Model], tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="crossed encodes both sentences of a pair together"):
        export(load("crossed"), "sentence-transformers", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ExportError, match="exists; name a new folder"):
        export(load("crossed"), "hf", tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.usefixtures("checked_soon")
def test_an_export_whose_tokenizer_lacks_what_the_model_needs_is_not_kept(
    load: Callable[[str], Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "inputs", lambda _: ["input_ids", "attention_mask"])
    with pytest.raises(ExportError, match=r"typed: the export cannot be loaded, .*sts was trained with token types"):
        export(load("typed"), "hf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("checked_soon")
def test_an_export_that_says_other_things_than_the_model_is_not_kept(
    load: Callable[[str], Model], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here one whose tokenizer keeps capitals: words that it knows would not tell."""
    model = load("crossed")

    def without_lower_case(_: Path, out: Path) -> None:
        copy_tokenizer(model.encoder, out)
        content = files.read_json(out / "tokenizer.json")
        files.write_json(out / "tokenizer.json", content | {"normalizer": None})

    copy_tokenizer = exporting.loading.copy_tokenizer
    monkeypatch.setattr(exporting.loading, "copy_tokenizer", without_lower_case)
    with pytest.raises(
        ExportError, match=r"its own tokenizer, differs on sst by 0\.\d+; allowed: 0.0001; it is not kept"
    ):
        export(model, "hf", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


IDS = torch.ones(2, 3, dtype=torch.long)


def exported(model: Model) -> modeling.MtbertModel:
    return exporting.rebuilt(model)


def test_a_pair_without_the_types_that_it_was_trained_with_is_refused(load: Callable[[str], Model]) -> None:
    with pytest.raises(ValueError, match=r"sts was trained with token types .*; pass the token_type_ids"):
        exported(load("typed"))(IDS, task="sts")
    assert exported(load("typed"))(IDS, task="sst").logits.shape == (2, 5)  # a single sentence has one type


def test_rows_of_another_form_than_the_tasks_are_refused(load: Callable[[str], Model]) -> None:
    model, second = exported(load("typed")), torch.zeros_like(IDS)
    second[:, -1] = 1
    with pytest.raises(ValueError, match="sst is a task of single sentences, and a row has two; pairs"):
        model(IDS, task="sst", token_type_ids=second)
    second[0] = 0
    with pytest.raises(ValueError, match="sts is a task of pairs, and a row has no second sentence"):
        model(IDS, task="sts", token_type_ids=second)
    assert exported(load("crossed"))(IDS, task="sts").logits.shape == (2, 1)  # trained without


def test_the_logit_of_a_score_is_the_score_alone(load: Callable[[str], Model]) -> None:
    model = load("apart-in-fp32")
    pairs = [*zip(TEXTS, OTHERS, strict=True)]
    batch = model.examples(model.task("sts"), pairs)[0].batch([0, 1])
    said = exported(model)(batch.input_ids, batch.mask, batch.token_types, task="sts", sequences=2).logits
    scores = model.predict(task="sts", rows=pairs)["prediction"].to_numpy()
    assert said.detach().numpy() == pytest.approx(scores[:, None], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "task", "sequences", "allowed"),
    [
        ("apart", "sts", 1, "allowed: 2: all first sentences, then all second ones"),
        ("apart", "sst", 2, "allowed: 1"),
        ("matched", "sts", 1, "allowed: 2: all first sentences, then all second ones"),
        ("crossed", "sts", 2, "allowed: 1"),
    ],
)
def test_another_number_of_sequences_than_the_task_has_is_refused(
    load: Callable[[str], Model], name: str, task: str, sequences: int, allowed: str
) -> None:
    with pytest.raises(ValueError, match=f"{task}: sequences is {sequences}; {allowed}$"):
        exported(load(name))(IDS, task=task, sequences=sequences)


def test_outputs_that_are_not_finite_are_an_error_with_their_rows():
    modeling.check_finite(torch.tensor([[1.0], [2.0]]), "sts")
    with pytest.raises(
        ValueError, match=r"^sts: the outputs of rows \[1\] \(from 0\) are not finite .*load the model in "
    ):
        modeling.check_finite(torch.tensor([[1.0], [float("inf")]]), "sts")
