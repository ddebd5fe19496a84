"""Thresholds of sets of labels: chosen on held-out training rows, kept with the weights, and on dev never."""

from dataclasses import replace
from pathlib import Path

import moods
import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from sklearn.metrics import average_precision_score, f1_score
from torch import Tensor

from mtbert import files
from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.inference import loading
from mtbert.machine.hardware import Hardware
from mtbert.merging import run
from mtbert.models.heads.base import Head
from mtbert.settings import NoOptions
from mtbert.tasks import COURSE
from mtbert.training import evaluation

MOODS = replace(COURSE["sst"], classes=2, names=("joy", "anger"), several=True, metric="micro_f1")
LOGITS = torch.tensor([[-1.0, 3.0], [-1.5, 3.0], [-4.0, 1.0], [-4.0, 3.0]])
CPU = torch.device("cpu")


class Stand(torch.nn.Module):
    """A model that says LOGITS of rows by the first token."""

    def __init__(self) -> None:
        super().__init__()
        self.of_moods = Head(NoOptions(), MOODS, width=4, embeddings=1)

    def head(self, task: str) -> Head:
        return self.of_moods

    def forward(self, batch) -> Tensor:
        return LOGITS[batch.input_ids[:, 1] - 5]


def examples(labels: list[float]) -> Examples:
    tokens = [[5 + number] for number in range(4)]
    table = pd.DataFrame({"id": list("abcd"), "label": labels, "tokens1": tokens})
    return Examples(table, MOODS, "cross", SpecialTokens(1, 2, 0), 8)


def test_without_held_out_rows_a_half_decides() -> None:
    table = evaluation.predict(Stand(), examples([1.0, 1.0, 0.0, 2.0]), CPU)  # type: ignore[arg-type]
    assert table["prediction"].tolist() == [2.0, 2.0, 2.0, 2.0]
    assert table["probability_1"].tolist() == pytest.approx([0.9526, 0.9526, 0.7311, 0.9526], abs=1e-4)


def test_held_out_rows_choose_the_thresholds_that_the_weights_keep() -> None:
    model = Stand()
    evaluation.predict(model, examples([1.0, 1.0, 0.0, 2.0]), CPU, fits_thresholds=True)  # type: ignore[arg-type]
    kept = model.state_dict()["of_moods.thresholds"]
    assert kept.tolist() == [kept[0]] * 2  # of so few rows, that of all labels together
    assert not torch.equal(kept, torch.tensor([0.5, 0.5]))
    other = Stand()
    other.load_state_dict(model.state_dict())
    dev = examples([0.0] * 4)
    assert np.array_equal(
        evaluation.predict(other, dev, CPU)["prediction"],  # type: ignore[arg-type]
        evaluation.predict(model, dev, CPU)["prediction"],  # type: ignore[arg-type]
    )
    assert torch.equal(other.state_dict()["of_moods.thresholds"], kept)  # dev has chosen nothing


def test_spared_rows_choose_the_thresholds_of_a_merge() -> None:
    model, on = Stand(), Hardware(CPU, "fp32", False)
    run._fit_thresholds(model, {"moods": examples([1.0, 1.0, 0.0, 2.0])}, on)  # type: ignore[arg-type]
    assert not torch.equal(model.state_dict()["of_moods.thresholds"], torch.tensor([0.5, 0.5]))


def test_the_loss_is_the_mean_binary_cross_entropy_over_labels_and_rows() -> None:
    head = Stand().of_moods
    outputs, labels = torch.tensor([[0.0, 2.0], [1.0, -1.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]])
    chosen = torch.where(labels == 1, outputs.sigmoid(), 1 - outputs.sigmoid())
    assert head.loss(outputs, labels).item() == pytest.approx(-chosen.log().mean().item())


def test_the_probabilities_of_no_and_yes_to_a_label_are_those_of_its_logit() -> None:
    probabilities = Stand().of_moods.log_probabilities(torch.tensor([[0.0, 2.0]])).exp()
    assert probabilities.tolist() == [[[0.5, 0.5], pytest.approx([0.1192, 0.8808], abs=1e-4)]]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small models: `spared` scores epochs on held-out training rows, `whole` on dev."""
    return moods.build(tmp_path_factory.mktemp("moods"), ["spared", "whole"])


def test_a_training_keeps_the_thresholds_of_held_out_training_rows_and_none_of_dev(build: Path) -> None:
    by_variant = {}
    for variant in ("spared", "whole"):
        weights = load_file(build / "runs" / variant / "1/model.safetensors")
        by_variant[variant] = weights["heads.moods.thresholds"].tolist()
    assert by_variant["whole"] == [0.5] * 4
    assert all(least != 0.5 for least in by_variant["spared"])


def test_a_runs_scores_are_scikit_learns_of_the_files_labels_and_of_what_it_predicts(build: Path) -> None:
    texts, gold = zip(*moods.made(40, seed=2), strict=True)
    answers = loading.load_any(build / "runs/spared/1", device="cpu").predict(texts)
    labels, predicted = (
        np.array([[mood in row for mood in moods.WORDS] for row in rows]) for rows in (gold, answers["prediction"])
    )
    probabilities = answers[[f"probability_{label}" for label in range(4)]]
    scores = files.read_json(build / "runs/spared/1/metrics.json")
    assert scores["dev"]["moods"] == pytest.approx(f1_score(labels, predicted, average="micro"))
    assert scores["beside"] == {
        "moods/macro_f1": pytest.approx(f1_score(labels, predicted, average="macro")),
        "moods/average_precision": pytest.approx(average_precision_score(labels, probabilities)),
    }
