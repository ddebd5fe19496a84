"""Encoders in folders, which the project does not know by name."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import encoders
import pytest
import safetensors.torch
import torch
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM

from mtbert import files
from mtbert.data import tokens
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import EncoderError
from mtbert.models.encoder import architectures
from mtbert.pretrained import fetching, folders, loading
from mtbert.pretrained.settings import EncoderSettings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoders.folder(tmp_path_factory.mktemp("made") / "mine", "BertForMaskedLM")


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "mine")


def named(folder: Path, revision: str | None = None) -> EncoderSettings:
    return EncoderSettings(name=str(folder), revision=revision or folders.digest(folder))


def fetched(settings: EncoderSettings, out: Path) -> Path:
    fetching.fetch(settings, Path("unused"), out)
    return out


def refused(settings: EncoderSettings, out: Path) -> str:
    with pytest.raises(EncoderError) as caught:
        fetched(settings, out)
    assert not out.exists()
    return str(caught.value)


def edit(file: Path, **changes: Any) -> None:
    files.write_json(file, json.loads(file.read_text()) | changes)


def reweigh(folder: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> None:
    file = folder / "model.safetensors"
    safetensors.torch.save_file(change(safetensors.torch.load_file(file)), file, {"format": "pt"})


def test_a_folders_cased_tokenizer_stays_as_it_is(folder: Path, tmp_path: Path) -> None:
    tokenizer = tokens.read(folder)
    tokenizer.enable_padding(length=4)  # as published ones may have
    tokenizer.save(str(folder / "tokenizer.json"))
    out = fetched(named(folder), tmp_path / "out")
    assert AutoTokenizer.from_pretrained(out)("A Man", "smiling.")["input_ids"] == [11, 2, 1, 9, 4, 5, 6, 9]
    assert tokens.wordpieces(out)(["A Man smiling. man Ü", "man"]) == [[2, 1, 4, 5, 6, 0, 12], [0]]
    assert tokens.special_tokens(out) == SpecialTokens(start=11, end=9, padding=10, mask=7)


def test_the_card_has_the_digest_of_what_was_read_and_no_path(folder: Path, tmp_path: Path) -> None:
    card = loading.card(fetched(named(folder), tmp_path / "out")).model_dump()
    assert card.pop("sha256") == files.sha256(tmp_path / "out/model.safetensors")
    digest = folders.digest(folder)
    assert card == {
        "name": "mine", "source": f"a folder whose digest is {digest}", "note": "", "layers": 2, "width": 24,
        "positions": 128, "pooler": False,
    }  # fmt: skip


@pytest.mark.parametrize("file", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_file_of_a_folder_that_was_changed_is_refused(folder: Path, tmp_path: Path, file: str) -> None:
    settings = named(folder)
    (folder / file).write_bytes((folder / file).read_bytes() + b" ")
    message = refused(settings, tmp_path / "out")
    assert f"whose digest is {folders.digest(folder)}, but encoder.revision is {settings.revision}" in message


def test_what_else_lies_in_a_folder_does_not_matter_and_its_digest_is_told(folder: Path, tmp_path: Path) -> None:
    before = folders.digest(folder)
    files.write_text(folder / "README.md", "A model.")
    message = refused(EncoderSettings(name=str(folder)), tmp_path / "out")
    assert f"whose digest is {before}, but encoder.revision is None" in message


@pytest.mark.parametrize(
    ("name", "pooler"), [("BertForPreTraining", True), ("BertForMaskedLM", False), ("BertModel", True)]
)
def test_weights_below_any_head_and_that_of_a_masked_language_model(tmp_path: Path, name: str, pooler: bool) -> None:
    theirs = encoders.model(name, encoders.config())
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter)  # biases and LayerNorms start alike in every model
    folder = encoders.folder(tmp_path / "theirs", name)
    theirs.save_pretrained(folder)
    out = fetched(named(folder), tmp_path / "out")
    ours = architectures.read(out)
    assert loading.card(out).pooler is ("dense" in ours.pooler) is pooler
    whole, all_of_it = AutoModel.from_pretrained(folder).state_dict(), theirs.state_dict()
    assert all(torch.equal(tensor, whole[key]) for key, tensor in ours.state_dict().items())
    assert len(ours.mlm_head) == (0 if name == "BertModel" else 5)
    assert all(torch.equal(weights, all_of_it[part]) for part, weights in ours.mlm_head.items())


def test_older_names_of_norms_are_read(folder: Path, tmp_path: Path) -> None:
    now = fetched(named(folder), tmp_path / "now")
    as_bert_base_uncased = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in as_bert_base_uncased.items():
        reweigh(folder, lambda weights: {name.replace(new, old): value for name, value in weights.items()})  # noqa: B023
    before = fetched(named(folder), tmp_path / "before")
    for file in ("model.safetensors", "mlm_head.safetensors"):
        assert files.sha256(before / file) == files.sha256(now / file)


@pytest.fixture
def sharded(made: Path, tmp_path: Path) -> Path:
    """The folder as `save_pretrained` writes what is large."""
    folder = shutil.copytree(made, tmp_path / "sharded", ignore=shutil.ignore_patterns("model.safetensors"))
    BertForMaskedLM.from_pretrained(made).save_pretrained(folder, max_shard_size=9000)
    assert len([*folder.glob("model-*-of-*.safetensors")]) > 2
    return folder


INDEX = "model.safetensors.index.json"


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("model-*.safetensors"))


def move(folder: Path, weight: str, shard: object) -> None:
    """State in the index that a weight lies in another shard."""
    weights = files.read_json(folder / INDEX)["weight_map"]
    edit(folder / INDEX, weight_map=weights | {weight: shard})


def test_shards_are_read_as_the_one_file_would_be(folder: Path, sharded: Path, tmp_path: Path) -> None:
    whole, parts = fetched(named(folder), tmp_path / "whole"), fetched(named(sharded), tmp_path / "parts")
    for file in ("model.safetensors", "mlm_head.safetensors"):
        assert (parts / file).read_bytes() == (whole / file).read_bytes()


def test_the_digest_covers_index_and_shards_and_one_file_comes_first(folder: Path, sharded: Path) -> None:
    digests = [folders.digest(sharded)]
    for file in (*shards(sharded), sharded / INDEX):
        file.write_bytes(file.read_bytes() + b" ")
        digests.append(folders.digest(sharded))
    assert len({*digests}) == len(digests)
    before = folders.digest(folder)
    shutil.copy(sharded / INDEX, folder)
    assert folders.digest(folder) == before


def test_a_shard_that_is_missing_is_named(sharded: Path, tmp_path: Path) -> None:
    shards(sharded)[1].unlink()
    assert "/sharded lacks model-00002-of-" in refused(EncoderSettings(name=str(sharded)), tmp_path / "out")


@pytest.mark.parametrize("shard", ["../made/model.safetensors", "/model.safetensors", "a/b.safetensors", "a.bin", 5])
def test_a_shard_is_a_file_of_the_folder(sharded: Path, tmp_path: Path, shard: object) -> None:
    move(sharded, "bert.pooler", shard)
    message = refused(EncoderSettings(name=str(sharded)), tmp_path / "out")
    assert f"has bert.pooler in {shard!r}; allowed: a file of the same folder that ends in .safetensors" in message


@pytest.mark.parametrize("weight_map", [None, {}, ["model-1.safetensors"]])
def test_an_index_without_shards_is_refused(sharded: Path, tmp_path: Path, weight_map: object) -> None:
    edit(sharded / INDEX, weight_map=weight_map)
    assert "weight_map is missing or empty" in refused(EncoderSettings(name=str(sharded)), tmp_path / "out")


def test_a_shard_with_other_weights_than_the_index_says_is_refused(sharded: Path, tmp_path: Path) -> None:
    move(sharded, "cls.predictions.bias", shards(sharded)[0].name)
    message = refused(named(sharded), tmp_path / "out")
    assert f"and {INDEX} name different weights: cls.predictions.bias; fetch the folder again" in message


def test_no_file_is_read_that_the_digest_does_not_cover(folder: Path, tmp_path: Path) -> None:
    """Transformers reads other weights where config.json names them."""
    before = fetched(named(folder), tmp_path / "before")
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    other = {name: value + 1 for name, value in weights.items()}
    safetensors.torch.save_file(other, folder / "other.safetensors", {"format": "pt"})
    edit(folder / "config.json", transformers_weights="other.safetensors")
    after = fetched(named(folder), tmp_path / "after")
    assert (after / "model.safetensors").read_bytes() == (before / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"model_type": "nomic_bert"}, "model_type is 'nomic_bert'; allowed: 'bert', 'roberta', 'xlm-roberta', "),
        ({"auto_map": {"AutoModel": "its.Model"}}, "auto_map names code that comes with the weights, which is never"),
        ({"hidden_act": "gelu_new"}, "hidden_act is 'gelu_new'; allowed: 'gelu'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'; allowed: 'absolute'"),
        ({"num_hidden_layers": 100_000}, "num_hidden_layers"),
        ({"is_decoder": True}, "is_decoder is True; allowed: False"),
        ({"hidden_size": 48}, "holds weights that do not fit config.json"),
        ({"num_hidden_layers": 3}, "lacks weights of BERT: encoder.layer.2.attention.output.LayerNorm.bias, "),
    ],
)
def test_what_cannot_be_had_is_told_with_what_can(folder: Path, tmp_path: Path, changes: dict, told: str) -> None:
    edit(folder / "config.json", **changes)
    assert told in refused(named(folder), tmp_path / "out")


def test_half_a_pooler_is_refused(tmp_path: Path) -> None:
    folder = encoders.folder(tmp_path / "bert")
    reweigh(folder, lambda weights: {name: one for name, one in weights.items() if name != "pooler.dense.bias"})
    assert refused(named(folder), tmp_path / "out").endswith("lacks weights of BERT: pooler.dense.bias")


def test_a_tokenizer_that_frames_sentences_otherwise_is_refused(folder: Path, tmp_path: Path) -> None:
    edit(folder / "tokenizer.json", post_processor=None)
    assert "makes ['[UNK]', '[UNK]'] of a pair, with types [0, 1]; allowed: as BERT, [CLS] a [SEP] b [SEP]" in refused(
        named(folder), tmp_path / "out"
    )


@pytest.mark.parametrize("pieces", [12, 13])
def test_a_tokenizer_with_more_pieces_than_the_weights_is_refused(folder: Path, tmp_path: Path, pieces: int) -> None:
    encoders.model("BertModel", encoders.config(pieces=pieces)).save_pretrained(folder)
    assert f"has a piece 13, but the weights are of {pieces}" in refused(named(folder), tmp_path / "out")


def test_a_use_that_the_encoder_does_not_allow_is_refused(folder: Path, tmp_path: Path) -> None:
    out = fetched(named(folder), tmp_path / "out")
    loading.check_use(out, {"sst": "cls", "sts": "mean"}, 128)
    with pytest.raises(EncoderError, match=r"model\.pooling is pooler for sts, but mine has none"):
        loading.check_use(out, {"sst": "cls", "sts": "pooler"}, 128)
    with pytest.raises(EncoderError, match=r"model\.max_tokens is 129, but mine takes 128 tokens at most"):
        loading.check_use(out, {"sst": "cls"}, 129)
