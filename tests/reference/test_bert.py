"""The encoder against Hugging Face's own BertModel, which it equals where no adapter changes a layer."""

from functools import partial

import pytest
import torch
from models import build_adapter, ours, small_batch, small_bert, small_hugging_face_bert
from torch import nn

from mtbert.encoder.bert import Encoder
from mtbert.encoder.pooling import pool


def outputs(encoder, adapter, batch):
    return encoder(encoder.words(batch.input_ids), batch.token_types, batch.mask, partial(adapter.slot, "sst"))


def hugging_face(bert, batch):
    return bert(input_ids=batch.input_ids, attention_mask=batch.mask, token_type_ids=batch.token_types)


@pytest.mark.parametrize("layers", [1, 3])
def test_without_adapter_equals_hugging_face(layers):
    bert, batch = small_hugging_face_bert(layers=layers), small_batch("sst")
    expected = hugging_face(bert, batch)
    encoder = Encoder(ours(bert))
    hidden = outputs(encoder, build_adapter({"name": "none"}, encoder, ["sst"]), batch)
    kept = batch.mask.bool()
    torch.testing.assert_close(hidden[kept], expected.last_hidden_state[kept], atol=2e-6, rtol=0)
    torch.testing.assert_close(pool("pooler", encoder, hidden, batch.mask), expected.pooler_output, atol=1e-6, rtol=0)


def test_a_pal_whose_up_projection_is_zero_equals_hugging_face():
    bert, batch = small_hugging_face_bert(), small_batch("sst")
    expected = hugging_face(bert, batch).pooler_output
    encoder = Encoder(ours(bert))
    pals = build_adapter({"name": "pals", "dim": 8, "heads": 2}, encoder, ["sst"])
    different = pool("pooler", encoder, outputs(encoder, pals, batch), batch.mask)
    assert (different - expected).abs().max() > 1e-3
    for parameter in pals.paths["sst"].up.parameters():
        nn.init.zeros_(parameter)
    same = pool("pooler", encoder, outputs(encoder, pals, batch), batch.mask)
    torch.testing.assert_close(same, expected, atol=1e-6, rtol=0)


def test_padding_changes_nothing():
    bert, batch = small_bert(), small_batch("sst")
    encoder = Encoder(bert)
    pals = build_adapter({"name": "pals", "dim": 8, "heads": 2}, encoder, ["sst"])
    before = outputs(encoder, pals, batch)
    batch.input_ids[1, -2:] = 49  # the padded places
    after = outputs(encoder, pals, batch)
    torch.testing.assert_close(before[1, :-2], after[1, :-2], atol=1e-6, rtol=0)


def test_pooling_by_hand():
    hidden = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]]])
    mask = torch.tensor([[1, 1, 0]])
    encoder = Encoder(small_bert())
    assert pool("cls", encoder, hidden, mask).tolist() == [[1.0, 2.0]]
    assert pool("mean", encoder, hidden, mask).tolist() == [[2.0, 3.0]]


def test_dropout_setting_reaches_every_layer():
    encoder = Encoder(small_bert(), dropout=0.25)
    rates = {module.p for module in encoder.modules() if isinstance(module, nn.Dropout)}
    assert rates == {0.25}
