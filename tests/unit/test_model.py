"""The model as a whole: what is trained, what is counted, how pairs are encoded apart."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from models import small_batch, small_bert, small_model
from runs import settings

from mtbert.errors import SettingsError
from mtbert.models.connectors import CONNECTORS
from mtbert.models.encoder import base
from mtbert.models.heads import HEADS
from mtbert.models.multitask import MultitaskModel, check_apart
from mtbert.tasks import COURSE
from mtbert.training import assembly
from mtbert.variants.settings import PhaseSettings

PALS = {"name": "pals", "dim": 8, "heads": 2, "dropout": 0.0}


def phase(trainable: list[str], frozen: Sequence[str] = ()) -> PhaseSettings:
    return settings(phase={"trainable": trainable, "frozen": list(frozen)}).phases[0]


def changed_by_a_step(model: MultitaskModel, trainable: list[str]) -> set[str]:
    """Names of the parameters that one step on every task changes."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimiser = torch.optim.AdamW(model.train_only(trainable), lr=0.1, weight_decay=0.5)
    for task in ("sst", "qqp", "sts"):
        batch = small_batch(task)
        model.loss(batch, model(batch)).backward()
    optimiser.step()
    return {name for name, p in model.named_parameters() if not torch.equal(p, before[name])}


def test_frozen_pals_change_only_adapters_heads_pooler_and_second_layer_norms():
    model = small_model(PALS)
    allowed = ("adapter.", "heads.", "encoder.backbone.pooler.")
    allowed += tuple(f"encoder.backbone.encoder.layer.{layer}.output.LayerNorm." for layer in (0, 1))
    expected = {name for name, _ in model.named_parameters() if name.startswith(allowed)}
    assert changed_by_a_step(model, ["adapters", "heads", "pooler", "output_norms"]) == expected


def test_the_seed_draws_the_weights_that_are_added():
    one, again, other = (assembly.build_model(settings(), small_bert(), seed).heads["sst"] for seed in (1, 1, 2))
    assert torch.equal(one.linear.weight, again.linear.weight)
    assert not torch.equal(one.linear.weight, other.linear.weight)
    assert one.linear.weight[0, :3].tolist() == pytest.approx([-0.008436, -0.033158, 0.166990], abs=1e-6)  # of all runs


@pytest.mark.parametrize(("chosen", "counts"), [("by_sentence", True), ("zeros", False)])
def test_the_type_of_the_second_sentence_counts_by_setting(chosen: str, counts: bool):
    given = settings()
    given = given.model_copy(update={"model": given.model.model_copy(update={"token_types": chosen})})
    model = assembly.build_model(given, small_bert(), 1).eval()
    batch = small_batch("sts")
    second = replace(batch, token_types=torch.ones_like(batch.mask))
    assert (not torch.equal(model(batch), model(second))) is counts


def test_the_first_layer_frozen_within_the_encoder():
    model = small_model()
    trained = model.train_only(["encoder", "heads"], frozen=["layer_1"])
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert frozen == {n for n, _ in model.named_parameters() if n.startswith("encoder.backbone.encoder.layer.0.")}
    assert len(trained) == sum(parameter.requires_grad for parameter in model.parameters())


def test_a_layer_that_the_model_lacks_is_refused():
    with pytest.raises(SettingsError, match="names layer_3, which the model lacks; allowed: encoder, embeddings"):
        small_model().train_only(["encoder"], frozen=["layer_3"])


def test_biases_alone_are_trained_with_those_of_layer_norms_and_pooler():
    assert changed_by_a_step(small_model(PALS), ["biases"]) == {
        f"encoder.backbone.{name}" for name, _ in small_bert().named_parameters() if name.endswith(".bias")
    }


def test_sizes_are_counted_from_the_model():
    model = small_model(PALS)
    model.train_only(["heads"])
    heads = (24 + 1) * 5 + (24 + 1) * 1 + (24 + 1) * 1
    task_path = (24 * 8 + 8) + (8 * 24 + 24) + 2 * (8 * 24 + 24)
    sizes = model.sizes([phase(["heads"])])
    assert sizes["added"] == sizes["stored"] == heads + 3 * task_path
    assert sizes["trained"] == heads
    assert sizes["encoder"] == sum(p.numel() for p in small_bert().parameters())


@pytest.mark.parametrize(
    ("phases", "of_encoder"),
    [
        ([], 0),
        ([(["heads"], [])], 0),
        ([(["biases", "heads"], [])], 2 * (4 * 24 + 48 + 24 + 2 * 24) + 24 + 24),
        ([(["encoder", "heads"], ["encoder"])], 0),
        ([(["pooler"], []), (["biases"], ["embeddings", "layers"])], 24 * 24 + 24),
        ([(["encoder", "heads"], []), (["heads"], [])], 12_408),
    ],
)
def test_what_any_phase_trains_of_the_encoder_has_to_be_stored_with_what_is_added(phases, of_encoder):
    model = small_model(PALS)
    sizes = model.sizes([phase(*parts) for parts in phases])
    assert sizes["stored"] - sizes["added"] == of_encoder


def test_bi_encoded_pairs_are_two_embeddings_of_one_encoder():
    model = small_model(head={"name": "squared_cosine"}, tasks=["sts"], embeddings=2, pooling="mean").eval()
    batch = small_batch("sts", rows=2, sequences=2)
    first, second = model.embeddings(batch)
    cosine = torch.nn.functional.cosine_similarity(first, second)
    assert model(batch).squeeze(-1).tolist() == pytest.approx((5 * cosine**2).tolist(), abs=1e-6)


def test_ranking_sentences_that_have_seen_their_partners_is_refused():
    mnr = HEADS.build(HEADS.choose({"name": "mnr"}), COURSE["sts"], 24, 2)
    layer = CONNECTORS.build(CONNECTORS.choose({"name": "transformer_layer"}), 24, ["sts"])
    with pytest.raises(SettingsError, match=r"model\.heads\.sts ranks sentences .* add sts to the connector's `apart`"):
        check_apart("sts", mnr, layer.mixed)
    check_apart(
        "sts",
        mnr,
        CONNECTORS.build(CONNECTORS.choose({"name": "transformer_layer", "apart": ["sts"]}), 24, ["sts"]).mixed,
    )


@pytest.mark.parametrize("task", ["sst", "qqp", "sts"])
def test_outputs_are_fp32_numbers_where_the_encoder_computes_in_bf16(task):
    model, batch = small_model().eval(), small_batch(task)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = model(batch)
    assert outputs.dtype == torch.float32
    assert not torch.equal(outputs, outputs.bfloat16().float())


def test_a_loss_that_multiplies_outputs_does_so_in_fp32_where_the_encoder_computes_in_bf16():
    model = small_model(head={"name": "mnr"}, tasks=["sts"], embeddings=2, pooling="mean").eval()
    batch = small_batch("sts", rows=8, sequences=2)
    outputs = model(batch)
    with torch.autocast("cpu", torch.bfloat16):
        in_autocast = model.loss(batch, outputs)
    assert torch.equal(in_autocast, model.loss(batch, outputs))


def test_a_connector_is_a_part_of_its_own():
    model = small_model(connector={"name": "relational"})
    trained = model.train_only(["connector"])
    assert [id(p) for p in trained] == [id(p) for p in model.connector.parameters()]


def gradients_and_shapes(model: MultitaskModel) -> tuple[list[torch.Tensor], list[tuple[int, int]]]:
    """Train on rows of 6, 4, 6 and 6 tokens; return gradients, and rows and tokens of each pass of the first layer."""
    shapes: list[tuple[int, int]] = []
    first = model.encoder.layer_modules()[0]
    with first.register_forward_pre_hook(lambda _, inputs: shapes.append(tuple(inputs[0].shape[:2]))):
        torch.manual_seed(1)
        batch = small_batch("sst")
        model.zero_grad()
        model.loss(batch, model(batch)).backward()
    return [p.grad for p in model.parameters() if p.grad is not None], shapes


@pytest.mark.parametrize("kind", ["bert", "roberta", "modernbert", "deberta-v2"])
def test_a_large_batch_is_trained_on_in_parts_for_the_same_gradients(monkeypatch: pytest.MonkeyPatch, kind: str):
    model = small_model(PALS | {"dropout": 0.0}, kind=kind, pooling="mean").eval()
    whole, shapes = gradients_and_shapes(model)
    assert shapes == [(4, 6)]
    monkeypatch.setattr(base, "TOKENS", 11)
    model.encoder.backbone.training = True  # its dropout is left out
    in_parts, shapes = gradients_and_shapes(model)
    assert sorted(shapes) == [(1, 4), (1, 4), *[(1, 6)] * 6]
    for gradient, of_parts in zip(whole, in_parts, strict=True):
        torch.testing.assert_close(of_parts, gradient)


def test_a_layer_of_a_large_batch_drops_the_same_values_when_it_is_computed_again(monkeypatch: pytest.MonkeyPatch):
    model = small_model(PALS | {"dropout": 0.5}).train()
    monkeypatch.setattr(base, "TOKENS", 11)
    again, shapes = gradients_and_shapes(model)
    monkeypatch.setattr(base, "checkpoint", lambda compute, *inputs, use_reentrant: compute(*inputs))
    kept, shapes_kept = gradients_and_shapes(model)
    assert (len(shapes), len(shapes_kept)) == (8, 4)
    assert all(torch.equal(gradient, computed) for gradient, computed in zip(kept, again, strict=True))


def test_parts_of_a_batch_have_few_tokens_or_one_row(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(base, "TOKENS", 8)
    parts = [(rows.start, rows.stop, longest) for rows, longest in base.parts_of_rows([2, 3, 2, 9, 1, 4])]
    assert parts == [(0, 2, 3), (2, 3, 2), (3, 4, 9), (4, 6, 4)]
