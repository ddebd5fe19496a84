"""What departs from the shipped params.yaml: what it changes, how it is told, and the overrides that lead to it."""

import copy
import difflib
import functools
from pathlib import Path
from typing import Any, get_args

import pytest
from dvc.utils.hydra import apply_overrides
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from mtbert import plan
from mtbert.errors import SettingsError
from mtbert.plan import resolve
from mtbert.plan.departures import SHIPPED, departures
from mtbert.plan.documents import shared
from mtbert.plan.layers import COLLECTIONS, KNOBS, SEARCH
from mtbert.plan.params import MISSING, Params
from mtbert.plan.techniques import NAMES, REGISTRIES, USABLE

PARAMS = Path(__file__).parents[2] / "params.yaml"
SHIPPED_PARAMS = Params(PARAMS)
SHOWN = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"], exclude_characters="\ufeff")
SELECTED = ["bert-sst", "bert-qqp", "bert-sts", "frozen-bert", "pals", "frozen-pals", "sbert-pals", "smart-pals"]


def leaves(node: Any, place: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(node, dict) or not node:
        return [place]
    return [leaf for key, value in node.items() for leaf in leaves(value, (*place, key))]


SECTIONS = {key: value for key, value in SHIPPED_PARAMS.values.items() if key not in (*KNOBS, *COLLECTIONS, SEARCH)}
LAYERS = [section for name in ("presets", "profiles") for section in SHIPPED_PARAMS.values[name].values()]
# Another valid value of every key of every section.
OTHER: dict[str, Any] = {
    "run.device": "cpu", "run.precision": "fp32", "run.threads": 3, "run.keep": "last", "run.selection": "whole",
    "run.evaluations": 2, "run.evaluation_rows": 7, "run.train_rows": 7, "run.log_every": 7,
    "run.overall_rows": 7, "run.scored_rows": "overall",
    "model.encoder": "mlm", "model.pair_encoding": "bi", "model.max_tokens": 64, "model.dropout": 0.2,
    "model.token_types": "by_sentence",
    "model.features": "pos", "model.adapter": "pals", "model.connector": "transformer_layer",
    "model.pooling.sst": "cls", "model.pooling.qqp": "cls", "model.pooling.sts": "cls",
    "model.pooling.cfimdb": "pooler",
    "model.heads.sst": "linear", "model.heads.qqp": "linear", "model.heads.sts": "linear",
    "model.heads.cfimdb": "mlp",
    "training.tasks": ["sst"], "training.sampler": "interleaved", "training.objectives": ["smart"],
    "training.weighting": "dynamic", "training.gradients": "pcgrad", "training.schedule": "reduce_on_plateau",
    "training.trainable": ["heads"], "training.supervised": False, "training.frozen": ["layer_1"],
    "training.batch_size": 24, "training.batch_sizes": {"sst": 8}, "training.epochs": 7, "training.steps_per_epoch": 7,
    "training.examples_per_task": 7, "training.share_of_examples": 0.25,
    "training.learning_rate": 0.002, "training.learning_rates.encoder": 0.002,
    "training.learning_rates.adapters": 0.002, "training.learning_rates.heads": 0.002,
    "training.learning_rates.encoder_constant": 0.002, "training.learning_rates.adapters_constant": 0.002,
    "training.learning_rates.heads_constant": 0.002,
    "training.betas": [0.8, 0.9], "training.eps": 1e-6, "training.weight_decay": 0.5,
    "training.rows": 7, "training.clip": 2.0, "training.batching": "shuffled",
    "linear.dropout": 0.25, "mlp.width": 64, "mlp.dropout": 0.25,
    "linear.output_bias": "middle", "mlp.output_bias": "middle",
    "pals.dim": 240, "pals.heads": 1, "pals.layers": [0], "pals.bias": False, "pals.activation": "none",
    "pals.dropout": 0.25, "low_rank.dim": 50,
    "lora.rank": 4, "lora.alpha": 4.0, "lora.dropout": 0.25, "lora.per_task": True, "lora.targets": ["key"],
    "dora.rank": 4, "dora.alpha": 4.0, "dora.dropout": 0.25, "dora.per_task": True, "dora.targets": ["key"],
    "ia3.per_task": True,
    "mtl_lora.rank": 4, "mtl_lora.alpha": 4.0, "mtl_lora.dropout": 0.25, "mtl_lora.ways": 2,
    "mtl_lora.temperature": 1.0, "mtl_lora.targets": ["key"],
    "mnr.scale": 10.0, "mnr.positive": 0.5, "relational.tasks": ["sts"],
    "transformer_layer.tasks": ["sts"], "transformer_layer.apart": ["sts"],
    "transformer_layer.heads": 6, "transformer_layer.dropout": 0.25,
    "proportional.divide": {"qqp": 2.0}, "square_root.divide": {"qqp": 2.0}, "annealed.divide": {"qqp": 2.0},
    "annealed.decrease": 0.5, "reduce_on_plateau.factor": 0.5, "reduce_on_plateau.patience": 2,
    "reduce_on_plateau.threshold": 0.01, "reduce_on_plateau.watch": "train",
    "fixed.weights": {"qqp": 2.0}, "uncertainty.learning_rate": 0.5, "dynamic_average.temperature": 1.0,
    "famo.learning_rate": 0.5, "famo.decay": 0.5, "cagrad.c": 0.5, "gradnorm.learning_rate": 0.5, "gradnorm.alpha": 1.0,
    "dynamic.learning_rate": 0.5, "pcgrad.reduction": "sum", "round_robin_shortest.until": "qqp",
    "pos.tagger": "nltk", "masked_language_model.weight": 0.5,
    "masked_language_model.share": 0.25, "simcse.weight": 0.5, "simcse.temperature": 0.1, "simcse.tasks": ["qqp"],
    "simcse.negatives": 8, "simcse_linear.negatives": 8,
    "simcse_linear.weight": 0.5, "simcse_linear.tasks": ["qqp"], "slanted_triangular.warmup": 0.2,
    "smart.weight": 0.5, "smart.bregman": 0.5, "smart.momentum": 0.5, "smart.noise": 0.001, "smart.step_size": 0.01,
    "smart.form": "projected", "smart.momentum_later": 0.5, "smart.early": 0.5, "smart.length": 0.5,
    "smart.radius": 0.001, "smart.steps": 2, "smart.norm": "l2", "smart.targets": "attached", "smart.reduction": "sum",
    "encoder.name": "minilm", "encoder.revision": "e" * 40, "encoder.directory": "somewhere",
    "encoder.weights": "fp16",
    "pretrain.sbert.max_pairs": 7, "pretrain.sbert.batch_size": 16, "pretrain.sbert.epochs": 7,
    "pretrain.sbert.learning_rate": 0.001, "pretrain.sbert.warmup": 0.2, "pretrain.sbert.clip": 0.5,
    "pretrain.mlm.max_sentences": 7, "pretrain.mlm.batch_size": 16, "pretrain.mlm.epochs": 7,
    "pretrain.mlm.learning_rate": 0.001, "pretrain.mlm.warmup": 0.2, "pretrain.mlm.clip": 0.5,
}  # fmt: skip
RATE = "  learning_rate: 0.001    # (preset, profile) at the schedule's peak, where none is stated by kind"


def another(section: str, option: str) -> Any:
    """Another valid value of an option where none is written above: a number, a switch, a choice or a list of one."""
    (registry,) = [registry for registry in REGISTRIES if section in registry]
    shipped, kind = SHIPPED_PARAMS.get(section, option), registry[section].settings.model_fields[option].annotation
    if isinstance(shipped, bool):
        return not shipped
    if isinstance(shipped, str):
        return next(one for one in get_args(kind) if one != shipped)
    if isinstance(shipped, list):
        return next([one] for one in get_args(get_args(kind)[0]) if [one] != shipped)
    return shipped + 1 if isinstance(shipped, int) else shipped / 2 or 0.25


WRITTEN = set(OTHER)
OTHER |= {
    key: another(*place) for place in leaves(SECTIONS) if place[0] in NAMES and (key := ".".join(place)) not in WRITTEN
}


def with_values(*edits: tuple[str, Any]) -> Params:
    params = SHIPPED_PARAMS
    for key, value in edits:
        params = params.put(tuple(key.split(".")), value)
    return params


IN_PROFILE = {name: with_values(("profile", name)) for name in ("sample", "laptop", "paper")}


def test_the_copy_of_params_yaml_in_the_package_is_up_to_date() -> None:
    assert SHIPPED.read_text() == PARAMS.read_text(), f"do: cp params.yaml {SHIPPED.relative_to(PARAMS.parent)}"


def test_nothing_departs_in_the_file_as_it_came() -> None:
    assert departures(SHIPPED_PARAMS) == []
    assert plan.plan(SHIPPED_PARAMS).notes == []


@pytest.mark.parametrize("place", leaves(SECTIONS), ids=".".join)
def test_a_key_that_a_preset_or_profile_sets_is_null_at_the_top(place: tuple[str, ...]) -> None:
    elsewhere = any(place in leaves(layer) for layer in LAYERS)
    assert not (elsewhere and SHIPPED_PARAMS.get(*place) is not None)


def test_there_is_another_value_for_every_key() -> None:
    assert [*OTHER] == sorted(map(".".join, leaves(SECTIONS)), key=[*OTHER].index)


@pytest.mark.parametrize("profile", IN_PROFILE)
@pytest.mark.parametrize("key", OTHER)
def test_every_value_set_in_a_section_takes_effect(key: str, profile: str) -> None:
    section = key.split(".")[0]
    before = IN_PROFILE[profile]
    if section in USABLE:  # the catalog may not use it
        several = any(
            getattr(registry[section].build, "several_tasks", False) for registry in REGISTRIES if section in registry
        )
        before = before.put(("catalog", "mine"), {"uses": ["interleaved", section] if several else [section]})
    if key == "encoder.directory":  # `tiny` is made, not read
        before = before.put(("encoder", "name"), "minilm")
    if key == "encoder.revision":  # of what the project does not pin
        before = before.put(("encoder",), before.get("encoder") | {"name": "some/bert", "revision": "d" * 40})
    value = "tiny" if key == "encoder.name" and profile == "laptop" else OTHER[key]
    if key == "pos.tagger" and profile != "sample":
        value = "shipped"
    after = before.put(tuple(key.split(".")), value)
    assert any(resolved(before, name) != resolved(after, name) for name in before.get("catalog"))


@functools.cache
def resolved(params: Params, name: str) -> Any:
    """A variant and what it starts from; None where it is not possible with these values."""
    document, faults = resolve.variant(params, name)
    return None if faults else (document, shared(params, {name: document}))


def test_a_learning_rate_changes_the_variants_that_have_another() -> None:
    before = plan.plan(SHIPPED_PARAMS).documents
    after = plan.plan(with_values(("training.learning_rate", 0.001))).documents
    assert [name for name in SELECTED if before[name] != after[name]] == [n for n in SELECTED if n != "frozen-bert"]
    assert after["catalog"]["overrides"] == ["training.learning_rate=0.001"]
    told = {name: entry["departures"] for name, entry in after["catalog"]["variants"].items() if entry["selected"]}
    assert told == {name: {"training.learning_rate": 0.001} for name in SELECTED} | {"frozen-bert": {}}


@pytest.mark.parametrize(
    ("edit", "note"),
    [
        (
            ("pals.dim", 276),
            "pals.dim = 276 (shipped: 204): changes pals, frozen-pals, sbert-pals, smart-pals; "
            "bert-sst, bert-qqp, bert-sts, frozen-bert do not use pals",
        ),
        (
            ("training.learning_rate", 0.001),
            "training.learning_rate = 0.001 (shipped: null): changes bert-sst, bert-qqp, bert-sts, pals, frozen-pals, "
            "sbert-pals, smart-pals; frozen-bert has it already",
        ),
        (
            ("training.learning_rates.adapters", 0.002),
            "training.learning_rates.adapters = 0.002 (shipped: null): changes frozen-pals; bert-sst, bert-qqp, "
            "bert-sts, pals, sbert-pals, smart-pals are trained as encoder; frozen-bert is trained as heads",
        ),
        (("model.encoder", "mlm"), "smart-pals; sbert-pals keeps catalog.sbert-pals.uses"),
        (("training.learning_rate", 0.0003), "changes frozen-bert; bert-sst, bert-qqp, bert-sts, pals, frozen-pals,"),
        (("pretrain.sbert.epochs", 2), "changes sbert-pals; bert-sst, bert-qqp, bert-sts, frozen-bert, pals, frozen-"),
        (("encoder.width", 96), "encoder.width = 96: changes bert-sst, bert-qqp, bert-sts, frozen-bert, pals, frozen-"),
        (("profiles.laptop.training.epochs", 9), "  changes no selected variant: profiles.laptop.training.epochs"),
        (("catalog.pals.pals", {"dim": 276}), "catalog.pals.pals = {'dim': 276}: changes pals"),
        (("catalog.slap-rand", MISSING), "  changes no selected variant: catalog.slap-rand"),
    ],
)  # fmt: skip
def test_what_departs_is_told_with_what_it_changes_and_who_keeps_theirs(edit: tuple[str, Any], note: str) -> None:
    notes = plan.plan(with_values(edit)).notes
    assert notes[0] == "what departs from the shipped params.yaml"
    assert note in notes[1]
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (("linear.dropout", 0.5), "linear.dropout: 0.5 changes none of the selected variants: bert-sst, "),
        (("pretrain.mlm.epochs", 2), "smart-pals do not start from mlm; allowed: the shipped value, null, or a"),
        (("model.heads.cfimdb", "mlp"), "smart-pals have no task cfimdb"),
        (("encoder.name", "tiny"), ""),
    ],
)  # fmt: skip
def test_a_value_that_changes_none_of_the_selected_variants_is_refused(edit: tuple[str, Any], message: str) -> None:
    if not message:  # all have it already
        plan.plan(with_values(edit))
        return
    with pytest.raises(SettingsError) as error:
        plan.plan(with_values(edit))
    assert message in str(error.value)


def test_a_value_that_does_not_fit_a_variant_that_nobody_selected_is_a_note() -> None:
    planned = plan.plan(with_values(("training.sampler", "round_robin")))
    assert planned.notes[-1].endswith("with these values: mypal-more-data, mypal-warmup, mypal-relational")


@pytest.mark.parametrize(
    ("edits", "overrides"),
    [
        ([("pals.dim", 276)], ["pals.dim=276"]),
        ([("training.objectives", ["smart"]), ("variants", ["pals"])], ["training.objectives=[smart]"]),
        ([("pals.layers", [0, 1])], ["pals.layers=[0,1]"]),
        ([("training.eps", 1e-6)], ["training.eps=1e-06"]),
        ([("encoder.width", 96)], ["+encoder.width=96"]),
        ([("run.log_every", None)], ["run.log_every=null"]),
        ([("catalog.slap-rand", MISSING)], ["~catalog.slap-rand"]),
        ([("catalog.slap-rand.row", "a 'row', ${x} \\")], [r"catalog.slap-rand.row='a \'row\', \${x} \\'"]),
        (
            [("catalog.mine", {"uses": ["pals"], "row": "", "pals": {"dim": 276, "bias": False}, "phases": [{}, {}]})],
            ["+catalog.mine={uses:[pals],row:'',pals:{dim:276,bias:false},phases:[{},{}]}"],
        ),
        ([("catalog.2nd-try", {"uses": ["pals"]})], ["+catalog={2nd-try:{uses:[pals]}}"]),
        ([("catalog.10", {"uses": ["pals"]})], ["+catalog.10={uses:[pals]}"]),
        ([("catalog.pals.training", {"learning_rate": 1e-5})], ["+catalog.pals.training={learning_rate:1e-05}"]),
        ([("training.batch_sizes.sst", 8)], ["+training.batch_sizes.sst=8"]),
        ([("data_dir", "."), ("seeds", [1, 2])], []),
    ],
)
def test_overrides_lead_from_the_shipped_file_to_the_same_plan(
    tmp_path: Path, edits: list[tuple[str, Any]], overrides: list[str]
) -> None:
    params = with_values(*edits)
    documents = plan.plan(params).documents
    assert documents["catalog"]["overrides"] == overrides
    again = overridden(tmp_path, overrides)
    for knob in KNOBS:
        again = again.put((knob,), params.get(knob))
    assert plan.plan(again).documents == documents


def overridden(tmp_path: Path, overrides: list[str]) -> Params:
    """The shipped file after `dvc exp run -S`, as DVC itself changes it."""
    file = tmp_path / "params.yaml"
    file.write_text(PARAMS.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "data/sample").mkdir(parents=True, exist_ok=True)
    if overrides:
        apply_overrides(file, overrides)
    return Params(file)


@settings(max_examples=20, deadline=None)
@given(st.text(SHOWN, max_size=12))
def test_any_text_comes_back_from_its_override(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    params = with_values(("catalog.slap-rand.row", text))
    [departure] = departures(params)
    assert overridden(tmp_path_factory.getbasetemp(), [departure.override]).get("catalog", "slap-rand", "row") == text


@pytest.mark.parametrize(
    ("override", "removed", "added"),
    [
        ("pals.dim=276", ["  dim: 204"], ["  dim: 276"]),
        ("training.learning_rate=0.001", 1, [RATE]),
        ("model.heads.sts=linear", ["    sts:"], ["    sts: linear"]),
        ("seeds=[1,2,3]", [], ["- 2", "- 3"]),
        ("variants=[bert-sst,bert-qqp,bert-sts,frozen-bert,pals,frozen-pals,sbert-pals]", ["- smart-pals"], []),
        ("run.threads=2", [], []),
    ],
)  # fmt: skip
def test_an_override_changes_no_line_but_its_own(
    tmp_path: Path, override: str, removed: list[str] | int, added: list[str]
) -> None:
    overridden(tmp_path, [override])
    lines = [*difflib.ndiff(PARAMS.read_text().splitlines(), (tmp_path / "params.yaml").read_text().splitlines())]
    gone = [line[2:] for line in lines if line.startswith("- ")]
    assert gone == removed or len(gone) == removed
    assert [line[2:] for line in lines if line.startswith("+ ")] == added


@pytest.mark.parametrize("place", [p for p in leaves(SHIPPED_PARAMS.values) if p[0] not in COLLECTIONS], ids=".".join)
def test_an_emptied_list_leaves_the_file_readable(tmp_path: Path, place: tuple[str, ...]) -> None:
    """DVC's library for YAML spoils the lines after an emptied list whose key has a comment at its end."""
    if not (isinstance(SHIPPED_PARAMS.get(*place), list) or place[-1] == "layers"):  # which takes a list as well
        return
    overridden(tmp_path, [f"{'.'.join(place)}=[a,b]"])
    apply_overrides(tmp_path / "params.yaml", [f"{'.'.join(place)}=[]"])
    expected = copy.deepcopy(SHIPPED_PARAMS).put(place, []).values
    assert YAML(typ="safe").load((tmp_path / "params.yaml").read_text()) == expected


def test_params_yaml_has_no_anchors() -> None:
    assert not [line for line in PARAMS.read_text().splitlines() if " &" in line or ": *" in line]
