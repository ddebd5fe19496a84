"""What each head makes of embeddings and what its outputs mean, on cases worked out by hand; what it refuses."""

import math
from typing import Any

import pytest
import torch

from mtbert.errors import SettingsError
from mtbert.models.heads import HEADS
from mtbert.models.heads.base import Head
from mtbert.settings import NoOptions
from mtbert.tasks import COURSE

CLASSES, BINARY, SCORE = (Head(NoOptions(), COURSE[name], width=4, embeddings=1) for name in ("sst", "qqp", "sts"))
LN2, LN3 = math.log(2), math.log(3)


@pytest.mark.parametrize(
    ("head", "outputs", "labels", "loss"),
    [
        (CLASSES, [[LN2, 0, 0, 0, 0], [LN2, 0, 0, 0, 0]], [0.0, 3.0], (math.log(3) + math.log(6)) / 2),
        (BINARY, [[LN3], [LN3]], [1.0, 0.0], (math.log(4 / 3) + math.log(4)) / 2),
        (SCORE, [[1.0], [4.0]], [2.0, 2.0], 2.5),
    ],
    ids=["cross entropy", "binary cross entropy", "squared error"],
)
def test_a_loss_by_the_tasks_kind(head: Head, outputs: list, labels: list[float], loss: float):
    assert head.loss(torch.tensor(outputs), torch.tensor(labels)).item() == pytest.approx(loss)


@pytest.mark.parametrize(("task", "outputs"), [("qqp", [[0.0], [0.0]]), ("sst", [[0.0] * 5, [0.0] * 5])])
def test_a_balanced_loss_weighs_each_row_by_its_class(task: str, outputs: list):
    head = Head(NoOptions(), COURSE[task], width=4, embeddings=1)
    plain = head.loss(torch.tensor(outputs), torch.tensor([0.0, 1.0])).item()
    head.balance = torch.tensor([0.5, 2.0, 1.0, 1.0, 1.0])
    assert head.loss(torch.tensor(outputs), torch.tensor([0.0, 1.0])).item() == pytest.approx(1.25 * plain)
    assert not head.state_dict()


@pytest.mark.parametrize("head", [CLASSES, BINARY])
def test_log_probabilities_are_those_of_the_loss_however_large_the_outputs(head: Head):
    outputs = 200 * torch.arange(3.0 * head.outputs).reshape(3, head.outputs).sin()
    labels = torch.tensor([1.0, 0.0, 1.0])
    logs = head.log_probabilities(outputs)
    torch.testing.assert_close(logs.exp().sum(dim=1), torch.ones(3))
    torch.testing.assert_close(head.loss(outputs, labels), -logs[torch.arange(3), labels.long()].mean())


# --- learnt layers ----------------------------------------------------------------------------------------------------


def with_weights(choice: dict, width: int, embeddings: int, **weights: list) -> Head:
    made = HEADS.build(HEADS.choose(choice), COURSE["sts"], width, embeddings)
    for layer, values in weights.items():
        made.get_submodule(layer).weight.data = torch.tensor(values)
        made.get_submodule(layer).bias.data = torch.full((len(values),), 0.5)
    return made


def test_linear_reads_embeddings_side_by_side():
    head = with_weights({"name": "linear"}, 2, 2, linear=[[1.0, 2.0, 3.0, 4.0]])
    assert head.eval()(torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 2.0]])).tolist() == [[14.5]]


def test_mlp_has_gelu_between_two_layers():
    head = with_weights({"name": "mlp", "width": 2}, 1, 2, hidden=[[1.0, -0.25], [-1.0, -0.25]], output=[[1.0, 2.0]])
    # GELU(1) = 0.8413447 and GELU(-1) = -0.1586553: x times the normal distribution's share below x
    outputs = head.eval()(torch.tensor([[1.0]]), torch.tensor([[2.0]]))
    assert outputs.tolist() == [[pytest.approx(0.8413447 - 2 * 0.1586553 + 0.5, abs=1e-6)]]


@pytest.mark.parametrize(
    ("choice", "layers"),
    [({"name": "linear"}, ["linear"]), ({"name": "mlp", "width": 1}, ["hidden", "output"])],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_dropout_doubles_or_drops_a_half_before_the_first_layer_in_training_alone(choice: dict, layers: list[str]):
    head = with_weights(choice | {"dropout": 0.5}, 1, 1, **{layer: [[1.0]] for layer in layers})
    for layer in layers[:-1]:
        torch.nn.init.zeros_(head.get_submodule(layer).bias)
    twenties = torch.full((64, 1), 20.0)  # GELU(20) = 20
    torch.manual_seed(0)
    assert set(head.train()(twenties).flatten().tolist()) == {0.5, 40.5}
    assert set(head.eval()(twenties).flatten().tolist()) == {20.5}


@pytest.mark.parametrize(("name", "last"), [("linear", "linear"), ("mlp", "output")])
def test_a_score_starts_plain_or_in_the_middle_of_its_range(name: str, last: str):
    plain, middle = (
        HEADS.build(HEADS.choose({"name": name, "output_bias": bias}), COURSE["sts"], 4, 1)
        .get_submodule(last)
        .bias.item()
        for bias in ("plain", "middle")
    )
    assert abs(plain) <= 0.5  # as PyTorch draws it for four inputs or more
    assert middle == 2.5


# --- pairs of embeddings ----------------------------------------------------------------------------------------------

COSINES = (1.0, 0.5, 0.0, -1.0)
U = torch.tensor([[2.0, 0.0]] * 4)
V = torch.tensor([[3.0, 0.0], [1.0, 3**0.5], [0.0, 1.0], [-5.0, 0.0]])


def pair_head(name: str, task: str = "sts", embeddings: int = 2, **options: float) -> Head:
    return HEADS.build(HEADS.choose({"name": name, **options}), COURSE[task], 2, embeddings)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("squared_cosine", lambda cosine: 5 * cosine**2),
        ("sigmoid_cosine", lambda cosine: 5 / (1 + math.exp(-cosine))),
        ("cosine", lambda cosine: 5 * cosine),
        ("mnr", lambda cosine: 5 * (cosine + 1) / 2),
    ],
)
def test_a_score_by_the_cosine_in_full_precision(name: str, score):
    head, diagonal = pair_head(name), torch.tensor([[3.0, 3.0]])
    assert head.scores(head(U, V)).tolist() == pytest.approx([score(cosine) for cosine in COSINES], abs=1e-6)
    halves = head.scores(head(U[:1].bfloat16(), diagonal.bfloat16()))
    assert halves.tolist() == pytest.approx([score(0.5**0.5)], abs=1e-6)


def test_squared_cosine_as_a_probability_whose_certain_mistakes_cost_13_8():
    head = pair_head("squared_cosine", "qqp")
    outputs = head(U, V)
    assert head.log_probabilities(outputs).exp()[:, 1].tolist() == pytest.approx([1, 0.25, 0, 1], abs=2e-6)
    for row, wrong in ((0, 0.0), (2, 1.0)):
        assert head.loss(outputs[[row]], torch.tensor([wrong])).item() == pytest.approx(13.8, abs=0.05)


def test_the_cosine_is_trained_towards_a_fifth_of_the_label():
    head = pair_head("cosine")
    loss = head.loss(head(U, V), torch.tensor([5.0, 2.5, 2.5, 0.0]))
    assert loss.item() == pytest.approx((0 + 0 + 0.25 + 1) / 4)


def test_a_sentences_own_partner_is_ranked_against_every_second_sentence_of_the_batch():
    u, v = torch.randn(2, 4, 2, generator=torch.Generator().manual_seed(0))
    head = pair_head("mnr", scale=3.0)
    shares = (3.0 * torch.cosine_similarity(u[:, None], v[None], dim=-1)).softmax(dim=1)
    loss = head.loss(head(u, v), torch.tensor([4.0, 3.9, 5.0, 0.0]))
    assert loss.item() == pytest.approx(-shares.diagonal().log().mean().item(), rel=1e-5)


def test_ranked_scores_differ_on_a_scale_of_0_to_1():
    difference = pair_head("mnr").squared_error(torch.tensor([4.0, 2.0]), torch.tensor([3.0, 2.0]))
    assert difference.item() == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("name", "task", "embeddings"),
    [
        *((name, *kind) for name in ("sigmoid_cosine", "cosine", "mnr") for kind in (("qqp", 2), ("sts", 1))),
        *(("squared_cosine", *kind) for kind in (("snli", 2), ("sts", 1))),
    ],
)
def test_other_tasks_and_a_single_embedding_are_refused(name: str, task: str, embeddings: int):
    with pytest.raises(SettingsError, match=rf"model\.heads\.{task} is {name}, which .* a task of pairs of kind "):
        pair_head(name, task, embeddings)


@pytest.mark.parametrize(("task", "outputs"), [("sts", [[2.0], [0.0], [-2.0], [-6.0]]), ("snli", [[0.0] * 3] * 4)])
def test_matching_starts_at_the_cosine(task: str, outputs: list):
    assert torch.allclose(pair_head("matching", task).eval()(U, V), torch.tensor(outputs), atol=1e-6)


def test_matching_scores_the_cosine_on_the_range_of_scores_and_as_a_probability():
    score, binary = pair_head("matching", "sts").eval(), pair_head("matching", "qqp").eval()
    assert score.scores(score(U, V)).tolist() == pytest.approx([5.0, 2.5, 0.0, -5.0], abs=1e-6)
    assert binary.log_probabilities(binary(U, V)).exp()[1, 1].item() == pytest.approx(0.5)


def test_matching_adds_both_sentences_their_distance_and_their_product():
    head = pair_head("matching").eval()
    head.get_submodule("linear").weight.data = torch.tensor([[1.0, 10, 100, 1000, 1, 10, 100, 1000]])
    cosine, u, v, distance, product = 4.0, 1 * 2 + 10 * 0, 100 * 3 + 1000 * 0, 1 * 1 + 10 * 0, 100 * 6 + 1000 * 0
    assert head(U[:1], V[:1]).item() == pytest.approx(cosine + u + v + distance + product - 2)


# --- chance -----------------------------------------------------------------------------------------------------------


def by_chance(task: str) -> torch.Tensor:
    """4000 outputs, as in RandBERT's row of slapbert's table 1."""
    torch.manual_seed(0)
    return HEADS.build(HEADS.choose({"name": "chance"}), COURSE[task], 8, 1)(torch.ones(4000, 8))


def test_each_class_as_often_yes_to_every_pair_and_scores_all_over_the_range():
    counts = torch.bincount(by_chance("sst").argmax(dim=-1), minlength=5)
    assert counts.tolist() == pytest.approx([800] * 5, abs=80)
    assert by_chance("qqp").min() > 0  # so that accuracy is the share of duplicates
    scores = by_chance("sts")
    assert (scores.min().item(), scores.max().item()) == pytest.approx((0.0, 5.0), abs=0.01)
    assert scores.mean().item() == pytest.approx(2.5, abs=0.1)


def test_a_scaled_score_starts_in_the_middle_and_its_loss_is_in_quarters_of_the_range():
    head: Any = HEADS.build(HEADS.choose({"name": "linear", "output_bias": "scaled"}), COURSE["sts"], 4, 1)
    assert head.scores(torch.tensor([[0.0], [2.0]])).tolist() == [2.5, 5.0]  # of 0 to 5
    assert head.loss(torch.tensor([[0.0]]), torch.tensor([5.0])).item() == pytest.approx(4.0)
