"""What is checked of an encoder before it is used: its numbers, its tokenizer, and its outputs beside transformers'."""

import json
from pathlib import Path
from typing import Any

import architectures
import encoders
import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, processors

from mtbert import files
from mtbert.errors import EncoderError
from mtbert.models.encoder.architectures import read, read_config
from mtbert.pretrained import checks, fetching, folders, loading
from mtbert.pretrained.settings import EncoderSettings


def fetched(folder: Path, out: Path, **settings: Any) -> Path:
    named = EncoderSettings(name=str(folder), revision=folders.digest(folder), **settings)
    fetching.fetch(named, Path("unused"), out)
    return out


def refused(folder: Path, **settings: Any) -> str:
    with pytest.raises(EncoderError) as caught:
        fetched(folder, folder.parent / "out", **settings)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]  # nothing half made
    return str(caught.value)


def edit(file: Path, **changes: Any) -> None:
    stated = json.loads(file.read_text()) if file.is_file() else {}
    files.write_json(file, stated | changes)


def reweigh(folder: Path, name: str, value: Any) -> None:
    """Set all numbers of a tensor, or put another in its place."""
    file = folder / "model.safetensors"
    weights = load_file(file)
    weights[name] = value if isinstance(value, torch.Tensor) else torch.full_like(weights[name], value)
    save_file(weights, file, {"format": "pt"})


# --- Numbers ----------------------------------------------------------------------------------------------------------

WORDS = "embeddings.word_embeddings.weight"
QUERY = "encoder.layer.1.attention.self.query.weight"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("weights", ["fp32", "fp16"])
def test_a_weight_that_is_not_finite_is_refused_by_its_name(value: float, weights: str, tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    reweigh(folder, QUERY, value)
    assert refused(folder, weights=weights) == (
        f"{folder}/model.safetensors: {QUERY} holds numbers that are NaN or infinite; fetch the file again, or choose "
        "other weights"
    )


def test_one_number_of_one_word_is_enough(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    words = load_file(folder / "model.safetensors")[WORDS]
    words[7, 3] = torch.nan
    reweigh(folder, WORDS, words)
    assert f"{WORDS} holds numbers that are NaN" in refused(folder)


def test_a_shard_is_named(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    reweigh(folder, QUERY, torch.nan)
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    save_file(weights, folder / "model-1.safetensors")
    index = {"weight_map": dict.fromkeys(weights, "model-1.safetensors")}
    files.write_json(folder / "model.safetensors.index.json", index)
    assert refused(folder).startswith(f"{folder}/model-1.safetensors: {QUERY} holds numbers")


def test_finite_weights_whose_outputs_are_not_are_refused(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    reweigh(folder, "encoder.layer.0.output.dense.weight", 1e38)
    assert "the encoder computes numbers that are NaN or infinite, as its weights are too large" in refused(folder)


def test_a_number_of_fp64_that_fp32_does_not_hold_is_refused(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    reweigh(folder, QUERY, torch.full((24, 24), 1e300, dtype=torch.float64))
    assert f"{QUERY} holds numbers that are NaN or infinite" in refused(folder)


def test_quantized_weights_are_refused(tmp_path: Path):
    """Transformers would take the integers for the weights."""
    folder = encoders.folder(tmp_path / "bert")
    reweigh(folder, QUERY, torch.ones(24, 24, dtype=torch.int8))
    assert f"{QUERY} has the type torch.int8, as if quantized; allowed: float64, float32, float16, bfloat16" in refused(
        folder
    )


def test_bf16_is_read_as_the_same_numbers_in_fp32(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    weights = {name: value.bfloat16() for name, value in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    edit(folder / "config.json", dtype="bfloat16")
    out = fetched(folder, tmp_path / "out")
    written = load_file(out / "model.safetensors")
    assert {value.dtype for value in written.values()} == {torch.float32}
    assert all(torch.equal(written[name], value.float()) for name, value in weights.items())


def test_damaged_weights_are_refused_in_words(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    (folder / "model.safetensors").write_bytes(b"no weights at all")
    assert refused(folder).startswith(f"{folder}/model.safetensors cannot be read: ")


def test_a_training_reads_no_encoder_with_such_numbers(tmp_path: Path):
    """One that was fetched before they were checked."""
    out = fetched(encoders.folder(tmp_path / "bert"), tmp_path / "out")
    reweigh(out, QUERY, torch.nan)
    with pytest.raises(EncoderError, match=f"{QUERY} holds numbers that are NaN or infinite; `dvc repro "):
        read(out)


# --- config.json ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("modernbert", {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, "rope_type is 'yarn'; allowed"),
        ("modernbert", {"rope_parameters": {"sliding_attention": {"type": "llama3"}}}, "rope_type is 'llama3'; allo"),
        (
            "modernbert",
            {"rope_scaling": {"type": "linear", "factor": 2.0}},
            "rope_type is 'linear'; allowed: 'default'",
        ),
        ("modernbert", {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "rope_type is 'dynamic'; allowed: "),
        ("modernbert", {"local_attention": 1}, "local_attention: Input should be greater than or equal to 2"),
        (
            "modernbert",
            {"layer_types": None, "global_attn_every_n_layers": 0},
            "global_attn_every_n_layers: Input should",
        ),
        ("modernbert", {"num_attention_heads": 8}, "hidden_size / num_attention_heads, is 3; allowed: an even number"),
        ("modernbert", {"head_dim": 6}, "head_dim is 6; allowed: 12, as hidden_size has it"),
        ("deberta-v2", {"position_buckets": 1}, "position_buckets: Input should be greater than or equal to 2"),
        (
            "deberta-v2",
            {"max_relative_positions": 5},
            "position_buckets is 8, and the farthest distance 5; allowed: fewer",
        ),
        ("deberta-v2", {"attention_head_size": 6}, "attention_head_size is 6; allowed: 12, as hidden"),
        ("deberta-v2", {"pos_att_type": ["c2p", 3]}, "pos_att_type is [3, 'c2p']; allowed: ['c2p', 'p2c']"),
        (
            "bert",
            {"quantization_config": {"quant_method": "gptq"}},
            "quantization_config is {'quant_method': 'gptq'}; a",
        ),
        (
            "bert",
            {"per_layer_config": {"0": {"layer_norm_eps": 0.1}}},
            "per_layer_config is {'0': {'layer_norm_eps': 0.1",
        ),
        ("bert", {"pruned_heads": {"0": [1]}}, "pruned_heads is {'0': [1]}; allowed: no such key"),
        ("bert", {"is_decoder": True}, "is_decoder is True; allowed: False"),
        ("bert", {"layer_norm_eps": None}, "transformers cannot build the model of config.json and the weights: "),
        ("bert", {"pad_token_id": 80}, "transformers cannot build the model of config.json and the weights: "),
        ("roberta", {"pad_token_id": 0}, "pad_token_id is 0; allowed: 1, which is <pad> in tokenizer.json"),
        ("roberta", {"pad_token_id": 65}, "pad_token_id is 65; allowed: less than max_position_embeddings - 1, 65,"),
    ],
)
def test_a_setting_that_would_be_computed_otherwise_is_refused_by_its_name(
    kind: str, changes: dict[str, Any], message: str, tmp_path: Path
):
    folder = architectures.folder(kind, tmp_path / "theirs", masked=False)
    edit(folder / "config.json", **changes)
    assert message in refused(folder)


@pytest.mark.parametrize("kind", ["roberta", "camembert", "xlm-roberta"])
def test_an_absent_padding_is_transformers_default(kind: str, tmp_path: Path):
    """<pad> is 1 in the tokenizer, as there."""
    folder = architectures.folder(kind, tmp_path / "theirs")
    stated = json.loads((folder / "config.json").read_text())
    del stated["pad_token_id"]
    files.write_json(folder / "config.json", stated)
    assert loading.card(fetched(folder, tmp_path / "out")).positions == 64


def test_modernberts_window_to_either_side_is_half_of_local_attention(tmp_path: Path):
    folder = architectures.folder("modernbert", tmp_path / "theirs")
    edit(folder / "config.json", sliding_window=3)
    assert read_config(folder)[1].local_attention == 6
    fetched(folder, tmp_path / "out")


def test_outputs_that_differ_from_those_of_transformers_are_refused(tmp_path: Path):
    """Here since other weights were written; a setting that nobody here knows would have the same effect."""
    folder = encoders.folder(tmp_path / "bert")
    model = loading.load(folder)
    edit(folder / "config.json", novel_attention=True)
    out = fetched(folder, tmp_path / "out")
    checks.check_outputs(folder, model, out)
    reweigh(out, "encoder.layer.1.output.LayerNorm.bias", 0.001)
    with pytest.raises(EncoderError, match=r"differ from those of transformers by 0\.001, .* may be novel_attention$"):
        checks.check_outputs(folder, model, out)


# --- The head of a masked language model ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", architectures.ONE_EACH)
def test_a_head_that_is_not_tied_to_the_words_is_refused(kind: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path / "theirs", tie_word_embeddings=False)
    message = refused(folder)
    assert "tie_word_embeddings is False; allowed: True; without its head of a masked language model" in message


@pytest.mark.parametrize(
    ("part", "tied"), [("weight", "the words' embeddings"), ("bias", "lm_head.bias")], ids=["weight", "bias"]
)
def test_a_head_with_words_of_its_own_is_refused_also_where_nothing_says_so(part: str, tied: str, tmp_path: Path):
    folder = architectures.folder("roberta", tmp_path / "theirs")
    shape = (80, 24) if part == "weight" else (80,)
    reweigh(folder, f"lm_head.decoder.{part}", torch.ones(shape))
    assert f"lm_head.decoder.{part} differs from {tied}; allowed: the same numbers" in refused(folder)


def test_half_a_head_is_refused(tmp_path: Path):
    folder = architectures.folder("modernbert", tmp_path / "theirs")
    edit(folder / "config.json", classifier_bias=True)
    message = "lacks weights of its head of a masked language model: head.dense.bias"
    assert refused(folder).endswith(message)


def test_a_heads_activation_is_gelu(tmp_path: Path):
    folder = architectures.folder("modernbert", tmp_path / "theirs", classifier_activation="relu")
    assert "classifier_activation is 'relu'; allowed: 'gelu'" in refused(folder)


@pytest.mark.parametrize("changes", [{"tie_word_embeddings": False}, {"classifier_activation": "relu"}])
def test_without_a_head_its_settings_do_not_matter(changes: dict[str, Any], tmp_path: Path):
    folder = architectures.folder("modernbert", tmp_path / "theirs", masked=False, **changes)
    assert not read(fetched(folder, tmp_path / "out")).mlm_head


def test_modernberts_head_of_classes_is_no_head_of_words(tmp_path: Path):
    """Its names are the same where the other has no bias."""
    folder = architectures.folder("modernbert", tmp_path / "theirs", decoder_bias=False)
    assert read(fetched(folder, tmp_path / "words")).mlm_head
    reweigh(folder, "classifier.weight", torch.ones(2, 24))
    assert not read(fetched(folder, tmp_path / "classes")).mlm_head


# --- The tokenizer ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("single", ["$A [SEP]", "[CLS] $A", "[CLS] $A [SEP] [SEP]", "[CLS] $A:1 [SEP]:1"])
def test_one_sentence_is_framed_as_the_first_of_a_pair(single: str, tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=single, pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 11), ("[SEP]", 9)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    assert "of one sentence, with types" in refused(folder)


@pytest.mark.parametrize(
    ("kind", "name", "value", "has"),
    [
        ("bert", "do_lower_case", True, False),
        ("bert", "strip_accents", True, False),
        ("bert", "tokenize_chinese_chars", False, True),
        ("roberta", "add_prefix_space", True, False),
        ("xlm-roberta", "add_prefix_space", False, True),
        ("deberta-v2", "do_lower_case", True, False),
    ],
)
def test_settings_of_a_tokenizer_that_contradict_it_are_refused(
    kind: str, name: str, value: bool, has: bool, tmp_path: Path
):
    folder = tmp_path / "theirs"
    encoders.folder(folder) if kind == "bert" else architectures.folder(kind, folder)
    edit(folder / "tokenizer_config.json", **{name: value})
    assert refused(folder).startswith(
        f"{folder}/tokenizer_config.json: {name} is {value}, but tokenizer.json has {has}"
    )
    edit(folder / "tokenizer_config.json", **{name: has})
    fetched(folder, tmp_path / "out")


def test_a_token_that_only_the_settings_add_is_refused(tmp_path: Path):
    folder = encoders.folder(tmp_path / "bert")
    edit(folder / "tokenizer_config.json", added_tokens_decoder={"14": {"content": "<new>"}})
    assert "added_tokens_decoder has '<new>' at 14, but tokenizer.json has it at None" in refused(folder)


# --- Progress ---------------------------------------------------------------------------------------------------------


def test_what_takes_long_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = encoders.folder(tmp_path / "bert")
    capsys.readouterr()
    fetched(folder, tmp_path / "out")
    lines = [f"encoder: reading {folder}", "encoder: comparing its outputs here with those of transformers"]
    output = capsys.readouterr()
    assert (output.out, output.err.splitlines()) == ("", lines)
