"""The numbers that go into each picture, which pictures a report has, and that its page stays small."""

from dataclasses import replace
from pathlib import Path

import made
import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.font_manager import FontEntry

from mtbert.judge import Scoreboard, judge
from mtbert.report import dev_rows, write
from mtbert.report.pictures import drawing, embeddings, labels, losses, misses
from mtbert.report.pictures import tasks as of_each
from mtbert.scores import points, tables
from mtbert.scores.columns import KEY, PLACES
from mtbert.scores.described import RowCounts
from mtbert.scores.results import Results
from mtbert.tasks import COURSE, dump_task

ROOT = Path(__file__).parents[3]
SST, QQP, STS = [0, 1, 2, 0], [0, 1, 0, 0], [0, 2, 2, 3]
RIGHT = [0, 1, 2, 3]
ROWS = {"sst": {"train": {"rows": 8544, "labels": [1, 1, 1, 0, 1]}, "test": {"rows": 2210}}}
EVERY = ["labels", "misses", "pals-for-pals-embeddings", "pals-for-pals-loss", "pals-for-pals-pairs"]


def placed(results: Results) -> Results:
    """The results with places: of sentences their row, of pairs two corners of a rectangle."""
    rows = results.predictions
    pairs = rows["task"] != "sst"
    places = {"x": rows["row"] * 10, "y": 0.0, "x2": np.where(pairs, rows["row"] * 10 + 3, np.nan)}
    places |= {"y2": np.where(pairs, 4.0, np.nan)}
    return replace(results, points=rows.assign(**places)[[*KEY, "task", "row", *PLACES]])


@pytest.fixture(scope="module")
def results() -> Results:
    predicted = {("pals", 1): {"sst": SST, "qqp": QQP, "sts": STS}, ("pals", 2): {"sst": RIGHT, "qqp": QQP, "sts": STS}}
    return placed(made.results(predicted, data={"rows": ROWS}))


def logged(*entries: tuple[str, int, int, str, float]) -> Results:
    """Models whose trainings logged these: variant, seed, step, name, value."""
    results = made.results({(name, 1): {"sst": SST} for name in dict.fromkeys(entry[0] for entry in entries)})
    history = pd.DataFrame(entries, columns=["variant", "seed", "step", "name", "value"]).assign(phase=1)
    return Results(results.runs, results.predictions, tables.joined([history], "history", COURSE))


def test_a_loss_is_the_mean_over_seeds_and_a_tenth_of_the_longest_training():
    rising = [("a", seed, step, "loss/sst", step + seed) for seed in (1, 3) for step in range(1, 61)]
    of_task = losses.curves(logged(*rising, ("b", 1, 60, "loss/sst", 7.0)), ["a", "b"])["sst"]
    assert len(of_task["a"]) == 30  # at the 2nd, 4th, ... step the mean of both steps, of both seeds, and of 3 of these
    assert of_task["a"].head(3).to_dict() == {2.0: 4.5, 4.0: 5.5, 6.0: 7.5}
    assert of_task["b"].to_dict() == {60.0: 7.0}


def test_where_nothing_was_logged_there_is_no_point_and_what_objectives_add_is_no_loss():
    found = losses.curves(
        logged(("a", 1, 10, "loss/sst", 2.0), ("a", 1, 300, "loss/sst", 1.0), ("a", 1, 10, "loss/smart/sst", 9.0)),
        ["a"],
    )
    assert {task: of_task["a"].to_dict() for task, of_task in found.items()} == {"sst": {10.0: 2.0, 300.0: 1.0}}


def test_more_variants_than_colours_have_another_picture(tmp_path: Path):
    names = [f"v{number}" for number in range(9)]
    text = losses.render(logged(*((name, 1, 10, "loss/sst", 1.0) for name in names)), tmp_path)
    assert sorted(file.stem for file in tmp_path.rglob("*.png")) == ["pals-for-pals-loss", "pals-for-pals-loss-2"]
    assert "training loss by step (2 of 2)" in text


def test_shares_of_predictions_by_their_distance_from_the_label_over_seeds(results: Results):
    assert {name: shares.tolist() for name, shares in misses.distances(results).items()} == {
        "pals": [0.875, 0, 0, 0.125, 0]
    }


@pytest.mark.parametrize(("shares", "within"), [([0.5, 0.375, 0.125], 0.75), ([0.5, 0, 0.5], 0.0), ([1, 0, 0], None)])
def test_the_share_of_misses_that_are_one_step_off(shares: list[float], within: float | None):
    assert misses.within_one(np.array(shares)) == within


def test_rows_that_do_not_count_are_no_misses(results: Results):
    unscored = results.predictions.assign(scored=results.predictions["row"] < 3)
    of_train = results.predictions.assign(split="train")
    partly_scored = Results(results.runs, pd.concat([unscored, of_train]), results.history)
    assert misses.distances(partly_scored)["pals"].tolist() == [1, 0, 0, 0, 0]


def test_shares_of_labels_where_they_are_known():
    counts = {"train": (8, [2, 6]), "dev": (4, []), "test": (2, [1, 1])}
    rows = {split: RowCounts(rows=rows, labels=label_counts) for split, (rows, label_counts) in counts.items()}
    assert {split: of_split.tolist() for split, of_split in labels.shares(rows).items()} == {"train": [0.25, 0.75]}


def test_labels_have_the_names_of_their_classes_or_the_ends_of_their_range():
    assert [*labels._names(COURSE["sts"], 5)] == ["0 to 1", "1 to 2", "2 to 3", "3 to 4", "4 to 5"]
    assert [*labels._names(COURSE["snli"], 3)] == ["contradiction", "neutral", "entailment"]
    of_three = replace(COURSE["qqp"], labels={"neg": 0, "negative": 0, "pos": 1})
    assert [*labels._names(of_three, 2)] == ["neg / negative", "pos"]


@pytest.mark.parametrize(
    ("names", "shown", "turn", "below"),
    [
        (["account", "billing", "delivery", "product"], ["account", "billing", "delivery", "product"], 0, ""),
        (["anger", "gratitude", "joy", "love"], ["anger", "gratitude", "joy", "love"], 0, ""),
        (["anger", "gratitude", "joy", "love", "fear"], ["anger", "gratitude", "joy", "love", "fear"], 90, ""),
        (["a very long name of a class", "b"] * 2, ["a very long name …", "b"] * 2, 90, ""),
        ([str(number) for number in range(77)], [], 0, "77 labels, as in tasks.yaml"),
    ],
)
def test_names_below_bars_do_not_overlap(names: list[str], shown: list[str], turn: int, below: str):
    axes = Figure().add_subplot()
    labels._name_bars(axes, names)
    assert [label.get_text() for label in axes.get_xticklabels()] == shown
    assert {label.get_rotation() for label in axes.get_xticklabels()} == ({turn} if shown else set())
    assert axes.get_xlabel() == below


def test_sizes_of_the_data_are_a_table(results: Results, tmp_path: Path):
    last = labels.render(results, tmp_path).splitlines()[-1]
    assert [cell.strip() for cell in last.split("|")[1:-1]] == ["SST-5", "8,544", "\N{EN DASH}", "2,210"]


def test_pairs_that_are_alike_and_those_that_are_not_with_their_lengths(results: Results):
    found = embeddings.pairs(results)
    assert {of: table["kind"].tolist() for of, table in found.items()} == {
        ("pals", "qqp"): [points.UNLIKE, points.ALIKE, points.ALIKE, points.UNLIKE],
        ("pals", "sts"): [points.UNLIKE, points.UNLIKE, points.ALIKE],  # 2 of 5 is neither
    }
    # Each line is 5 long, and the picture 33 wide.
    assert embeddings.lengths(found["pals", "qqp"]) == pytest.approx({points.ALIKE: 5 / 33, points.UNLIKE: 5 / 33})


def test_at_most_fifty_pairs_of_a_kind(monkeypatch: pytest.MonkeyPatch, results: Results):
    monkeypatch.setattr(points, "PAIRS", 1)
    assert embeddings.pairs(results)["pals", "qqp"]["x"].tolist() == [0, 10]


def test_how_many_sentences_have_a_place_is_told(results: Results, tmp_path: Path):
    assert "SST-5 by label, all 4 rows of dev" in embeddings.render(results, tmp_path)
    points = results.points
    some = replace(results, points=points[points["row"] < 2])
    told = "2 of 4 rows of dev; the mean of their labels is 0.50, of all 1.50"
    assert told in embeddings.render(some, tmp_path)


def test_more_than_eight_panels_are_told(results: Results, tmp_path: Path):
    table = embeddings.sentences(results)["pals"]
    told = embeddings._put("catalog", "embeddings", "all", dict.fromkeys("abcdefghi", table), tmp_path)
    assert told.splitlines()[0] == "**Variants of one's own**: all; the first 8 of 9 panels"


def test_a_report_has_every_picture_and_shows_sentences_that_it_is_given(results: Results, tmp_path: Path):
    texts = {"sst": ["one", "two", "three", "<b>four</b>"]}
    write.write(judge(Scoreboard(results)), tmp_path / "mine", sentences=texts)
    assert sorted(file.stem for file in tmp_path.rglob("pictures/*.png")) == sorted(EVERY)
    page = (tmp_path / "mine/index.html").read_text()
    assert "&lt;b&gt;four&lt;/b&gt;" in page
    assert "sts-3" in page  # no sentence of STS-B was given
    assert "show_text" in page  # so the page says how they are shown


def test_old_evidence_has_the_pictures_that_it_has_numbers_for(results: Results, tmp_path: Path):
    old = made.results({("pals", 1): {"sst": SST}})
    assert old.data.rows == {}
    write.write(judge(Scoreboard(old)), tmp_path / "mine")
    assert sorted(file.stem for file in tmp_path.rglob("pictures/*.png")) == ["misses", "pals-for-pals-loss"]
    assert of_each.HIDDEN in (tmp_path / "mine/README.md").read_text()


@pytest.mark.parametrize(
    ("whose", "wished", "shown"),
    [
        ("sample", [], {"sst": ["a"], "sts": ["a / b"]}),
        ("own", ["sts"], {"sts": ["a / b"]}),
        ("own", [], {}),
        ("course", ["sst"], {"sst": ["a"]}),
    ],
)
def test_sentences_are_shown_of_the_sample_and_of_tasks_whose_owner_wishes_it(
    tmp_path: Path, whose: str, wished: list[str], shown: dict[str, list[str]]
):
    described = {task: dump_task(replace(COURSE[task], show_text=task in wished)) for task in ("sst", "sts")}
    write.files.write_yaml(tmp_path / "plan/catalog.yaml", {"tasks": described})
    write.files.write_json(tmp_path / "data/report.json", {"whose": whose})
    for task, second in (("sst", [None]), ("sts", ["b"])):
        (tmp_path / "data" / task).mkdir()
        table = pd.DataFrame({"sentence1": ["a"], "sentence2": second})
        table.to_parquet(tmp_path / "data" / task / "dev.parquet")
    assert dev_rows.sentences(tmp_path) == shown


def test_a_picture_of_eight_variants_with_all_of_sst_is_small(tmp_path: Path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1101, 2)), columns=["x", "y"]).assign(label=rng.integers(0, 5, 1101))
    figure = embeddings._drawn(dict.fromkeys("abcdefgh", table), embeddings._draw_points, {})
    drawing.put(figure, tmp_path, "places", "", "")
    assert (tmp_path / "pictures/places.png").stat().st_size < 85_000


@pytest.mark.parametrize("page", sorted((ROOT / "reports").glob("*/index.html")), ids=lambda page: page.parent.name)
def test_a_page_that_comes_with_the_project_is_below_1_5_mb(page: Path):
    assert page.stat().st_size < 1_500_000


@pytest.mark.parametrize(
    ("name", "shown"), [("$\\foo$ 5 $", "$\\foo$ 5 $"), ("a\n" * 40, f"{'a ' * 29}a\N{HORIZONTAL ELLIPSIS}")]
)
def test_a_name_in_a_picture_is_text_of_one_line_and_no_formula(tmp_path: Path, name: str, shown: str):
    assert drawing.short(name) == shown
    figure = drawing.empty(2.0)
    drawing.label_lines(figure.subplots(), [drawing.short(name)])
    assert drawing.put(figure, tmp_path, "named", "", "alt") == "![alt](pictures/named.png)"


def test_what_lines_of_own_pairs_are_is_said_by_their_labels(results: Results):
    assert embeddings.about_pairs(results) == embeddings.ABOUT_PAIRS
    own = {
        "qqp": replace(COURSE["qqp"], title="same", names=("duplicate", "other"), metric="f1"),
        "sts": replace(COURSE["sts"], title="rel", highest=100.0),
    }
    data = {"tasks": {name: dump_task(task) for name, task in own.items()}, "whose": "own"}
    told = embeddings.about_pairs(placed(made.results({("pals", 1): {"qqp": QQP, "sts": STS}}, data=data)))
    assert "blue with a label of *same* other, or *rel* 80 to 100, orange with one of *same* duplicate, or" in told


def titled(title: str) -> Figure:
    figure = drawing.empty(1)
    figure.subplots().set_title(title)
    return figure


def test_letters_that_no_font_has_are_named_above_the_picture(tmp_path: Path):
    text = drawing.put(titled("日本 naïve 本"), tmp_path, "ways", "Ways.", "alt")
    assert text == (
        "Ways.\n\nThe picture has boxes in place of 日, 本, which no font has here; install Noto Sans CJK or the like."
        "\n\n![alt](pictures/ways.png)"
    )
    assert drawing.put(titled("naïve Ж\u3000\n"), tmp_path, "ways", "", "alt") == "![alt](pictures/ways.png)"


def test_a_font_that_is_installed_draws_the_letters_that_the_first_lacks(monkeypatch: pytest.MonkeyPatch):
    installed = FontEntry(name="Noto Sans Thai")
    monkeypatch.setattr(drawing.font_manager.fontManager, "ttflist", [installed])
    with matplotlib.rc_context():
        drawing.use_fonts()
        assert matplotlib.rcParams["font.family"] == ["DejaVu Sans", "Noto Sans Thai"]
