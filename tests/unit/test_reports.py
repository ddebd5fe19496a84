"""docs/reports.md as values: what a row of each of the five reports trains with under `profile: paper`."""

from pathlib import Path
from typing import Any

import pytest

from mtbert.config import planning, resolve
from mtbert.config.params import Params

PARAMS = Params(Path(__file__).parents[2] / "params.yaml").put(("profile",), "paper")


def row(name: str) -> dict[str, Any]:
    """What a row trains with in its last phase."""
    document, _ = resolve.variant(PARAMS, name)
    model, phase = document["model"], document["phases"][-1]
    return {
        "optimiser": (phase["learning_rate"], phase["eps"], phase["weight_decay"]),
        "batch": phase["batch_size"],
        "epochs": phase["epochs"],
        "epoch": phase["steps_per_epoch"] or phase["share_of_examples"] or "all",
        "sampler": phase["sampler"]["name"],
        "schedule": phase["schedule"]["name"],
        "pairs": model["pair_encoding"],
        "tokens": model["max_tokens"],
        "pooling": {*model["pooling"].values()},
        "heads": {(head["name"], head.get("dropout")) for head in model["heads"].values()},
    }


LINEAR, MLP, SIGMOID = ("linear", 0.3), ("mlp", 0.3), ("sigmoid_cosine", None)
BASE = {
    "epochs": 10, "epoch": "all", "sampler": "annealed", "schedule": "constant", "pairs": "cross", "tokens": 128,
    "pooling": {"pooler"}, "heads": {LINEAR},
}  # fmt: skip
CHOOSE = BASE | {"optimiser": (1e-5, 1e-6, 0.0), "batch": 16, "pairs": "bi", "pooling": {"cls"}}
EXPECTED = {
    "mypal-annealed": BASE | {"optimiser": (2e-5, 1e-6, 0.01), "batch": 64, "epochs": 3, "epoch": 1800},
    "minbert-annealed": BASE
    | {"optimiser": (1e-5, 1e-6, 0.01), "batch": 40, "epoch": 0.5, "pairs": "bi", "heads": {LINEAR, SIGMOID}},
    "choose-full": CHOOSE,
    "choose-sst-finetune": CHOOSE | {"batch": 8, "pairs": "cross", "tokens": 512, "pooling": {"pooler"}},
    "slap-base": BASE
    | {"optimiser": (1e-5, 1e-7, 1e-4), "batch": 8, "pairs": "bi"}
    | {"sampler": "sequential", "schedule": "reduce_on_plateau"},
    "pals": BASE
    | {"optimiser": (2e-5, 1e-7, 0.0), "batch": 16, "epoch": 6000}
    | {"schedule": "slanted_triangular", "heads": {MLP}},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_row_trains_as_its_report_says(name: str) -> None:
    assert row(name) == EXPECTED[name]


def section(name: str, of: str) -> dict[str, Any]:
    """One of a row's techniques with its options."""
    document, _ = resolve.variant(PARAMS, name)
    phase = document["phases"][-1]
    places = [phase[key] for key in ("schedule", "sampler", "gradients", "weighting")]
    return next(one for one in (document["model"]["connector"], *places, *phase["objectives"]) if one["name"] == of)


@pytest.mark.parametrize(
    ("name", "of", "options"),
    [
        ("mypal-warmup", "slanted_triangular", {"warmup": 0.1}),
        ("mypal-more-data", "annealed", {"divide": {"snli_as_qqp": 10.0}, "decrease": 0.8}),
        ("slap-base", "reduce_on_plateau", {"factor": 0.1, "patience": 1}),
        ("slap-base-dal", "dynamic", {"learning_rate": 0.01}),
        ("slap-share-surgery", "pcgrad", {"reduction": "mean"}),
        ("slap-share-surgery", "transformer_layer", {"tasks": "all", "heads": 12, "dropout": 0.1}),
        ("slap-similarity-layer", "transformer_layer", {"tasks": ["sts"]}),
        ("slap-smart-mnr", "transformer_layer", {"apart": ["sts"]}),
        ("slap-smart", "smart", {"noise": 1e-5, "step_size": 1e-3, "radius": 1e-6, "steps": 1, "bregman": 0.0}),
        ("slap-smart", "smart", {"reduction": "mean", "weight": 1.0}),
        ("pals", "slanted_triangular", {"warmup": 0.1}),
        ("smart-pals", "smart", {"noise": 1e-5, "step_size": 1e-3, "radius": 1e-6, "steps": 1, "bregman": 0.02}),
        ("smart-pals", "smart", {"reduction": "sum", "weight": 0.02}),
        ("mypal-simcse", "simcse_linear", {"negatives": 16, "weight": 1.0}),
    ],
)
def test_a_technique_has_the_options_of_its_report(name: str, of: str, options: dict[str, Any]) -> None:
    found = section(name, of)
    assert {key: found[key] for key in options} == options


def test_the_random_row_is_scored_untrained() -> None:
    document, _ = resolve.variant(PARAMS, "slap-rand")
    assert document["phases"] == []
    assert {head["name"] for head in document["model"]["heads"].values()} == {"chance"}


def test_pretraining_is_as_the_report_says() -> None:
    document = planning.plan(PARAMS.put(("variants",), ["sbert-pals"]))["pretrain-sbert"]
    found = {key: document[key] for key in ("max_pairs", "batch_size", "epochs", "learning_rate", "warmup")}
    assert found == {"max_pairs": None, "batch_size": 32, "epochs": 1, "learning_rate": 2e-5, "warmup": 0.1}
