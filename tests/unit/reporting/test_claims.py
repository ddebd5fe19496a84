"""The claims are what README and papers say, and each pair differs in what its claim says and nothing else."""

import copy
import functools
from pathlib import Path
from typing import Any

import pytest

from mtbert import metrics, plan
from mtbert.errors import DataError
from mtbert.plan import resolve
from mtbert.reporting import claims, published
from mtbert.reporting.claims import Claim, Part
from mtbert.reporting.fairness import BUDGET

EVERY = claims.load()
PARTS = [
    pytest.param(claim, part, id=f"{claim.name}-{at}")
    for claim in EVERY.claims.values()
    for at, part in enumerate(claim.parts)
]
PARAMS = plan.Params(Path(__file__).parents[3] / "params.yaml")
PARAMS.values["profile"] = "paper"  # each paper's own schedule; the others set the same one for all


@functools.cache
def resolved(name: str) -> dict[str, Any]:
    document, faults = resolve.variant(PARAMS, name)
    assert not faults
    return document


def named(name: str, ours: Any, other: Any) -> set[str]:
    """A setting that differs, or the options of a technique that both sides use."""
    if ours == other:
        return set()
    if isinstance(ours, dict) and isinstance(other, dict) and "name" in ours and ours["name"] == other["name"]:
        return {f"{ours['name']}.{key}" for key in ours.keys() | other.keys() if ours.get(key) != other.get(key)}
    return {name}


def difference(ours: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """All settings in which two resolved variants differ; of heads and pooling, those of the tasks that both have."""
    both = [task for task in ours["tasks"] if task in other["tasks"]]
    found = named("tasks", ours["tasks"], other["tasks"])
    for key in ours["model"].keys() | other["model"].keys():
        mine, theirs = ours["model"][key], other["model"][key]
        if key in ("heads", "pooling"):
            for task in both:
                found |= named(key, mine[task], theirs[task])
        else:
            found |= named(key, mine, theirs)
    found |= named("run", {**ours["run"], "name": "run"}, {**other["run"], "name": "run"})
    if len(ours["phases"]) != len(other["phases"]):
        return found | {"phases"}
    for mine, theirs in zip(ours["phases"], other["phases"], strict=True):
        for key in mine.keys() | theirs.keys():
            alone = 1 in (len(mine["tasks"]), len(theirs["tasks"]))  # one task leaves a sampler nothing to choose
            if not (key == "sampler" and alone):
                found |= named("training.tasks" if key == "tasks" else key, mine[key], theirs[key])
    return found


@pytest.mark.parametrize(("claim", "part"), PARTS)
def test_the_sides_differ_in_what_the_claim_says_and_what_is_confounded(claim: Claim, part: Part) -> None:
    ensembles = PARAMS.get("ensembles")
    if set(part.ours) & set(ensembles):
        assert set(part.differs) <= set(BUDGET)
        assert set(part.other) <= set(ensembles["pals-ensemble"]["members"])
        return
    expected = {*part.differs, *part.confounded} - set(BUDGET)
    for ours in part.ours:
        for other in part.other:
            assert difference(resolved(ours), resolved(other)) == expected


def test_a_difference_that_the_claim_does_not_name_is_found() -> None:
    pals, changed = resolved("pals"), copy.deepcopy(resolved("pals"))
    changed["phases"][0]["learning_rate"] *= 2
    changed["model"]["adapter"]["dim"] = 300
    changed["model"]["heads"]["sst"]["name"] = "linear"
    assert difference(pals, changed) == {"learning_rate", "pals.dim", "heads"}


@pytest.mark.parametrize(("claim", "part"), PARTS)
def test_every_published_difference_follows_from_the_tables(claim: Claim, part: Part) -> None:
    if part.published is not None:
        ours, other = (value(claim.paper, side, part.metric) for side in (part.ours, part.other))
        assert part.published == pytest.approx(ours - other, abs=0.001)  # of two rounded numbers, or four


@pytest.mark.parametrize(("claim", "part"), PARTS)
def test_the_papers_own_numbers_agree_with_their_claims(claim: Claim, part: Part) -> None:
    if part.published is not None:
        assert {
            "higher": part.published > 0, "not higher": part.published < part.matters,
            "lower": part.published < 0, "close": abs(part.published) < part.matters,
        }[part.expects]  # fmt: skip


PRINTED_AS = {"mypal-constant": "4 + additional datasets"}  # the same under `paper`


def value(paper: str, side: tuple[str, ...], metric: str) -> float:
    """The published score of a row; an overall from its parts where the paper prints the other scale."""
    entry = PARAMS.get("catalog", side[0]) or PARAMS.get("ensembles", side[0])
    rows = {
        (row.row, row.split): row.values for row in reversed(published.load()) if row.paper == paper
    }  # the first table of several
    dev = rows[PRINTED_AS.get(side[0], entry["row"]), "dev"]
    if metric != claims.OVERFITTING:
        return dev[metric]
    train = rows[entry["row"], "train"]  # by the tasks: one printed overall does not follow from them
    return metrics.overall(train)["overall_normalised"] - metrics.overall(dev)["overall_normalised"]


def test_each_confounded_part_has_a_clean_one_beside_it() -> None:
    for claim in EVERY.claims.values():
        clean = [(part.differs, part.metric) for part in claim.parts if not part.confounded]
        assert all((part.differs, part.metric) in clean for part in claim.parts if part.confounded)


def test_all_claims_of_all_papers() -> None:
    count = {paper: sum(claim.paper == paper for claim in EVERY.claims.values()) for paper in published.TITLES}
    assert count == {"my-pal-bert": 10, "minbert-pals": 11, "choose-pals": 7, "slapbert": 8, "pals-for-pals": 7,
                     "rivals": 7}  # fmt: skip


RIVALS = [name for name in PARAMS.get("catalog") if PARAMS.get("catalog", name, "paper") == "rivals"]
METHOD = {"adapter", "gradients", "weighting", "trainable", "sampler", "rows"}


@pytest.mark.parametrize("name", RIVALS)
def test_a_rival_differs_from_pals_in_its_method_alone(name: str) -> None:
    assert difference(resolved(name), resolved("pals")) <= METHOD


def test_rivals_have_the_preset_of_pals() -> None:
    assert PARAMS.get("presets", "rivals") == PARAMS.get("presets", "pals-for-pals")


def test_a_claim_of_the_field_says_who_claims_it(tmp_path: Path) -> None:
    file = tmp_path / "claims.yaml"
    text = (
        "matters: {sst: 0.01}\nbaselines: {}\nclaims:\n  a:\n    paper: rivals\n    source: Hu et al. (2021)\n"
        "    section: '4'\n    statement: A.\n    parts:\n    - {ours: x, other: y, metric: sst, expects: not higher}\n"
    )
    file.write_text(text)
    assert claims.load(file).claims["a"].told_by == "Hu et al. (2021)"
    for wrong in (text.replace("    source: Hu et al. (2021)\n", ""), text.replace("rivals", "slapbert")):
        file.write_text(wrong)
        with pytest.raises(DataError, match="a claim has a source where its paper is rivals, and nowhere else"):
            claims.load(file)


def test_every_name_is_in_the_catalog() -> None:
    known = {*PARAMS.get("catalog"), *PARAMS.get("ensembles")}
    named = {name for claim in EVERY.claims.values() for part in claim.parts for name in (*part.ours, *part.other)}
    assert named | {name for names in EVERY.baselines.values() for name in names} <= known


def test_baselines_are_of_published_tables() -> None:
    tables = {f"{row.paper}-table-{row.table}" for row in published.load()}
    assert EVERY.baselines.keys() - {"rivals-variants"} <= tables


def test_parts_inherit_from_their_claim_and_faults_are_told(tmp_path: Path) -> None:
    file = tmp_path / "claims.yaml"
    text = (
        "matters: {sst: 0.01}\nbaselines: {}\nclaims:\n  a:\n    paper: slapbert\n    section: '4'\n    statement: A.\n"
        "    metric: sst\n    expects: higher\n    parts:\n    - {ours: x, other: y z}\n"
        "    - {ours: x, other: y, expects: close, matters: 0.1}\n"
    )
    file.write_text(text)
    assert claims.load(file).claims["a"].parts == (
        Part(ours=("x",), other=("y", "z"), metric="sst", expects="higher", matters=0.01),
        Part(ours=("x",), other=("y",), metric="sst", expects="close", matters=0.1),
    )
    file.write_text(text.replace("metric: sst", "metric: f1").replace("slapbert", "other"))
    with pytest.raises(
        DataError, match=r"claims.a.paper: unknown name; known: .*claims.a.parts.0.metric: unknown name"
    ):
        claims.load(file)
    file.write_text("claims: []")
    with pytest.raises(DataError, match="has to hold matters, baselines, and claims with parts"):
        claims.load(file)
