"""What departs from the defaults: what it changes, how it is told, and what `-S` does to the file."""

from pathlib import Path
from typing import Any

import pytest
from dvc.utils.hydra import apply_overrides
from unit.config.conftest import PARAMS, edited

from mtbert.config import overrides, planning, resolve
from mtbert.config.params import SEARCH, SHARED, Params
from mtbert.config.sections import WRITTEN
from mtbert.config.techniques import SECTIONS, USABLE
from mtbert.errors import SettingsError

SELECTED: list[str] = PARAMS.get("variants")
TOP = [
    leaf
    for name in PARAMS.own
    if name in SECTIONS and name != SEARCH
    for leaf in overrides._leaves((name,), PARAMS.own[name])
]
LAYERS = [*PARAMS.own["profiles"].values(), *PARAMS.get("presets").values()]


@pytest.mark.parametrize(("place", "value"), TOP, ids=lambda one: ".".join(one) if isinstance(one, tuple) else "")
def test_a_value_at_the_top_is_its_default_and_no_profile_or_preset_sets_it(place: tuple[str, ...], value: Any) -> None:
    assert overrides.same(place, value, overrides.default_of(place))
    assert not [layer for layer in LAYERS if overrides.at(layer, place) is not None]


def test_every_key_of_a_section_is_in_the_file() -> None:
    inside = {place: kind for place, kind in WRITTEN.items() if place[0] not in SHARED}
    assert [
        (place, key) for place, kind in inside.items() for key in kind.model_fields if key not in PARAMS.own[place[0]]
    ] == []


def test_nothing_departs_in_the_file_as_it_came() -> None:
    assert planning.plan(PARAMS).notes == []


SPECIAL: dict[str, Any] = {  # another valid value, where halving or the next choice is none
    "pals.dim": 240, "pals.layers": [0], "transformer_layer.tasks": ["sts"], "transformer_layer.apart": ["sts"],
    "relational.tasks": ["sts"], "training.tasks": ["sst"], "training.trainable": ["heads"],
    "training.frozen": ["layer_1"], "training.objectives": ["smart"], "training.batch_sizes": {"sst": 8},
    "training.betas": [0.8, 0.9], "training.supervised": None, "training.gradients": "gradnorm",
    "training.weighting": "random", "training.sampler": "interleaved", "training.share_of_examples": 0.25,
    "model.max_tokens": 64, "model.dropout": 0.2, "model.features": "pos", "model.adapter": "pals",
    "model.encoder": "mlm", "linear.output_bias": "plain", "mlp.output_bias": "plain",
    "model.connector": "transformer_layer", "round_robin_shortest.until": "sts", "encoder.name": "minilm",
    "pos.tagger": "nltk", "encoder.revision": None, "slanted_triangular.warmup": 0.3,
    "mnr.positive": 0.5, "smart.norm": "l2", "masked_language_model.weight": 2.0, "encoder.weights": "fp16",
    "training.schedule": "constant", "reduce_on_plateau.watch": "train", "training.learning_rates": None,
}  # fmt: skip


def other(section: str, key: str) -> Any:
    """Another valid value of a key; None where the test leaves it out."""
    name = f"{section}.{key}"
    if name in SPECIAL:
        return SPECIAL[name]
    default = overrides.default_of((section, key))
    choices = [one for one in _literals(WRITTEN[section,].model_fields[key].annotation) if one != default]
    if isinstance(default, dict):
        return {"sst": {"model.heads": "linear", "model.pooling": "cls"}.get(name, 2.0)}
    if isinstance(default, list):
        return ["sst"] if key == "tasks" else ["key"]
    if isinstance(default, bool):
        return not default
    if choices and not isinstance(default, int | float):
        return choices[-1]
    return (default or 6) + 1 if isinstance(default, int | None) else default / 2 or 0.25


def _literals(annotation: Any) -> list[str]:
    inside = getattr(annotation, "__args__", ())
    return [annotation] if isinstance(annotation, str) else [text for one in inside for text in _literals(one)]


KEYS = [(section, key) for section in PARAMS.own if section in SECTIONS and section not in ("pretrain", SEARCH)
        for key in PARAMS.own[section] if other(section, key) is not None]  # fmt: skip


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_every_value_set_in_a_section_takes_effect(section: str, key: str) -> None:
    before = edited(("catalog.mine", {"uses": ["interleaved", section]} if section in USABLE else {}))
    if section in ("proportional", "square_root", "annealed", "round_robin_shortest"):
        before = before.put(("catalog", "mine", "uses"), [section])
    after = before.put((section, key), other(section, key))
    names = ["mine", "slap-base", "slap-smart-mnr", "pals", "rival-interleaved"]
    assert any(resolved(before, name) != resolved(after, name) for name in names)


def resolved(params: Params, name: str) -> Any:
    """A variant and what it starts from; None where it is not possible with these values."""
    document, faults = resolve.variant(params, name)
    return None if faults else (document, resolve.shared(params, {name: document}))


@pytest.mark.parametrize(
    ("key", "value", "note"),
    [
        (
            "pals.dim", 276, "pals.dim = 276 (without: 204): changes pals, frozen-pals, sbert-pals, smart-pals",
        ),
        (
            "training.learning_rate", 0.001, "training.learning_rate = 0.001 (without: 0.0005): changes bert-sst, "
            "bert-qqp, bert-sts, pals, frozen-pals, sbert-pals, smart-pals",
        ),
        ("encoder.width", 96, "encoder.width = 96 (without: 192): changes bert-sst, "),
        ("pretrain.sbert.epochs", 3, "pretrain.sbert.epochs = 3 (without: 2): changes sbert-pals"),
        ("catalog.pals.pals.dim", 276, "catalog.pals.pals.dim = 276: changes pals"),
    ],
)  # fmt: skip
def test_an_override_is_told_with_what_it_changes(key: str, value: Any, note: str) -> None:
    head, line = planning.plan(edited((key, value))).notes
    assert head == "what departs from the defaults"
    assert line.endswith(note) or (note.endswith(" ") and note in line)


def test_the_catalog_tells_of_each_variant_what_changes_it() -> None:
    found = planning.plan(edited(("pals.dim", 276), ("catalog.smart-pals.smart.steps", 2))).documents["catalog"]
    told = {name: entry["overrides"] for name, entry in found["variants"].items() if entry["overrides"]}
    wider = {"pals.dim": 276}
    assert told == {"pals": wider, "frozen-pals": wider, "sbert-pals": wider} | {
        "smart-pals": wider | {"catalog.smart-pals.smart.steps": 2}
    }


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        ([("linear.dropout", 0.5)], "linear.dropout: 0.5 changes none of the selected variants, bert-sst, bert-qqp, "),
        ([("model.heads.cfimdb", "linear")], "model.heads.cfimdb: linear changes none of the selected variants, "),
        (
            [("pals.dim", 12), ("variants", ["pals"]), ("catalog.pals.pals.dim", 24)],
            "changes none of the selected variants, pals, which have catalog.pals.pals.dim; ",
        ),
    ],
)  # fmt: skip
def test_a_value_set_for_all_that_changes_no_selected_variant_is_refused(edits: list[Any], told: str) -> None:
    with pytest.raises(SettingsError) as error:
        planning.plan(edited(*edits))
    assert told in str(error.value)


@pytest.mark.parametrize(
    "edit",
    [
        ("encoder.name", "tiny"),  # as the profile says
        ("training.epochs", 4),
        ("training.sampler", "round_robin"),  # which does not fit `mypal-more-data`, but nobody selected that
    ],
)
def test_what_changes_nothing_of_what_is_selected_may_be_no_fault(edit: tuple[str, Any]) -> None:
    planning.plan(edited(edit))


LISTS = [place for place, value in TOP if isinstance(value, list)] + [("seeds",), ("variants",), ("pals", "layers")]


@pytest.mark.parametrize("place", LISTS, ids=".".join)
def test_an_emptied_list_leaves_the_file_readable(tmp_path: Path, place: tuple[str, ...]) -> None:
    """DVC's library for YAML spoils the lines after an emptied list whose key has a comment at its end."""
    (tmp_path / "papers").symlink_to(PARAMS.file.parent / "papers")
    file = tmp_path / "params.yaml"
    file.write_text(PARAMS.file.read_text(encoding="utf-8"), encoding="utf-8")
    for value in ("[a,b]", "[]"):
        apply_overrides(file, [f"{'.'.join(place)}={value}"])
    assert Params(file).own == PARAMS.put(place, []).own
