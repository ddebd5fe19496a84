"""What is told of a claim: its verdict, or the first reason that keeps it from having one."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import made
import numpy as np
import pandas as pd
import pytest

from mtbert.errors import DataError
from mtbert.judge import BudgetRuns, TaskRows, Verdict
from mtbert.replication import Claim, ClaimPart, at_a_third, judge_claims, load
from mtbert.report.verdicts import of_ways
from mtbert.scores.described import UNTRAINED
from mtbert.tasks import COURSE

ROWS = 100
SEEDS = (1, 2, 3, 4, 5, 6)
FACTS = {
    "steps": 100, "examples_sst": 1000, "examples_qqp": 0, "examples_sts": 0, "examples_cfimdb": 0,
    "train_overall_normalised": None, "code": "a1", "profile": "laptop", "precision": "fp32", "threads": 1,
    "keep": "best", "selection": "cross", "techniques": {},
}  # fmt: skip


def evidence(
    right: dict[str, Sequence[float]], *, clusters: int = ROWS, task: str = "sst", untrained: float | None = None,
    **changed: Any,
) -> BudgetRuns:  # fmt: skip
    """Runs that answer a share of 100 rows rightly: by variant, of seeds 1, 2, ...; `changed` is of variant `new`."""
    lines = [
        {"variant": name, "seed": seed, **FACTS, **(changed if name == "new" else {})}
        for name, shares in right.items()
        for seed, _ in enumerate(shares, 1)
    ]
    predictions = {
        (name, seed): (np.random.default_rng(seed).permutation(ROWS) >= share * ROWS).astype(float)
        for name, shares in right.items()
        for seed, share in enumerate(shares, 1)
    }
    of_rows = {"label": np.zeros(ROWS), "cluster": np.arange(ROWS) % clusters, "shared_cluster": -1, "leaked": False}
    rows = TaskRows(pd.DataFrame(of_rows), pd.DataFrame(predictions))
    return BudgetRuns(pd.DataFrame(lines), {task: rows}, {} if untrained is None else {task: untrained})


def claim(name: str = "c", **part: Any) -> Claim:
    """A claim that `new` is higher on SST than `old`, margin 0.05."""
    values: dict[str, Any] = {"ours": "new", "other": "old", "metric": "sst", "expects": "higher", "margin": 0.05}
    return Claim(name=name, paper="p", statement="New is better.", parts=(ClaimPart(**(values | part)),))


LOW, HIGH = [0.50, 0.51, 0.49, 0.50, 0.52, 0.48], [0.70, 0.71, 0.69, 0.70, 0.72, 0.68]
NOISY = [0.30, 0.80, 0.40, 0.60, 0.70, 0.35]


@pytest.mark.parametrize(
    ("new", "old", "expects", "verdict"),
    [
        (HIGH, LOW, "higher", Verdict.HOLDS),
        (LOW, HIGH, "higher", Verdict.FAILS),
        (LOW, HIGH, "lower", Verdict.HOLDS),
        (HIGH, LOW, "close", Verdict.FAILS),
        (LOW, HIGH, "not higher", Verdict.HOLDS),
        (HIGH, LOW, "not higher", Verdict.FAILS),
        (HIGH, LOW, "not lower", Verdict.HOLDS),
        (LOW, HIGH, "not lower", Verdict.FAILS),
        (NOISY, LOW, "higher", Verdict.TOO_CLOSE),
    ],
)
def test_a_verdict(new: Sequence[float], old: Sequence[float], expects: str, verdict: Verdict) -> None:
    (result,) = judge_claims([claim(expects=expects)], evidence({"new": new, "old": old}))
    assert result.verdict is verdict


def test_a_difference_below_the_margin_is_small() -> None:
    (result,) = judge_claims([claim(margin=0.5)], evidence({"new": HIGH, "old": LOW}))
    assert result.verdict is Verdict.SMALL


def test_a_part_that_leans_towards_its_claim_does_not_refute_it() -> None:
    leaning = [share + 0.04 for share in LOW]
    (result,) = judge_claims([claim(margin=0.5)], evidence({"new": leaning, "old": LOW}))
    assert result.verdict is Verdict.TOO_CLOSE
    (result,) = judge_claims([claim(margin=0.5)], evidence({"new": LOW, "old": LOW}))
    assert result.verdict is Verdict.FAILS


def test_a_small_published_difference_is_not_refuted_by_a_small_one() -> None:
    near = [share + 0.01 for share in LOW]
    small = judge_claims([claim(margin=0.2, published=0.1)], evidence({"new": LOW, "old": near}))[0]
    large = judge_claims([claim(margin=0.2, published=0.3)], evidence({"new": LOW, "old": near}))[0]
    assert (small.verdict, large.verdict) == (Verdict.TOO_CLOSE, Verdict.FAILS)


@pytest.mark.parametrize(
    ("changed", "verdict", "reason"),
    [
        ({"threads": 2}, Verdict.NOT_COMPARABLE, "code"),
        ({"steps": 106}, Verdict.NOT_COMPARABLE, "budgets"),
        ({"examples_sst": 940}, Verdict.NOT_COMPARABLE, "budgets"),
        ({"steps": 105}, Verdict.HOLDS, ""),
        ({"clusters": 5}, Verdict.OPEN, "rows"),
    ],
)
def test_what_keeps_a_claim_from_being_judged(changed: dict[str, Any], verdict: Verdict, reason: str) -> None:
    (result,) = judge_claims([claim()], evidence({"new": HIGH, "old": LOW}, **changed))
    assert (result.verdict, result.reason) == (verdict, reason)


def test_the_examples_of_a_mean_are_those_of_the_tasks_of_the_data() -> None:
    runs = evidence({"new": HIGH, "old": LOW}, task="mood", examples_mood=940)
    lines = runs.runs.fillna({"examples_mood": 1000})
    runs = dataclasses.replace(runs, runs=lines, tasks={"mood": dataclasses.replace(COURSE["sst"], name="mood")})
    (result,) = judge_claims([claim(metric="overall_normalised")], runs)
    assert (result.verdict, result.reason) == (Verdict.NOT_COMPARABLE, "budgets")


def test_a_claim_about_budgets_may_have_other_budgets() -> None:
    (result,) = judge_claims([claim(differs="updates")], evidence({"new": HIGH, "old": LOW}, steps=300))
    assert result.verdict is Verdict.HOLDS


def test_five_seeds_have_an_interval_and_no_verdict() -> None:
    (result,) = judge_claims([claim()], evidence({"new": HIGH[:5], "old": LOW}))
    found = result.comparisons[0].difference
    assert found is not None
    assert found.interval is not None
    assert (result.verdict, result.reason, found.seeds) == (Verdict.OPEN, "seeds", (5, 6))


def test_a_seventh_seed_changes_nothing() -> None:
    six, seven = (judge_claims([claim()], evidence({"new": new, "old": LOW}))[0] for new in (HIGH, [*HIGH, 0.0]))
    assert six.comparisons[0].difference == seven.comparisons[0].difference


def test_other_code_or_steps_of_a_seventh_seed_change_nothing() -> None:
    runs = evidence({"new": [*HIGH, 0.0], "old": LOW})
    lines = runs.runs.assign(threads=[1] * 6 + [2] + [1] * 6, steps=[100] * 6 + [300] + [100] * 6)
    (result,) = judge_claims([claim()], dataclasses.replace(runs, runs=lines))
    assert result.verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("before", "flips", "verdict"),
    [
        (LOW, False, Verdict.HOLDS),
        ([0.3] * 3, True, Verdict.OPEN),
        ([0.49] * 3, True, Verdict.OPEN),  # the sign changes from -0.01 to 0.2
        (HIGH, False, Verdict.HOLDS),
    ],
)
def test_a_flip_from_a_third_of_the_budget_blocks_the_verdict(
    before: Sequence[float], flips: bool, verdict: Verdict
) -> None:
    third = evidence({"new": before, "old": LOW})
    (result,) = judge_claims([claim()], evidence({"new": HIGH, "old": LOW}), third)
    assert (result.comparisons[0].changes_sign, result.verdict) == (flips, verdict)
    assert result.reason == ("budget" if flips else "")


def test_a_sign_that_changes_by_less_than_the_margin_is_no_flip() -> None:
    third = evidence({"new": [0.49] * 3, "old": LOW})
    (result,) = judge_claims([claim(margin=0.5)], evidence({"new": HIGH, "old": LOW}), third)
    assert not result.comparisons[0].changes_sign


def test_holm_corrects_over_the_paper_even_for_claims_that_were_not_run() -> None:
    runs = evidence({"new": HIGH, "old": LOW})
    alone, beside = judge_claims([claim()], runs)[0], judge_claims([claim(), claim("d", ours="none")], runs)[0]
    assert beside.p.holds == pytest.approx(2 * alone.p.holds)


def test_a_confounded_part_decides_nothing() -> None:
    decides = claim(expects="lower").parts[0]
    confounded = decides.model_copy(update={"expects": "higher", "confounded": ("sampler",)})
    both = claim().model_copy(update={"parts": (decides, confounded)})
    runs = evidence({"new": HIGH, "old": LOW})
    alone = judge_claims([claim(expects="lower")], runs)[0]
    (result,) = judge_claims([both], runs)
    assert (result.verdict, result.p.fails) == (Verdict.FAILS, alone.p.fails)


SETTINGS = {
    name: {"tasks": ["sst"], "model": {}, "phases": [{"tasks": ["sst"], "learning_rate": rate, "clip": None}]}
    for name, rate in (("new", 1.0), ("old", 2.0))
}


@pytest.mark.parametrize(
    ("declared", "verdict", "mismatches"),
    [
        ({}, Verdict.NOT_COMPARABLE, {"settings": ("learning_rate",)}),
        ({"differs": "learning_rate"}, Verdict.HOLDS, {}),
        ({"confounded": "learning_rate"}, Verdict.NOT_COMPARABLE, {"confounders": ("learning_rate",)}),
        ({"differs": "clip"}, Verdict.NOT_COMPARABLE, {"settings": ("learning_rate",)}),
    ],
)
def test_a_difference_between_the_sides_is_what_the_claim_says_or_blocks_its_verdict(
    declared: dict[str, str], verdict: Verdict, mismatches: dict[str, tuple[str, ...]]
) -> None:
    runs = dataclasses.replace(evidence({"new": HIGH, "old": LOW}), settings=SETTINGS)
    (result,) = judge_claims([claim(**declared)], runs)
    assert (result.verdict, result.comparisons[0].mismatches) == (verdict, mismatches)


def test_a_rate_that_is_alike_confounds_nothing() -> None:
    alike = dict.fromkeys(("new", "old"), SETTINGS["new"])
    runs = dataclasses.replace(evidence({"new": HIGH, "old": LOW}), settings=alike)
    assert judge_claims([claim(confounded="learning_rate")], runs)[0].verdict is Verdict.HOLDS


def test_a_part_has_an_answer_of_its_own() -> None:
    parts = (claim().parts[0], claim(expects="lower").parts[0])
    both = claim().model_copy(update={"parts": parts})
    (result,) = judge_claims([both], evidence({"new": HIGH, "old": LOW}))
    assert [result.verdict, *(one.verdict for one in result.comparisons)] == [
        Verdict.FAILS,
        Verdict.HOLDS,
        Verdict.FAILS,
    ]


MODEST = [share + 0.10 for share in LOW]


@pytest.mark.parametrize(
    ("new", "old", "margin", "words"),
    [
        (HIGH, LOW, 0.05, "better"),
        (LOW, HIGH, 0.05, "worse"),
        (HIGH, LOW, 0.2, "better, by how much is open"),
        (LOW, HIGH, 0.2, "worse, by how much is open"),
        (HIGH, LOW, 0.5, "as good"),
        (NOISY, LOW, 0.05, "too close to call"),
        (HIGH[:5], LOW, 0.05, "open: fewer than six seeds"),
    ],
)
def test_where_the_interval_leaves_out_0_the_sign_is_known_and_the_size_may_be_open(
    new: Sequence[float], old: Sequence[float], margin: float, words: str
) -> None:
    (result,) = judge_claims([claim(margin=margin, expects="close")], evidence({"new": new, "old": old}))
    assert of_ways(result.comparisons[0]) == words


def test_a_claim_that_correction_leaves_unproved_is_better_where_its_interval_leaves_out_0() -> None:
    runs = evidence({"new": MODEST, "old": LOW})
    alone, *_ = judge_claims([claim()], runs)
    corrected, *_ = judge_claims([claim(), *(claim(f"other-{number}", ours="none") for number in range(40))], runs)
    assert (alone.verdict, corrected.verdict) == (Verdict.HOLDS, Verdict.BETTER)
    assert corrected.comparisons[0].verdict is Verdict.HOLDS


def test_a_claim_of_several_parts_of_which_one_is_proved_is_open_and_not_too_close() -> None:
    runs = evidence({"new": HIGH, "old": LOW, "noisy": NOISY})
    parts = (claim().parts[0], claim(ours="noisy").parts[0])
    (result,) = judge_claims([claim().model_copy(update={"parts": parts})], runs)
    assert (result.verdict, result.reason) == (Verdict.OPEN, "parts")
    (result,) = judge_claims([claim().model_copy(update={"parts": (parts[1], parts[1])})], runs)
    assert result.verdict is Verdict.TOO_CLOSE


def test_a_claim_of_which_one_part_was_not_run_has_no_other_reason() -> None:
    parts = (claim().parts[0], claim(ours="none").parts[0])
    runs = evidence({"new": HIGH[:5], "old": LOW})
    (result,) = judge_claims([claim().model_copy(update={"parts": parts})], runs)
    assert (result.comparisons[0].reason, result.verdict, result.reason) == ("seeds", Verdict.NOT_RUN, "")


def test_a_claim_without_a_part_that_decides_is_refused() -> None:
    with pytest.raises(ValueError, match="confounded"):
        claim(confounded="sampler")


def test_a_metric_that_nobody_knows_is_refused_by_name(tmp_path: Path) -> None:
    text = "title: P\norder: 1\nclaims:\n  c:\n    section: '1'\n    statement: New is better.\n    parts:\n"
    part = "    - {ours: new, other: old, metric: sts2, expects: higher}\n"
    (tmp_path / "p.yaml").write_text(text + part)
    with pytest.raises(DataError, match="unknown metric 'sts2'"):
        load(tmp_path)


def test_the_untrained_encoder_is_above_both_sides_on_sts() -> None:
    runs = evidence({"new": HIGH, "old": LOW}, task="sts", untrained=0.9)
    (result,) = judge_claims([claim(metric="sts")], runs)
    assert (result.verdict, result.reason) == (Verdict.OPEN, "encoder")


@pytest.mark.parametrize(
    ("part", "is_about_similarity"), [({"metric": "sts"}, True), ({"differs": "similarity"}, True), ({}, False)]
)
def test_what_is_about_similarity(part: dict[str, str], is_about_similarity: bool) -> None:
    (result,) = judge_claims([claim(**part)], evidence({"new": HIGH, "old": LOW}))
    assert result.comparisons[0].is_about_similarity is is_about_similarity


def test_the_untrained_encoder_of_which_evidence_has_a_score_alone_has_neither_seeds_nor_rows() -> None:
    runs = evidence({"new": HIGH}, untrained=0.4)
    (result,) = judge_claims([claim(other="untrained-encoder")], runs)
    found = result.comparisons[0].difference
    assert found is not None
    assert (found.mean, found.seeds, result.verdict) == (pytest.approx(0.3), (6, 0), Verdict.HOLDS)
    assert judge_claims([claim(other="untrained-encoder")], evidence({"new": HIGH}))[0].verdict is Verdict.NOT_RUN


BASELINES = ("tfidf", "frozen", UNTRAINED)


def with_baselines(runs: BudgetRuns, **right: float) -> BudgetRuns:
    """Runs of SST beside models of BASELINES that answer a share of 100 rows rightly: the same for every seed."""
    sst = runs.dev["sst"]
    said = {(name, 0): (np.arange(ROWS)[::-1] >= share * ROWS).astype(float) for name, share in right.items()}
    predictions = pd.concat([sst.predictions, pd.DataFrame(said)], axis=1)
    dev = dict(runs.dev) | {"sst": dataclasses.replace(sst, predictions=predictions)}
    return dataclasses.replace(runs, dev=dev, baselines=frozenset(right))


def test_a_baseline_needs_no_seeds_and_is_judged_beside_models_of_other_code_and_budgets() -> None:
    runs = with_baselines(evidence({"new": HIGH}), tfidf=0.2)
    (result,) = judge_claims([claim(other="tfidf")], runs)
    found = result.comparisons[0].difference
    assert found is not None
    assert (found.mean, found.seeds, result.verdict) == (pytest.approx(0.5), (6, 0), Verdict.HOLDS)
    assert found.row_variance > 0
    (result,) = judge_claims([claim(ours="tfidf", other="new", expects="lower")], runs)
    assert result.verdict is Verdict.HOLDS


def test_beside_a_baseline_a_model_still_needs_six_seeds() -> None:
    (result,) = judge_claims([claim(other="tfidf")], with_baselines(evidence({"new": HIGH[:5]}), tfidf=0.2))
    assert (result.verdict, result.reason) == (Verdict.OPEN, "seeds")


def test_two_baselines_are_judged_by_rows_alone() -> None:
    runs = with_baselines(evidence({"new": HIGH}), tfidf=0.2, frozen=0.7)
    (result,) = judge_claims([claim(ours="frozen", other="tfidf")], runs)
    found = result.comparisons[0].difference
    assert found is not None
    assert (found.seeds, result.verdict) == ((0, 0), Verdict.HOLDS)
    assert found.error == pytest.approx(np.sqrt(found.row_variance))


def test_predictions_of_the_untrained_encoder_count_before_its_score() -> None:
    runs = with_baselines(evidence({"new": HIGH}, untrained=0.4), **{UNTRAINED: 0.2})
    (result,) = judge_claims([claim(other=UNTRAINED)], runs)
    found = result.comparisons[0].difference
    assert found is not None
    assert found.mean == pytest.approx(0.5)
    assert found.row_variance > 0


def test_a_model_without_seeds_may_be_that_of_one_task_of_a_row() -> None:
    runs = with_baselines(evidence({"new": HIGH, "old": LOW}), tfidf=0.2)
    of_qqp = evidence({"new": HIGH, "old": LOW}).dev["sst"]
    tasks = {name: COURSE[name] for name in ("sst", "qqp")}
    runs = dataclasses.replace(runs, dev=dict(runs.dev) | {"qqp": of_qqp}, tasks=tasks)
    found = runs.compare(["tfidf", "new"], ["old"], "overall_raw")
    assert found is not None
    assert (found.seeds, found.mean) == ((6, 6), pytest.approx((0.2 + 0.7) / 2 - 0.5))


def test_the_starting_weights_have_no_seeds_and_no_lines() -> None:
    results = made.results({("new", 1): {"sst": [0.0] * 4}, (UNTRAINED, 0): {"sst": [1.0] * 4}})
    results.runs["kind"] = results.runs["variant"].map({"new": "variant", UNTRAINED: "encoder"})
    runs = BudgetRuns.from_results(results)
    assert (runs.baselines, runs.runs["variant"].tolist(), [*runs.settings]) == ({UNTRAINED}, ["new"], ["new"])
    assert runs.seeds([UNTRAINED], "sst") == [0]
    only = dataclasses.replace(results, runs=results.runs[results.runs["kind"] == "encoder"])
    assert BudgetRuns.from_results(only).lines(["new"]).empty


def test_only_runs_of_a_third_of_the_updates_are_compared_with_the_whole():
    whole, third = evidence({"new": HIGH, "old": LOW}), evidence({"new": HIGH, "old": LOW}, steps=100 / 3)
    assert {run for run, _ in at_a_third(whole, third).dev["sst"].predictions} == {"new"}
    beside = with_baselines(third, tfidf=0.2)
    assert {run for run, _ in at_a_third(whole, beside).dev["sst"].predictions} == {"new", "tfidf"}


def test_an_evidence_without_a_third_of_the_budget_is_refused():
    with pytest.raises(DataError, match="--third"):
        at_a_third(evidence({"new": HIGH}), evidence({"new": HIGH}))


def test_r_counts_half_in_a_normalised_overall() -> None:
    draw = np.random.default_rng(0)
    labels, right = draw.uniform(0, 5, ROWS), [1.0] * 6
    noise = {"new": 1, "old": 2}
    said = {(name, seed): labels + draw.normal(0, noise[name], ROWS) for name in noise for seed in SEEDS}
    alike = evidence({"new": right, "old": right})
    sst, sts = alike.dev["sst"], TaskRows(alike.dev["sst"].rows.assign(label=labels), pd.DataFrame(said))
    of = BudgetRuns(alike.runs, {"sst": sst, "qqp": sst, "sts": sts})
    raw, normalised = (of.compare(["new"], ["old"], f"overall_{scale}") for scale in ("raw", "normalised"))
    assert (raw.mean, raw.error) == pytest.approx((2 * normalised.mean, 2 * normalised.error))  # type: ignore[union-attr, operator]


@pytest.mark.parametrize(("shared_cluster", "is_wider"), [(-1, False), (np.arange(ROWS), True)])
def test_the_mean_over_tasks_of_the_same_texts_is_no_surer_than_one(shared_cluster: Any, is_wider: bool) -> None:
    runs = evidence({"new": HIGH})
    rows = TaskRows(runs.dev["sst"].rows.assign(shared_cluster=shared_cluster), runs.dev["sst"].predictions)
    scores = dataclasses.replace(runs, dev={"sst": rows, "qqp": rows}).scores(["new"], SEEDS, ["sst", "qqp"])
    assert (scores["overall_raw"].error == pytest.approx(scores["sst"].error)) is is_wider
    assert scores["overall_raw"].mean == scores["sst"].mean
