"""What does not go together within a variant is refused before anything trains."""

from typing import Any

import pytest
from unit.config.conftest import edited

from mtbert.config import resolve


def faults(variant: str, *edits: tuple[str, Any]) -> list[str]:
    found = resolve.variant(edited(*edits), variant)[1]
    return [f"{'.'.join(map(str, fault.place))}: {fault.message}" for fault in found]


def test_sentences_that_are_ranked_may_not_have_seen_their_partners():
    (told,) = faults("slap-smart-mnr", ("catalog.slap-smart-mnr.transformer_layer.apart", ["qqp"]))
    assert "model.heads.sts ranks sentences that must not have seen one another" in told


def test_what_learns_nothing_may_not_be_trained():
    (told,) = faults("pals", ("model.heads.sst", "chance"))
    assert told == ("model.heads.sst: chance learns nothing, but sst is trained; allowed with it: `phases: []`")
    assert faults("slap-rand") == []


def test_what_has_no_phases_is_not_told_how_to_train():
    refusal = "the variant has no phases, so nothing of this has an effect; allowed: this or `phases: []`"
    told = faults("slap-rand", ("catalog.slap-rand.training", {"epochs": 3}))
    assert told == [f"catalog.slap-rand.training: {refusal}"]
    assert faults("slap-rand", ("training.epochs", 3)) == []  # which is said to all


def test_a_schedule_that_goes_by_dev_needs_dev_scores():
    told = faults("slap-base", ("run.evaluations", 0), ("run.keep", "last"))
    refusal = "catalog.slap-base.uses.0: reduce_on_plateau needs dev scores, but run.evaluations is 0"
    assert told == [refusal]


def test_an_epoch_that_is_scored_may_be_the_only_one_of_the_last_phase():
    phases = ("catalog.pals.phases", [{"epochs": 1}, {"epochs": 1}])
    assert faults("pals", phases, ("run.keep", "best"), ("run.evaluations", 2)) == []
    (told,) = faults("pals", phases, ("run.keep", "best"), ("run.evaluations", 3))
    assert told.endswith("no epoch of the last phase is scored on dev; allowed: at most 1")


LEAK = "catalog.slap-base.uses.0: reduce_on_plateau watches rows of dev that count in the scores, since run.selection "
ALLOWED = "; allowed: run.selection: half, or reduce_on_plateau.watches: loss"


@pytest.mark.parametrize(
    ("selection", "keep", "told"),
    [
        ("whole", "last", "is whole and run.keep last"),
        ("whole", "best", ""),  # whose scores are said to be too good
        ("half", "best", ""),
        ("half", "last", ""),
    ],
)
def test_a_schedule_may_not_watch_rows_that_are_scored(selection: str, keep: str, told: str):
    edits = ("run.selection", selection), ("run.keep", keep)
    assert faults("slap-base", *edits) == [LEAK + told + ALLOWED] * bool(told)
    assert faults("slap-base", *edits, ("reduce_on_plateau.watches", "loss")) == []


@pytest.mark.parametrize(
    ("encoder", "told"),
    [
        ({"width": 250, "heads": 5}, "which does not divide the width 250"),
        ({"name": "./mine"}, ""),  # whose width is not known before it is read
    ],
)
def test_a_connector_is_asked_with_the_encoders_width(encoder: dict[str, Any], told: str):
    found = faults("slap-share-surgery", ("encoder", encoder))
    assert found == [f"catalog.slap-share-surgery.uses.0: transformer_layer.heads is 12, {told}"] * bool(told)


def test_nothing_is_built_to_see_what_fits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("torch.nn.Module.__init__", lambda *_: pytest.fail("a module is built"))
    assert faults("slap-smart-mnr") == []
