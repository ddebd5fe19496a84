"""Runs whose every answer is chosen, to comparisons, to verdicts, to the page."""

# ruff: noqa: RUF001 (tables hold dashes and minus signs)

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.reporting import (
    claimed,
    comparisons,
    fairness,
    findings,
    markdown,
    published,
    reasons,
    results,
    tables,
    verdicts,
)
from mtbert.reporting.answers import Ruling
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.claims import Claim, Part
from mtbert.reporting.evidence import Evidence
from mtbert.reporting.seen import Seen
from mtbert.statistics.verdicts import PartP
from mtbert.tasks import TASKS

ROWS = 400
HIGHER = Part(ours=("a",), other=("b",), metric="sst", expects="higher", published=0.05, matters=0.01)


def write(build: Path, name: str, seed: int, right: dict[str, int], scored: int = ROWS) -> None:
    """Dev predictions of class tasks, the first `right` rows right; of all rows the first `scored` count."""
    for task, count in right.items():
        guess = np.where(np.arange(ROWS) < count, 1.0, 0.0)
        table = pd.DataFrame({"id": [f"r{n}" for n in range(ROWS)], "label": 1.0, "prediction": guess})
        table[predictions.probability_columns(TASKS[task])] = 0.5
        table["scored"] = np.arange(ROWS) < scored
        predictions.write(predictions.path(build / "runs" / name / str(seed), task, "dev"), table, TASKS[task])
    files.seal(build / "runs" / name / str(seed))


def catalog(seeds: tuple[int, ...] = (1, 2, 3), tasks: tuple[str, ...] = ("sst",), names: str = "ab") -> Completed:
    entries = [CompletedEntry(name, "slapbert", name, tasks, True, seeds=seeds) for name in names]
    return Completed("sample", seeds, "last", "whole", "tiny", "", "", tuple(entries))


def evidence(build: Path, right: dict[str, list[int]], scored: int = ROWS) -> Evidence:
    """Of sst, as many right rows for each variant's seeds 1, 2, ..."""
    for name, counts in right.items():
        for seed, count in enumerate(counts, 1):
            write(build, name, seed, {"sst": count}, scored)
    return Evidence(build, catalog(tuple(range(1, len(counts) + 1)), names="".join(right)))


def rows_of(build: Path, **columns: object) -> None:
    """What preprocess tells of sst's dev rows; each a cluster of its own, none of them in train."""
    table = pd.DataFrame({"id": [f"r{n}" for n in range(ROWS)]})
    table = table.assign(cluster=np.arange(ROWS), in_train="", shares=False).assign(**columns)
    (build / "data/sst").mkdir(parents=True)
    table.to_parquet(build / "data/sst/dev-rows.parquet", index=False)


def claim(*parts: Part) -> Claim:
    return Claim(name="c", paper="slapbert", section="5.4", statement="A beats B.", parts=parts)


def make(build: Path, name: str, seeds: range = range(1, 4), **run: object) -> None:
    """How runs of a variant were made: keys of the section run, and `code`, `sources`, `steps`, `examples`."""
    for seed in seeds:
        place = build / "runs" / name / str(seed)
        kept = {key: run[key] for key in ("code", "sources") if key in run}
        section = {"keep": "best", "selection": "half", "threads": 2} | {
            key: value for key, value in run.items() if key in ("keep", "selection", "threads")
        }
        files.write_yaml(place / "settings.yaml", {"profile": run.get("profile"), "run": section, **kept})
        about = {"variant": name, "seed": seed, "steps": run.get("steps", 1), "epoch": 1, "dev": {}, "test": {}}
        about |= {"parameters": {"encoder": 1, "added": 0, "trained": 1, "stored": 1}, "examples": run.get("examples")}
        about |= {"precision": run.get("precision")}
        files.write_json(place / "metrics.json", about)


def learn(build: Path, name: str, losses: list[float], dev: list[float], *seeds: int) -> None:
    """A history of four epochs of ten steps for seeds 1 to 3, or these."""
    for seed in seeds or range(1, 4):
        rows = [(1, 10 * at + 5, "loss/sst", loss) for at, loss in enumerate(losses)]
        rows += [(1, 10 * at + 10, "dev/sst", score) for at, score in enumerate(dev)]
        file = build / "runs" / name / str(seed) / "history.csv"
        pd.DataFrame(rows, columns=["phase", "step", "name", "value"]).to_csv(file, index=False)


def test_one_seed_is_compared_over_examples(tmp_path: Path) -> None:
    found = comparisons.compare(evidence(tmp_path, {"a": [210], "b": [200]}), ["a"], ["b"], "sst")
    assert found is not None
    assert (found.difference, found.seeds, found.examples) == (pytest.approx(0.025), 1, 400)
    assert found.tests == {"bootstrap, seed 1": found.p}  # McNemar's would take the two models for their recipes
    # 10 of 400 rows differ: their number is binomial in a resample
    assert (found.low, found.high) == pytest.approx(stats.binom.ppf([0.025, 0.975], 400, 10 / 400) / 400, abs=0.0013)


def test_and_by_clusters_where_rows_share_a_sentence(tmp_path: Path) -> None:
    rows_of(tmp_path, cluster=np.arange(ROWS) // 10)
    found = comparisons.compare(evidence(tmp_path, {"a": [210], "b": [200]}), ["a"], ["b"], "sst")
    assert found is not None  # all ten rows that differ are one of 40 clusters, which a third of the resamples lack
    assert found.p == found.tests["bootstrap, seed 1"] == pytest.approx((1 - 1 / 40) ** 40, abs=0.03)
    assert found.low == 0


def test_several_seeds_are_compared_over_seeds(tmp_path: Path) -> None:
    found = comparisons.compare(evidence(tmp_path, {"a": [210, 230, 220], "b": [200, 202, 198]}), ["a"], ["b"], "sst")
    assert found is not None
    assert found.difference == pytest.approx((10 + 28 + 22) / 3 / ROWS)
    assert found.p == found.tests["hierarchical bootstrap"] > stats.ttest_1samp([10, 28, 22], 0).pvalue - 1e-3
    assert found.tests["sign flip"] == 2 / 8
    assert found.seed_sd == pytest.approx(np.std([10, 28, 22], ddof=1) / ROWS)


def test_each_seed_has_its_own_tests(tmp_path: Path) -> None:
    found = comparisons.compare(evidence(tmp_path, {"a": [202, 230], "b": [200, 200]}), ["a"], ["b"], "sst")
    assert found is not None
    # the two rows that differ are in no resample in one of e^2
    assert found.tests["bootstrap, seed 1"] == pytest.approx(np.exp(-2), abs=0.01)
    assert found.tests["bootstrap, seed 2"] < 0.001


def test_the_same_runs_give_the_same_numbers(tmp_path: Path) -> None:
    right = {"a": [210, 230, 220], "b": [200, 202, 198]}
    one, two = (comparisons.compare(evidence(tmp_path, right), ["a"], ["b"], "sst") for _ in range(2))
    assert one == two


def test_only_rows_that_count_are_compared(tmp_path: Path) -> None:
    found = comparisons.compare(evidence(tmp_path, {"a": [60], "b": [50]}, scored=100), ["a"], ["b"], "sst")
    assert found is not None
    assert (found.difference, found.examples) == (pytest.approx(0.1), 100)


def test_seeds_that_only_one_side_has_are_left_out(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("a", 2), ("b", 2), ("b", 3)):
        write(tmp_path, name, seed, {"sst": 200})
    runs = Evidence(tmp_path, catalog())
    found = comparisons.compare(runs, ["a"], ["b"], "sst")
    assert found is not None
    assert found.seeds == 1
    assert comparisons.compare(runs, ["a"], ["missing"], "sst") is None


def test_predictions_of_other_rows_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "a", 1, {"sst": 10})
    write(tmp_path, "b", 1, {"sst": 10})
    file = predictions.path(tmp_path / "runs/b/1", "sst", "dev")
    kept = pd.read_parquet(file)
    for column, values in (("label", 0.0), ("id", kept["id"].to_numpy()[::-1])):
        kept.assign(**{column: values}).to_parquet(file)
        files.seal(tmp_path / "runs/b/1")
        both = f"dev predictions of sst by a, seed 1 and by b, seed 1 differ in column {column}"
        with pytest.raises(DataError, match=both):
            Evidence(tmp_path, catalog((1,)))


def test_runs_that_score_other_rows_share_a_report_and_are_not_compared(tmp_path: Path) -> None:
    for name, scored in (("a", 400), ("b", 200), ("c", 200)):
        for seed, right in enumerate((90, 100, 110), 1):
            write(tmp_path, name, seed, {"sst": right + 50 * (name == "c")}, scored)
    runs = Evidence(tmp_path, catalog(names="abc"))
    assert runs.scores(["a"], "sst", [1, 2])[0].tolist() == [90 / 400, 100 / 400]
    assert runs.scores(["b"], "sst", [1, 2])[0].tolist() == [90 / 200, 100 / 200]
    (verdict,) = verdicts.judge(runs, [claim(HIGHER)])
    assert (verdict.answer, verdict.gates) == ("cannot be compared", ("made with other rows that are scored",))
    found = comparisons.compare(runs, ["c"], ["b"], "sst")
    assert found is not None
    assert (found.difference, found.examples) == (pytest.approx(50 / 200), 200)


def write_with_train(
    build: Path, name: str, seed: int, extra: int, examples: dict[str, int] | None = None, r: int = -1
) -> None:
    """A run of three tasks, with its scores on training rows."""
    gold = np.arange(ROWS) / ROWS
    write(build, name, seed, {"sst": 200 + extra, "qqp": 300})
    table = pd.DataFrame({"id": [f"r{n}" for n in range(ROWS)], "label": gold, "prediction": r * gold, "scored": True})
    place = build / "runs" / name / str(seed)
    predictions.write(predictions.path(place, "sts", "dev"), table, TASKS["sts"])
    sizes = {"encoder": 1, "added": 0, "trained": 1, "stored": 1}
    about = {"variant": name, "seed": seed, "steps": 1, "epoch": 1, "parameters": sizes, "dev": {}, "test": {}}
    about |= {"train": {"overall_normalised": 0.9 + extra / 1000}, "examples": examples}
    files.write_json(place / "metrics.json", about)
    files.seal(place)


def test_overall_scores_are_means_of_tasks_and_overfitting_is_train_less_dev(tmp_path: Path) -> None:
    for name, extra in (("a", 0), ("b", 40)):
        write_with_train(tmp_path, name, 1, extra)
    runs = Evidence(tmp_path, catalog((1,), ("sst", "qqp", "sts")))
    values = {
        metric: runs.scores(["a"], metric, [1])[0].tolist()
        for metric in ("sts", "overall_raw", "overall_normalised", "overfitting")
    }
    assert values == {
        "sts": [pytest.approx(-1)], "overall_raw": [pytest.approx(0.25 / 3)],
        "overall_normalised": [pytest.approx(1.25 / 3)], "overfitting": [pytest.approx(0.9 - 1.25 / 3)],
    }  # fmt: skip
    found = comparisons.compare(runs, ["b"], ["a"], "overfitting")
    assert found is not None
    assert found.difference == pytest.approx(0.04 - 0.1 / 3)


def test_the_difference_without_rows_that_share_a_sentence_with_training(tmp_path: Path) -> None:
    shares = np.arange(ROWS) < 100  # both have the first hundred right
    rows_of(tmp_path, shares=shares)
    runs = evidence(tmp_path, {"a": [210, 220], "b": [200, 200]})
    found = comparisons.compare(runs, ["a"], ["b"], "sst")
    assert found is not None
    assert (found.difference, found.unshared) == (pytest.approx(15 / 400), pytest.approx(15 / 300))


def judge(runs: Evidence, *parts: Part) -> tuple[str, str]:
    (verdict,) = verdicts.judge(runs, [claim(*parts)])
    return verdict.answer, verdict.why


SAME = HIGHER.model_copy(update={"ours": ("b",), "other": ("c",)})
GROUPS = {"a": [260, 262, 261], "b": [200, 202, 201], "c": [200, 202, 201]}


def test_a_claim_holds_where_all_its_parts_do_and_fails_with_any(tmp_path: Path) -> None:
    runs = evidence(tmp_path, GROUPS)
    assert judge(runs, HIGHER) == ("holds", "Its comparison holds.")
    assert judge(runs, HIGHER, SAME.model_copy(update={"expects": "close"})) == ("holds", "All 2 comparisons hold.")
    assert judge(runs, HIGHER, SAME) == (
        "does not hold", "b \N{MINUS SIGN} c, SST-5, is proved to be below +0.01.",
    )  # fmt: skip
    assert judge(runs, HIGHER, HIGHER.model_copy(update={"other": ("z",)})) == (
        "cannot be told from these runs", "Alone, 1 of its 2 comparisons hold and 0 do not. Not run: z.",
    )  # fmt: skip
    assert judge(runs, HIGHER.model_copy(update={"other": ("z",)})) == ("not run", "Not run: z.")


@pytest.mark.parametrize(
    ("rights", "published", "answer"),
    [
        (60, 0.1, "holds"),
        (60, None, "holds"),
        (10, 0.1, "real, but smaller than what matters"),  # 10 rows of 400, and 0.05 matters
        (10, None, "real, but smaller than what matters"),
        (10, 0.02, "holds"),  # the paper claims no more
        (0, 0.1, "does not hold"),
        (0, 0.02, "cannot be told from these runs"),
        (-10, 0.02, "does not hold"),
    ],
)
@pytest.mark.parametrize("expects", ["higher", "lower"])
def test_how_much_a_difference_has_to_be(
    tmp_path: Path, rights: int, published: float | None, answer: str, expects
) -> None:
    runs = evidence(tmp_path, {"a": [200 + rights, 199 + rights, 201 + rights] * 2, "b": [200] * 6})
    ours, other = (("a",), ("b",)) if expects == "higher" else (("b",), ("a",))
    given = published if published is None or expects == "higher" else -published
    update = {"ours": ours, "other": other, "expects": expects, "published": given, "matters": 0.05}
    assert judge(runs, HIGHER.model_copy(update=update))[0] == answer


def test_of_several_models_of_a_side_those_that_were_run_are_not_missing(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    part = HIGHER.model_copy(update={"ours": ("a", "z"), "metric": "overall_raw"})
    assert judge(runs, part) == ("not run", "Not run: z.")


def test_verdicts_are_reached_at_planned_looks_alone(tmp_path: Path) -> None:
    right = {"a": [260, 262, 264, 100, 100], "b": [200, 200, 200, 300, 300]}
    (verdict,) = verdicts.judge(evidence(tmp_path / "five", right), [claim(HIGHER)])
    (found,) = verdict.comparisons
    assert found is not None
    assert (verdict.answer, found.seeds, found.difference) == ("holds", 3, pytest.approx(62 / ROWS))
    two = evidence(tmp_path / "two", {name: counts[:2] for name, counts in right.items()})
    assert judge(two, HIGHER) == ("cannot be told from these runs", "Fewer than 3 seeds: nothing is decided yet.")


def test_the_family_is_all_claims_of_the_paper_also_those_that_were_not_run(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [255, 262, 261], "b": [200, 202, 201]})
    missing = HIGHER.model_copy(update={"other": ("z",)})
    confounded = HIGHER.model_copy(update={"confounded": ("sampler",)})
    alone, *_ = verdicts.judge(runs, [claim(HIGHER)])
    named = [claim(part).model_copy(update={"name": f"c{at}"}) for at, part in enumerate((HIGHER, missing, confounded))]
    beside, *_ = verdicts.judge(runs, named)
    (one,), (two,) = alone.comparisons, beside.comparisons
    assert one is not None
    assert two is not None
    assert one.p == one.corrected == two.p  # two can be decided: the confounded one cannot
    assert two.corrected == pytest.approx(2 * one.corrected)
    assert two.detectable > one.detectable


def test_confounded_parts_are_shown_and_decide_nothing(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    also = HIGHER.model_copy(update={"confounded": ("pair_encoding", "sampler")})
    clean = HIGHER.model_copy(update={"other": ("z",)})
    assert judge(runs, clean, also) == (
        "not run",
        "Not run: z. One more comparison is shown but not counted: its sides differ in pair_encoding, sampler as well.",
    )
    (verdict,) = verdicts.judge(runs, [claim(clean, also)])
    assert verdict.answers == ("not run", "holds")
    (verdict,) = verdicts.judge(runs, [claim(also)])  # a paper none of whose claims can be decided
    assert verdict.answer == "not run"


@pytest.mark.parametrize(
    ("ours", "other", "words"),
    [
        ({"selection": "half"}, {"selection": "whole"}, "run.selection"),
        ({"keep": "last"}, {"keep": "best"}, "run.keep"),
        ({"threads": 1}, {"threads": 2}, "run.threads"),
        ({"code": "1f"}, {"code": "2e"}, "code"),
        ({"code": "1f"}, {}, "code"),  # one that does not say what it ran
        ({"sources": {"heads/mlp": "1", "adapters/pals": "2"}}, {"sources": {"heads/mlp": "3"}}, "code of heads/mlp"),
    ],
)
def test_runs_that_were_made_otherwise_are_not_compared(tmp_path: Path, ours: dict, other: dict, words: str) -> None:
    make(tmp_path, "a", **ours)
    make(tmp_path, "b", **other)
    runs = evidence(tmp_path, {"a": GROUPS["a"], "b": GROUPS["b"]})
    assert comparisons.compare(runs, ["a"], ["b"], "sst") is None
    (verdict,) = verdicts.judge(runs, [claim(HIGHER)])
    assert (verdict.answer, verdict.gates) == ("cannot be compared", (f"made with other {words}",))


def test_runs_of_two_machines_are_compared_and_the_claim_says_so(tmp_path: Path) -> None:
    files.write_json(tmp_path / "machine.json", {"processor": "EPYC", "accelerator": "", "torch": "2.13.0"})
    make(tmp_path, "a")
    make(tmp_path, "b")
    there = {"machine": {"processor": "Xeon", "accelerator": "H100", "torch": "2.13.0"}, "left": {}}
    files.write_json(tmp_path / "runs/a/2/elsewhere.json", there)
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    (verdict,) = verdicts.judge(runs, [claim(HIGHER)])
    assert verdict.answer == "holds"
    assert verdict.why == (
        "Its comparison holds. Trained on different machines: "
        "a on EPYC, torch 2.13.0 and Xeon, H100, torch 2.13.0; b on EPYC, torch 2.13.0."
    )
    files.write_json(tmp_path / "runs/b/2/elsewhere.json", there)  # now each seed has one machine for both sides
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    (verdict,) = verdicts.judge(runs, [claim(HIGHER)])
    assert verdict.why == "Its comparison holds."


def test_a_seed_that_was_made_otherwise_is_left_out(tmp_path: Path) -> None:
    make(tmp_path, "a", range(1, 5))
    make(tmp_path, "b", range(1, 4))
    make(tmp_path, "b", range(4, 5), threads=1)
    runs = evidence(tmp_path, {"a": [260, 262, 261, 250], "b": [200, 202, 201, 100]})
    assert comparisons.shared_seeds(runs, ["a"], ["b"], "sst") == [1, 2, 3]


def test_the_seeds_that_are_left_out_are_said(tmp_path: Path) -> None:
    make(tmp_path, "a", range(1, 4))
    make(tmp_path, "b", range(1, 2))
    make(tmp_path, "b", range(2, 4), precision="fp32", profile="paper")
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    assert judge(runs, HIGHER) == (
        "cannot be told from these runs",
        "Fewer than 3 seeds: nothing is decided yet. "
        "Seeds of a and b that are left out: 2, 3 (made with other profile, precision).",
    )


def test_a_look_is_of_the_first_seeds_that_are_planned_so_that_a_late_one_changes_none(tmp_path: Path) -> None:
    right = {"a": [260, 200, 262, 264], "b": [200, 202, 201, 203]}
    evidence(tmp_path, right)
    shutil.rmtree(tmp_path / "runs/a/2")
    entries = [CompletedEntry(name, "slapbert", name, ("sst",), True, seeds=there)
               for name, there in (("a", (1, 3, 4)), ("b", (1, 2, 3, 4)))]  # fmt: skip
    late = Completed("sample", (1, 2, 3, 4), "last", "whole", "tiny", "", "", tuple(entries))
    (verdict,) = verdicts.judge(Evidence(tmp_path, late), [claim(HIGHER)])
    assert (verdict.answer, verdict.why, verdict.look) == (
        "cannot be told from these runs", "Nothing is decided before a and b both have the seeds 1, 2, 3.", None,
    )  # fmt: skip
    (found,) = verdict.comparisons
    assert found is not None
    assert found.seeds == 3
    assert np.isnan([found.p, found.corrected]).all()
    whole = evidence(tmp_path, right)
    assert judge(whole, HIGHER)[0] == "cannot be told from these runs"  # by seeds 1 to 3


def test_what_is_proved_at_a_look_stays_proved(tmp_path: Path) -> None:
    three = {"a": [260, 262, 261], "b": [200, 202, 201]}
    six = {"a": [*three["a"], 100, 190, 300], "b": [*three["b"], 200, 201, 202]}
    (verdict,) = verdicts.judge(evidence(tmp_path / "three", three), [claim(HIGHER)])
    assert (verdict.answer, verdict.look) == ("holds", 3)
    evidence(tmp_path / "six", six)
    for seed in (4, 5, 6):  # and seed 3 of each: more than half of six, one of three
        learn(tmp_path / "six", "a", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4], seed)
    learn(tmp_path / "six", "a", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4], 3)
    (verdict,) = verdicts.judge(evidence(tmp_path / "six", six), [claim(HIGHER)])
    (found,) = verdict.comparisons
    assert found is not None
    assert (verdict.answer, verdict.answers, verdict.look, found.seeds) == ("holds", ("holds",), 3, 6)
    assert verdict.why == (
        "Its comparison holds. The first 3 seeds decided it, and p is theirs; the differences are of all 6."
    )
    assert found.corrected <= 0.001  # the p that decided, not that behind the gate
    assert "still falls" in verdict.gates[0]
    assert "is proved to be above 0. 6 seeds, decided by the first 3: " in findings.sentence(verdict)


def test_the_p_of_an_open_claim_is_that_of_the_last_look_that_all_its_parts_have_reached(tmp_path: Path) -> None:
    few = evidence(tmp_path, {"c": [204, 198, 206], "a": [203, 199, 206] * 2, "b": [200] * 6})
    (verdict,) = verdicts.judge(few, [claim(HIGHER, HIGHER.model_copy(update={"other": ("c",)}))])
    six, three = verdict.comparisons
    assert six is not None
    assert three is not None
    assert (six.seeds, three.seeds, six.corrected) == (6, 3, three.corrected)
    assert six.corrected < 1
    assert "with 3 seeds 0.001 or less decides" in verdict.why


def test_a_claim_is_told_by_the_comparison_that_decided_it(tmp_path: Path) -> None:
    right = {"a": [203, 199, 205], "b": [200] * 3, "c": [260, 257, 262]}  # a hardly better than b, and far below c
    far, near = (HIGHER.model_copy(update={"other": (name,)}) for name in ("c", "b"))
    (verdict,) = verdicts.judge(evidence(tmp_path, right), [claim(near, far)])
    assert (verdict.answer, verdict.look, verdict.deciding) == ("does not hold", 3, (1,))


def ruled(*parts: tuple[list[float], list[float], list[float]]) -> Ruling:
    """Of a claim alone in its family, by the p of holding, failing and being small of each part at two looks."""
    seen = [Seen(None, p=PartP(*(np.array([*p, 1.0]) for p in one))) for one in parts]
    made = verdicts._decide(seen, [range(len(seen))])
    return verdicts._ruling(made, 0, [(at, one.p) for at, one in enumerate(seen)])


def test_which_comparisons_decide_a_claim_and_at_which_look() -> None:
    never = [1.0, 1.0]
    sure, later = ([1e-6, 1e-6], never, never), ([0.5, 1e-3], never, never)
    assert ruled(sure, later) == Ruling("holds", 6, (1,))  # all have to: that with the largest p
    small = ([1e-6, 1e-6], never, [0.4, 1e-4])
    assert ruled(sure, small) == Ruling("real, but smaller than what matters", 6, (1,))  # holds at 3
    leaning, failing, also = (
        ([0.1, 0.1], [1e-9, 1e-9], never),
        ([0.9, 0.9], [1e-5, 1e-5], never),
        ([0.9, 0.9], [2e-4, 1.0], never),
    )
    assert ruled(leaning, failing) == Ruling("does not hold", 3, (1,))
    assert ruled(also, failing, sure) == Ruling("does not hold", 3, (1, 0))
    assert ruled(sure, ([0.5, 0.5], [0.5, 0.5], never)) == Ruling("cannot be told from these runs")
    assert ruled(([0.9, 1e-6], [1e-6, 0.9], never)) == Ruling("cannot be told from these runs", both=(6, 3))


def test_a_claim_that_two_looks_contradict_is_open_and_says_so(tmp_path: Path) -> None:
    few, many = [200, 201, 202], [260, 261, 262, 263, 264, 259, 258]
    runs = evidence(tmp_path, {"a": [*few, *many], "b": [*few, *[200] * 7]})
    assert judge(runs, HIGHER.model_copy(update={"matters": 0.05})) == (
        "cannot be told from these runs",
        "It is proved to hold with 10 seeds and not to hold with 3, so neither is believed.",
    )


def test_a_p_above_a_level_is_not_printed_as_the_level(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    (verdict,) = verdicts.judge(runs, [claim(HIGHER)])
    shown = replace(verdict.comparisons[0], corrected=0.00101, refuted=1.0)
    assert reasons._p_asked_for([shown], 3) == [
        "Corrected p: 0.002 for `holds` and 1.000 for `does not hold`; with 3 seeds 0.001 or less decides."
    ]


def test_a_claim_that_is_decided_alone_and_not_after_correction_says_so(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [255, 262, 261], "b": [200, 202, 201]})
    missing = HIGHER.model_copy(update={"other": ("z",)})
    many = [claim(HIGHER), *(claim(missing).model_copy(update={"name": f"c{at}"}) for at in range(9))]
    verdict, *_ = verdicts.judge(runs, many)
    assert (verdict.answer, verdict.answers) == ("cannot be told from these runs", ("holds",))
    assert verdict.why.startswith("Corrected p: 0.00")
    assert "with 3 seeds 0.001 or less decides." in verdict.why


def test_a_claim_that_was_decided_alone_and_then_gated_says_that_models_are_still_learning(tmp_path: Path) -> None:
    right = {"a": [255, 262, 261, 260, 258, 259], "b": [200, 202, 201, 200, 199, 203]}
    evidence(tmp_path, right)
    learn(
        tmp_path, "a", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4], 3, 4, 5, 6
    )  # more than half of six, one of three
    missing = HIGHER.model_copy(update={"other": ("z",)})
    many = [claim(HIGHER), *(claim(missing).model_copy(update={"name": f"c{at}"}) for at in range(9))]
    verdict, *_ = verdicts.judge(evidence(tmp_path, right), many)
    assert (verdict.answer, verdict.answers) == ("cannot be told: still learning", ("holds",))
    assert verdict.why == (
        "Not judged: a: the last epoch is the best on dev, by 0.100, and the loss still falls by 13 %."
    )


def test_only_settings_that_differ_in_the_runs_are_said_to(tmp_path: Path) -> None:
    for name, sampler in (("a", "annealed"), ("b", "sequential")):
        make(tmp_path, name)
        for seed in (1, 2, 3):
            file = tmp_path / "runs" / name / str(seed) / "settings.yaml"
            phase = {"sampler": {"name": sampler}, "steps_per_epoch": None}
            files.write_yaml(file, files.read_yaml(file) | {"phases": [phase]})
    runs = evidence(tmp_path, {"a": GROUPS["a"], "b": GROUPS["b"]})
    names = ("sampler", "steps_per_epoch", "pair_encoding")  # what no run states may differ
    assert runs.conducts.differing(names, ["a"], ["b"]) == ("sampler", "pair_encoding")
    also = HIGHER.model_copy(update={"confounded": names[:2]})
    assert judge(runs, also)[1].endswith("its sides differ in sampler as well.")


def test_no_verdict_from_a_model_that_is_still_learning(tmp_path: Path) -> None:
    runs = {"a": GROUPS["a"], "b": GROUPS["b"]}
    evidence(tmp_path, runs)
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4])
    (verdict,) = verdicts.judge(evidence(tmp_path, runs), [claim(HIGHER)])
    assert verdict.answer == "cannot be told: still learning"
    assert verdict.gates == ("a: the last epoch is the best on dev, by 0.100, and the loss still falls by 13 %",)
    assert verdict.why == f"Not judged: {verdict.gates[0]}."
    assert verdict.comparisons[0] is not None  # shown all the same, without a p
    header, _, line = (line.split("|") for line in claimed.render([verdict]).splitlines()[-3:])
    shown = dict(zip((cell.strip() for cell in header), (cell.strip() for cell in line), strict=True))
    assert (shown["holds"], shown["fails"], shown["seeds"]) == ("", "", "3")
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.81], [0.1, 0.2, 0.3, 0.312])  # the loss is noise, but dev rises
    (verdict,) = verdicts.judge(evidence(tmp_path, runs), [claim(HIGHER)])
    assert verdict.gates == ("a: the last epoch is the best on dev, by 0.012",)
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.77], [0.1, 0.2, 0.3, 0.309])  # hardly any more
    assert judge(evidence(tmp_path, runs), HIGHER)[0] == "holds"
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.7], [0.1, 0.2, 0.4, 0.3])  # overfits
    assert judge(evidence(tmp_path, runs), HIGHER)[0] == "holds"


def test_no_verdict_where_one_of_a_rows_models_is_still_learning(tmp_path: Path) -> None:
    runs = {"a": GROUPS["a"], "b": GROUPS["b"]}
    for name in ("a", "b", "c"):
        make(tmp_path, name)
    learn(tmp_path, "c", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4])
    found = evidence(tmp_path, runs | {"c": GROUPS["b"]})
    two = HIGHER.model_copy(update={"ours": ("a", "c"), "differs": ("updates",)})
    (verdict,) = verdicts.judge(found, [claim(two, HIGHER.model_copy(update={"ours": ("c",)}))])
    why = "c: the last epoch is the best on dev, by 0.100, and the loss still falls by 13 %"
    assert verdict.gates == (why, why)
    assert verdict.why.startswith(f"Not judged: {why}. Budgets")  # each reason once
    assert judge(found, HIGHER)[0] == "holds"


def test_no_verdict_from_code_with_a_known_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fairness, "FAULTS", {"1f": "rows were read twice"})
    runs = {"a": GROUPS["a"], "b": GROUPS["b"]}
    for name in runs:
        make(tmp_path, name, code="2e")
    assert judge(evidence(tmp_path, runs), HIGHER)[0] == "holds"
    for name in runs:
        make(tmp_path, name, code="1f")
    found = evidence(tmp_path, runs)
    (verdict,) = verdicts.judge(found, [claim(HIGHER)])
    why = "trained by code with a known fault"
    assert (verdict.answer, verdict.gates) == ("cannot be told: trained by faulty code", (why,))
    assert verdict.why == f"Not judged: {why}."
    assert verdict.comparisons[0] is not None  # shown all the same
    assert found.conducts.faulty() == {"rows were read twice": ["a", "b"]}


def test_fewer_seeds_than_a_look_has_do_not_hide_why_a_claim_is_not_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = {"a": [260, 262], "b": [200, 202]}
    make(tmp_path, "a", range(1, 3), code="1f", steps=2)
    make(tmp_path, "b", range(1, 3), code="1f")
    part = HIGHER.model_copy(update={"differs": ("updates",)})
    budgets = "Budgets differ, as the claim implies: a and b had 2 and 1 updates."
    few = f"Fewer than 3 seeds: nothing is decided yet. {budgets}"
    assert judge(evidence(tmp_path, right), part) == ("cannot be told from these runs", few)
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4], 1, 2)
    assert judge(evidence(tmp_path, right), part)[0] == "cannot be told: still learning"
    monkeypatch.setattr(fairness, "FAULTS", {"1f": "rows were read twice"})
    (verdict,) = verdicts.judge(evidence(tmp_path, right), [claim(part)])
    faulty = "cannot be told: trained by faulty code"
    assert (verdict.answer, verdict.answers) == (faulty, (faulty,))


def label_half(build: Path, name: str, right: list[int]) -> None:
    """Runs of sst whose labels are 1 in three rows of four and 0 in the others, 300 and 100."""
    for seed, count in enumerate(right, 1):
        write(build, name, seed, {"sst": count})
        file = predictions.path(build / "runs" / name / str(seed), "sst", "dev")
        label = np.where(np.arange(ROWS) % 4 < 3, 1.0, 0.0)
        said = np.where(np.arange(ROWS) < count, label, 1 - label)
        pd.read_parquet(file).assign(label=label, prediction=said).to_parquet(file)
        files.seal(build / "runs" / name / str(seed))


def test_no_verdict_from_a_model_that_learnt_nothing_of_a_task(tmp_path: Path) -> None:
    label_half(tmp_path, "b", [350, 351, 352])
    label_half(tmp_path, "a", [317, 317, 360])  # 300 of 400 and two standard errors of 8.66 rows: 317.3
    (verdict,) = verdicts.judge(Evidence(tmp_path, catalog()), [claim(HIGHER)])
    why = "a: it learnt nothing of SST-5 (0.792, no more than one answer to all rows)"
    assert (verdict.answer, verdict.gates) == ("cannot be told: still learning", (why,))
    label_half(tmp_path, "a", [317, 318, 360])  # one of three
    (verdict,) = verdicts.judge(Evidence(tmp_path, catalog()), [claim(HIGHER)])
    assert verdict.gates == ("",)


def test_no_verdict_where_r_is_that_of_one_answer(tmp_path: Path) -> None:
    for name in "ab":
        for seed in (1, 2, 3):
            write_with_train(tmp_path, name, seed, seed, r=0)
    (verdict,) = verdicts.judge(
        Evidence(tmp_path, catalog((1, 2, 3), ("sst", "qqp", "sts"))),
        [claim(HIGHER.model_copy(update={"metric": "sts", "expects": "close"}))],
    )
    assert verdict.answer == "cannot be told: still learning"
    assert verdict.gates[0].startswith("a: it learnt nothing of STS-B (0.000, no more than one answer to all rows)")


def test_a_last_phase_of_one_epoch_is_not_what_the_gate_reads(tmp_path: Path) -> None:
    runs = {"a": GROUPS["a"], "b": GROUPS["b"]}
    evidence(tmp_path, runs)
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.696], [0.1, 0.2, 0.3, 0.4])
    for seed in (1, 2, 3):
        file = tmp_path / "runs" / "a" / str(seed) / "history.csv"
        file.write_text(file.read_text() + "2,45,loss/sst,1.0\n2,50,dev/sst,0.5\n")
    (verdict,) = verdicts.judge(evidence(tmp_path, runs), [claim(HIGHER)])
    assert verdict.gates == ("a: the last epoch is the best on dev, by 0.100, and the loss still falls by 13 %",)


def write_train_rows(build: Path, *tasks: str) -> None:
    """What `preprocess` says of train sets of 1,000 rows each."""
    counts = {"labelled": True, "read": 1000, "kept": 1000, "refused": [], "conflicts": []}
    counts |= {"duplicates": {"exact": 0, "folded": 0, "bare": 0}}
    files.write_json(build / "data/report.json", {"files": {f"{task}/train": counts for task in tasks}})


def test_overfitting_is_told_by_training_rows_that_were_seen(tmp_path: Path) -> None:
    write_train_rows(tmp_path, "sst", "qqp")
    make(tmp_path, "a", examples={"sst": 490, "qqp": 80})
    make(tmp_path, "b", examples={"sst": 500})
    found = evidence(tmp_path, {"a": GROUPS["a"], "b": GROUPS["b"]}).conducts
    seeds, tasks = (1, 2, 3), ("sst", "qqp", "sts")
    assert found.unseen("a", seeds, tasks) == "it saw 49 % of SST-5's and 8 % of QQP's training rows"
    assert found.unseen("a", seeds, ("sst",)) == "it saw 49 % of SST-5's training rows"
    assert found.unseen("b", seeds, tasks) == "it saw 0 % of QQP's training rows"
    assert found.unseen("b", seeds, ("sst", "sts")) == ""


def test_no_verdict_on_overfitting_by_rows_that_were_not_seen(tmp_path: Path) -> None:
    write_train_rows(tmp_path, "qqp")
    for name, extra in (("a", 0), ("b", 40)):
        for seed in (1, 2, 3):
            write_with_train(tmp_path, name, seed, extra + seed, {"qqp": 80 if name == "a" else 900}, r=1)
    runs = Evidence(tmp_path, catalog((1, 2, 3), ("sst", "qqp", "sts")))
    part = HIGHER.model_copy(update={"differs": ("examples",)})
    (verdict,) = verdicts.judge(runs, [claim(part.model_copy(update={"metric": "overfitting"}))])
    why = "a: it saw 8 % of QQP's training rows"
    assert (verdict.answer, verdict.gates) == ("cannot be told: still learning", (why,))
    (verdict,) = verdicts.judge(runs, [claim(part.model_copy(update={"metric": "overall_raw"}))])
    assert verdict.gates == ("",)


def start_from(build: Path, encoder: str) -> dict[str, list[int]]:
    """Runs of `a`, which start from a pretraining, and of `b`, which do not."""
    make(build, "a")
    make(build, "b")
    for seed in (1, 2, 3):
        file = build / "runs" / "a" / str(seed) / "settings.yaml"
        files.write_yaml(file, files.read_yaml(file) | {"model": {"encoder": encoder}})
    return {"a": GROUPS["a"], "b": GROUPS["b"]}


def test_no_verdict_where_the_pretraining_learnt_nothing_of_sentences(tmp_path: Path) -> None:
    runs = start_from(tmp_path, "mlm")
    losses = {"mlm_dev_loss_before": 10.9, "mlm_dev_loss_after": 6.88, "mlm_dev_loss_of_frequencies": 6.85}
    pretrained = tmp_path / "encoders" / "mlm" / "metrics.json"
    files.write_json(pretrained, losses | {"sentences": 12800, "steps": 1400})
    (verdict,) = verdicts.judge(evidence(tmp_path, runs), [claim(HIGHER)])
    assert verdict.answer == "cannot be told: still learning"
    assert verdict.gates == (
        "a: its pretraining of 1,400 steps knows of tokens only how frequent they are (a loss of 6.880 on dev, where a "
        "guess by frequencies has 6.850)",
    )
    files.write_json(pretrained, losses | {"mlm_dev_loss_after": 6.84, "sentences": 12800, "steps": 1400})
    assert judge(evidence(tmp_path, runs), HIGHER)[0] == "holds"


def test_no_verdict_where_the_pretraining_on_pairs_did_not_help(tmp_path: Path) -> None:
    runs = start_from(tmp_path, "sbert")
    scores = {"sts_dev_pearson_before": 0.838, "sts_dev_pearson_after": 0.838, "pairs": 12800, "steps": 400}
    pretrained = tmp_path / "encoders" / "sbert" / "metrics.json"
    files.write_json(pretrained, scores)
    (verdict,) = verdicts.judge(evidence(tmp_path, runs), [claim(HIGHER)])
    assert verdict.answer == "cannot be told: still learning"
    assert verdict.gates == ("a: its pretraining of 400 steps did not raise r on STS-B (0.838 before, 0.838 after)",)
    files.write_json(pretrained, scores | {"sts_dev_pearson_after": 0.839})
    assert judge(evidence(tmp_path, runs), HIGHER)[0] == "holds"


def test_every_gate_that_is_closed_is_told(tmp_path: Path) -> None:
    make(tmp_path, "a", steps=300, examples={"sst": 9600})
    make(tmp_path, "b", steps=300, examples={"sst": 3200})
    learn(tmp_path, "a", [2.0, 1.0, 0.8, 0.6], [0.1, 0.2, 0.3, 0.3])
    (verdict,) = verdicts.judge(evidence(tmp_path, {"a": GROUPS["a"], "b": GROUPS["b"]}), [claim(HIGHER)])
    assert verdict.answer == "cannot be told: still learning"
    assert verdict.gates == (
        "a: the last epoch is the best on dev, by 0.000, and the loss still falls by 25 %; "
        "9,600 and 3,200 examples of SST-5",
    )


def test_no_verdict_where_budgets_differ_unless_the_claim_is_about_that(tmp_path: Path) -> None:
    make(tmp_path, "a", steps=300, examples={"sst": 9600, "qqp": 5})
    make(tmp_path, "b", steps=300, examples={"sst": 3200, "qqp": 9})
    runs = evidence(tmp_path, {"a": GROUPS["a"], "b": GROUPS["b"]})
    (verdict,) = verdicts.judge(runs, [claim(HIGHER)])
    assert verdict.answer == "cannot be told: unequal budgets"
    assert verdict.gates == ("9,600 and 3,200 examples of SST-5",)  # of one seed
    assert judge(runs, HIGHER.model_copy(update={"differs": ("examples",)}))[0] == "holds"
    make(tmp_path, "b", steps=400, examples={"sst": 9600})
    assert verdicts.judge(evidence(tmp_path, {"a": GROUPS["a"], "b": GROUPS["b"]}), [claim(HIGHER)])[0].gates == (
        "300 and 400 updates",
    )


def test_the_budget_of_a_row_of_single_task_models_is_that_of_all_of_them(tmp_path: Path) -> None:
    make(tmp_path, "a", steps=300, examples={"sst": 1000, "qqp": 1000})
    make(tmp_path, "b", steps=150, examples={"sst": 1000})
    make(tmp_path, "c", steps=150, examples={"qqp": 1000})
    conducts = evidence(tmp_path, {name: [200, 200, 200] for name in "abc"}).conducts
    assert conducts.unequal(["a"], ["b", "c"], [1, 2, 3], ["sst", "qqp"], ()) == []
    assert conducts.unequal(["a"], ["b"], [1], ["sst", "qqp"], ()) == [
        "300 and 150 updates", "1,000 and 0 examples of QQP",
    ]  # fmt: skip


def test_the_section_of_the_page(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    missing = claim(HIGHER.model_copy(update={"other": ("z",)})).model_copy(update={"name": "d"})
    judged = verdicts.judge(runs, [claim(HIGHER), missing])
    lines = claimed.render(judged).splitlines()
    assert lines[2:6] == [
        "Of 2 claims: 1 holds, 1 not run.", "",
        "- SlapBERT (5.4): A beats B. **Holds.** Its comparison holds.",
        "- SlapBERT (5.4): A beats B. **Not run.** Not run: z.",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[-1].split("|")[1:-1]] == [
        "A beats B.", "`a` − `b`, SST-5", "higher", "+0.050", "0.01", "+0.150 [+0.115, +0.185]", "–", "< 0.001",
        "1.000", "3", "0.056", "holds", "",
    ]  # fmt: skip
    table = claimed.frame(judged)
    assert table[["claim", "verdict", "other", "seeds"]].to_csv(index=False) == (
        "claim,verdict,other,seeds\nc,holds,b,3.0\nd,not run,z,\n"
    )
    assert len(claimed.render(judged[1:]).splitlines()) == 7  # no table without comparisons


def test_rows_are_tested_against_their_tables_baseline(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201], "c": [200, 202, 201]})
    rows = [published.PublishedRow("slapbert", "2", name, "dev", {"sst": 0.5}) for name in "abc"]
    scores = [results.Score(n, "variant", "slapbert", n, 1, "dev", "sst", 0.5) for n in "abc"]
    weights = {name: results.Weights(1, 1, 1, 1, 1.0) for name in "abc"}
    made = tables.compare(rows, catalog(names="abc"), scores, weights)
    (table,) = tables.against(made, runs, {"slapbert-table-2": ("b",)})
    shown = [row.against and (row.against.seeds, round(row.against.corrected, 2)) for row in table.rows]
    assert shown == [(3, 0.0), None, (3, 1.0)]
    assert list(tables.compared([table])) == [("slapbert-table-2", "a"), ("slapbert-table-2", "c")]
    assert list(comparisons.frame(tables.compared([table]))["sign flip"]) == [0.25, 1.0]
    column = [line.split("|")[-2].strip() for line in markdown.grid(table).splitlines()[2:]]
    assert [cell for cell in column if cell] == ["< 0.001 (SST-5)", "baseline", "1.000 (SST-5)"]
    (plain,) = tables.against(made, runs, {})
    assert (plain.baseline, plain.rows) == ((), made[0].rows)
