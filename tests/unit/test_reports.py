"""docs/reports.md as values: what every row of the five reports trains with under `profile: paper`."""

from pathlib import Path
from typing import Any

import pytest

from mtbert.config import planning, resolve
from mtbert.config.params import Params

PARAMS = Params(Path(__file__).parents[2] / "params.yaml").put(("profile",), "paper")
FIVE = ("my-pal-bert", "minbert-pals", "choose-pals", "slapbert", "pals-for-pals")
ROWS = [name for name in PARAMS.get("catalog") if PARAMS.get("catalog", name, "paper") in FIVE]
EVERYTHING = ["encoder", "features", "adapters", "connector", "heads"]


def row(name: str) -> dict[str, Any]:
    """A row's settings in its last phase, in few words; without what is as nobody changed it."""
    document, faults = resolve.variant(PARAMS, name)
    assert not faults
    model, phase = document["model"], document["phases"][-1]
    pals = model["adapter"] if model["adapter"]["name"] == "pals" else None
    places = {"connector": model["connector"], "features": model["features"], "gradients": phase["gradients"]}
    places |= {"weighting": phase["weighting"]}
    plain = {"connector": "direct", "features": "words", "gradients": "total", "weighting": "equal"}
    return {
        "optimiser": (phase["learning_rate"], phase["eps"], phase["weight_decay"], tuple(phase["betas"])),
        "clip": phase["clip"],
        "batch": phase["batch_size"],
        "epochs": phase["epochs"],
        "epoch": phase["steps_per_epoch"] or phase["share_of_examples"] or "all",
        "sampler": phase["sampler"]["name"],
        "schedule": phase["schedule"]["name"],
        "pairs": model["pair_encoding"],
        "tokens": model["max_tokens"],
        "types": model["token_types"],
        "batching": phase["batching"],
        "pooling": {*model["pooling"].values()},
        "heads": {(head["name"], head.get("dropout")) for head in model["heads"].values()},
        **({"pals": tuple(pals[key] for key in ("dim", "heads", "layers", "activation"))} if pals else {}),
        **{place: choice["name"] for place, choice in places.items() if choice["name"] != plain[place]},
        **({"objectives": names} if (names := [one["name"] for one in phase["objectives"]]) else {}),
        **({"trained": phase["trainable"]} if phase["trainable"] != EVERYTHING else {}),
        **({"frozen": phase["frozen"]} if phase["frozen"] else {}),
        **({"start": model["encoder"]} if model["encoder"] != "base" else {}),
        **({"phases": len(document["phases"])} if len(document["phases"]) > 1 else {}),
    }


LINEAR, MLP, SIGMOID = ("linear", 0.3), ("mlp", 0.3), ("sigmoid_cosine", None)
BETAS = (0.9, 0.999)

BASE = {
    "clip": None, "sampler": "annealed", "schedule": "constant", "pairs": "cross", "tokens": 128, "types": "zeros",
    "batching": "by_length", "pooling": {"pooler"}, "heads": {LINEAR}, "epochs": 10,
}  # fmt: skip
MY_PAL = BASE | {"optimiser": (2e-5, 1e-6, 0.01, BETAS), "batch": 64, "epochs": 3, "epoch": 1800}
MINBERT = BASE | {"optimiser": (1e-5, 1e-6, 0.01, BETAS), "batch": 40, "epoch": 0.5, "pairs": "bi"}
MINBERT |= {"heads": {LINEAR, SIGMOID}}
CHOOSE = BASE | {"optimiser": (1e-5, 1e-6, 0.0, BETAS), "batch": 16, "epoch": "all", "pairs": "bi"}
CHOOSE |= {"pooling": {"cls"}}
PART_1 = CHOOSE | {"batch": 8, "pairs": "cross", "tokens": 512}
SLAP = BASE | {"optimiser": (1e-5, 1e-7, 1e-4, BETAS), "batch": 8, "epoch": "all", "pairs": "bi"}
SLAP |= {"sampler": "sequential", "schedule": "reduce_on_plateau"}
PALS_FOR_PALS = BASE | {"optimiser": (2e-5, 1e-7, 0.0, BETAS), "batch": 16, "epoch": 6000}
PALS_FOR_PALS |= {"schedule": "slanted_triangular", "heads": {MLP}}

ONE, TWO = ("sst", "qqp", "sts"), ("sst-qqp", "sst-sts", "qqp-sts")
PALS = {"pals": (204, 12, "all", "gelu")}
PLAIN_PALS = {"pals": (204, 12, "all", "none")}
HALF = {"pals": (276, 12, "top_half", "none")}
SIMCSE = {"objectives": ["simcse_linear"]}
SMART = {"objectives": ["smart"]}
STLR = {"schedule": "slanted_triangular"}
SHARED = {"connector": "transformer_layer"}
TURNS = {"sampler": "round_robin"}
PROPORTIONAL = {"sampler": "proportional"}
ANNEALED = {"sampler": "annealed"}
INTERLEAVED = {"sampler": "interleaved"}
SURGERY = SHARED | INTERLEAVED | {"gradients": "pcgrad"}
HEADS_ALONE = {"trained": ["heads"]}
TEN_LAYERS = {"frozen": ["layer_1", "layer_2"]}
FAST = {"optimiser": (1e-3, 1e-6, 0.0, BETAS)}
HALF_DROPOUT = {"heads": {("linear", 0.5)}}

EXPECTED = {
    "mypal-baseline": MY_PAL | {"epoch": "all", "sampler": "sequential", "pairs": "bi"},
    "mypal-pals": MY_PAL | PALS | TURNS,
    "mypal-until-sst": MY_PAL | PALS | {"sampler": "round_robin_shortest"},
    "mypal-no-pals": MY_PAL | TURNS,
    "mypal-annealed": MY_PAL | PALS,
    **dict.fromkeys(("mypal-simcse", "mypal-more-data", "mypal-constant"), MY_PAL | PALS | SIMCSE),
    "mypal-warmup": MY_PAL | PALS | SIMCSE | STLR,
    "mypal-relational": MY_PAL | PALS | SIMCSE | STLR | {"connector": "relational"},
    **dict.fromkeys(("minbert-sst", "minbert-qqp"), MINBERT | {"heads": {LINEAR}}),
    "minbert-sts": MINBERT | {"heads": {SIGMOID}},
    "minbert-annealed": MINBERT,
    "minbert-round-robin": MINBERT | TURNS,
    "minbert-proportional": MINBERT | PROPORTIONAL,
    "minbert-pals-annealed": MINBERT | PALS,
    "minbert-pals-round-robin": MINBERT | PALS | TURNS,
    "minbert-pals-proportional": MINBERT | PALS | PROPORTIONAL,
    "minbert-pals-326": MINBERT | {"pals": (324, 12, "all", "gelu")},
    "minbert-mlm-before": MINBERT | TURNS | {"start": "mlm"},
    "minbert-mlm-after": MINBERT | TURNS
    | {"phases": 2, "objectives": ["masked_language_model"], "trained": ["encoder"], "epochs": 1},
    "minbert-pos": MINBERT | TURNS | {"features": "pos"},
    **dict.fromkeys(("choose-sst-finetune", "choose-cfimdb-finetune"), PART_1),
    **dict.fromkeys(("choose-sst-pretrain", "choose-cfimdb-pretrain"), PART_1 | HEADS_ALONE | FAST),
    **dict.fromkeys(("choose-zero", *(f"choose-zero-{tasks}" for tasks in (*ONE, *TWO))), CHOOSE),
    **dict.fromkeys(("choose-half", *(f"choose-half-{tasks}" for tasks in TWO)), CHOOSE | HALF),
    **dict.fromkeys(("choose-full", *(f"choose-full-{tasks}" for tasks in TWO)), CHOOSE | PLAIN_PALS),
    "slap-base-frozen": SLAP | HEADS_ALONE | {"optimiser": (1e-3, 1e-7, 1e-4, BETAS)},
    "slap-individual": SLAP | PALS | SHARED | {"phases": 3},
    "slap-individual-then-multi": SLAP | PALS | SHARED | ANNEALED | {"phases": 4},
    "slap-base": SLAP,
    "slap-base-dal": SLAP | {"weighting": "dynamic"},
    "slap-similarity-layer": SLAP | SHARED,
    "slap-share-surgery": SLAP | SURGERY,
    "slap-share-surgery-dal": SLAP | SURGERY | TEN_LAYERS | {"weighting": "dynamic"},
    "slap-share-surgery-frozen": SLAP | SURGERY | TEN_LAYERS,
    "slap-share-smart": SLAP | SHARED | INTERLEAVED | SMART | HALF_DROPOUT,
    "slap-share-dropout": SLAP | SHARED | INTERLEAVED | HALF_DROPOUT,
    "slap-smart-interleaved": SLAP | PALS | SHARED | INTERLEAVED | SMART | HALF_DROPOUT,
    "slap-base-smart": SLAP | ANNEALED | SMART,
    "slap-smart": SLAP | PALS | SHARED | ANNEALED | SMART,
    "slap-smart-cosine": SLAP | PALS | SHARED | ANNEALED | SMART | {"heads": {LINEAR, ("cosine", None)}},
    "slap-smart-mnr": SLAP | PALS | SHARED | ANNEALED | SMART | {"heads": {LINEAR, ("mnr", None)}},
    **dict.fromkeys((f"bert-{task}" for task in ONE), PALS_FOR_PALS),
    "frozen-bert": PALS_FOR_PALS | HEADS_ALONE | {"optimiser": (1e-3, 1e-7, 0.0, BETAS)},
    "pals": PALS_FOR_PALS | PALS,
    "frozen-pals": PALS_FOR_PALS | PALS | {"trained": ["adapters", "heads", "pooler", "output_norms"]},
    "sbert-pals": PALS_FOR_PALS | PALS
    | {"start": "sbert", "pairs": "bi", "pooling": {"cls", "mean"}, "heads": {MLP, ("squared_cosine", None)}},
    "smart-pals": PALS_FOR_PALS | PALS | SMART,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ROWS if name != "slap-rand"])
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
        ("slap-base", "reduce_on_plateau", {"watch": "dev", "factor": 0.1, "patience": 1}),
        ("slap-base-dal", "dynamic", {"learning_rate": 0.01}),
        ("slap-share-surgery", "pcgrad", {"reduction": "mean"}),
        ("slap-share-surgery", "transformer_layer", {"tasks": "all", "heads": 12, "dropout": 0.1}),
        ("slap-similarity-layer", "transformer_layer", {"tasks": ["sts"]}),
        ("slap-smart-mnr", "transformer_layer", {"apart": ["sts"]}),
        ("slap-smart", "smart", {"noise": 1e-5, "step_size": 1e-3, "radius": 1e-6, "steps": 1, "bregman": 0.0}),
        ("slap-smart", "smart", {"targets": "detached", "reduction": "mean", "weight": 1.0}),
        ("pals", "slanted_triangular", {"warmup": 0.1}),
        ("smart-pals", "smart", {"noise": 1e-5, "step_size": 1e-3, "radius": 1e-6, "steps": 1, "bregman": 0.02}),
        ("smart-pals", "smart", {"targets": "detached", "reduction": "sum", "weight": 0.02}),
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
    documents = planning.plan(PARAMS.put(("variants",), ["sbert-pals", "minbert-mlm-before"])).documents
    keys = ("max_pairs", "max_sentences", "batch_size", "epochs", "learning_rate", "warmup")
    found = {name: {key: documents[f"pretrain-{name}"].get(key) for key in keys} for name in ("sbert", "mlm")}
    assert found == {
        "sbert": dict(zip(keys, (None, None, 32, 1, 2e-5, 0.1), strict=True)),
        "mlm": dict(zip(keys, (None, None, 32, 1, 1e-5, 0.1), strict=True)),
    }
