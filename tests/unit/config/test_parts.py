"""Variants that train as another one does, on a share of its rows."""

from collections.abc import Callable
from typing import Any

import pytest

Planned = Callable[..., dict[str, Any]]
Refused = Callable[..., list[str]]
OWN = ("profile", "own")
HALF = ("catalog.half", {"part": {"of": "own-lora", "share": 0.5}})


def test_a_part_is_trained_as_the_whole_is_on_a_share_of_its_rows(planned: Planned):
    tuned = ("tuned", {"own-lora": {"trials": [], "training": {"learning_rate": 7e-4}}})
    plan = planned(OWN, tuned, HALF, ("variants", ["own-lora", "half"]))
    whole, half = plan["own-lora"], plan["half"]
    assert {key for key in half if half[key] != whole.get(key)} == {"variant", "paper", "row", "share"}
    assert (half["share"], half["paper"], half["row"]) == (0.5, None, "half")
    assert half["phases"][0]["learning_rate"] == 7e-4
    assert "share" not in whole


def test_a_part_of_a_paper_s_variant_has_the_preset_of_the_paper(planned: Planned):
    part = ("catalog.half", {"part": {"of": "smart-pals", "share": 0.5}})
    plan = planned(part, ("variants", ["smart-pals", "half"]))
    assert plan["half"]["phases"] == plan["smart-pals"]["phases"]
    assert plan["half"]["model"] == plan["smart-pals"]["model"]


def test_the_catalog_says_which_variants_are_parts(planned: Planned):
    variants = planned(OWN, HALF, ("variants", ["own-lora", "half"]))["catalog"]["variants"]
    assert {name: entry["part"] for name, entry in variants.items() if "part" in entry} == {
        "half": {"of": "own-lora", "share": 0.5}
    }


@pytest.mark.parametrize(
    ("edits", "told"),
    [
        (
            [("catalog.half", {"part": {"of": "own-lora", "share": 0.5}, "training": {"epochs": 2}})],
            "catalog.half.training: a part is trained as own-lora is; allowed beside `part`: nothing",
        ),
        (
            [("catalog.half", {"part": {"of": "half", "share": 0.5}})],
            "catalog.half.part.of: it is the variant itself; allowed: another variant",
        ),
        (
            [
                ("catalog.first", {"part": {"of": "own-lora", "share": 0.5}}),
                ("catalog.half", {"part": {"of": "first", "share": 0.5}}),
            ],
            "catalog.half.part.of: first is itself part of own-lora; allowed: a variant that reads all rows",
        ),
        (
            [("catalog.half", {"part": {"of": "own-distilled", "share": 0.5}})],
            "catalog.half.part.of: own-distilled learns from teachers, which have read all rows; allowed: a variant "
            "without teachers",
        ),
        (
            [("catalog.half", {"part": {"of": "own-lora", "share": 1.5}})],
            "catalog.half.part.share: Input should be less than 1, got 1.5",
        ),
        (
            [HALF, ("training.rows", 50)],
            "training.rows: half reads a part of train, of which this would take the same 50 rows again; allowed with "
            "`part`: null",
        ),
        (
            [("catalog.still", {"phases": []}), ("catalog.half", {"part": {"of": "still", "share": 0.5}})],
            "catalog.half.part.of: still is not trained; allowed: a variant that is",
        ),
        (
            [HALF, ("ensembles", {"both": {"members": ["own-lora", "half"]}})],
            "ensembles.both.members: half reads a part of train alone; allowed: members that read all of it",
        ),
    ],
    ids=["further keys", "itself", "part of a part", "teachers", "share", "rows", "untrained", "member"],
)
def test_what_cannot_be_a_part_is_refused(refused: Refused, edits: list[tuple[str, Any]], told: str):
    assert refused(OWN, *edits, ("variants", ["own-lora", "half"])) == [told]
