"""What departs from the defaults: what it changes, how it is told, and what `-S` does to the file."""

import difflib
import re
from pathlib import Path
from typing import Any

import pytest
from dvc.utils.hydra import apply_overrides
from unit.config.conftest import PARAMS, edited

from mtbert.config import overrides, planning
from mtbert.config.params import Params
from mtbert.config.sections import SETTINGS
from mtbert.config.techniques import SECTIONS
from mtbert.errors import SettingsError

SELECTED: list[str] = PARAMS.get("variants")
TOP = [leaf for name in PARAMS.own if name in SECTIONS for leaf in overrides.leaves((name,), PARAMS.own[name])]
WEAKER = [*PARAMS.own["profiles"].values(), *PARAMS.get("presets").values()]


@pytest.mark.parametrize(("place", "value"), TOP, ids=lambda one: ".".join(one) if isinstance(one, tuple) else "")
def test_a_value_at_the_top_is_its_default_and_no_profile_or_preset_sets_it(place: tuple[str, ...], value: Any) -> None:
    assert value == overrides._default_of(place)
    assert not [values for values in WEAKER if overrides.at(values, place) is not None]


def test_every_key_of_a_section_is_in_the_file() -> None:
    of_variants = {place: section for place, section in SETTINGS.items() if place[0] not in ("encoder", "pretrain")}
    inside = {place: section.model_fields for place, section in of_variants.items()}
    assert [(place, key) for place, keys in inside.items() for key in keys if key not in PARAMS.own[place[0]]] == []


def told(*edits: tuple[str, Any]) -> dict[str, dict[str, Any]]:
    """The overrides of each variant that has any."""
    variants = planning.plan(edited(*edits))["catalog"]["variants"]
    return {name: entry["overrides"] for name, entry in variants.items() if entry["overrides"]}


def test_nothing_departs_in_the_file_as_it_came() -> None:
    assert told() == {}


@pytest.mark.parametrize(
    ("key", "value", "variants"),
    [
        ("encoder.width", 96, SELECTED),
        ("training.learning_rate", 1e-3, ["frozen-bert"]),  # as it was for all, but it replaces the rates by kind
    ],
)
def test_an_override_is_told_of_what_it_changes(key: str, value: Any, variants: list[str]) -> None:
    assert told((key, value)) == {name: {key: value} for name in variants}


def test_an_entry_that_nothing_selects_and_whose_name_is_nearly_that_of_another_is_told() -> None:
    new = (("catalog.palls.pals.dim", 60), ("catalog.wide.pals.dim", 60), ("catalog.pals.pals.dim", 60))
    assert [*overrides.near_names(edited(*new))] == [(("catalog", "palls"), "pals")]
    assert [*overrides.near_names(edited(*new, ("variants", ["palls"])))] == []
    others = edited(("profiles.sampel.training.epochs", 9), ("tuned.palls.training.learning_rate", 0.1))
    assert [*overrides.near_names(others)] == [(("tuned", "palls"), "pals"), (("profiles", "sampel"), "sample")]
    assert [*overrides.near_names(PARAMS)] == []


def test_the_catalog_tells_of_each_variant_what_changes_it() -> None:
    wider, own = {"pals.dim": 276}, {"catalog.smart-pals.smart.steps": 2}
    found = told(("pals.dim", 276), ("catalog.smart-pals.smart.steps", 2))
    assert found == {"pals": wider, "frozen-pals": wider, "sbert-pals": wider, "smart-pals": wider | own}


@pytest.mark.parametrize(
    "edits",
    [
        [("linear.dropout", 0.5)],
        [("model.heads.cfimdb", "linear")],
        [("pals.dim", 12), ("variants", ["pals"]), ("catalog.pals.pals.dim", 24)],
        [("training.batch_sizes.sts", 8), ("variants", ["bert-sst"])],
        [("annealed.divide.cfimdb", 2.0), ("training.sampler", "annealed")],
        [("fixed.weights.qqp", 2.0), ("training.weighting", "fixed"), ("variants", ["bert-sst", "bert-sts"])],
    ],
)
def test_a_value_set_for_all_that_changes_no_selected_variant_is_refused(edits: list[Any]) -> None:
    key, value = edits[0]
    with pytest.raises(SettingsError, match=f"{key}: {value!r} changes none of the selected variants; allowed: null"):
        planning.plan(edited(*edits))


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


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A copy of params.yaml, for DVC to write: what `-S` does to it."""
    (tmp_path / "papers").symlink_to(PARAMS.file.parent / "papers")
    (tmp_path / "params.yaml").write_text(PARAMS.file.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path / "params.yaml"


def changed_lines(file: Path, *settings: str) -> list[str]:
    """What `-S` changes in the file: each line taken out or put in, without its comment."""
    before = file.read_text(encoding="utf-8").splitlines()
    apply_overrides(file, [*settings])
    after = file.read_text(encoding="utf-8").splitlines()
    changed = [line for line in difflib.ndiff(before, after) if line.startswith(("-", "+"))]
    return [re.sub(r"\s+#.*", "", line) for line in changed]


@pytest.mark.parametrize(
    ("setting", "changes"),
    [
        ("profile=laptop", ["- profile: sample", "+ profile: laptop"]),
        ("data_dir=data/official", ["- data_dir: data/sample", "+ data_dir: data/official"]),
        ("seeds=[1,2,3]", ["+ - 2", "+ - 3"]),
        ("held_out=200", ["- held_out:", "+ held_out: 200"]),
        ("most_refused=0.1", ["- most_refused:", "+ most_refused: 0.1"]),
        ("run.threads=2", ["-   threads: 1", "+   threads: 2"]),
        ("pals.dim=276", ["-   dim: 204", "+   dim: 276"]),
        ("houlsby.size=8", ["- houlsby: {size: 64, per_task: false}", "+ houlsby: {size: 8, per_task: false}"]),
        ("training.learning_rate.heads=0.01", ["-     heads:", "+     heads: 0.01"]),
        ("lora.targets=[query,value,key]", ["+   - key"]),
        (
            "+catalog.pals.pals.dim=276",
            ["- catalog: {}", "+ catalog:", "+   pals:", "+     pals:", "+       dim: 276"],
        ),
    ],
)
def test_a_setting_changes_its_own_lines_of_the_file(file: Path, setting: str, changes: list[str]) -> None:
    assert changed_lines(file, setting) == changes


def test_all_settings_at_once_leave_every_comment_in_its_line(file: Path) -> None:
    comments = [line.partition("#")[2] for line in file.read_text(encoding="utf-8").splitlines()]
    apply_overrides(file, [f"{'.'.join(place)}=1" for place, value in TOP if not isinstance(value, list | dict)])
    assert [line.partition("#")[2] for line in file.read_text(encoding="utf-8").splitlines()] == comments


@pytest.mark.parametrize("place", LISTS, ids=".".join)
def test_an_emptied_list_leaves_the_file_readable(file: Path, place: tuple[str, ...]) -> None:
    """DVC's library for YAML spoils the lines after an emptied list whose key has a comment at its end."""
    for value in ("[a,b]", "[]"):
        apply_overrides(file, [f"{'.'.join(place)}={value}"])
    assert Params(file).own == PARAMS.put(place, []).own


def test_what_a_paper_sets_and_the_profile_sets_otherwise_is_listed_by_key():
    presets = {"small": {"training": {"epochs": 3, "clip": 1.0, "eps": 1e-8}}}
    variants = {"mine": {"tasks": ["sst"], "preset": "small"}}
    params = PARAMS.put(("presets",), presets).put(("catalog",), variants)
    assert overrides.of_profile(params, ["mine"]) == {"training.epochs": ["small"]}  # sample: 4 epochs, clip 1.0
