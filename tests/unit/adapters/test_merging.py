"""An adapter folded into the encoder predicts what it predicted beside it."""

import re
from dataclasses import replace

import pytest
import torch
from models import small_batch, small_model

from mtbert.errors import SettingsError
from mtbert.models.adapters.merging import merge
from mtbert.models.encoder.bert import Encoder

EVERY = ["query", "key", "value", "attention_output", "intermediate", "output"]


def trained(choice):
    """A model whose adapter and encoder are no longer what they start as, biases too, which start at zero.

    Both are in double precision up to the heads, so that rounding does not hide what differs.
    """
    model = small_model(choice).eval()
    torch.manual_seed(5)
    for weight in (*model.encoder.parameters(), *model.adapter.parameters()):
        weight.data += 0.2 * torch.randn(weight.shape)
    for part in (model.encoder, model.adapter):
        part.double()
    return model


def without_adapter(model, task):
    """The model with its adapter in the encoder, as for that task, and none beside it."""
    plain = small_model().eval()
    plain.load_state_dict(model.state_dict() | plain.adapter.state_dict(), strict=False)
    plain.encoder = Encoder(merge(model.encoder, model.adapter, task))
    return plain


@pytest.mark.parametrize("task", ["sst", "sts"])
@pytest.mark.parametrize(
    "choice",
    [
        {"name": "lora"},
        {"name": "lora", "per_task": True, "targets": EVERY, "rank": 2, "alpha": 3.0},
        {"name": "dora"},
        {"name": "dora", "per_task": True, "targets": EVERY, "rank": 2, "alpha": 3.0},
        {"name": "ia3"},
        {"name": "ia3", "per_task": True},
        {"name": "mtl_lora"},
        {"name": "mtl_lora", "targets": EVERY, "rank": 2, "ways": 2, "temperature": 1.0},
        {"name": "none"},
    ],
    ids=str,
)
def test_a_merged_model_predicts_the_same(choice, task):
    model, batch = trained(choice), small_batch(task)
    merged = without_adapter(model, task)
    plain = without_adapter(model, task)
    plain.encoder = model.encoder
    with torch.no_grad():
        expected = model(batch)
        torch.testing.assert_close(merged(batch), expected, atol=1e-6, rtol=1e-6)
        apart = (plain(batch) - expected).abs().max()
    assert apart == 0 if choice["name"] == "none" else apart > 1e-3


def test_a_merged_encoder_whose_types_do_not_count_may_be_given_any():
    model, batch = trained({"name": "lora"}), small_batch("sts")
    model.encoder.typed = False
    types = replace(batch, token_types=batch.mask.cumsum(dim=1) % 2)
    with torch.no_grad():
        torch.testing.assert_close(without_adapter(model, "sts")(types), model(batch), atol=1e-6, rtol=1e-6)


def test_merging_leaves_the_model_as_it_was():
    model = trained({"name": "lora"})
    before = {name: value.clone() for name, value in model.state_dict().items()}
    merge(model.encoder, model.adapter, "sst")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_an_adapter_that_does_more_is_refused():
    model = trained({"name": "pals", "dim": 8, "heads": 2})
    with pytest.raises(SettingsError, match=re.escape("model.adapter pals cannot be merged into the encoder: it does")):
        merge(model.encoder, model.adapter, "sst")


def test_a_task_that_the_adapter_does_not_serve_is_refused():
    model = trained({"name": "lora"})
    with pytest.raises(SettingsError, match=r"unknown task of the adapter 'cfimdb'; .*known: sst, qqp, sts"):
        merge(model.encoder, model.adapter, "cfimdb")
