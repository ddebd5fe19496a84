"""Every architecture against Hugging Face's own class, which it equals where no adapter changes a layer."""

from dataclasses import replace
from pathlib import Path

import architectures
import pytest
import torch
from models import hidden_of, small_batch
from torch import Tensor

from mtbert.data.batches import Batch
from mtbert.models.encoder import modernbert
from mtbert.models.encoder.encoder import Encoder
from mtbert.models.encoder.modernbert import PARTS, QKV, attention, local_attention, near

every = pytest.mark.parametrize("kind", architectures.KINDS)


def batch_of(tokens: int, rows: int = 3) -> Batch:
    """Pairs and single sentences: rows of other lengths, with the second part from the tenth token on in one of them.

    Ids begin at 5: Hugging Face's RoBERTa takes padding for its own.
    """
    batch = small_batch("sst", rows, tokens)
    batch.mask[:] = 1
    ids = torch.randint(5, 80, batch.input_ids.shape, generator=torch.Generator().manual_seed(1))
    batch.mask[1, max(2, tokens - 2) :], batch.mask[2, max(2, tokens // 3) :] = 0, 0
    batch.token_types[0, 9:] = 1
    return replace(batch, input_ids=torch.where(batch.mask.bool(), ids, 1))


def hugging_face(kind: str, model: torch.nn.Module, batch: Batch) -> Tensor:
    given = {"input_ids": batch.input_ids, "attention_mask": batch.mask}
    if kind == "bert":
        given["token_type_ids"] = batch.token_types
    return model(**given).last_hidden_state


@every
@pytest.mark.parametrize("tokens", [2, 3, 12, 40, 64])
def test_outputs_and_gradients_are_hugging_faces(kind: str, tokens: int, tmp_path: Path):
    theirs, batch = architectures.theirs(kind), batch_of(tokens)
    encoder = Encoder(architectures.ours(kind, tmp_path), dropout=0.0)
    found, expected, kept = hidden_of(encoder, batch), hugging_face(kind, theirs, batch), batch.mask.bool()
    torch.testing.assert_close(found[kept], expected[kept], atol=1e-5, rtol=0)

    weights = torch.randn(expected[kept].shape, generator=torch.Generator().manual_seed(2))
    for states in (found, expected):
        (states[kept] * weights).mean().backward()
    gradients = encoder.backbone.from_hugging_face(
        {name: parameter.grad for name, parameter in theirs.named_parameters() if parameter.grad is not None}
    )
    ours = {name: p.grad for name, p in encoder.backbone.named_parameters() if p.grad is not None}
    assert ours.keys() == gradients.keys() - {name for name in gradients if name.startswith("pooler.")}
    for name, gradient in ours.items():
        torch.testing.assert_close(gradient, gradients[name], atol=1e-4, rtol=0, msg=lambda told, n=name: n + told)


@every
def test_training_computes_the_same_as_scoring_where_nothing_is_dropped(kind: str, tmp_path: Path):
    encoder, batch = Encoder(architectures.ours(kind, tmp_path), dropout=0.0), batch_of(40)
    scored, trained = (hidden_of(encoder.train(mode), batch)[batch.mask.bool()] for mode in (False, True))
    torch.testing.assert_close(scored, trained, atol=1e-5, rtol=0)


@every
def test_padding_changes_nothing(kind: str, tmp_path: Path):
    encoder, batch = Encoder(architectures.ours(kind, tmp_path)).eval(), batch_of(64)
    alone = replace(
        batch, input_ids=batch.input_ids[2:, :21], mask=batch.mask[2:, :21], token_types=batch.token_types[2:, :21]
    )
    torch.testing.assert_close(hidden_of(encoder, batch)[2, :21], hidden_of(encoder, alone)[0], atol=1e-5, rtol=0)


# --- RoBERTa ----------------------------------------------------------------------------------------------------------


def test_robertas_positions_begin_behind_that_of_padding(tmp_path: Path):
    roberta = architectures.ours("roberta", tmp_path)
    assert roberta.config.positions == 64  # of 66
    roberta.embeddings.position_embeddings.weight.data[:2] = torch.nan
    assert torch.isfinite(hidden_of(Encoder(roberta), batch_of(64))).all()


# --- ModernBERT -------------------------------------------------------------------------------------------------------


def test_modernberts_one_map_for_query_key_and_value_is_three(tmp_path: Path):
    theirs = architectures.theirs("modernbert")
    query, key, value = (
        dict(architectures.ours("modernbert", tmp_path).named_parameters())[f"layers.1.attn.{part}.weight"]
        for part in PARTS
    )
    assert torch.equal(torch.cat([query, key, value]), theirs.state_dict()[f"layers.1{QKV}"])


@pytest.mark.parametrize("tokens", [33, 48, 63, 64, 65, 100])
def test_local_attention_in_blocks_is_attention_with_a_band(tokens: int):
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, tokens, 4, requires_grad=True) for _ in range(3))
    mask = torch.ones(2, 1, 1, tokens, dtype=torch.bool)
    mask[1, ..., 20:] = False
    whole = attention(query, key, value, mask & near(tokens, 8, mask.device) | ~mask.transpose(2, 3), True, 0.0)
    blocks = local_attention(query, key, value, mask, 8, True, 0.0)
    kept = mask[:, 0, 0]
    assert torch.isfinite(blocks).all()
    torch.testing.assert_close(blocks.transpose(1, 2)[kept], whole.transpose(1, 2)[kept], atol=1e-6, rtol=0)
    gradients = [torch.autograd.grad(of.transpose(1, 2)[kept].sum(), (query, key, value)) for of in (blocks, whole)]
    torch.testing.assert_close(*gradients, atol=1e-6, rtol=0)


def test_long_rows_take_blocks_and_short_ones_do_not():
    assert [modernbert.in_blocks(tokens, 64) for tokens in (128, 256, 257, 8192)] == [False, False, True, True]


def test_modernberts_residuals_stay_in_fp32_where_its_products_are_not(tmp_path: Path):
    encoder, seen = Encoder(architectures.ours("modernbert", tmp_path)), []
    for layer in encoder.layer_modules():
        layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].dtype))
        layer.attn.query.register_forward_hook(lambda _, given, output: seen.append(output.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        hidden_of(encoder, batch_of(12))
    assert seen == [torch.float32, torch.bfloat16] * 5
