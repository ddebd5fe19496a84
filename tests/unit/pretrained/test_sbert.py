"""SBERT pretraining on a handful of pairs."""

import runpy
import shutil
import socket
import sys
import tempfile
from pathlib import Path

import architectures
import pandas as pd
import pytest
import torch
from sentence_transformers import SentenceTransformer

from mtbert import files
from mtbert.baselines import untrained
from mtbert.errors import DataError, EncoderError
from mtbert.models.encoder.architectures import read
from mtbert.pretrained import fetching, folders, loading, sbert
from mtbert.pretrained.settings import EncoderSettings, SbertSettings
from mtbert.scores import metrics

STAGE = Path(__file__).parents[3] / "stages" / "pretrain.py"
SETTINGS = SbertSettings(batch_size=4, learning_rate=5e-3, epochs=8, device="cpu", precision="fp32", threads=1)
SAME = {"cat": "feline", "dog": "hound", "car": "auto", "ship": "boat", "man": "guy", "child": "kid"}
ENTAILED = [(f"the {word} is here", f"a {other} is there") for word, other in SAME.items()]


def table(rows: list[tuple[str | None, str | None, float | None]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["sentence1", "sentence2", "label"])


def write(build: Path, dataset: str, split: str, rows: list[tuple[str | None, str | None, float | None]]) -> None:
    path = build / "data" / dataset / f"{split}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    table(rows).to_parquet(path)


def made(tmp_path: Path) -> Path:
    """A build directory with a very small encoder, six entailment pairs, and sts pairs of the same words."""
    sentences = tmp_path / "data" / "cs224n" / "sts-train.csv"
    lines = [f"{n}\t{n}\t{a}\t{b}\t5.0\n" for n, (a, b) in enumerate([*ENTAILED, *ENTAILED])]
    lines = [line.replace(f"{n}\t{n}\t", f"{n}\tid{n}\t", 1) for n, line in enumerate(lines)]
    files.write_text(sentences, "\tid\tsentence1\tsentence2\tsimilarity\n" + "".join(lines))
    small = EncoderSettings(name="tiny", width=24, heads=2, feed_forward=48, vocabulary=1000, positions=32)
    fetching.fetch(small, tmp_path / "data", tmp_path / "build" / "encoders" / "base")
    build = tmp_path / "build"
    write(build, "snli", "train", [(a, b, 2.0) for a, b in ENTAILED[:3]] + [("the cat is here", "no", 0.0)])
    write(build, "mnli", "train", [(a, b, 2.0) for a, b in ENTAILED[3:]] + [("a", "b", 1.0)])
    words, others = list(SAME), list(SAME.values())
    alike = [(f"a {word}", f"a {other}", 5.0) for word, other in SAME.items()]
    unlike = [(f"a {word}", f"a {other}", 0.0) for word, other in zip(words, others[1:] + others[:1], strict=True)]
    write(build, "sts", "dev", [*alike, *unlike])
    return build


@pytest.fixture
def build(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = made(tmp_path_factory.mktemp("trained"))
    sbert.pretrain(SETTINGS, build)
    return build


def test_result_loads_in_both_ways_and_keeps_the_pooler(trained: Path) -> None:
    out = trained / "encoders" / "sbert"
    before, after = loading.load(trained / "encoders" / "base"), loading.load(out)
    assert torch.equal(before.pooler.dense.weight, after.pooler.dense.weight)
    sentences = SentenceTransformer(str(out), device="cpu")
    hidden = after(**sentences.tokenizer("the cat", return_tensors="pt")).last_hidden_state
    torch.testing.assert_close(
        torch.tensor(sentences.encode(["the cat"], show_progress_bar=False)), hidden.mean(dim=1).detach()
    )


def test_it_learns_the_pairs_and_its_card_says_from_what(trained: Path) -> None:
    rows = pd.read_parquet(trained / "data/sts/dev.parquet")
    pairs = [rows["sentence1"].tolist(), rows["sentence2"].tolist()]
    before, after = (
        metrics.pearson(
            rows["label"].to_numpy(), untrained.cosines(pairs, sbert.sentence_model(encoder, "cpu", 128).encode)
        )
        for encoder in (trained / "encoders/base", trained / "encoders/sbert")
    )
    assert after > before + 0.2
    card = loading.card(trained / "encoders" / "sbert")
    assert (card.name, card.layers, card.width) == ("sbert", 2, 24)
    assert card.source == "tiny, then SBERT pretraining on entailment pairs of snli and mnli"
    assert card.note == loading.card(trained / "encoders" / "base").note


@pytest.mark.parametrize("kind", architectures.OTHERS)
def test_every_architecture_is_pretrained_and_read_again(kind: str, build: Path, tmp_path: Path) -> None:
    folder, base = architectures.folder(kind, tmp_path / "theirs"), build / "encoders" / "base"
    shutil.rmtree(base)
    fetching.fetch(EncoderSettings(name=str(folder), revision=folders.digest(folder)), Path("unused"), base)
    sbert.pretrain(SETTINGS.model_copy(update={"epochs": 1}), build)
    before, after = (read(encoder) for encoder in (base, build / "encoders" / "sbert"))
    assert type(after) is type(before)
    assert not torch.equal(before.word_embeddings.weight, after.word_embeddings.weight)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (build / "encoders/sbert" / name).read_bytes() == (base / name).read_bytes()
    assert loading.card(build / "encoders/sbert").source.startswith("theirs, then SBERT pretraining")


def test_one_sentence_twice_is_never_in_one_batch(build: Path) -> None:
    write(build, "snli", "train", [("the cat is here", "a feline is there", 2.0), ("the cat is here", "a cat", 2.0)])
    sbert.pretrain(SETTINGS.model_copy(update={"corpora": ("snli",), "epochs": 1}), build)
    base, trained = loading.load(build / "encoders" / "base"), loading.load(build / "encoders" / "sbert")
    # Each pair is alone in its batch: without a negative its loss is 0, and nothing moves.
    assert torch.equal(base.encoder.layer[0].output.dense.weight, trained.encoder.layer[0].output.dense.weight)


def test_a_pretraining_is_told_by_a_line_and_a_bar(build: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing of the library's: its model card's progress, its dictionaries of losses."""
    sbert.pretrain(SETTINGS.model_copy(update={"epochs": 1}), build)
    told = capfd.readouterr()
    assert told.out == "sbert: 6 entailment pairs of snli and mnli, epochs: 1\n"
    assert [line.partition("%|")[0].strip() for line in told.err.split("\r") if line] == ["0", "100"]


def test_sentences_longer_than_the_encoder_are_cut(build: Path) -> None:
    model = sbert.sentence_model(build / "encoders" / "base", "cpu", 8)
    assert model.max_seq_length == 8
    model = sbert.sentence_model(build / "encoders" / "base", "cpu", 128)
    assert model.max_seq_length == 32  # the encoder's
    model.encode(["the cat " * 40], show_progress_bar=False)


def test_the_same_seed_gives_the_same_bytes_without_network_and_leaves_nothing_behind(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("pretraining asked the network")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    digests = set()
    for state in range(2):
        torch.manual_seed(state)  # a new process starts from any state
        sbert.pretrain(SETTINGS.model_copy(update={"epochs": 1}), build)
        digests.add(files.sha256(build / "encoders/sbert/model.safetensors"))
    assert len(digests) == 1
    assert list((tmp_path / "scratch").iterdir()) == []
    assert sorted(path.name for path in (build / "encoders").iterdir()) == ["base", "sbert"]


def test_pairs_are_entailed_whole_and_each_once(tmp_path: Path) -> None:
    write(tmp_path, "snli", "train", [("a", "b", 2.0), ("a", "b", 2.0), ("a", "c", 1.0), ("a", "d", 0.0)])
    write(tmp_path, "mnli", "train", [("a", "b", 2.0), ("e", "f", 2.0), ("i", "j", None)])
    chosen = sbert.pairs(tmp_path / "data", SbertSettings())
    assert sorted(chosen.itertuples(index=False, name=None)) == [("a", "b"), ("e", "f")]


def test_the_optimiser_has_the_eps_of_the_settings(tmp_path: Path) -> None:
    settings = SETTINGS.model_copy(update={"eps": 1e-7})
    assert sbert.arguments(settings, 6, str(tmp_path), "fp32").adam_epsilon == 1e-7


def test_max_pairs_draws_by_the_seed(tmp_path: Path) -> None:
    write(tmp_path, "snli", "train", [(f"a{n}", f"b{n}", 2.0) for n in range(50)])
    one, again, other = (
        sbert.pairs(tmp_path / "data", SbertSettings(corpora=["snli"], max_pairs=5, seed=seed)) for seed in (1, 1, 2)
    )
    assert len(one) == 5
    assert one.equals(again)
    assert not one.equals(other)


def test_too_few_pairs_and_missing_corpora(tmp_path: Path) -> None:
    write(tmp_path, "snli", "train", [("a", "b", 2.0)])
    with pytest.raises(DataError, match="1 entailment pairs in snli, but 2 are needed"):
        sbert.pairs(tmp_path / "data", SbertSettings(corpora=["snli"]))
    with pytest.raises(DataError, match=r"mnli/train\.parquet is missing"):
        sbert.pairs(tmp_path / "data", SbertSettings())


def test_stage_where_nothing_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_yaml(tmp_path / "plan.yaml", {"needed": False})
    monkeypatch.setattr(sys, "argv", ["pretrain", str(tmp_path / "plan.yaml"), str(tmp_path)])
    with pytest.raises(SystemExit, match=r"^0$"):
        runpy.run_path(str(STAGE), run_name="__main__")
    out = tmp_path / "encoders" / "sbert"
    assert [path.name for path in out.iterdir()] == ["digests.json"]


def test_a_pretraining_that_diverges_is_an_error_and_writes_nothing(
    build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def train(trainer: sbert._Trainer) -> None:
        next(trainer.model.parameters()).data.fill_(torch.nan)

    monkeypatch.setattr(sbert._Trainer, "train", train)
    with pytest.raises(EncoderError, match=r"diverged: .* NaN or infinite; lower pretrain\.sbert\.learning_rate$"):
        sbert.pretrain(SETTINGS, build)
    assert not (build / "encoders" / "sbert").exists()
