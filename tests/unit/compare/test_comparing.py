"""What is told of two sides: the numbers against other libraries', the answers one by one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

from mtbert import files
from mtbert.compare import as_text, compare_files, models
from mtbert.errors import DataError, UnknownNameError
from mtbert.judge import Comparison, Verdict
from mtbert.provenance import why
from mtbert.provenance.changes import Change, InputKind
from mtbert.scores import metrics

Compare = Callable[..., Comparison]


def side(file: Path, labels: Any, said: Any, clusters: Any = None) -> str:
    """Write predictions, [rows, seeds] or [rows]."""
    said = np.asarray(said, dtype=float).reshape(len(labels), -1)
    rows = pd.DataFrame({"id": np.arange(len(labels)), "label": labels})
    rows["cluster"] = "" if clusters is None else np.asarray(clusters)
    pd.concat([rows.assign(prediction=column, seed=at) for at, column in enumerate(said.T)]).to_csv(file, index=False)
    return str(file)


@pytest.fixture
def of_right(tmp_path: Path) -> Compare:
    """Compare sides of which the rows are right that are named; of a list of lists the seeds."""

    def compared(ours: Any, theirs: Any, rows: int, margin: float = 0.01, clusters: Any = None) -> Comparison:
        sides = []
        for name, named in (("ours", ours), ("theirs", theirs)):
            seeds = named if isinstance(named, list) else [named]
            right = np.column_stack([np.isin(np.arange(rows), seed) for seed in seeds])
            sides.append(side(tmp_path / f"{name}.csv", np.ones(rows), right, clusters))
        return compare_files(*sides, metric="accuracy", margin=margin)

    return compared


@pytest.mark.parametrize(("ours", "theirs"), [(3, 0), (6, 0), (7, 1), (12, 4)])
def test_where_few_rows_differ_p_is_near_mcnemars_exact_one(of_right: Compare, ours: int, theirs: int) -> None:
    found = of_right(range(ours), range(ours, ours + theirs), 200)
    expected: Any = mcnemar([[0, ours], [theirs, 0]], exact=True)
    assert found.difference.p == pytest.approx(expected.pvalue, abs=0.03)


@pytest.mark.parametrize("ours", [range(1), range(24), [range(24)] * 6])
def test_below_six_clusters_there_is_no_interval_and_no_p(of_right: Compare, ours: Any) -> None:
    found = of_right(ours, () if isinstance(ours, range) else [()] * 6, 24, clusters=np.arange(24) % 5)
    assert (found.verdict, found.missing, found.difference.interval, found.difference.p) == (
        Verdict.OPEN,
        "rows",
        None,
        None,
    )
    assert [score.interval for score in found.scores] == [None, None]
    assert as_text(found).splitlines()[5].endswith("not known")
    assert "open, too few clusters of rows: 5, and 6 are needed (margin" in as_text(found)


@pytest.mark.parametrize(
    ("rows", "ours", "theirs", "margin", "answer"),
    [
        (1_000, 900, 600, 0.01, "better"),
        (1_000, 600, 900, 0.01, "worse"),
        (1_000, 900, 600, 0.5, "apart by less than the margin"),
        (1_000, 900, 600, 0.3, "better, by how much is open"),
        (1_000, 600, 900, 0.3, "worse, by how much is open"),
        (1_000, 602, 600, 0.001, "not significant, the difference could be 0"),
    ],
)
def test_answers_of_one_model_each(
    of_right: Compare, rows: int, ours: int, theirs: int, margin: float, answer: str
) -> None:
    assert f": {answer} (margin {margin:g})." in as_text(of_right(range(ours), range(theirs), rows, margin))


@pytest.mark.parametrize(
    ("differences", "margin", "verdict"),
    [
        ([50, 50, 50, 51, 49], 0.01, Verdict.OPEN),  # five seeds decide nothing
        ([50, 50, 50, 51, 49, 50], 0.01, Verdict.FAILS),
        ([1, -1, 0, 1, -1, 0], 0.1, Verdict.HOLDS),
        ([50, -60, 40, -30, 20, -10], 0.01, Verdict.TOO_CLOSE),
    ],
)
def test_answers_of_several_seeds(of_right: Compare, differences: list[int], margin: float, verdict: Verdict) -> None:
    ours, theirs = [range(250 + by) for by in differences], [range(250)] * len(differences)
    assert of_right(ours, theirs, 500, margin).verdict is verdict


def test_one_model_each_has_the_error_of_scipys_paired_bootstrap(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    labels = generator.uniform(0, 5, 80).round(2)
    ours, theirs = (labels + generator.normal(0, scale, 80) for scale in (1.0, 2.0))

    def difference(gold: np.ndarray, one: np.ndarray, other: np.ndarray) -> float:
        return metrics.pearson(gold, one) - metrics.pearson(gold, other)

    sides = (side(tmp_path / name, labels, said) for name, said in (("x.csv", ours), ("y.csv", theirs)))
    found = compare_files(*sides, task="sts")
    expected: Any = stats.bootstrap(
        (labels, ours, theirs), difference, paired=True, vectorized=False, n_resamples=300, method="basic", rng=1
    )
    assert found.difference.mean == pytest.approx(difference(labels, ours, theirs))
    assert found.difference.error == pytest.approx(expected.standard_error, rel=0.15)
    assert found.verdict is Verdict.FAILS


def test_a_variants_name_stands_for_its_seeds_with_the_clusters_that_preprocessing_found(tmp_path: Path) -> None:
    (tmp_path / "data/sst").mkdir(parents=True)
    pd.DataFrame({"id": range(9), "cluster": [7, 7, *range(7)]}).to_parquet(tmp_path / "data/sst/dev.parquet")
    for name, seed in (("pals", 1), ("pals", 2), ("smart", 1)):
        folder = tmp_path / f"runs/{name}/{seed}/predictions"
        folder.mkdir(parents=True)
        pd.DataFrame({"id": range(9), "label": 1.0, "prediction": 1.0}).to_parquet(folder / "sst-dev.parquet")
    found = compare_files("pals", "smart", task="sst", build=tmp_path).difference
    assert (found.seeds, found.clusters) == ((2, 1), 8)
    with pytest.raises(UnknownNameError, match=r"^unknown model 'slap'; .*known: pals, smart$"):
        compare_files("slap", "smart", task="sst", build=tmp_path)
    with pytest.raises(DataError, match=r"^no file other/slap that ends in"):
        compare_files("other/slap", "smart", task="sst", build=tmp_path)
    with pytest.raises(DataError, match=r"^pals has no predictions of sts \(--task\): .*pals/1 has none"):
        compare_files("pals", "smart", task="sts", build=tmp_path)


def predicted(build: Path, folder: str, said: list[float], task: str = "sst") -> None:
    """Write what a model predicts of dev rows that are all of class 1, each a cluster."""
    rows = build / f"data/{task}/dev.parquet"
    rows.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"id": range(len(said)), "cluster": range(len(said))}).to_parquet(rows)
    file = build / folder / f"predictions/{task}-dev.parquet"
    file.parent.mkdir(parents=True)
    pd.DataFrame({"id": range(len(said)), "label": 1.0, "prediction": said}).to_parquet(file)


@pytest.mark.parametrize("kind", ["votes", "merged", "runs"])
def test_votes_and_merged_models_have_seeds_as_variants_do(tmp_path: Path, kind: str) -> None:
    for seed in range(1, 7):
        predicted(tmp_path, f"runs/pals/{seed}", [1.0] * (9 + seed) + [0.0] * (6 - seed))
        predicted(tmp_path, f"{kind}/other/{seed}", [1.0] * (9 + seed) + [0.0] * (6 - seed))
    found = compare_files("pals", "other", task="sst", build=tmp_path)
    assert found.difference.seeds == (6, 6)


def test_a_baseline_has_no_seeds_and_needs_none(tmp_path: Path) -> None:
    for seed in range(1, 7):
        predicted(tmp_path, f"runs/pals/{seed}", [1.0] * (90 + seed % 3) + [0.0] * (10 - seed % 3))
    predicted(tmp_path, "baselines/tfidf/0", [0.0, 1.0] * 50)
    found = compare_files("pals", "tfidf", task="sst", build=tmp_path)
    assert (found.difference.seeds, found.verdict) == ((6, 0), Verdict.FAILS)
    lines = as_text(found).splitlines()
    assert lines[2].endswith("95 % interval over seeds and rows; of tfidf over rows")
    assert lines[9] == "pals against tfidf: better (margin 0.01)."
    assert lines[10] == "This is of 6 seeds of pals, and of tfidf as it is: it has no seeds, and needs none."


def test_it_is_said_that_a_named_model_was_trained_with_other_inputs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in (1, 2):
        predicted(tmp_path, f"runs/pals/{seed}", [1.0] * 9)
    predicted(tmp_path, "runs/smart/1", [1.0] * 9)
    change = Change(InputKind.SETTING, "pals.dim", "204", "276")
    monkeypatch.setattr(why, "changes_since", lambda run: [change] if run.parent.name == "pals" else [])
    assert [*why.notes(models("pals", "sst", tmp_path))] == [
        "pals, seeds 1, 2, was trained before these changed: pals.dim 204 -> 276; `dvc repro train@pals-1 "
        "train@pals-2` trains it again"
    ]


def test_a_name_is_no_pattern_of_names(tmp_path: Path) -> None:
    predicted(tmp_path, "runs/pals/1", [1.0] * 9)
    with pytest.raises(UnknownNameError, match=r"^unknown model 'p\*'; "):
        compare_files("p*", "pals", task="sst", build=tmp_path)


@pytest.mark.parametrize(
    ("ours", "theirs", "answer"),
    [
        ([range(60), range(50)] * 2, [range(30)] * 6, "open, 2 more seeds of us needed"),
        ([range(60), range(50)] * 2, [range(30)] * 5, "open, 2 more seeds of us and 1 more seed of them needed"),
        (range(51), range(50), "not significant, the difference could be 0"),
        (range(90), range(60), "better"),
        (range(65), range(52), "better, by how much is open"),
        (range(52), range(65), "worse, by how much is open"),
        (range(50), range(50), "no difference, both are right on the same rows"),
        (range(100), (), "open, the difference is the same in every cluster of rows, so its noise cannot be estimated"),
    ],
)
def test_an_answer_says_why_it_is_open(of_right: Compare, ours: Any, theirs: Any, answer: str) -> None:
    found = of_right(ours, theirs, 100, margin=0.1)
    named = replace(found, ours=("us",), other=("them",))
    assert as_text(named).splitlines()[9] == f"us against them: {answer} (margin 0.1)."


def test_where_both_are_right_on_the_same_rows_p_is_1_as_of_mcnemars_test(of_right: Compare) -> None:
    found = of_right(range(50), range(50), 100)
    assert (found.difference.p, found.difference.interval) == (1, None)
    assert "p of no difference: 1" in as_text(found).splitlines()


def scores(folder: Path, labels: list[float], ours: list[float], theirs: list[float], **options: Any) -> Comparison:
    return compare_files(side(folder / "x.csv", labels, ours), side(folder / "y.csv", labels, theirs), **options)


def test_a_correlation_that_is_not_defined_is_named(tmp_path: Path) -> None:
    every = [0.0, 1, 2, 3, 4, 5, 6]
    found = scores(tmp_path, every, [3.0] * 7, every, metric="pearson")
    assert [score.is_defined for score in found.scores] == [False, True]
    assert as_text(found).endswith(
        "x.csv predicts one value on every row: pearson is not defined there, and counts as 0."
    )
    neither = scores(tmp_path, every, [3.0] * 7, [2.0] * 7, metric="pearson")
    assert "open, a score is not defined" in as_text(neither)
    with pytest.raises(DataError, match=r"^every row has the same label, for which pearson is not defined;"):
        scores(tmp_path, [3.0] * 7, every, every, metric="pearson")


def test_a_label_that_is_no_score_of_the_task_is_refused(tmp_path: Path) -> None:
    labels = [0.0, 1, 2, 3, 4, 999]
    with pytest.raises(DataError, match=r"^label is no score of sts: 5 \(.*'999.0'\).*; allowed: 0 to 5$"):
        scores(tmp_path, labels, labels, labels, task="sts")


def test_what_is_said_of_two_models(of_right: Compare) -> None:
    found = of_right(range(19), range(9), 20)
    named = replace(found, ours=("us",), other=("them",))
    assert as_text(named).splitlines() == [
        "accuracy on 20 rows",
        "",
        "               score  95 % interval over rows",
        "us            0.9500  0.8480 to 1.0000",
        "them          0.4500  0.2172 to 0.6828",
        "difference   +0.5000  +0.2471 to +0.7529",
        "",
        "p of no difference: 0.00155",
        "",
        "us against them: better (margin 0.01).",
        "This compares two trained models: one training each says nothing about other trainings.",
    ]


def test_of_several_seeds_it_is_said_how_many(of_right: Compare) -> None:
    found = as_text(of_right([range(9)] * 3, [range(8)] * 4, 20, clusters=np.arange(20) // 2))
    assert found.startswith("accuracy on 20 rows in 10 clusters\n")
    assert found.splitlines()[2].endswith("95 % interval over seeds and rows")
    assert found.endswith("\nThis is of 3 and 4 seeds: an answer needs 6 of each.")


def test_the_interval_of_a_difference_ends_where_scores_do(of_right: Compare) -> None:
    found = of_right(range(19), (), 20).difference
    assert found.bounds == (-1, 1)
    assert found.interval == pytest.approx((0.8476, 1.0), abs=1e-4)


@pytest.fixture
def moods(tmp_path: Path) -> Path:
    """A build directory of a task of three classes, and of one of two whose F1 is that of `nice`."""
    mood = {"sentences": ["text"], "label": "mood"}
    two = mood | {"classes": 2, "metric": "f1", "labels": {"dull": 0, "nice": 1}}
    catalog = {"tasks": {"three": mood | {"classes": 3, "metric": "f1"}, "two": two}}
    files.write_yaml(tmp_path / "plan/catalog.yaml", catalog)
    return tmp_path


LABELS, NEVER_2, ONCE_2 = [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0], [0, 0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("metric", "task", "theirs", "expected"),
    [
        # (6/7 + 4/5) / 2 without class 2, which neither label nor prediction is; and (1 + 4/5 + 0) / 3 with it
        ("f1", "three", ONCE_2, (0.8286, 0.6)),
        ("f1", None, ONCE_2, (0.8286, 0.6)),
        ("f1", "two", NEVER_2, (0.8, 0.8)),  # of class 1
        ("f1", None, NEVER_2, (0.8, 0.8)),
        ("macro_f1", "two", NEVER_2, (0.8286, 0.8286)),  # (6/7 + 4/5) / 2
    ],
)
def test_f1_of_a_side_is_over_the_classes_that_its_labels_or_predictions_hold(
    moods: Path, metric: str, task: str | None, theirs: list[int], expected: tuple[float, float]
) -> None:
    sides = side(moods / "x.csv", LABELS, NEVER_2), side(moods / "y.csv", LABELS, theirs)
    found = compare_files(*sides, task=task, metric=metric, build=moods)
    assert (found.scores[0].mean, found.scores[1].mean) == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(
    ("theirs", "heading"),
    [(NEVER_2, "f1 of class 1 on 6 rows"), (ONCE_2, "f1, the mean over classes, on 6 rows")],
)
def test_it_is_said_which_f1_it_is_since_a_third_class_in_one_file_changes_that_of_both(
    tmp_path: Path, theirs: list[int], heading: str
) -> None:
    found = compare_files(
        side(tmp_path / "x.csv", LABELS, NEVER_2), side(tmp_path / "y.csv", LABELS, theirs), metric="f1"
    )
    assert as_text(found).splitlines()[0] == heading


def test_f1_of_a_tasks_words_is_that_of_its_class_1(moods: Path) -> None:
    rows = pd.DataFrame(
        {"id": range(6), "label": ["nice"] * 3 + ["dull"] * 3, "prediction": ["nice"] * 2 + ["dull"] * 4}
    )
    for name in ("x.csv", "y.csv"):
        rows.to_csv(moods / name, index=False)
    sides = str(moods / "x.csv"), str(moods / "y.csv")
    assert compare_files(*sides, task="two", build=moods).scores[0].mean == pytest.approx(0.8)
    assert compare_files(*sides, metric="f1").scores[0].mean == pytest.approx((0.8 + 6 / 7) / 2)
    rows.assign(label="good").to_csv(moods / "x.csv", index=False)
    message = r"^label is no class of two: 0 .*'good'\).*; allowed: 0 to 1, or in both columns its labels: dull, nice$"
    with pytest.raises(DataError, match=message):
        compare_files(*sides, task="two", build=moods)


def test_a_task_with_folds_is_refused(moods: Path) -> None:
    catalog = files.read_yaml(moods / "plan/catalog.yaml")
    catalog["tasks"]["two"] |= {"folds": 5}
    files.write_yaml(moods / "plan/catalog.yaml", catalog)
    with pytest.raises(DataError, match=r"two has `folds` in tasks\.yaml, which a comparison of files knows nothing"):
        compare_files("x.csv", "y.csv", task="two", build=moods)


def relabel(build: Path, labels: dict[str, int], names: tuple[str, ...] = (), **changes: str) -> None:
    """Give the task `two` other labels, as `positive: 0` or `classes: [1, 0]` has them."""
    catalog = files.read_yaml(build / "plan/catalog.yaml")
    catalog["tasks"]["two"] |= {"labels": labels, "names": names, "classes": len(labels)} | changes
    files.write_yaml(build / "plan/catalog.yaml", catalog)


@pytest.mark.parametrize("metric", [None, "accuracy", "mcc", "macro_f1"])
def test_labels_that_are_another_class_s_number_are_refused(moods: Path, metric: str | None) -> None:
    relabel(moods, {"1": 0, "0": 1})
    sides = side(moods / "x.csv", LABELS, NEVER_2), side(moods / "y.csv", LABELS, NEVER_2)
    message = r"^label may be a class number or a label of two: 0 .*write each predicted class into a column class"
    with pytest.raises(DataError, match=message):
        compare_files(*sides, task="two", metric=metric, build=moods)
    for file in sides:  # whether the label is 0
        rows = pd.read_csv(file)
        rows.assign(label=rows["label"] == 0, prediction=rows["prediction"] == 0).to_csv(file, index=False)
    assert compare_files(*sides, task="two", build=moods).scores[0].mean == pytest.approx(6 / 7)


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ({"1": 0, "0": 1}, ()),
        ({"-1": 0, "0": 1, "1": 2}, ()),
        ({"true": 0, "false": 1}, ()),
        ({"1": 0, "0": 1}, ("Bad", "1.0")),
    ],
)
@pytest.mark.parametrize("metric", ["accuracy", "mcc", "macro_f1"])
def test_the_files_that_predict_writes_are_scored_by_the_names_of_classes(
    moods: Path, labels: dict[str, int], names: tuple[str, ...], metric: str
) -> None:
    """Their label is the data's, and their prediction the class's number."""
    relabel(moods, labels, names)
    shown = dict(zip(labels, names or labels, strict=True))
    every = [*labels, *labels]
    rows = pd.DataFrame({"id": range(len(every)), "label": every, "prediction": [labels[label] for label in every]})
    rows = rows.assign(**{"class": [shown[label] for label in every], "probability_0": 0.5, "cut": False})
    rows.to_csv(moods / "x.csv", index=False)
    rows.assign(**{"class": shown[every[0]]}).to_csv(moods / "y.csv", index=False)
    sides = str(moods / "x.csv"), str(moods / "y.csv")
    assert compare_files(*sides, task="two", metric=metric, build=moods).scores[0].mean == 1
    if not names:
        assert compare_files(*sides, metric=metric).scores[0].mean == 1
    rows.assign(**{"class": "other"}).to_csv(moods / "y.csv", index=False)
    with pytest.raises(DataError, match=r"^class is no class of two: 0 .*y\.csv, line 2: 'other'\).*; allowed: "):
        compare_files(*sides, task="two", metric=metric, build=moods)


def test_a_correlation_is_not_of_files_that_name_classes(tmp_path: Path) -> None:
    """Their predictions are the numbers of classes, in no order that means anything."""
    for name in ("x.csv", "y.csv"):
        rows = "".join(f"{row},{row},{row * 2},low\n" for row in range(6))
        (tmp_path / name).write_text(f"id,label,prediction,class\n{rows}")
    sides = str(tmp_path / "x.csv"), str(tmp_path / "y.csv")
    with pytest.raises(DataError, match=r"^a column class names classes, and pearson is of scores: 0 .*line 2: 'low'"):
        compare_files(*sides, metric="pearson")


def test_a_correlation_is_not_of_a_task_with_classes(moods: Path) -> None:
    sides = side(moods / "x.csv", LABELS, NEVER_2), side(moods / "y.csv", LABELS, NEVER_2)
    with pytest.raises(DataError, match=r"^two has classes, and spearman is of scores; allowed: accuracy, f1, mcc$"):
        compare_files(*sides, task="two", metric="spearman", build=moods)


def test_numbers_beside_true_and_false_are_refused_where_true_is_class_0(moods: Path) -> None:
    rows = pd.DataFrame({"id": range(4), "label": [True, False] * 2, "prediction": [1, 0] * 2})
    for name in ("x.csv", "y.csv"):
        rows.to_csv(moods / name, index=False)
    sides = str(moods / "x.csv"), str(moods / "y.csv")
    relabel(moods, {"false": 0, "true": 1})
    assert compare_files(*sides, task="two", metric="accuracy", build=moods).scores[0].mean == 1
    relabel(moods, {"true": 0, "false": 1})
    with pytest.raises(DataError, match=r"^0 and 1 may be class numbers of two, or false and true, which are its "):
        compare_files(*sides, task="two", metric="accuracy", build=moods)


def test_labels_from_1_beside_class_numbers_from_0_are_refused_with_a_task_too(moods: Path) -> None:
    relabel(moods, {"1": 0, "2": 1, "3": 2})
    sides = side(moods / "x.csv", [1, 2, 1, 2], [0, 1, 0, 1]), side(moods / "y.csv", [1, 2, 1, 2], [0, 1, 0, 0])
    with pytest.raises(DataError, match=r"^label may be a class number or a label of two: 0 .*\(.*: '1'\), "):
        compare_files(*sides, task="two", build=moods)


@pytest.mark.parametrize(
    ("labels", "metric"), [(("ham", "spam"), "macro_f1"), (("no", "yes"), "macro_f1"), (("false", "true"), "f1")]
)
def test_f1_of_a_task_is_a_mean_unless_its_classes_are_0_and_1(
    moods: Path, labels: tuple[str, str], metric: str
) -> None:
    relabel(moods, {label: number for number, label in enumerate(labels)}, metric="accuracy")
    rows = pd.DataFrame({"id": range(6), "label": [*labels] * 3, "prediction": [*labels, labels[0]] * 2})
    for name in ("x.csv", "y.csv"):
        rows.to_csv(moods / name, index=False)
    sides = str(moods / "x.csv"), str(moods / "y.csv")
    assert compare_files(*sides, task="two", metric="f1", build=moods).metric == metric


def test_ids_that_mean_other_texts_in_both_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,text,label,prediction\n1,so  nice,1,1\n2,It broke,0,0\n")
    (tmp_path / "y.csv").write_text("id,text,label,prediction\n1,so nice,1,1\n2,Well done,0,0\n")
    (tmp_path / "z.csv").write_text("id,sentence,label,prediction\n1,Nice,1,1\n2,Done,0,0\n")
    ours = str(tmp_path / "x.csv")
    with pytest.raises(
        DataError, match=r"^texts that differ: 2 \(.*x\.csv, line 3: 'It broke'\), 2 \(.*y\.csv, line 3"
    ):
        compare_files(ours, str(tmp_path / "y.csv"))
    assert compare_files(ours, str(tmp_path / "z.csv")).difference is not None


def test_a_row_without_a_seed_is_refused_where_others_have_one(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,label,prediction,seed\na,1,1,\nb,0,0,\na,1,1,1\nb,0,1,1\n")
    sides = str(tmp_path / "x.csv"), str(tmp_path / "x.csv")
    with pytest.raises(DataError, match=r"^no seed: a \(.*line 2\), b .*; every row of a file needs one, or none$"):
        compare_files(*sides)


@pytest.mark.parametrize("labels", [[1, 2, 3, 1, 2, 3], [-1, 0, 1, -1, 0, 1], [-1, 1, -1, 1, -1, 1]])
def test_class_numbers_beside_other_labels_are_refused(tmp_path: Path, labels: list[int]) -> None:
    numbers = {label: number for number, label in enumerate(sorted({*labels}))}
    predictions = [numbers[label] for label in labels]
    sides = side(tmp_path / "x.csv", labels, predictions), side(tmp_path / "y.csv", labels, predictions)
    with pytest.raises(DataError, match=r"^labels are -?1 to [13], and predictions seem to be class numbers from 0; "):
        compare_files(*sides)


def test_a_metric_of_classes_is_refused_for_a_score(tmp_path: Path) -> None:
    sides = side(tmp_path / "x.csv", LABELS, NEVER_2), side(tmp_path / "y.csv", LABELS, NEVER_2)
    with pytest.raises(DataError, match=r"^accuracy is of classes, and sts is a score; allowed: pearson, spearman$"):
        compare_files(*sides, task="sts", metric="accuracy")


def test_true_and_false_beside_another_word_are_words(tmp_path: Path) -> None:
    words = ["true", "false", "unknown", "true"]
    rows = pd.DataFrame({"id": range(4), "label": words, "prediction": [*words[:3], "false"]})
    for name in ("x.csv", "y.csv"):
        rows.to_csv(tmp_path / name, index=False)
    found = compare_files(str(tmp_path / "x.csv"), str(tmp_path / "y.csv"), metric="accuracy")
    assert found.scores[0].mean == 0.75


@pytest.mark.parametrize("margin", [-0.1, float("nan"), float("inf")])
def test_a_margin_is_a_number_of_0_or_more(of_right: Compare, margin: float) -> None:
    with pytest.raises(DataError, match="margin is"):
        of_right(range(3), range(2), 9, margin)


def test_where_all_rows_differ_nothing_can_be_told(of_right: Compare) -> None:
    assert of_right(range(8), (), 8).verdict is Verdict.TOO_CLOSE
