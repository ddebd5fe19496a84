"""Runs whose every answer is chosen, to comparisons, to verdicts, to the page."""

# ruff: noqa: RUF001 (tables hold dashes and minus signs)

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from mtbert import files, predictions
from mtbert.errors import DataError
from mtbert.reporting import claimed, comparisons, markdown, published, results, tables, verdicts
from mtbert.reporting.catalog import Catalog, Entry
from mtbert.reporting.claims import Claim, Comparison, Part
from mtbert.reporting.evidence import Evidence
from mtbert.tasks import TASKS

ROWS = 400
FOUND = Comparison(("a",), ("b",), "sst", 0.02, 0.01, 0.03, 0.001, 0.002, 3, 100, 0.015, {})
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


def catalog(seeds: tuple[int, ...] = (1, 2, 3), tasks: tuple[str, ...] = ("sst",), names: str = "ab") -> Catalog:
    entries = [Entry(name, "slapbert", name, tasks, True, seeds=seeds) for name in names]
    return Catalog("sample", seeds, "last", "whole", "tiny", "", "", tuple(entries))


def evidence(build: Path, right: dict[str, list[int]], scored: int = ROWS) -> Evidence:
    """Of sst, as many right rows for each variant's seeds 1, 2, ..."""
    for name, counts in right.items():
        for seed, count in enumerate(counts, 1):
            write(build, name, seed, {"sst": count}, scored)
    return Evidence(build, catalog(tuple(range(1, len(counts) + 1)), names="".join(right)))


def claim(*parts: Part) -> Claim:
    return Claim(name="c", paper="slapbert", statement="A beats B.", parts=parts)


def test_one_seed_is_compared_by_mcnemar_where_rows_share_no_sentence(tmp_path: Path) -> None:
    found = comparisons.compare(evidence(tmp_path, {"a": [210], "b": [200]}), ["a"], ["b"], "sst")
    assert found is not None
    assert (found.difference, found.seeds, found.examples) == (pytest.approx(0.025), 1, 400)
    assert found.p == found.tests["McNemar, seed 1"] == 2 / 2**10
    # 10 of 400 rows differ: their number is binomial in a resample
    assert (found.low, found.high) == pytest.approx(stats.binom.ppf([0.025, 0.975], 400, 10 / 400) / 400, abs=0.0013)


def test_and_by_clusters_where_they_do(tmp_path: Path) -> None:
    rows = pd.DataFrame({"id": [f"r{n}" for n in range(ROWS)], "cluster": np.arange(ROWS) // 10})
    place = tmp_path / "data" / "sst"
    place.mkdir(parents=True)
    rows.to_parquet(place / "dev-rows.parquet", index=False)
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
    assert sorted(found.tests)[:3] == ["McNemar, seed 1", "McNemar, seed 2", "McNemar, seed 3"]


def test_each_seed_has_its_own_tests(tmp_path: Path) -> None:
    found = comparisons.compare(evidence(tmp_path, {"a": [202, 230], "b": [200, 200]}), ["a"], ["b"], "sst")
    assert found is not None
    assert (found.tests["McNemar, seed 1"], found.tests["McNemar, seed 2"]) == (0.5, pytest.approx(2 / 2**30))
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
    write(tmp_path, "b", 1, {"sst": 10}, scored=200)
    with pytest.raises(DataError, match="dev predictions of sst by a, seed 1 and by b, seed 1 differ in column scored"):
        Evidence(tmp_path, catalog((1,)))


def test_overall_scores_are_means_of_tasks_and_overfitting_is_train_less_dev(tmp_path: Path) -> None:
    gold = np.arange(ROWS) / ROWS
    for name, extra in (("a", 0), ("b", 40)):
        write(tmp_path, name, 1, {"sst": 200 + extra, "qqp": 300})
        table = pd.DataFrame({"id": [f"r{n}" for n in range(ROWS)], "label": gold, "prediction": -gold, "scored": True})
        place = tmp_path / "runs" / name / "1"
        predictions.write(predictions.path(place, "sts", "dev"), table, TASKS["sts"])
        sizes = {"encoder": 1, "added": 0, "trained": 1}
        about = {"variant": name, "seed": 1, "steps": 1, "epoch": 1, "parameters": sizes, "dev": {}, "test": {}}
        files.write_json(place / "metrics.json", about | {"train": {"overall_normalised": 0.9 + extra / 1000}})
        files.seal(place)
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


@pytest.mark.parametrize(
    ("low", "high", "corrected", "expects", "answer"),
    [
        (0.001, 0.03, 0.049, "higher", "holds"),
        (0.001, 0.03, 0.051, "higher", "cannot be told from these runs"),
        (0.001, 0.008, 0.01, "higher", "holds"),  # too small to matter, but there
        (-0.001, 0.03, 0.2, "higher", "cannot be told from these runs"),
        (-0.02, 0.009, 0.4, "higher", "does not hold"),
        (-0.03, -0.001, 0.01, "lower", "holds"),
        (-0.009, 0.02, 0.4, "lower", "does not hold"),
        (-0.009, 0.009, 0.9, "close", "holds"),
        (0.005, 0.009, 0.01, "close", "holds"),
        (-0.009, 0.011, 0.9, "close", "cannot be told from these runs"),
        (0.011, 0.02, 0.01, "close", "does not hold"),
        (-0.02, -0.011, 0.01, "close", "does not hold"),
    ],
)
def test_what_a_comparison_says_of_a_part(low: float, high: float, corrected: float, expects, answer: str) -> None:
    part = HIGHER.model_copy(update={"expects": expects})
    found = replace(FOUND, low=low, high=high, corrected=corrected)
    assert verdicts.answer(part, found) == answer
    assert verdicts.answer(part, replace(found, seeds=1)) == "cannot be told from these runs"
    assert verdicts.answer(part, None) == "not run"


def judge(runs: Evidence, *parts: Part) -> tuple[str, str]:
    (verdict,) = verdicts.judge(runs, [claim(*parts)])
    return verdict.answer, verdict.why


def test_a_claim_holds_where_all_its_parts_do_and_fails_with_any(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201], "c": [200, 202, 201]})
    same = HIGHER.model_copy(update={"ours": ("b",), "other": ("c",)})
    assert judge(runs, HIGHER) == ("holds", "Its comparison holds.")
    assert judge(runs, HIGHER, same.model_copy(update={"expects": "close"})) == ("holds", "All 2 comparisons hold.")
    assert judge(runs, HIGHER, same) == ("does not hold", "1 of 2 do not hold.")
    assert judge(runs, HIGHER, HIGHER.model_copy(update={"other": ("z",)})) == (
        "cannot be told from these runs", "1 of 2 comparisons hold, none is refuted. Not run: z.",
    )  # fmt: skip
    assert judge(runs, HIGHER.model_copy(update={"other": ("z",)})) == ("not run", "Not run: z.")


def test_confounded_parts_are_shown_and_decide_nothing(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    also = HIGHER.model_copy(update={"confounded": ("pair_encoding", "sampler")})
    clean = HIGHER.model_copy(update={"other": ("z",)})
    assert judge(runs, clean, also) == (
        "not run",
        "Not run: z. Shown but not counted, as they differ in pair_encoding, sampler besides: 1.",
    )
    (verdict,) = verdicts.judge(runs, [claim(clean, also)])
    assert verdict.answers == ("not run", "holds")


def test_one_seed_tells_nothing_of_training(tmp_path: Path) -> None:
    assert judge(evidence(tmp_path, {"a": [300], "b": [200]}), HIGHER) == (
        "cannot be told from these runs", "One seed each: the noise of training is not seen.",
    )  # fmt: skip


def test_p_is_corrected_over_the_claims_of_a_paper(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [215, 230, 220], "b": [200, 202, 198], "c": [200, 190, 205]})
    parts = HIGHER, HIGHER.model_copy(update={"other": ("c",)})
    claims = [claim(parts[0]), claim(parts[1], parts[0])]
    first, second = verdicts.judge(runs, claims)
    assert first.comparisons[0] == second.comparisons[1]  # the same comparison counts once
    found = [one for one in second.comparisons if one is not None]
    smaller, larger = sorted(one.p for one in found)
    assert sorted(one.corrected for one in found) == pytest.approx([min(2 * smaller, 1), max(2 * smaller, larger)])


def test_the_section_of_the_page(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201]})
    judged = verdicts.judge(runs, [claim(HIGHER), claim(HIGHER.model_copy(update={"other": ("z",)}))])
    lines = claimed.render(judged).splitlines()
    assert lines[2:6] == [
        "Of 2 claims: 1 holds, 1 not run.", "",
        "- SlapBERT: A beats B. **Holds.** Its comparison holds.", "- SlapBERT: A beats B. **Not run.** Not run: z.",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[-1].split("|")[1:-1]] == [
        "A beats B.", "`a` − `b`, SST-5", "higher", "+0.050", "+0.150 [+0.115, +0.184]", "< 0.001", "3", "0.050",
        "holds",
    ]  # fmt: skip
    table = claimed.frame(judged)
    assert table[["claim", "verdict", "other", "seeds"]].to_csv(index=False) == (
        "claim,verdict,other,seeds\nc,holds,b,3.0\nc,not run,z,\n"
    )
    assert len(claimed.render(judged[1:]).splitlines()) == 7  # no table without comparisons


def test_rows_are_tested_against_their_tables_baseline(tmp_path: Path) -> None:
    runs = evidence(tmp_path, {"a": [260, 262, 261], "b": [200, 202, 201], "c": [200, 202, 201]})
    rows = [published.PublishedRow("slapbert", "2", name, "dev", {"sst": 0.5}) for name in "abc"]
    scores = [results.Score(n, "variant", "slapbert", n, 1, "dev", "sst", 0.5) for n in "abc"]
    weights = {name: results.Weights(1, 1, 1, 1.0) for name in "abc"}
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
