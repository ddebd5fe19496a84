"""Every key of config.json, changed on its own: the encoder computes what transformers does then, or is refused."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import architectures
import pytest
import torch
import torch.nn.functional as F
import transformers
from torch import Tensor
from transformers import AutoModelForMaskedLM

from mtbert import files
from mtbert.errors import EncoderError
from mtbert.models.encoder.architectures import read
from mtbert.models.encoder.config import MLM_PARTS
from mtbert.models.encoder.encoder import Encoder
from mtbert.pretrained import fetching, folders
from mtbert.pretrained.settings import EncoderSettings

# Values that a key is changed to, where they do not follow from what it is.
VALUES: dict[str, tuple[Any, ...]] = {
    "hidden_act": ("gelu_new", "relu", "gelu_python", 3),
    "hidden_activation": ("gelu_new", "relu"),
    "classifier_activation": ("relu",),
    "pooler_hidden_act": ("relu",),
    "layer_types": (
        ["full_attention"] * 2,
        ["sliding_attention"] * 2,
        ["full_attention"],
        None,
        ["chunked_attention"] * 2,
    ),
    "local_attention": (0, 1, 2, 3, 30, 10_000),
    "rope_parameters": (
        {"full_attention": {"rope_type": "linear", "factor": 2.0}},
        {"sliding_attention": {"rope_type": "yarn", "factor": 2.0}},
        {"full_attention": {"rope_type": "dynamic", "factor": 2.0}},
        {"full_attention": {"rope_theta": 500.0, "rope_type": "default"}, "sliding_attention": None},
        {"rope_theta": 500.0, "rope_type": "default"},
        {"full_attention": {"rope_theta": 0}},
        {"full_attention": {"partial_rotary_factor": 0.5, "rope_type": "default"}},
        "linear",
    ),
    "pos_att_type": (
        None,
        "c2p|p2c",
        "p2c|c2p",
        "C2P|P2C",
        ["c2p"],
        "p2c",
        [["c2p"]],
        "c2p | p2c",
        ["c2p", "p2c", "p2p"],
    ),
    "norm_rel_ebd": ("none", "layer_norm|none", None),
    "type_vocab_size": (0, 1, 3, None),
    "vocab_size": (79, 81, 0),
    "num_hidden_layers": (0, 1, 3, 10**9, "2"),
    "num_attention_heads": (1, 0, 5, 24),
    "hidden_size": (12, 25, "24"),
    "intermediate_size": (39,),
    "max_position_embeddings": (2, 32, 65),
    "position_buckets": (1, 0, -1, 2, 9, 256, None),
    "max_relative_positions": (1, 5, 6, 20, 64),
    "pad_token_id": (0, 3, None, 79, 80, -1, [1]),
    "layer_norm_eps": (1e-3, "1e-12", None, 0.5),
    "norm_eps": (1e-3, "1e-5", None),
    "id2label": ({"0": "a", "1": "b", "2": "c"},),
    "problem_type": ("regression", "something"),
    "dtype": ("float16", "bfloat16", "float63"),
    "initializer_range": (0.5,),
    "architectures": (["BertModel"], None),
    "transformers_version": ("4.8.2",),
    "classifier_pooling": ("mean", "max"),
    "label2id": ({"a": 0},),
    "return_dict": (False,),
    "chunk_size_feed_forward": (1, 4),
    "legacy": (),  # DeBERTa-v3's checkpoints have the newer head and state no such key: transformers then draws one
}
# Keys that are no fields of transformers' classes, but that they or older ones read.
OTHERS: dict[str, tuple[Any, ...]] = {
    "quantization_config": ({"quant_method": "bitsandbytes", "load_in_8bit": True},),
    "per_layer_config": ({"0": {"layer_norm_eps": 0.1}}, {"0": {"norm_eps": 0.1}}),
    "position_embedding_type": ("relative_key",),
    "pruned_heads": ({"0": [0]},),
    "embedding_size": (12,),
    "attention_head_size": (6, 12),
    "head_dim": (6, 12),
    "conv_kernel_size": (3,),
    "sliding_window": (3,),
    "global_attn_every_n_layers": (0, 1, 2, -1, None, "3", 2.5),
    "global_rope_theta": (100.0,),
    "local_rope_theta": (100.0,),
    "rope_theta": (100.0,),
    "partial_rotary_factor": (0.5,),
    "rope_scaling": (
        {"rope_type": "linear", "factor": 2.0},
        {"type": "linear", "factor": 2.0},
        {"rope_type": "llama3", "factor": 8.0},
        {"rope_theta": 9.0},
        [],
    ),
    "rope_type": ("linear",),
    "share_att_key": (False, None),
    "pooler_hidden_size": (12,),
    "cross_attention_hidden_size": (12,),
    "torch_dtype": ("float16",),
    "attn_implementation": ("eager",),
    "_attn_implementation": ("flash_attention_2",),
    "output_attentions": (True,),
    "num_labels": (5,),
    "gradient_checkpointing": (True,),
    "tie_encoder_decoder": (True,),
    "torchscript": (True,),
    "auto_map": ({"AutoModel": "own.Model"},),
    "finetuning_task": ("mnli",),
    "tie_last_hidden_states": (True,),
    "reference_compile": (True,),
    "name_or_path": ("elsewhere",),
}
ROBERTAS = {"layer_norm_eps", "num_attention_heads", "hidden_dropout_prob"}
COMPUTED = {  # keys of which some change is computed: not everything is refused
    "bert": {"layer_norm_eps", "num_attention_heads", "hidden_dropout_prob", "id2label", "pad_token_id"},
    "roberta": ROBERTAS,
    "xlm-roberta": ROBERTAS,
    "camembert": ROBERTAS,
    "modernbert": {"norm_eps", "num_attention_heads", "local_attention", "layer_types", "sliding_window"},
    "deberta-v2": {"layer_norm_eps", "num_attention_heads", "pos_att_type", "max_relative_positions"},
}


def changes_of(kind: str, config: Any) -> list[tuple[str, Any]]:
    """Every key with each value that it is changed to; those that all classes have, for one of them alone."""
    names = [field.name for field in dataclasses.fields(config)]
    common = {field.name for field in dataclasses.fields(transformers.PreTrainedConfig)} if kind != "bert" else {}
    changes = []
    for name in names:
        if name not in common:
            changes += [(name, value) for value in VALUES.get(name, others_than(getattr(config, name)))]
    for name, values in OTHERS.items():
        if name not in names:
            changes += [(name, value) for value in values]
    return changes


def others_than(value: Any) -> tuple[Any, ...]:
    """Other values of the same type."""
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return (value + 1, 0)
    if isinstance(value, float):
        return (value + 0.5, 0)
    return (1, "other")


def outputs(folder: Path, kind: str) -> tuple[Tensor, Tensor]:
    """Transformers' hidden states and scores of words."""
    model, report = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    if report["missing_keys"] or report["mismatched_keys"]:
        raise ValueError("weights do not fit")
    ids, mask, types = batch()
    typed = {"token_type_ids": types} if kind == "bert" else {}
    found = model.eval()(input_ids=ids, attention_mask=mask, output_hidden_states=False, return_dict=True, **typed)
    base = model.base_model(input_ids=ids, attention_mask=mask, return_dict=True, **typed)
    return base.last_hidden_state[mask.bool()], found.logits[mask.bool()]


def own_outputs(out: Path) -> tuple[Tensor, Tensor]:
    """The same of the encoder here."""
    encoder = Encoder(read(out)).eval()
    ids, mask, types = batch()
    hidden = encoder(encoder.words(ids), types, mask)[mask.bool()]
    dense, dense_bias, norm, norm_bias, bias = (encoder.backbone.mlm_head[part] for part in MLM_PARTS)
    inner = F.gelu(F.linear(hidden, dense, dense_bias))
    normed = F.layer_norm(inner, norm.shape, norm, norm_bias, encoder.backbone.config.epsilon)
    return hidden, F.linear(normed, encoder.backbone.word_embeddings.weight, bias)


def batch() -> tuple[Tensor, Tensor, Tensor]:
    """Ids, mask and types of two rows, the second of which is short; no token is padding."""
    ids = torch.randint(5, 79, (2, 40), generator=torch.Generator().manual_seed(3))
    mask, types = torch.ones_like(ids), torch.zeros_like(ids)
    mask[1, 25:], types[0, 15:] = 0, 1
    return torch.where(mask.bool(), ids, 1), mask, types


def outcome(kind: str, folder: Path, out: Path) -> str:
    """What comes of config.json as it is: `equal`, `refused`, or a fault in words."""
    try:
        fetching.fetch(EncoderSettings(name=str(folder), revision=folders.digest(folder)), Path("unused"), out)
    except EncoderError:
        return "refused"
    except Exception as error:
        return f"a traceback: {error!r}"
    with torch.no_grad():
        try:
            expected = outputs(folder, kind)
        except Exception as error:
            return f"computed, where transformers has {error!r}"
        for ours, theirs in zip(own_outputs(out), expected, strict=True):
            if not float((ours - theirs).abs().max()) < 1e-3:
                return f"different by {float((ours - theirs).abs().max()):.2g}"
    return "equal"


@pytest.mark.parametrize("kind", architectures.KINDS)
def test_each_key_is_computed_as_transformers_does_or_refused(kind: str, tmp_path: Path):
    folder = tmp_path / "theirs"
    legacy = {"legacy": False} if kind == "deberta-v2" else {}
    theirs = architectures.theirs(kind, masked=True, num_hidden_layers=2, **legacy)
    theirs.save_pretrained(folder)
    architectures.tokenizer(kind).save_pretrained(folder)
    stated = json.loads((folder / "config.json").read_text())
    outcomes: dict[str, dict[str, str]] = {}
    for key, value in changes_of(kind, theirs.config):
        files.write_json(folder / "config.json", stated | {key: value})
        outcomes.setdefault(key, {})[repr(value)] = outcome(kind, folder, tmp_path / "out")
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
    wrong = {key: found for key, found in outcomes.items() if {*found.values()} - {"equal", "refused"}}
    assert wrong == {}
    equal = {key for key, found in outcomes.items() if "equal" in found.values()}
    assert equal >= COMPUTED[kind]
