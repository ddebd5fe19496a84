"""What tasks share between encoder and heads."""

import pytest
import torch
from transformers import BertConfig
from transformers.models.bert.modeling_bert import BertLayer

from mtbert.errors import SettingsError
from mtbert.models.connectors import CONNECTORS
from mtbert.models.connectors.base import Connector

TASKS = ["sst", "qqp", "sts"]
H1, H2 = torch.randn(2, 3, 24, generator=torch.Generator().manual_seed(0))


def connector(name: str, **options: object) -> Connector:
    torch.manual_seed(0)
    return CONNECTORS.build(CONNECTORS.choose({"name": name, **options}), 24, TASKS).eval()


def test_direct_and_tasks_that_are_not_served_are_handed_on():
    assert connector("direct")("sts", (H1, H2))[1] is H2
    assert connector("relational")("sst", (H1,))[0] is H1


def test_the_relational_layer_is_one_linear_layer_for_both_sentences_and_tasks():
    layer = connector("relational")
    weight, bias = layer.layer.weight, layer.layer.bias
    for task in ("qqp", "sts"):
        first, second = layer(task, (H1, H2))
        assert torch.allclose(first, H1 @ weight.T + bias)
        assert torch.allclose(second, H2 @ weight.T + bias)


def test_the_transformer_layer_is_a_bert_layer_over_the_sentences():
    ours = connector("transformer_layer", dropout=0.0)
    config = BertConfig(
        hidden_size=24, num_attention_heads=12, intermediate_size=96, layer_norm_eps=1e-5, attn_implementation="eager"
    )
    theirs = BertLayer(config).eval()
    attention, layer = theirs.attention, ours.layer
    copies = [
        (attention.self.query, layer.self_attn.in_proj_weight[:24], layer.self_attn.in_proj_bias[:24]),
        (attention.self.key, layer.self_attn.in_proj_weight[24:48], layer.self_attn.in_proj_bias[24:48]),
        (attention.self.value, layer.self_attn.in_proj_weight[48:], layer.self_attn.in_proj_bias[48:]),
        (attention.output.dense, layer.self_attn.out_proj.weight, layer.self_attn.out_proj.bias),
        (theirs.intermediate.dense, layer.linear1.weight, layer.linear1.bias),
        (theirs.output.dense, layer.linear2.weight, layer.linear2.bias),
    ]
    with torch.no_grad():
        for module, weight, bias in copies:
            module.weight.copy_(weight)
            module.bias.copy_(bias)
        expected = theirs(torch.stack([H1, H2], dim=1))
        expected = expected[0] if isinstance(expected, tuple) else expected
        assert torch.allclose(torch.stack(ours("qqp", (H1, H2)), dim=1), expected, atol=1e-5)


def test_sentences_may_go_through_it_one_by_one():
    layer = connector("transformer_layer", dropout=0.0, apart=["sts"])
    first, second = layer("sts", (H1, H2))
    (alone,) = layer("sst", (H1,))
    assert torch.allclose(first, alone, atol=1e-6)
    assert torch.equal(second, layer("sts", (H1 + 1, H2))[1])  # whatever the other one is
    assert not torch.equal(layer("qqp", (H1, H2))[1], layer("qqp", (H1 + 1, H2))[1])


def test_it_says_whose_sentences_see_one_another():
    layer = connector("transformer_layer", tasks=["qqp", "sts"], apart=["sts"])
    assert layer.mixed == {"qqp"}
    assert connector("relational").mixed == set()


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("transformer_layer", {"heads": 5}, r"transformer_layer\.heads is 5, which does not divide the width 24"),
        ("relational", {"tasks": ["cfimdb"]}, "serves cfimdb, but the variant trains sst, qqp, sts"),
    ],
)
def test_what_cannot_serve_the_variant_is_refused(name: str, options: dict, told: str):
    with pytest.raises(SettingsError, match=told):
        connector(name, **options)
