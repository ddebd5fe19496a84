"""In what two sides differ, by their settings; and that each claim of the papers names exactly that."""

import copy
import functools
from pathlib import Path
from typing import Any

import pytest

from mtbert.config import papers, resolve
from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.judge import OVERFITTING, settings_diff
from mtbert.judge.settings_diff import RATE
from mtbert.replication import Claim, ClaimPart, load, names
from mtbert.scores import metrics
from mtbert.tasks import COURSE

ROOT = Path(__file__).parents[3]
EVERY = load()
PARTS = [
    pytest.param(claim, part, id=f"{claim.name}-{at}")
    for claim in (*EVERY.claims.values(), *EVERY.questions.values())
    for at, part in enumerate(claim.parts)
]
PARAMS = Params(ROOT / "params.yaml")
PARAMS.values["profile"] = "paper"  # each paper's own schedule; the others set the same one for all
ENSEMBLES = PARAMS.get("ensembles")
NO_SETTINGS = {*settings_diff.BUDGETS, *settings_diff.PURPOSES}


@functools.cache
def resolved(name: str) -> dict[str, Any]:
    if name in ENSEMBLES:
        return {"members": ENSEMBLES[name]["members"]}
    document, faults = resolve.variant(PARAMS, name)
    assert not faults
    return document


def of(one: dict[str, Any], other: dict[str, Any]) -> set[str]:
    return settings_diff.differing_settings({"one": one, "other": other}, ["one"], ["other"])


def test_each_setting_that_differs_is_named_as_params_yaml_does() -> None:
    pals, changed = resolved("pals"), copy.deepcopy(resolved("pals"))
    assert of(pals, pals) == set()
    changed["phases"][0] |= {"learning_rate": 1.0, "sampler": {"name": "round_robin"}}
    changed["model"]["adapter"]["dim"] = 300
    changed["model"]["heads"]["sst"]["name"] = "linear"
    assert of(pals, changed) == {"learning_rate", "sampler", "pals.dim", "heads"}


def test_one_task_leaves_a_sampler_nothing_to_choose_and_heads_are_compared_on_common_tasks() -> None:
    assert of(resolved("pals"), resolved("bert-sst")) == {"adapter", "tasks", "training.tasks"}


def test_another_number_of_phases_is_named_and_a_vote_differs_in_its_members() -> None:
    assert "phases" in of(resolved("minbert-mlm-before"), resolved("minbert-round-robin"))
    assert of(resolved("pals-ensemble"), resolved("pals")) == {"members"}


def test_rates_are_compared_whatever_the_number_of_phases_is() -> None:
    """`slap-individual` has adapters at 1e-5 in its first phases, `slap-base-frozen` heads alone at 1e-3."""
    assert "learning_rate" in of(resolved("slap-individual"), resolved("slap-base-frozen"))
    assert "learning_rate" not in of(resolved("slap-individual-1e-3"), resolved("slap-base-frozen-1e-3"))
    assert "learning_rate" not in of(resolved("slap-base-frozen"), resolved("slap-rand"))  # which trains nothing


def test_a_side_without_settings_differs_in_nothing() -> None:
    assert settings_diff.differing_settings({"pals": resolved("pals")}, ["pals"], ["untrained-encoder"]) == set()


@pytest.mark.parametrize(("claim", "part"), PARTS)
def test_the_sides_of_a_papers_claim_differ_in_what_it_says_and_in_nothing_else(claim: Claim, part: ClaimPart) -> None:
    known = {name: resolved(name) for name in (*part.ours, *part.other) if name != "untrained-encoder"}
    declared = {*part.differs, *part.confounded} - NO_SETTINGS
    found = settings_diff.differing_settings(known, part.ours, part.other)
    assert found | ({RATE} & declared) == declared  # a rate that the papers have alike, and other profiles do not


def test_a_rate_that_a_report_has_alike_on_both_sides_is_no_part_of_its_claim() -> None:
    """Methods of the field are compared at rates of their own; a report's claim is confounded by such rates."""
    declared = [
        part for claim in EVERY.claims.values() if not claim.source for part in claim.parts if RATE in part.differs
    ]
    assert declared
    for part in declared:
        known = {name: resolved(name) for name in (*part.ours, *part.other)}
        assert RATE in settings_diff.differing_settings(known, part.ours, part.other), part


PUBLISHED = [
    pytest.param(claim, part, id=f"{claim.name}-{at}")
    for claim in (*EVERY.claims.values(), *EVERY.questions.values())
    for at, part in enumerate(claim.parts)
    if part.published is not None
]
PRINTED_AS = {
    "mypal-constant": "4 + additional datasets",  # the same settings under `paper`
    "mypal-pals-sequential": "1 BERT + PALs",  # whose sampler the report does not state
    "mypal-pals-as-coded": "1 BERT + PALs",
    "slap-individual-1e-3": "SlapBERT (individual pretrain)",  # whose rate the report does not state
    "slap-individual-1e-4": "SlapBERT (individual pretrain)",
    "slap-base-frozen-1e-3": "BaseBERT (pretrained)",
    "slap-base-frozen-1e-4": "BaseBERT (pretrained)",
    "mypal-pals-proportional": "1 BERT + PALs",
}


@pytest.mark.parametrize(("claim", "part"), PUBLISHED)
def test_a_published_difference_is_that_of_the_tables(claim: Claim, part: ClaimPart) -> None:
    paper = claim.paper if claim.paper in papers.load() else PARAMS.get("catalog", part.other[0], "paper")
    ours, other = (printed(paper, side, part.metric) for side in (part.ours, part.other))
    assert part.published == pytest.approx(ours - other, abs=0.0015)  # of two rounded numbers, or four


def test_a_claim_on_slapberts_rows_before_its_schedule_is_in_doubt() -> None:
    """SlapBERT, sections 4.3 and 5.3: rates of tables 1 and 2 and of setup 1 are not stated; chance has none."""
    early = {"slap-base-frozen", "slap-individual", "slap-base", "slap-base-dal"}
    found = {
        claim.name: bool(claim.doubt)
        for claim in EVERY.claims.values()
        for part in claim.parts
        if part.published and early & {*part.ours, *part.other} and "slap-rand" not in part.other
    }
    assert found == dict.fromkeys(found, True)
    assert len(found) == 8


def printed(paper: str, side: tuple[str, ...], metric: str) -> float:
    """The published score of a row, of the first table that has it."""
    entry = PARAMS.get("catalog", side[0]) or ENSEMBLES[side[0]]
    row = PRINTED_AS.get(side[0], entry["row"])
    rows = [table[row] for table in papers.load()[paper].tables.values() if row in table]
    dev = rows[0].splits["dev"]
    if metric != OVERFITTING:
        return dev[metric]
    train = next(row.train for row in rows if row.train)  # by the tasks: one overall that is printed is another
    return metrics.overall(train, COURSE)["overall_normalised"] - metrics.overall(dev, COURSE)["overall_normalised"]


def params_with(tmp_path: Path, old: str, new: str) -> Params:
    """The repository's settings, with one claim's text replaced."""
    (tmp_path / "papers").mkdir()
    for file in (ROOT / "papers").glob("*.yaml"):
        (tmp_path / "papers" / file.name).write_text(file.read_text().replace(old, new))
    (tmp_path / "params.yaml").write_text((ROOT / "params.yaml").read_text())
    return Params(tmp_path / "params.yaml")


def test_all_names_of_the_papers_claims_exist() -> None:
    names.check(PARAMS)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "other: rival-low-rank,",
            "other: rival-low-rnk,",
            r"unknown variant 'rival-low-rnk'; did you mean rival-low-",
        ),
        (
            "differs: [schedule]",
            "differs: [shedule]",
            r"my-pal-bert.yaml:\d+: mypal-little-changes: unknown setting 'she",
        ),
        ("differs: [pals.dim]", "differs: [pals.width]", r"unknown setting 'pals.width'"),
        ("confounded: [pair_encoding,", "confounded: [pair_encodin,", r"unknown setting 'pair_encodin'"),
    ],
)
def test_a_name_that_does_not_exist_is_refused_with_its_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        names.check(params_with(tmp_path, old, new))
