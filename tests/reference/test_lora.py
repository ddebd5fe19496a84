"""LoRA, DoRA and (IA)^3 against Hugging Face's peft on its BertModel with the same weights; the count of weights."""

import re

import peft
import pytest
import torch
from models import build_adapter, hidden_of, ours, small_batch, small_hugging_face_bert

from mtbert.errors import SettingsError
from mtbert.models.adapters import ADAPTERS
from mtbert.models.adapters.base import Shape
from mtbert.models.encoder.encoder import Encoder

# Their names of a layer's linear maps, and ours.
MAPS = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "attention_output",
    "intermediate.dense": "intermediate",
    "output.dense": "output",
}
FACTORS = {
    "lora_A.default.weight": "factors.{}.down.weight",
    "lora_B.default.weight": "factors.{}.up.weight",
    "lora_magnitude_vector.default.weight": "magnitude.{}",
    "ia3_l.default": "scales.{}",
}
WEIGHT = re.compile(rf"encoder\.layer\.(\d+)\.({'|'.join(map(re.escape, MAPS))})\.(.*)")
EVERY = [*MAPS.values()]
FEED_FORWARD = r".*\.\d+\.output\.dense"


def targets(names):
    """peft's regular expression for these linear maps in every layer."""
    theirs = [name for name, own in MAPS.items() if own in names]
    return rf".*\.layer\.\d+\.({'|'.join(map(re.escape, theirs))})"


def lora(names, use_dora=False):
    return peft.LoraConfig(r=3, lora_alpha=5.0, target_modules=targets(names), use_dora=use_dora, lora_dropout=0.0)


CASES = {
    "lora": ({"name": "lora", "rank": 3, "alpha": 5.0}, lora(["query", "value"])),
    "dora everywhere": ({"name": "dora", "rank": 3, "alpha": 5.0, "targets": EVERY}, lora(EVERY, use_dora=True)),
    "ia3": (
        {"name": "ia3"},
        peft.IA3Config(target_modules=targets(["key", "value", "output"]), feedforward_modules=FEED_FORWARD),
    ),
}
each_case = pytest.mark.parametrize(("choice", "config"), CASES.values(), ids=CASES)


def own_name(name):
    """Our name of a weight that peft has added."""
    layer, place, weight = WEIGHT.search(name).groups()
    return f"sets.shared.{layer}.{FACTORS[weight].format(MAPS[place])}"


def both(choice, config):
    """The same small BERT with that adapter twice, ours and peft's, and no dropout in it."""
    bert = small_hugging_face_bert()
    for name, weight in bert.named_parameters():
        if name.endswith("bias"):  # else they are zero, and what becomes of them would not show
            torch.nn.init.normal_(weight, std=0.2)
    encoder = Encoder(ours(bert), 0.0)
    adapter = build_adapter(choice, encoder, ["sst", "sts"])
    for module in bert.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return encoder, adapter, peft.inject_adapter_in_model(config, bert)


def added(theirs):
    """The weights that peft has added, by our names."""
    return {own_name(name): weight for name, weight in theirs.named_parameters() if weight.requires_grad}


@each_case
def test_outputs_and_gradients_equal_pefts(choice, config):
    encoder, adapter, theirs = both(choice, config)
    for model in (encoder, adapter, theirs):
        model.double().train()
    torch.manual_seed(3)
    for weight in (own := dict(adapter.named_parameters())).values():
        torch.nn.init.normal_(weight, 1.0 if weight.ndim == 1 else 0.0, 0.2)
    same = added(theirs)
    assert same.keys() == own.keys()
    for name, weight in same.items():
        weight.data.copy_(own[name].data.view_as(weight))
    batch = small_batch("sst")
    kept = batch.mask.bool()
    inputs = {"input_ids": batch.input_ids, "attention_mask": batch.mask, "token_type_ids": batch.token_types}
    found, expected = hidden_of(encoder, batch, adapter)[kept], theirs(**inputs).last_hidden_state[kept]
    torch.testing.assert_close(found.double(), expected, atol=1e-6, rtol=0)
    directions = torch.randn(found.shape, generator=torch.Generator().manual_seed(4)) / found.numel() ** 0.5
    (found * directions).sum().backward()
    (expected * directions).sum().backward()
    for name, weight in same.items():
        assert weight.grad.abs().max() > 1e-3
        torch.testing.assert_close(own[name].grad, weight.grad.view_as(own[name]), atol=1e-6, rtol=0, msg=name)


@each_case
def test_what_starts_from_the_encoder_starts_as_in_peft(choice, config):
    _, adapter, theirs = both(choice, config)
    same = added(theirs)
    for name, weight in adapter.named_parameters():
        if not name.endswith("down.weight"):  # which is drawn
            torch.testing.assert_close(weight, same[name].view_as(weight), atol=1e-6, rtol=0)


@pytest.mark.parametrize("name", ["lora", "dora"])
def test_dropout_is_on_what_goes_into_the_factors_alone(name):
    encoder = Encoder(ours(small_hugging_face_bert()), 0.0)
    adapter = build_adapter({"name": name, "dropout": 0.5}, encoder, ["sst"]).train()
    twice = lambda: [hidden_of(encoder, small_batch("sst"), adapter) for _ in range(2)]  # noqa: E731
    assert torch.equal(*twice())  # they start at zero
    for weight in adapter.parameters():
        torch.nn.init.normal_(weight)
    assert not torch.equal(*twice())


@pytest.mark.parametrize("name", ["lora", "dora", "ia3", "mtl_lora"])
def test_in_bf16_a_map_gives_bf16(name):
    encoder = Encoder(ours(small_hugging_face_bert()), 0.0)
    slot = build_adapter({"name": name}, encoder, ["sst"]).slot("sst", 0)
    with torch.autocast("cpu", torch.bfloat16):
        for place, dense in encoder.layer_modules()[0].linears().items():
            inputs = torch.randn(1, 2, dense.in_features, dtype=torch.bfloat16)
            output = slot.linear(place, dense, inputs)
            assert output.dtype == torch.bfloat16
            torch.testing.assert_close(output, dense(inputs), atol=0.05, rtol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"targets": ["query", "query"]}, "adapter lora: targets: 'query' is listed twice; allowed: each once"),
        ({"targets": []}, "adapter lora: targets: List should have at least 1 item"),
        ({"targets": ["pooler"]}, "adapter lora: targets.0: Input should be 'query', 'key', 'value', "),
    ],
)
def test_targets_are_linear_maps_of_a_layer_each_once(options, message):
    with pytest.raises(SettingsError, match=re.escape(message)):
        ADAPTERS.build(ADAPTERS.choose({"name": "lora", **options}), Shape(8, 2, 32), ["sst"])
