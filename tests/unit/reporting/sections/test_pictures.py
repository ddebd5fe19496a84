"""What the pictures show, from a build directory of a few rows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from safetensors.numpy import save_file

from mtbert import files, predictions
from mtbert.reporting import corpora, embeddings, fairness, mistakes, pictures
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.costs import Cost
from mtbert.reporting.pictures import Group
from mtbert.reporting.sections import SECTIONS, confusions, costs, losses
from mtbert.reporting.sections import embeddings as shown
from mtbert.reporting.sections.base import Report
from mtbert.tasks import TASKS

MINE = CompletedEntry("mine", "own", "mine", ("sst", "sts"), True, seeds=(1,))
PLAN = Completed("sample", (1,), "last", "whole", "tiny", "", "", (MINE,))
OURS = Group("own", "Mine", frozenset({"mine"}))
HISTORY = "phase,step,name,value\n1,1,loss/sst,1.5\n1,2,loss/sst,1.25\n1,1,loss/sts,4.0\n1,2,loss/sts,3.0\n"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    run = tmp_path / "runs/mine/1"
    files.write_text(run / "history.csv", HISTORY)
    random = np.random.default_rng(0)
    labels = {"sst": [0.0, 4.0, 2.0, 1.0], "sts": [5.0, 0.5, 2.5, 4.0]}
    for task, values in labels.items():
        table = pd.DataFrame({"id": list("abcd"), "label": values, "prediction": values})
        for column in predictions.probability_columns(TASKS[task]):
            table[column] = 0.2
        predictions.write(predictions.path(run, task, "dev"), table.assign(scored=True, overall=True), TASKS[task])
    kept = {"sst": random.normal(size=(1, 4, 6)), "sts": random.normal(size=(2, 4, 6))}
    save_file({task: value.astype(np.float16) for task, value in kept.items()}, run / "embeddings.safetensors")
    files.seal(run)
    for split, values in (("train", [0.0, 0.0, 1.0, 3.0]), ("dev", [1.0, 3.0])):
        (tmp_path / "data/sst").mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"label": values}).to_parquet(tmp_path / f"data/sst/{split}.parquet")
    return tmp_path


def report(build: Path) -> Report:
    made = Report(build, PLAN, SECTIONS)
    made.verdicts, made.costs = [], []
    return made


def test_every_picture_is_written_once_and_named(build: Path, tmp_path: Path):
    made = report(build).pictures
    for picture in made:
        picture.write(tmp_path / "pictures")
    names = [
        "distances", "own-loss-sst", "own-loss-sts", "own-confusion-sst", "own-sentiment", "own-pairs-sts", "labels",
    ]  # fmt: skip
    assert [picture.name for picture in made] == names
    for name in names:
        assert (tmp_path / f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_loss_of_a_task_is_a_line_for_each_variant(build: Path):
    sst, _ = losses.pictures(report(build))
    (line,) = sst.draw().axes[0].lines
    assert (line.get_label(), line.get_xydata().tolist()) == ("mine", [[1.0, 1.5], [2.0, 1.25]])


def test_lines_of_one_colour_differ_in_style_and_a_dagger_marks_faulty_code():
    several = {f"v{at}": pd.Series([1.0, 0.5], [1, 2]) for at in range(12)}
    figure = losses.draw("sst", several, {"v1", "elsewhere"})
    lines = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert lines[:2] + lines[10:] == [("C0", "-"), ("C1", "-"), ("C0", "--"), ("C1", "--")]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()[:3]] == ["v0", "v1 \N{DOUBLE DAGGER}", "v2"]
    assert legend.get_title().get_text() == "\N{DOUBLE DAGGER} trained by faulty code"
    assert losses.draw("sst", several, set()).legends[0].get_title().get_text() == ""


def test_labels_are_shares_of_each_set(build: Path):
    assert corpora.shares(build, "sst").to_dict("list") == {"train": [0.5, 0.25, 0.25], "dev": [0.0, 0.5, 0.5]}
    assert list(corpora.shares(build, "sst").index) == [0, 1, 3]


def test_pairs_alike_and_pairs_unlike_and_none_between(build: Path):
    assert embeddings.kind_of(np.array([5.0, 0.5, 2.5, 4.0]), "sts").tolist() == [0, 1, -1, 0]
    (picture,) = shown.pairs(shown.clouds(report(build))["sts"], "sts", OURS)
    figure = picture.draw()
    figure.draw_without_rendering()
    alike, unlike = figure.axes[0].collections[::2]
    assert [len(lines.get_segments()) for lines in (alike, unlike)] == [2, 1]  # pyright: ignore


def test_every_sentence_is_a_point_and_so_many_pairs_as_can_be_told_apart(build: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(embeddings, "POINTS", 6)
    clouds = shown.clouds(report(build))
    assert {task: by_variant["mine"].solid.shape for task, by_variant in clouds.items()} == {
        "sst": (1, 4, 3),
        "sts": (2, 3, 3),
    }


def test_sentences_in_one_sequence_make_no_picture_of_pairs(build: Path):
    file = build / "runs/mine/1/embeddings.safetensors"
    save_file({"sts": np.zeros((1, 4, 6), dtype=np.float16)}, file)
    files.seal(file.parent)
    assert list(shown.pairs(shown.clouds(report(build))["sts"], "sts", OURS)) == []


def test_a_run_without_embeddings_is_left_out(build: Path):
    (build / "runs/mine/1/embeddings.safetensors").unlink()
    files.seal(build / "runs/mine/1")
    assert shown.clouds(report(build)) == {}
    assert list(shown.sentiment({}, OURS)) == []


def test_shares_of_a_label_are_of_its_row():
    counts = np.array([[3, 1], [0, 0]])  # a label that no row has makes no division by zero
    said = mistakes.Answers(pd.Series(dtype=float), pd.DataFrame(), counts, 1)
    picture = confusions.picture("qqp", {"mine": said}, "own", "Mine")
    assert [text.get_text() for text in picture.draw().axes[0].texts] == ["0.75", "0.25", "0.00", "0.00"]


def cost(name: str, times_bert: float, scores: dict[str, list[float]], paper: str = "own", **more: Any) -> Cost:
    return Cost(name, paper, name, (name,), 10, 10, 10, times_bert, None, scores, **more)


def points(axes: Axes) -> list[list[float]]:
    """The places of its marks; not the signs of a gap, which have two."""
    found = [np.round(np.asarray(line.get_xydata()), 6).tolist() for line in axes.lines]
    return [place for places in found if len(places) == 1 for place in places]


def test_costs_know_of_few_rows_and_faulty_code_of_each_of_their_models(make_build: Callable[..., Path]):
    made = make_build()
    code = next(iter(fairness.FAULTS))
    settings = {"run": {"keep": "last", "selection": "whole", "threads": 2}, "code": code, "phases": [{"rows": 500}]}
    files.write_yaml(made / "runs/pals/1/settings.yaml", settings)
    files.seal(made / "runs/pals/1")
    found = Report.read(made, SECTIONS)
    assert {cost.name: (cost.rows, cost.faulty) for cost in found.costs} == {
        "bert-sst": (None, False), "bert-qqp": (None, False), "bert-sts": (None, False),
        "Fine-tuned BERT": (None, False), "pals": (500, True), "vote": (500, True),
    }  # fmt: skip
    assert found.faulty == {"pals", "vote"}


def test_a_score_stands_above_what_it_costs_and_is_named():
    cheap, dear = cost("cheap", 1.5, {"overall_raw": [0.5, 0.7]}), cost("dear", 1.9, {"overall_raw": [0.8]})
    (picture,) = costs.of_all([cheap, dear, cost("part", 1.0, {"sst": [0.5]})], [])
    (axes,) = picture.draw().axes
    assert points(axes) == [[1.5, 0.6], [1.9, 0.8]]
    assert [text.get_text() for text in axes.texts] == ["dear", "cheap"]
    assert picture.title == (
        "Overall score on dev against weights to store; bars: 95 % intervals of means over seeds; where weights are "
        "equal, points stand side by side"
    )


def test_a_strip_a_report_and_a_column_for_rows_of_several_encoders():
    score = {"overall_raw": [0.5]}
    found = [cost("one", 1.0, score), cost("vote", 3.0, score), cost("rival", 1.1, score, "rivals")]
    (picture,) = costs.of_all(found, [])
    figure = picture.draw()
    assert [points(axes) for axes in figure.axes] == [[[1.0, 0.5]], [[3.0, 0.5]], [[1.1, 0.5]], []]
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "Variants of one's own", "", "PALs and their rivals", "",
    ]  # fmt: skip


def test_points_of_equal_weights_stand_beside_one_another_the_best_first():
    found = [cost("a", 1.0, {"overall_raw": [0.5]}), cost("b", 1.0, {"overall_raw": [0.7]})]
    (picture,) = costs.of_all([*found, cost("c", 1.5, {"overall_raw": [0.6]})], [])
    (axes,) = picture.draw().axes
    assert points(axes) == [[0.996, 0.7], [1.004, 0.5], [1.5, 0.6]]  # STEP is 0.016 of 0.5


def test_of_many_rows_the_best_and_the_baselines_are_named():
    many = [cost(f"v{at}", 1.0 + at / 10, {"overall_raw": [at / 10]}) for at in range(7)]
    few = [cost("r", 1.0, {"overall_raw": [0.1]}, "rivals"), cost("s", 1.0, {"overall_raw": [0.2]}, "rivals")]
    assert costs.outstanding([*many, *few], [("v2",), ("v3", "v4")]) == {"v6", "v2", "r", "s"}


def test_faulty_code_is_hollow_and_few_rows_have_a_mark_of_their_own():
    score = {"overall_raw": [0.5]}
    found = [cost("sound", 1.0, score), cost("faulty", 1.2, score, faulty=True), cost("few", 1.4, score, rows=500)]
    for picture in [*costs.of_all(found, []), *costs.of_rivals(found)]:
        figure = picture.draw()
        shown = [(line.get_marker(), line.get_markerfacecolor()) for line in figure.axes[0].lines]
        assert shown == [("o", "#0072b2"), ("o", "white"), ("^", "#0072b2")]
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == [
            "500 rows of each task", "hollow: trained by faulty code",
        ]  # fmt: skip
    assert [list(picture.draw().legends) for picture in costs.of_all(found[:1], [])] == [[]]


def test_rivals_stand_above_their_weights_with_intervals():
    found = [cost("one", 1.5, {"overall_raw": [0.5, 0.7]}), cost("part", 1.0, {"sst": [0.5]})]
    stored, trained = costs.of_rivals(found)
    assert (stored.name, trained.name) == ("rivals-stored", "rivals-trained")
    (axes,) = stored.draw().axes
    ((line,),) = [bar.get_segments() for bar in axes.collections]
    # of two seeds 0.1 either side of the mean, Student's interval is 12.706 times 0.1
    assert line.round(3).tolist() == [[0.0, -0.671], [0.0, 1.871]]
    assert [text.get_text() for text in axes.texts] == ["one"]
    assert list(costs.of_rivals([])) == []


def test_an_equal_number_of_rows_of_each_label_is_shown():
    labels = np.array([3.0] * 6 + [0.0, 1.0, 3.0, 0.0])
    assert embeddings.balanced(labels, "sst", 5).tolist() == [0, 1, 6, 7, 9]
    assert embeddings.balanced(labels, "sst", 99).tolist() == list(range(10))
    scores = np.array([2.5, 2.6, 2.7, 5.0, 0.5, 2.8, 4.5])  # between, alike and unlike
    assert embeddings.balanced(scores, "sts", 5).tolist() == [0, 1, 3, 4, 6]
    assert embeddings.balanced(np.full(3, np.nan), "sst", 2).tolist() == [0, 1]


def test_a_picture_of_very_many_variants_shows_the_first_and_says_so():
    said = mistakes.Answers(pd.Series(dtype=float), pd.DataFrame(), np.array([[1, 3], [0, 0]]), 1)
    several = {f"v{number}": said for number in range(26)}
    picture = confusions.picture("qqp", several, "own", "Mine")
    assert picture.title.endswith("share of the label (the first 24 of 26)")
    assert [axes.get_title() for axes in picture.draw().axes] == [f"v{number}" for number in range(24)]
    assert pictures.first({"a": 1}, "Mine") == ({"a": 1}, "Mine")
