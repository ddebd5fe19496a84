"""What params.yaml may not hold: names that lead elsewhere, YAML that is more than values, values of another kind."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mtbert import files, plan
from mtbert.errors import SettingsError

TEXT = (Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8")
VALUES = {**yaml.safe_load(TEXT), "data_dir": "."}  # the folder of params.yaml, which is there
SMALL = {**VALUES, "catalog": {"sbert-pals": VALUES["catalog"]["sbert-pals"]}, "variants": ["sbert-pals"]} | {
    "ensembles": {"vote": {"paper": "pals-for-pals", "row": "Vote", "members": ["sbert-pals"]}}
}


def told(file: Path, text: str | bytes) -> str:
    """Why a params.yaml with that text is refused, in less than a second."""
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    started = time.process_time()
    with pytest.raises(SettingsError) as error:
        plan.plan(plan.Params(file))
    assert time.process_time() - started < 1
    return str(error.value)


def replaced(values: Any, place: tuple[str | int, ...], value: object) -> Any:
    """A copy with another value at that place."""
    if not place:
        return value
    copy = dict(values) if isinstance(values, dict) else list(values)
    copy[place[0]] = replaced(copy[place[0]], place[1:], value)
    return copy


def with_names(name: str) -> dict[str, dict[str, Any]]:
    """By where it stands, settings with that name; nothing else is wrong with them."""
    entry = SMALL["catalog"]["sbert-pals"]
    return {
        "catalog": SMALL | {"catalog": {name: entry}, "variants": [name], "ensembles": {}},
        "variants": SMALL | {"variants": ["sbert-pals", name]},
        "ensembles": SMALL | {"ensembles": {name: SMALL["ensembles"]["vote"]}},
        "members": replaced(SMALL, ("ensembles", "vote", "members"), ["sbert-pals", name]),
        "profiles": SMALL | {"profiles": {name: {}}, "profile": name},
        "profile": SMALL | {"profile": name},
        "presets": SMALL | {"presets": {**VALUES["presets"], name: {}}},
        "paper": replaced(SMALL, ("catalog", "sbert-pals"), {**entry, "paper": name, "preset": "pals-for-pals"}),
        "voted paper": replaced(SMALL, ("ensembles", "vote", "paper"), name),
        "encoder": replaced(SMALL, ("model", "encoder"), name)
        | {"catalog": {"sbert-pals": {"paper": "pals-for-pals"}}},
        "task": replaced(SMALL, ("catalog", "sbert-pals"), {**entry, "tasks": [name]}),
    }


PLACES = {
    "catalog": "catalog.", "variants": "variants.1: ", "ensembles": "ensembles.",
    "members": "ensembles.vote.members.1: ", "profiles": "profile: ", "profile": "profile: ",
    "presets": "presets.", "paper": "catalog.sbert-pals.paper: ", "voted paper": "ensembles.vote.paper: ",
    "encoder": "model.encoder: ", "task": "catalog.sbert-pals.tasks",
}  # fmt: skip
LEAVING = ["../x", "a/b", "/etc/x", "", ".", "..", "a\\b", "a\0b", "a\nb", "x" * 61, "~", "a b", "é", "-a", "\u202ea"]


@pytest.mark.parametrize(
    ("name", "place"), [*((name, "catalog") for name in LEAVING), *(("../x", place) for place in PLACES)]
)
def test_a_name_that_may_become_a_folder_is_refused_where_it_stands(tmp_path: Path, name: str, place: str) -> None:
    text = yaml.safe_dump(with_names(name)[place])
    assert PLACES[place] in told(tmp_path / "params.yaml", text)


@pytest.mark.parametrize(
    "place", [place for place in PLACES if "paper" not in place and place not in ("encoder", "task")]
)
def test_an_ordinary_name_is_taken_in_those_places(tmp_path: Path, place: str) -> None:
    named = with_names("sbert-pals" if place in ("variants", "members") else "a-2")[place]
    if place in ("variants", "members", "profile"):
        named = SMALL
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(named))
    assert "catalog" in plan.plan(plan.Params(tmp_path / "params.yaml")).documents


@pytest.mark.parametrize("name", ["catalog", "encoder", "needs", "pretrain-sbert", "pretrain-mlm"])
def test_a_variant_cannot_take_the_place_of_another_file_of_the_plan(tmp_path: Path, name: str) -> None:
    text = yaml.safe_dump(with_names(name)["catalog"])
    assert f"catalog.{name}: a file of the plan has that name" in told(tmp_path / "params.yaml", text)


LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{key}: &{key} [{', '.join([f'*{before}'] * 9)}]\n" for before, key in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGED = "a: &a {k: 1}\n" + "".join(
    f"{key}: &{key} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n"
    for before, key in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pals: {dim: 1, heads: 2, dim: 3}", 'found duplicate key "dim"'),
        ("catalog:\n  a:\n    phases:\n    - pals:\n        x: {y: 1, y: 2}\n", 'found duplicate key "y"'),
        (LAUGHS, ":5: more than 10,000 values with those of aliases"),
        (MERGED, ":5: more than 10,000 values with those of aliases"),
        ("a: &a [*a]", ":1: *a is inside the value that it stands for"),
        ("a: &a\n  b:\n    c: *a\n", ":3: *a is inside the value that it stands for"),
        ("a: &a 1\nb: &a 2\n", ":2: anchor &a is set twice"),
        ("a: *b\n", "found undefined alias"),
        ("a: !!python/object/apply:os.system ['exit']", ":1: tag tag:yaml.org,2002:python/object/apply:os.system;"),
        ("a: 1\nb: !!python/name:os.system", ":2: tag tag:yaml.org,2002:python/name:os.system;"),
        ("a: !!set {b, c}", ":1: tag tag:yaml.org,2002:set;"),
        ("a: !mine b", ":1: tag !mine; allowed: values without tags"),
        ("[" * 10_000, ":1: more than 30 levels"),
        ("{a: " * 10_000, ":1: more than 30 levels"),
        ("- " * 10_000, ":1: more than 30 levels"),
        ("? " * 10_000, ":1: more than 30 levels"),
        ("".join(f"{' ' * level}a:\n" for level in range(400)), ":31: more than 30 levels"),
        ("a:\n" + "- 1\n" * 20_000, ":9999: more than 10,000 values"),
        ("#" * 2**17 + "\n", "has more than 131,072 bytes"),
        ("seeds: [" + "9" * 5000 + "]", "is not readable YAML: Exceeds the limit"),
        ("seeds: [0x" + "f" * 5000 + "]", "seeds.0: a whole number beyond 2,147,483,647"),
        ("seeds: [2147483648]", "seeds.0: a whole number beyond 2,147,483,647"),
        ("pals: {dim: -2147483648}", "pals.dim: a whole number beyond 2,147,483,647"),
        ("training:\n  learning_rate: .nan", ":2: training.learning_rate: nan is not a finite number"),
        ("training: {clip: .inf}", "training.clip: inf is not a finite number"),
        ("training: {clip: -.inf}", "training.clip: -inf is not a finite number"),
        ("training: {clip: 1e999}", "training.clip: inf is not a finite number"),
        ("launch: 2001-01-01", "launch: 2001-01-01 is a date; put it in quotation marks"),
        ("launch: 2001-01-01T01:00:00Z", "is a date; put it in quotation marks"),
        ("1: 2", "key 1; allowed: text"),
        ("? [a, b]\n: 1", "key ('a', 'b'); allowed: text"),
        ("a: {null: 1}", "a: key None; allowed: text"),
        ('launch: "a\\0b"', "launch: it holds '\\x00', which is not a text character"),
        ('launch: "a\\ud800b"', "launch: it holds '\\ud800', which is not a text character"),
        ('"a\\eb": 1', "a\\x1bb': it holds '\\x1b', which is not a text character"),
        (b"\x00\x01", "is not readable YAML"),
        (b"\xff\xfea\x00", "is not readable YAML: 'utf-8' codec can't decode"),
        (b"\x80\x04\x95.", "is not readable YAML: 'utf-8' codec can't decode"),
        ("a: 1\n---\nb: 2\n", "is not readable YAML"),
        ("", "has to hold sections, but holds NoneType"),
    ],
)  # fmt: skip
def test_yaml_that_is_more_than_values_is_refused_in_a_second(tmp_path: Path, text: str | bytes, expected: str) -> None:
    message = told(tmp_path / "params.yaml", text)
    assert expected in message
    assert len(message) < 1000


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"is not readable YAML: .*directory"):
        plan.Params(tmp_path)


def test_aliases_and_merges_of_ordinary_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("a: &a {x: &on true, y: [1, 2]}\nb: {<<: *a, x: *on}\nc: [*a, *a]\n")
    a = {"x": True, "y": [1, 2]}
    values = plan.Params(tmp_path / "params.yaml").values
    assert values == {"a": a, "b": a, "c": [a, a]}
    assert values["a"]["x"] is True  # and not 1, which equals it


@pytest.mark.parametrize(
    ("place", "value", "expected"),
    [
        (("pals",), 5, "pals: a section is a mapping, came 5"),
        (("presets", "pals-for-pals"), [], "presets.pals-for-pals: Input should be"),
        (("profiles", "sample", "pals"), "x", "profiles.sample.pals: a section is a mapping, came 'x'"),
        (("pretrain", "sbert"), 5, "pretrain.sbert: a section is a mapping, came 5"),
        (
            ("pretrain",),
            {"sbret": {}},
            "pretrain.sbret: unknown pretraining 'sbret'; did you mean sbert? known",
        ),
        (("catalog",), [], "catalog: Input should be a valid dictionary, came []"),
        (("catalog",), {}, "variants.0: unknown variant 'sbert-pals'"),
        (("model", "heads"), ["linear"], "model.heads: Input should be a valid dictionary, came ['linear']"),
        (("training", "objectives"), "smart", "training.objectives: Input should be a valid list, came 'smart'"),
        (("data_dir",), "", "data_dir: String should have at least 1 character, came ''"),
        (("launch",), None, "launch: Input should be a valid string, came None"),
        (("ensembles", "vote"), {"row": "x"}, "ensembles.vote.members: Field required"),
        (("ensembles", "vote", "members"), [], "ensembles.vote.members: List should have at least 1 item"),
        (("mlp", "width"), 2**31 - 1, ""),  # as large as it gets: resolved without the memory for it
    ],
)
def test_a_value_of_another_kind_is_told_where_it_stands(
    tmp_path: Path, place: tuple[str, ...], value: object, expected: str
) -> None:
    text = yaml.safe_dump(replaced(SMALL, place, value))
    if expected:
        assert expected in told(tmp_path / "params.yaml", text)
    else:
        (tmp_path / "params.yaml").write_text(text)
        plan.plan(plan.Params(tmp_path / "params.yaml"))


def test_a_long_value_is_told_in_a_few_words(tmp_path: Path) -> None:
    message = told(tmp_path / "params.yaml", yaml.safe_dump(replaced(SMALL, ("mlp", "width"), "x" * 50_000)))
    assert len(message) < 1000


def places(values: Any, place: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every place of the settings."""
    keys = values if isinstance(values, dict) else range(len(values)) if isinstance(values, list) else ()
    return [place, *(below for key in keys for below in places(values[key], (*place, key)))]


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.dates(),
    st.sampled_from(["pals", "mlp", "sst", "sbert", "all", "smart", "none", "base", 0, 1, 0.5]),
)  # fmt: skip
ANYTHING = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5) | LEAVES, below, max_size=3)
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(places(SMALL)), ANYTHING)
def test_any_value_at_any_key_is_resolved_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: tuple[str | int, ...], value: object
) -> None:
    file = tmp_path_factory.getbasetemp() / "params.yaml"
    file.write_text(yaml.safe_dump(replaced(SMALL, place, value), allow_unicode=True), encoding="utf-8")
    try:
        planned = plan.plan(plan.Params(file))
    except SettingsError:
        return
    plan.write(planned.documents, file.with_name("plan"))
    assert files.read_yaml(file.with_name("plan") / "catalog.yaml") == planned.documents["catalog"]
