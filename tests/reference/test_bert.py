"""The encoder against Hugging Face's own classes, which it equals where no adapter changes a layer."""

from dataclasses import replace
from functools import partial

import encoders
import pytest
import torch
from models import build_adapter, hidden_of, ours, small_batch, small_bert, small_hugging_face_bert
from torch import nn

from mtbert.errors import EncoderError
from mtbert.models.encoder import architectures as reading
from mtbert.models.encoder.encoder import Encoder


def hugging_face(bert, batch):
    return bert(input_ids=batch.input_ids, attention_mask=batch.mask, token_type_ids=batch.token_types)


@pytest.mark.parametrize("types", [1, 2])
def test_outputs_and_gradients_are_hugging_faces(tmp_path, types):
    theirs = encoders.model("BertModel", encoders.config(pieces=50, positions=20, type_vocab_size=types))
    theirs.save_pretrained(tmp_path)
    batch = small_batch("sst", rows=3, tokens=20)
    batch.token_types[:, 9:] = 1
    encoder = Encoder(reading.read(tmp_path), dropout=0.0)
    # without a second type the second part's tokens are of type 0, too
    expected = hugging_face(theirs, batch if types == 2 else replace(batch, token_types=torch.zeros_like(batch.mask)))
    hidden = hidden_of(encoder, batch)
    kept = batch.mask.bool()
    torch.testing.assert_close(hidden[kept], expected.last_hidden_state[kept], atol=1e-6, rtol=1e-6)
    ours = encoder.pooled("pooler", hidden, batch.mask)
    torch.testing.assert_close(ours, expected.pooler_output, atol=1e-6, rtol=0)
    weights = torch.linspace(-1, 1, 24)  # a sum of normalised values would be 0
    for states, pooled in ((hidden, ours), (expected.last_hidden_state, expected.pooler_output)):
        ((states[kept] * weights).mean() + (pooled * weights).mean()).backward()
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    assert gradients.keys() == dict(encoder.backbone.named_parameters()).keys()
    for name, parameter in encoder.backbone.named_parameters():
        torch.testing.assert_close(
            parameter.grad, gradients[name], atol=1e-6, rtol=1e-6, msg=lambda told, n=name: n + told
        )


def test_a_pooler_that_is_not_there_is_refused(tmp_path):
    encoders.model("BertForMaskedLM", encoders.config(pieces=50)).base_model.save_pretrained(tmp_path)
    encoder, batch = Encoder(reading.read(tmp_path)), small_batch("sst")
    assert encoder.parts()["pooler"] == []
    with pytest.raises(EncoderError, match=r"model\.pooling is pooler, but the encoder has none; allowed: cls or mean"):
        encoder.pooled("pooler", torch.zeros(4, 6, 24), batch.mask)


def test_pals_read_a_layers_input_and_are_added_before_its_second_layer_norm():
    theirs, batch = small_hugging_face_bert(), small_batch("sst")
    encoder = Encoder(ours(theirs))
    pals = build_adapter({"name": "pals", "dim": 8, "heads": 2}, encoder, ["sst"])
    slots, inputs = partial(pals.slot, "sst"), {}
    for number, layer in enumerate(theirs.encoder.layer):
        layer.register_forward_pre_hook(lambda _, given, n=number: inputs.update({n: given[0]}))
        layer.output.LayerNorm.register_forward_pre_hook(
            lambda _, summed, n=number: summed[0] + slots(n).parallel(inputs[n], batch.mask.bool()[:, None, None, :])
        )
    found = hidden_of(encoder, batch, pals)
    torch.testing.assert_close(found, hugging_face(theirs, batch).last_hidden_state, atol=1e-6, rtol=0)


def test_pooling_by_hand():
    hidden = torch.tensor([[[1.0, 2.0], [3.0, 4.0], [100.0, 100.0]]])
    mask = torch.tensor([[1, 1, 0]])
    encoder = Encoder(small_bert())
    assert encoder.pooled("cls", hidden, mask).tolist() == [[1.0, 2.0]]
    assert encoder.pooled("mean", hidden, mask).tolist() == [[2.0, 3.0]]


def test_dropout_setting_reaches_every_layer():
    encoder = Encoder(small_bert(), dropout=0.25)
    rates = {module.p for module in encoder.modules() if isinstance(module, nn.Dropout)}
    assert rates == {0.25}
