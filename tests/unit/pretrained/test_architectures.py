"""Folders of every architecture, as the hub has them: fetched, read, and what is refused."""

import json
from pathlib import Path
from typing import Any

import architectures
import pytest
import safetensors.torch
import torch
from models import hidden_of, small_batch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, PreTrainedTokenizerFast

from mtbert import files
from mtbert.data import tokens
from mtbert.errors import EncoderError
from mtbert.learning.objectives import OBJECTIVES
from mtbert.models.encoder.architectures import read, read_config
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.multitask import MultitaskModel
from mtbert.pretrained import fetching, folders, loading, sbert
from mtbert.pretrained.settings import EncoderSettings

others = pytest.mark.parametrize("kind", architectures.OTHERS)


def fetched(folder: Path, out: Path) -> Path:
    settings = EncoderSettings(name=str(folder), revision=folders.digest(folder))
    fetching.fetch(settings, Path("unused"), out)
    return out


def refused(folder: Path, out: Path) -> str:
    with pytest.raises(EncoderError) as caught:
        fetched(folder, out)
    assert not out.exists()
    return str(caught.value)


def edit(folder: Path, **changes: Any) -> None:
    file = folder / "config.json"
    files.write_json(file, json.loads(file.read_text()) | changes)


@others
def test_a_folder_as_on_the_hub_is_read_below_its_head_and_stays_the_hubs_own(kind: str, tmp_path: Path):
    out = fetched(architectures.folder(kind, tmp_path / "theirs"), tmp_path / "out")
    whole = AutoModel.from_pretrained(tmp_path / "theirs").state_dict()
    again = AutoModel.from_pretrained(out).state_dict()
    ours = read(out)
    expected = ours.from_hugging_face(whole)
    assert all(torch.equal(value, again[name]) for name, value in whole.items() if not name.startswith("pooler."))
    assert all(torch.equal(value, expected[name]) for name, value in ours.state_dict().items())
    positions = {"modernbert": 128}.get(kind, 64)
    card = loading.card(out)
    assert (card.width, card.positions, card.pooler) == (24, positions, False)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *((kind, {"legacy": False}) for kind in architectures.OTHERS),
        ("deberta-v2", {"legacy": True}),
        ("modernbert", {"classifier_bias": True}),
        ("modernbert", {"decoder_bias": False}),
    ],
)
def test_a_masked_language_model_begins_with_the_head_of_the_checkpoint(kind: str, form: dict, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs", **form)
    backbone = read(fetched(folder, tmp_path / "out")).eval()
    built = MultitaskModel.__new__(MultitaskModel)
    torch.nn.Module.__init__(built)
    built.encoder = Encoder(backbone, mask_token=4)
    objective = OBJECTIVES.build(OBJECTIVES.choose({"name": "masked_language_model"}), built, torch.Generator())
    ids = torch.randint(5, 60, (2, 9))
    hidden = built.encoder(built.encoder.words(ids), torch.zeros_like(ids), torch.ones_like(ids))
    expected = AutoModelForMaskedLM.from_pretrained(folder).eval()(ids).logits
    torch.testing.assert_close(objective.logits(hidden), expected, atol=1e-4, rtol=0)


@others
def test_sentences_are_framed_as_its_own_tokenizer_frames_them(kind: str, tmp_path: Path):
    out = fetched(architectures.folder(kind, tmp_path / "theirs"), tmp_path / "out")
    theirs, special, pieces = AutoTokenizer.from_pretrained(out), tokens.special_tokens(out), tokens.wordpieces(out)
    first, second = pieces(["a man plays a guitar .", "the cat sleeps"])
    is_roberta = "roberta" in kind or kind == "camembert"
    assert (special.separators, special.count(pair=True)) == ((2, 4) if is_roberta else (1, 3))
    assert special.mask == theirs.mask_token_id
    for limit in (64, 10, 8):
        how = {"truncation": True, "max_length": limit}
        assert special.frame(first, limit)[0] == theirs("a man plays a guitar .", **how)["input_ids"]
        pair = theirs("a man plays a guitar .", "the cat sleeps", **how)["input_ids"]
        assert special.frame_pair(first, second, limit)[0] == pair
    ids, second_part = special.frame_pair(first, second, 64)
    assert ids[:second_part] == special.frame(first, 64)[0]


@others
def test_its_own_tokenizer_needs_no_more_than_its_folder_and_is_of_its_kind(kind: str, tmp_path: Path):
    out = fetched(architectures.folder(kind, tmp_path / "theirs"), tmp_path / "out")
    theirs = PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "theirs/tokenizer.json"))
    text = "someone plays guitar ."
    assert AutoTokenizer.from_pretrained(out)(text)["input_ids"] == theirs(text)["input_ids"]


@pytest.mark.parametrize("kind", ["roberta", "deberta-v2"])
def test_older_names_and_shards_are_read(kind: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs")
    expected = read(fetched(folder, tmp_path / "now")).state_dict()
    older = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    for new, old in older.items():
        weights = {name.replace(new, old): value for name, value in weights.items()}
    (folder / "model.safetensors").unlink()
    half = len(weights) // 2
    shards = {"model-1.safetensors": [*weights][:half], "model-2.safetensors": [*weights][half:]}
    for shard, names in shards.items():
        safetensors.torch.save_file({name: weights[name] for name in names}, folder / shard, {"format": "pt"})
    where = {name: shard for shard, names in shards.items() for name in names}
    files.write_json(folder / "model.safetensors.index.json", {"weight_map": where})
    found = read(fetched(folder, tmp_path / "before")).state_dict()
    assert all(torch.equal(value, found[name]) for name, value in expected.items())


def test_modernberts_config_is_read_as_the_hub_has_it(tmp_path: Path):
    folder = architectures.folder("modernbert", tmp_path / "theirs")
    now = read_config(folder)[1]
    stated = json.loads((folder / "config.json").read_text())
    for name in ("layer_types", "rope_parameters"):
        del stated[name]
    older = {"global_attn_every_n_layers": 3, "global_rope_theta": 160_000.0, "local_rope_theta": 10_000.0}
    files.write_json(folder / "config.json", stated | older)
    assert read_config(folder)[1] == now
    assert [kind == "full_attention" for kind in now.layer_types] == [True, False, False, True, False]


@pytest.mark.parametrize("kind", ["modernbert", "deberta-v2", "roberta"])
def test_an_encoder_is_cut_after_a_layer(kind: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs", legacy=False)
    whole = read(fetched(folder, tmp_path / "whole")).eval()
    model = loading.load(folder)
    fetching._cut(model, folder, 1, "mine-1")
    model.save_pretrained(tmp_path / "cut")
    cut = read(tmp_path / "cut").eval()
    assert len(cut.layer_modules()) == 1
    del whole.get_submodule(whole.layers_at)[1:]  # type: ignore[operator]
    batch = small_batch("sst")
    assert torch.equal(hidden_of(Encoder(cut), batch), hidden_of(Encoder(whole), batch))


@others
def test_sentence_embeddings_are_the_mean_over_tokens(kind: str, tmp_path: Path):
    out = fetched(architectures.folder(kind, tmp_path / "theirs"), tmp_path / "out")
    model, tokenizer = AutoModel.from_pretrained(out).eval(), AutoTokenizer.from_pretrained(out)
    expected = model(**tokenizer("the cat sleeps", return_tensors="pt")).last_hidden_state[0].mean(dim=0)
    found = sbert.sentence_model(out, "cpu", 128).encode(["the cat sleeps"], show_progress_bar=False)
    torch.testing.assert_close(torch.from_numpy(found[0]), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        ("deberta-v2", {"conv_kernel_size": 3}, "conv_kernel_size is 3; allowed: 0"),
        ("deberta-v2", {"share_att_key": False}, "share_att_key is False; allowed: True"),
        ("deberta-v2", {"pos_att_type": "p2c"}, "pos_att_type is ['p2c']; allowed: ['c2p', 'p2c']"),
        ("deberta-v2", {"position_biased_input": True}, "position_biased_input is True; allowed: False"),
        ("deberta-v2", {"embedding_size": 12}, "embedding_size is 12; allowed: hidden_size, 24"),
        ("modernbert", {"hidden_activation": "silu"}, "hidden_activation is 'silu'; allowed: 'gelu'"),
        ("modernbert", {"attention_bias": True}, "attention_bias is True; allowed: False"),
        ("modernbert", {"layer_types": ["full_attention"]}, "layer_types has 1 layers; allowed: num_hidden_layers, 5"),
    ],
)
def test_what_cannot_be_had_is_told_with_what_can(kind: str, changes: dict, told: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs")
    edit(folder, **changes)
    assert told in refused(folder, tmp_path / "out")


def test_what_deberta_does_without_where_it_is_not_stated_is_refused(tmp_path: Path):
    folder = architectures.folder("deberta-v2", tmp_path / "theirs")
    stated = json.loads((folder / "config.json").read_text())
    del stated["share_att_key"]
    files.write_json(folder / "config.json", stated)
    assert "share_att_key is False; allowed: True" in refused(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("kind", "changes", "told"),
    [
        (
            "roberta",
            {"model_type": "electra"},
            "{}/config.json: model_type is 'electra'; allowed: 'bert', 'roberta', 'xlm-roberta', 'camembert', "
            "'modernbert', 'deberta-v2'",
        ),
        (
            "modernbert",
            {"intermediate_size": 41},
            "{} holds weights that do not fit config.json: layers.0.mlp.Wi.weight has the shape [80, 24]; expected: "
            "[82, 24]; 9 more do not fit",
        ),
        (
            "deberta-v2",
            {"position_buckets": 9},
            "{} holds weights that do not fit config.json: encoder.rel_embeddings.weight has the shape [16, 24]; "
            "expected: [18, 24]",
        ),
        (
            "roberta",
            {"num_hidden_layers": 3},
            "{} lacks weights of RoBERTa: encoder.layer.2.attention.output.LayerNorm.bias, "
            "encoder.layer.2.attention.output.LayerNorm.weight, encoder.layer.2.attention.output.dense.bias, "
            "encoder.layer.2.attention.output.dense.weight, encoder.layer.2.attention.self.key.bias and 13 more",
        ),
    ],
)
def test_files_that_are_no_encoder_of_ours_are_refused_with_what_is_wrong(
    kind: str, changes: dict, told: str, tmp_path: Path
):
    folder = architectures.folder(kind, tmp_path / "theirs")
    edit(folder, **changes)
    assert refused(folder, tmp_path / "out") == told.format(folder)


@others
def test_code_that_comes_with_weights_is_refused_and_never_run(kind: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs")
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    edit(folder, auto_map={"AutoModel": "own.Model", "AutoConfig": "own.Config"})
    assert refused(folder, tmp_path / "out") == (
        f"{folder}/config.json: auto_map names code that comes with the weights, which is never run; allowed: none, "
        "for an architecture that this project knows"
    )
    assert not (tmp_path / "ran").exists()


@others
def test_a_tokenizer_with_more_pieces_than_the_weights_is_refused(kind: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs", vocab_size=20)
    highest = max(tokens.read(folder).get_vocab().values())
    assert refused(folder, tmp_path / "out") == (
        f"{folder}: the tokenizer has a piece {highest}, but the weights are of 20"
    )
