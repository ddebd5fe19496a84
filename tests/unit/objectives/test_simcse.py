"""The same sentence under two dropout masks, in both forms."""

import math

import pytest
import torch
from models import small_batch, small_model

from mtbert.errors import SettingsError
from mtbert.learning.objectives import OBJECTIVES
from mtbert.learning.objectives.base import Objective


def objective(name: str, **options: object) -> Objective:
    model = small_model().train()
    return OBJECTIVES.build(OBJECTIVES.choose({"name": name, **options}), model, torch.Generator().manual_seed(0))


def term(built: Objective, task: str) -> torch.Tensor:
    batch = small_batch(task)
    return built.term(batch, built.model(batch))


def test_similarity_behind_the_linear_layer():
    built = objective("simcse_linear")
    first, second = torch.randn(2, 3, 24, generator=torch.Generator().manual_seed(1))
    found = built.similarities(first, second)
    one = (built.weight @ first[0]) @ (built.weight @ second[2]) / math.sqrt(24)
    assert found[0, 2].item() == pytest.approx(one.item(), rel=1e-4)


def test_the_term_is_the_cross_entropy_towards_oneself():
    built = objective("simcse")
    torch.manual_seed(3)
    found = term(built, "sts").item()
    torch.manual_seed(3)
    batch = small_batch("sts")
    built.model(batch)
    (first,), (second,) = built.model.embeddings(batch), built.model.embeddings(batch)
    shares = (torch.cosine_similarity(first[:, None], second[None], dim=-1) / 0.05).softmax(dim=1)
    assert found == pytest.approx(-shares.diagonal().log().mean().item(), rel=1e-4)


def embeddings(*rows: list[list[float]]):
    """A model's, of each sentence of an example, the same in every pass."""
    return lambda batch: tuple(torch.tensor(of_sentence) for of_sentence in rows)


def with_negatives(negatives: int | str, rows: int, *of_sentences: list[list[float]]) -> float:
    built = objective("simcse", temperature=1.0, negatives=negatives)
    built.model.embeddings = embeddings(*of_sentences)
    return built.term(small_batch("sts", rows=rows, sequences=len(of_sentences)), torch.zeros(1)).item()


EAST, NORTH = [1.0, 0.0], [0.0, 1.0]  # cosine 0
BESIDE = math.log(1 + math.exp(-1))  # -log e / (e + 1): one negative, across


def test_negatives_are_within_groups_of_every_second_example():
    # four examples in groups of two: 0 and 2, 1 and 3, which point across; alike ones, 0 and 1, never meet
    assert with_negatives(2, 4, [EAST, EAST, NORTH, NORTH]) == pytest.approx(BESIDE, abs=1e-6)
    of_four = math.log(2 + 2 * math.exp(-1))  # -log e / (2 e + 2)
    assert with_negatives("batch", 4, [EAST, EAST, NORTH, NORTH]) == pytest.approx(of_four, abs=1e-6)


def test_both_sentences_of_an_example_are_in_its_group():
    assert with_negatives(2, 3, [EAST, EAST, EAST], [NORTH, NORTH, NORTH]) == pytest.approx(
        (4 * math.log(2 + 2 * math.exp(-1)) + 2 * BESIDE) / 6, abs=1e-6
    )


def test_a_group_of_one_is_no_group():
    with pytest.raises(SettingsError, match=r"simcse.*negatives.*greater than or equal to 2"):
        objective("simcse", negatives=1)


@pytest.mark.parametrize("name", ["simcse", "simcse_linear"])
def test_embeddings_are_compared_in_fp32_where_the_encoder_computes_in_bf16(name: str):
    built = objective(name)
    rows = torch.randn(8, 24, generator=torch.Generator().manual_seed(1)).tolist()
    built.model.embeddings = embeddings(rows)
    batch = small_batch("sts", rows=8)
    with torch.autocast("cpu", torch.bfloat16):
        in_autocast = built.term(batch, torch.zeros(1))
    assert torch.equal(in_autocast, built.term(batch, torch.zeros(1)))


@pytest.mark.parametrize("name", ["simcse", "simcse_linear"])
def test_batches_of_other_tasks_are_left_alone_and_the_weight_counts(name: str):
    assert term(objective(name), "sst").item() == 0.0
    torch.manual_seed(5)
    once = term(objective(name, tasks=["sst"]), "sst").item()
    torch.manual_seed(5)
    assert term(objective(name, tasks=["sst"], weight=2.0), "sst").item() == pytest.approx(2 * once)
    assert once > 0.0
