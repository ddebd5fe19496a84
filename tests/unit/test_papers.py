"""docs/papers.md as values: every row of the papers' tables trains under `profile: paper` as its paper prints it.

`printed.yaml` beside this file is what the papers print, written down by reading them.
"""

from pathlib import Path
from typing import Any

import pytest

from mtbert import files
from mtbert.config import papers, planning, resolve
from mtbert.config.params import Params

PARAMS = Params(Path(__file__).parents[2] / "params.yaml").put(("profile",), "paper")
PRINTED = files.read_yaml(Path(__file__).with_name("printed.yaml"), aliases=True)
# Rows of which nothing is trained, or whose settings are another row's.
UNTRAINED = {"RandBERT", "PALs ensemble"}
SAME = {"Baseline", "BP1", "best model", "minBERT only", "minBERT with PALs"}
ROWS = [
    pytest.param(paper, label, id=f"{paper}: {label}") for paper, about in PRINTED.items() for label in about["rows"]
]


def variants(paper: str, label: str) -> list[str]:
    return [name for name, entry in papers.load()[paper].variants.items() if entry.get("row") == label]


def trained(name: str) -> dict[str, Any]:
    """What a row trains with in its last phase, by the names of printed.yaml."""
    document, faults = resolve.variant(PARAMS, name)
    assert not faults
    model, phase = document["model"], document["phases"][-1]
    adapter, sampler, schedule = model["adapter"], phase["sampler"], phase["schedule"]
    smart = next((one for one in phase["objectives"] if one["name"] == "smart"), {})
    heads = {head["name"] for head in model["heads"].values()}
    return {
        "learning rate": phase["learning_rate"], "betas": phase["betas"], "eps": phase["eps"],
        "weight decay": phase["weight_decay"], "batch": phase["batch_size"], "epochs": phase["epochs"],
        "length of an epoch": phase["epoch_length"],
        "sampler": sampler["name"], "annealed decrease": sampler.get("decrease"),
        "annealed divisors": sampler.get("divide"), "schedule": schedule["name"], "warmup": schedule.get("warmup"),
        "objectives": [one["name"] for one in phase["objectives"]], "weighting": phase["weighting"]["name"],
        "gradients": phase["gradients"]["name"], "trained": sorted(phase["trainable"]), "frozen": phase["frozen"],
        "corpora": phase["tasks"], "starting weights": model["encoder"], "adapter": adapter["name"],
        "width of PALs": adapter.get("dim"), "heads of PALs": adapter.get("heads"),
        "layers of PALs": adapter.get("layers"), "activation of PALs": adapter.get("activation"),
        "connector": model["connector"]["name"], "pairs": model["pair_encoding"],
        "longest sequence": model["max_tokens"], "pooling": the_only({*model["pooling"].values()}),
        **{f"pooling of {task.upper()}": how for task, how in model["pooling"].items()},
        "heads": the_only(heads), "head of SST": model["heads"].get("sst", {}).get("name"),
        "head of QQP": model["heads"].get("qqp", {}).get("name"),
        "head of STS": model["heads"].get("sts", {}).get("name"),
        "dropout of heads": the_only({head["dropout"] for head in model["heads"].values() if "dropout" in head}),
        "width of two-layer heads": the_only({head["width"] for head in model["heads"].values() if "width" in head}),
        "noise of SMART": smart.get("noise"), "step of SMART": smart.get("step_size"),
        "radius of SMART": smart.get("radius"), "steps of SMART": smart.get("steps"),
    }  # fmt: skip


def the_only(values: set[Any]) -> Any:
    """The value that all have; all of them where they differ."""
    return next(iter(values)) if len(values) == 1 else values


@pytest.mark.parametrize(("paper", "label"), ROWS)
def test_a_row_trains_as_its_paper_prints(paper: str, label: str) -> None:
    printed = PRINTED[paper]["all"] | PRINTED[paper]["rows"][label]
    names = variants(paper, label)
    assert names
    for name in names:
        found = trained(name)
        asked = {key: value for key, value in printed.items() if value is not None}
        if len(found["corpora"]) == 1:  # of one task there is nothing to sample, and no head of another
            asked = {key: asked[key] for key in asked if not key.startswith(("sampler", "annealed", "head of"))}
        if not found["dropout of heads"]:  # a cosine has none
            asked.pop("dropout of heads", None)
        assert {key: found[key] for key in asked} == asked


def test_every_row_of_the_papers_tables_is_held_against_its_paper() -> None:
    published = {
        (paper, label)
        for paper, about in papers.load().items()
        if paper in PRINTED
        for table in about.tables.values()
        for label in table
    }
    held = {(paper, label) for paper, about in PRINTED.items() for label in about["rows"]}
    assert {label for paper, label in published - held} == UNTRAINED | SAME
    assert held <= published


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
def test_a_technique_has_the_options_of_its_paper(name: str, of: str, options: dict[str, Any]) -> None:
    found = section(name, of)
    assert {key: found[key] for key in options} == options


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("rival-lora", 5e-4), ("rival-lora-per-task", 5e-4), ("rival-few-lora", 5e-4), ("rival-dora", 2e-4),
        ("rival-ia3", 3e-3), ("rival-mtl-lora", 3e-4), ("rival-houlsby", 3e-4), ("rival-houlsby-per-task", 3e-4),
        ("rival-few-houlsby", 3e-4), ("rival-pfeiffer", 1e-4), ("rival-bitfit", 1e-3), ("rival-few-bitfit", 1e-3),
        ("rival-full", 2e-5), ("rival-few-full", 2e-5),
    ],
)  # fmt: skip
def test_a_method_beside_a_frozen_encoder_has_the_rate_of_its_source(name: str, rate: float) -> None:
    """papers/rivals.yaml says where each stands; another profile's rate for adapters still holds."""
    assert trained(name)["learning rate"] == rate
    if "full" not in name:
        document, _ = resolve.variant(PARAMS.put(("profile",), "laptop"), name)
        assert document["phases"][-1]["learning_rate"] == 3e-3


def test_row_1_in_the_order_of_its_code_is_cut_by_nothing_but_its_1800_batches_of_quora() -> None:
    found = section("mypal-pals-as-coded", "sequential")
    assert (found["order"], found["most"]) == (["qqp", "sst", "sts"], {"qqp": 1800})
    assert trained("mypal-pals-as-coded")["length of an epoch"] == "all"


@pytest.mark.parametrize(
    "name", ["mypal-baseline", "mypal-no-pals", "mypal-pals", "mypal-annealed", "mypal-simcse", "mypal-more-data",
             "mypal-constant", "mypal-warmup", "mypal-relational"]
)  # fmt: skip
def test_a_row_with_the_batch_of_one_process_differs_in_that_alone(name: str) -> None:
    ours, other = (resolve.variant(PARAMS, each)[0] for each in (f"{name}-16", name))
    assert (ours["phases"][0]["batch_size"], other["phases"][0]["batch_size"]) == (16, 64)
    assert ours["phases"][0]["batch_sizes"] == ({"cfimdb_as_sst": 8} if other["phases"][0]["batch_sizes"] else {})
    for document in (ours, other):
        document["phases"][0] |= {"batch_size": 0, "batch_sizes": {}}
    assert (ours["model"], ours["phases"]) == (other["model"], other["phases"])


def test_noise_is_cut_at_epsilon_where_a_row_says_so() -> None:
    assert {name: section(name, "smart")["form"] for name in ("smart-pals", "smart-pals-projected")} == {
        "smart-pals": "normalised", "smart-pals-projected": "projected"
    }  # fmt: skip


def test_the_random_row_is_scored_untrained() -> None:
    document, _ = resolve.variant(PARAMS, "slap-rand")
    assert document["phases"] == []
    assert {head["name"] for head in document["model"]["heads"].values()} == {"chance"}


def test_individual_pre_training_trains_bert_for_similarity_alone() -> None:
    """SlapBERT, section 5.4."""
    document, _ = resolve.variant(PARAMS, "slap-individual")
    found = [(*phase["tasks"], "encoder" in phase["trainable"]) for phase in document["phases"]]
    assert found == [("sst", False), ("qqp", False), ("sts", True)]


def test_pretraining_is_as_the_paper_says() -> None:
    document = planning.plan(PARAMS.put(("variants",), ["sbert-pals"]))["pretrain"]
    found = {key: document[key] for key in ("max_pairs", "batch_size", "epochs", "learning_rate", "warmup", "eps")}
    assert found == {
        "max_pairs": None, "batch_size": 32, "epochs": 1, "learning_rate": 2e-5, "warmup": 0.1, "eps": 1e-7
    }  # fmt: skip
