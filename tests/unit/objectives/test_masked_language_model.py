"""Hidden words, to be told from the rest: against Hugging Face's own model."""

from dataclasses import replace

import pytest
import torch
from models import small_batch, small_bert, small_hugging_face_bert, small_model
from transformers import BertForMaskedLM

from mtbert.data.batches import Batch
from mtbert.errors import SettingsError
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.objectives.masked_language_model import MaskedLanguageModel, Settings, first_sentences
from mtbert.models.encoder.config import MLM_PARTS

MASK = 3


def objective(**options: float) -> MaskedLanguageModel:
    model = small_model().eval()
    model.encoder.mask_token = MASK
    return MaskedLanguageModel(Settings(**options), model, torch.Generator().manual_seed(0))


def wide(tokens: int = 400) -> Batch:
    ids = torch.randint(5, 50, (50, tokens), generator=torch.Generator().manual_seed(1))
    ones = torch.ones_like(ids)
    return Batch("sst", ("a",) * 50, ids, ones, 0 * ones, torch.zeros(50), 1)


def test_the_loss_is_hugging_faces_on_the_same_hidden_tokens():
    built = objective()
    theirs = BertForMaskedLM(small_hugging_face_bert().config).eval()
    theirs.bert.load_state_dict(small_bert().state_dict(), strict=False)
    theirs.tie_weights()
    theirs.cls.predictions.transform.dense.load_state_dict(built.dense.state_dict())
    theirs.cls.predictions.transform.LayerNorm.load_state_dict(built.norm.state_dict())
    theirs.cls.predictions.bias.data.copy_(built.bias)
    batch = small_batch("sst", rows=8)
    chosen = torch.zeros_like(batch.mask, dtype=torch.bool)
    chosen[:, 2] = True
    hidden = batch.input_ids.masked_fill(chosen, MASK)
    built.choose, built.hide = lambda mask: chosen, lambda ids, chosen: hidden
    labels = batch.input_ids.masked_fill(~chosen, -100)
    expected = theirs(hidden, attention_mask=batch.mask, labels=labels).loss
    assert built.term(batch, torch.zeros(1)).item() == pytest.approx(expected.item(), rel=1e-5)


def test_it_starts_with_the_head_of_the_encoders_checkpoint():
    model = small_model()
    model.encoder.mask_token = MASK
    shapes = ((24, 24), (24,), (24,), (24,), (50,))
    head = {
        name: torch.full(shape, n) for name, shape, n in zip(MLM_PARTS, shapes, (1.0, 2.0, 3.0, 4.0, 5.0), strict=True)
    }
    model.encoder.backbone.mlm_head = head
    built = MaskedLanguageModel(Settings(), model, torch.Generator().manual_seed(0))
    assert [parameter.unique().tolist() for parameter in built.own] == [[1], [2], [3], [4], [5]]
    assert all(parameter.requires_grad for parameter in built.own)
    built.own[0].data.zero_()
    assert head[MLM_PARTS[0]].min() == 1  # another phase starts from it again


def test_fifteen_in_a_hundred_tokens_are_chosen_but_never_marks_and_padding():
    chosen = objective().choose(wide().mask)
    assert chosen[:, 1:-1].float().mean().item() == pytest.approx(0.15, abs=0.01)  # four standard deviations
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    assert objective(share=1.0).choose(mask).tolist() == [[False, True, True, False, False, False]]


def test_of_what_is_chosen_eight_tenths_are_masked_and_one_tenth_is_random():
    ids = wide().input_ids
    assert torch.equal(objective().hide(ids, torch.zeros_like(ids, dtype=torch.bool)), ids)
    hidden = objective().hide(ids, torch.ones_like(ids, dtype=torch.bool))
    assert (hidden == MASK).float().mean().item() == pytest.approx(0.8 + 0.1 / 50, abs=0.012)
    assert (hidden == ids).float().mean().item() == pytest.approx(0.1 + 0.1 / 50, abs=0.009)


def test_only_the_first_sentence_is_read():
    crossed = replace(small_batch("qqp", rows=2), mask=torch.ones(2, 6, dtype=torch.long),
                      token_types=torch.tensor([[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1]]))  # fmt: skip
    assert first_sentences(crossed)[1].tolist() == [[1, 1, 1, 1, 0, 0], [1, 1, 0, 0, 0, 0]]
    apart = small_batch("qqp", rows=3, sequences=2)
    assert torch.equal(first_sentences(apart)[0], apart.input_ids[:3])


def test_the_words_belong_to_the_encoder_alone():
    built = objective()
    words = built.model.encoder.backbone.embeddings.word_embeddings.weight
    assert not any(parameter is words for parameter in built.own)
    built.term(small_batch("sst", rows=40), torch.zeros(1)).backward()
    assert words.grad is not None
    assert all(parameter.grad is not None for parameter in built.own)


def test_a_tokenizer_without_a_mask_is_refused():
    with pytest.raises(SettingsError, match=r"needs a \[MASK\] token"):
        OBJECTIVES.build(OBJECTIVES.choose({"name": "masked_language_model"}), small_model(), torch.Generator())
