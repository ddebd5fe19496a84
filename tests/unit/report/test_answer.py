"""The report's first screen: which way to keep, in words that come of verdicts alone."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import made
import numpy as np
import pytest
from matplotlib.figure import Figure

from mtbert.judge import Answer, Judgement, Plan, Row, Scoreboard, judge, plan_of
from mtbert.judge.training_check import TrainingCheck
from mtbert.report import answer_section, markdown, terminal
from mtbert.report.pictures import costs as picture
from mtbert.scores.described import MAJORITY, TFIDF
from mtbert.scores.metrics import OVERALLS
from mtbert.scores.results import Results

ROOT = Path(__file__).parents[3]
ROWS = 300
LABELS = {"sst": (np.arange(ROWS) % 5).astype(float), "qqp": (np.arange(ROWS) % 2).astype(float),
          "sts": np.linspace(0, 5, ROWS)}  # fmt: skip
SHARED, EACH = ["sst", "qqp", "sts"], {"of-sst": ["sst"], "of-qqp": ["qqp"], "of-sts": ["sts"]}


def said(task: str, share: float, random: np.random.Generator) -> list[float]:
    """Predictions of which so many are right, and of a score so near."""
    labels = LABELS[task].copy()
    if task == "sts":
        return (labels + random.normal(0, 5 * (1 - share), ROWS)).tolist()
    wrong = random.permutation(ROWS)[: round((1 - share) * ROWS)]
    labels[wrong] = (labels[wrong] + 1) % (5 if task == "sst" else 2)
    return labels.tolist()


def found(
    monkeypatch: pytest.MonkeyPatch,
    seeds: int,
    data: dict | None = None,
    margin: float = 0.01,
    costs: dict[str, float | dict[str, float]] | None = None,
    limit: dict[str, float] | None = None,
    worse: dict[tuple[str, str], float] | None = None,
    **ways: float,
) -> Answer:
    """The answer on ways of a study of one's own whose scores are near these; `single` is one model per task.

    `margin` is that of the mean, `costs` are columns of every run, or by variant, `limit` is that of the plan, `worse`
    are the scores of some ways on a task.
    """
    monkeypatch.setattr("mtbert.judge.answer.margins", lambda _: dict.fromkeys(OVERALLS, margin))
    random = np.random.default_rng(3)
    monkeypatch.setattr(made, "LABELS", {task: of.tolist() for task, of in LABELS.items()})
    predicted, settings = {}, {}
    for seed in range(1, seeds + 1):
        for way, share in ways.items():
            models = EACH if way == "single" else {way: SHARED}
            for name, tasks in models.items():
                shares = {task: (worse or {}).get((way, task), share) for task in tasks}
                predicted[name, seed] = {task: said(task, near, random) for task, near in shares.items()}
                settings[name] = {"paper": "own", "row": "One model per task" if way == "single" else way.title()}
    counts = {task: np.bincount(LABELS[task].astype(int)).tolist() for task in ("sst", "qqp")}
    rows = {task: {"train": {"rows": sum(labels), "labels": labels}} for task, labels in counts.items()}
    results = made.results(predicted, settings, {"whose": "own", "rows": rows} | (data or {}))
    weights = {name: 900 if name in EACH else 50 if name == "lora" else 1000 for name in settings}
    results.runs["stored"] = results.runs["variant"].map(weights)
    for column, cost in (costs or {}).items():
        results.runs[column] = results.runs["variant"].map(cost) if isinstance(cost, dict) else cost
    answer = judge(Scoreboard(results), plan=Plan(limit=limit or {})).answer
    assert answer is not None
    return answer


def mean(one: Answer, label: str) -> float | None:
    """The difference of a way from one model per task."""
    found = one.against_single_task_by_label[label].difference
    return found and found.mean


def test_the_cheapest_way_that_is_proved_to_be_no_worse_is_to_be_kept(monkeypatch):
    one = found(monkeypatch, 6, margin=0.05, single=0.91, shared=0.9, lora=0.6)
    assert [*answer_section.sentences(one)][:2] == [
        "**Keep *Shared***: proved to be less than 0.05 below *One model per task*, which has the highest mean. "
        "It stores 37 % of the weights of *One model per task*.",
        f"Proved to be worse than one model per task: *Lora* ({markdown.number(mean(one, 'Lora'), '+')}).",
    ]


@pytest.mark.parametrize(("stored", "said"), [(4, "less than 1 %"), (27, "1 %"), (945, "35 %")])
def test_few_weights_are_not_none(stored: float, said: str):
    small, whole = (Row("", (), {}, weights={"stored": count}) for count in (stored, 2700))
    assert answer_section._percent(small, whole) == said


def test_the_cheapest_way_that_is_good_enough_may_be_far_smaller(monkeypatch):
    one = found(monkeypatch, 6, margin=0.05, single=0.91, shared=0.9, lora=0.9)
    assert next(answer_section.sentences(one)).endswith(". It stores 2 % of the weights of *One model per task*.")
    assert (one.kept or one.best).label == "Lora"


def test_where_seeds_are_few_it_says_how_many_there_are_and_what_would_decide(monkeypatch):
    one = found(monkeypatch, 3, single=0.9, shared=0.89, lora=0.6)
    (first, *rest) = answer_section.sentences(one)
    less = markdown.number(-(mean(one, "Shared") or 0))
    assert first.startswith(
        "**Nothing is decided**: of these three, *One model per task* has the highest mean; the best with fewer "
    )
    assert (
        f", *Shared* (37 % of its weights), is {less} lower. A verdict needs 6 seeds of each way; there are 3: `"
        in first
    )
    assert rest == []
    one = found(monkeypatch, 1, single=0.9, shared=0.89)
    assert next(answer_section.sentences(one)).endswith("there is 1: `mtbert study FOLDER --seeds 6`.")
    while_it_trains = replace(one, plan=Plan(6))
    assert next(answer_section.sentences(while_it_trains)).endswith("there is 1.")


def test_the_best_and_smallest_is_not_kept_by_one_seed(monkeypatch):
    one = found(monkeypatch, 1, single=0.8, shared=0.95)
    assert next(answer_section.sentences(one)).startswith(
        "**Nothing is decided**: of these two, *Shared* has the highest mean, and no way has fewer weights. A verdict "
        "needs 6 seeds"
    )
    assert next(answer_section.sentences(found(monkeypatch, 6, single=0.8, shared=0.95))) == (
        "**Keep *Shared***: it has the highest mean, and no way has fewer weights."
    )


def test_what_the_rule_s_own_power_asks_for_is_said(monkeypatch):
    one = found(monkeypatch, 6, single=0.9, shared=0.9)
    assert one.choice is not None
    decides = one.choice.sample_size
    assert decides is not None
    needed = f"{decides.seeds} seeds on {decides.rows:,} rows of dev"
    assert next(answer_section.sentences(one)).endswith(f" If the two are equal, {needed} prove it four times of five.")


def test_the_terminal_has_the_sentences_without_marks(monkeypatch):
    one = found(monkeypatch, 6, single=0.8, shared=0.95)
    judgement = Judgement(one.results, [], answer=one)
    told = terminal.in_short(judgement, Path("build/report/index.html"))
    assert told.startswith("Keep Shared: it has the highest mean, and no way has fewer weights.\nProved to be better")


def test_a_study_ends_with_the_command_that_uses_its_model(monkeypatch):
    one = found(monkeypatch, 6, single=0.8, shared=0.95)
    told = terminal.in_short(Judgement(one.results, [], answer=one), Path("build/report/index.html"))
    assert told.endswith("\nUse a model:       mtbert predict shared --file FILE --out ANSWERS")


def test_a_task_that_sharing_costs_is_named(monkeypatch):
    costly = found(monkeypatch, 6, margin=0.5, worse={("shared", "sst"): 0.5}, single=0.95, shared=0.95)
    assert costly.single_task is not None
    assert costly.single_task.names == ("of-sst", "of-qqp", "of-sts")
    assert any(line.startswith("It costs SST-5 0.45") for line in answer_section.sentences(costly))


def test_a_way_that_does_not_beat_the_majority_class_is_never_kept(monkeypatch):
    one = found(monkeypatch, 6, single=0.9, heads=0.15)
    assert one.majority == {"sst": 0.2, "qqp": 0.5}
    (heads,) = [way for way in one.ways if way.label == "Heads"]
    assert heads.below == {"sst": [MAJORITY], "qqp": [MAJORITY]}
    assert ([way.label for way in one.candidates], one.kept) == (["One model per task"], None)
    first, *others = answer_section.sentences(one)
    assert first == "**Nothing is decided**: *One model per task* alone is trained well enough to compare."
    assert others == [
        f"Proved to be worse than one model per task: *Heads* ({markdown.number(mean(one, 'Heads'), '+')})."
    ]


FAILS = {"sst": [TFIDF]}


def test_where_the_best_way_is_not_trained_well_enough_none_below_it_is_recommended(monkeypatch):
    monkeypatch.setattr("mtbert.judge.training_check.TrainingCheck.checked", failing("shared"))
    one = found(monkeypatch, 6, single=0.8, shared=0.95)
    lower = markdown.number(one.ways[0].scores[one.metric].mean - one.ways[1].scores[one.metric].mean)
    assert next(answer_section.sentences(one)) == (
        "**Nothing is recommended**: of these two, *Shared* has the highest mean, but is not trained well enough; the "
        f"best way that is trained well enough, *One model per task*, is {lower} lower."
    )


def test_a_way_that_is_proved_as_good_as_the_best_is_kept_where_the_best_is_not_trained_well_enough(monkeypatch):
    monkeypatch.setattr("mtbert.judge.training_check.TrainingCheck.checked", failing("shared"))
    one = found(monkeypatch, 6, margin=0.05, single=0.9, shared=0.91)
    assert next(answer_section.sentences(one)).startswith(
        "**Keep *One model per task***: proved to be less than 0.05 below *Shared*, which has the highest mean, but is "
        "not trained well enough. "
    )


def failing(name: str) -> Callable[[TrainingCheck, Row], Row]:
    """A check that the model of this name alone fails."""
    return lambda checked, row: replace(row, below=FAILS if row.names == (name,) else {})


def test_a_cheaper_way_that_is_not_trained_well_enough_is_not_said_to_be_proved_worse(monkeypatch):
    one = found(monkeypatch, 6, single=0.95, shared=0.8)
    single, shared = one.ways
    one = replace(one, ways=[single, replace(shared, below=FAILS)])
    assert answer_section._kept(one, single) == (
        "**Keep *One model per task***: it has the highest mean, and no way that is trained well enough has fewer "
        "weights."
    )


def test_a_row_that_fails_the_check_keeps_its_difference_with_the_reason_beside_it(monkeypatch, tmp_path: Path):
    one = found(monkeypatch, 6, single=0.9, shared=0.89, heads=0.15)
    lines = [line.split("|") for line in answer_section.render(one, tmp_path).splitlines() if line.startswith("|")]
    column = [cell.strip() for cell in lines[0]].index("trained well enough")
    heads = "no: not significantly above a constant (SST-5, QQP)"
    assert [line[column].strip() for line in lines[2:]] == ["", "", heads, ""]
    assert markdown.number(mean(one, "Heads"), "+") in "|".join(lines[4])


def test_the_majority_class_is_that_of_the_training_rows(monkeypatch):
    rows = {"sst": {"train": {"rows": 10, "labels": [1, 1, 1, 1, 6]}}}
    one = found(monkeypatch, 1, {"rows": rows}, single=0.9, shared=0.9)
    assert one.majority["sst"] == pytest.approx(0.2)


@pytest.mark.parametrize(("examples", "unequal"), [(94, True), (105.2, False), (106, True)])
def test_a_way_that_sees_a_task_more_or_less_often_is_told_by_the_share_of_the_larger(
    monkeypatch, examples: float, unequal: bool
):
    one = found(monkeypatch, 1, single=0.9, shared=0.7)
    for task in SHARED:
        of_run = one.results.trained["variant"].map({"shared": examples, f"of-{task}": 100.0})
        one.results.trained[f"examples_{task}"] = of_run.fillna(0.0)
    assert [way.label for way in one.unequal] == ["Shared"] * unequal


def test_every_way_is_a_row_the_best_first_with_weights_times_and_baselines(monkeypatch, tmp_path: Path):
    costs = {"seconds": 60.0, "milliseconds": 2.5, "batch_milliseconds": 0.5, "megabytes": 91.0}
    one = found(monkeypatch, 6, costs=costs, single=0.9, shared=0.7)
    told = answer_section.render(one, tmp_path)
    lines = [line.split("|")[1:-1] for line in told.splitlines() if line.startswith("|")]
    assert [line[0].strip() for line in lines] == [
        "way", ":" + "-" * (len(lines[1][0]) - 1), "One model per task", "Shared", "Majority class",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[2][5:]] == [
        markdown.DASH, markdown.DASH, "0.00", "3 min", "7.5", "1.5", "133", "273.0",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[3][6:]] == ["worse", "0.00", "60 s", "2.5", "0.5", "400", "91.0"]
    assert (tmp_path / "pictures/answer.png").is_file()


MS = {"shared": 12.0, "lora": 33.4, "pals": 18.0} | dict.fromkeys(EACH, 11.0)  # one model per task: 33 ms


def test_the_limit_leaves_ways_out_and_says_why(monkeypatch):
    costs = {"milliseconds": MS, "megabytes": 91.0}
    one = found(
        monkeypatch, 6, margin=0.05, costs=costs, limit={"milliseconds": 20, "megabytes": 100},
        single=0.93, shared=0.9, lora=0.91, pals=0.7,
    )  # fmt: skip
    assert [way.label for way in one.candidates] == ["Shared", "Pals"]
    assert [*answer_section.sentences(one)][:2] == [
        "**Keep *Shared***: it has the highest mean of the ways within the limit, and "
        "no way that is within the limit has fewer weights.",
        "Over the limit: *One model per task* takes 33 ms a text (limit 20), *One model per task* has 273 MB to load "
        "(limit 100), *Lora* takes 33.4 ms a text (limit 20).",
    ]


@pytest.mark.parametrize(
    ("most", "answer"),
    [
        (15, "**Keep *Shared***: no other way that is trained well enough is within the limit."),
        (5, "**Nothing is recommended**: no way that is trained well enough is within the limit."),
    ],
)
def test_one_way_within_the_limit_is_kept_and_of_none_it_is_said(monkeypatch, most: float, answer: str):
    one = found(monkeypatch, 1, costs={"milliseconds": MS}, limit={"milliseconds": most}, single=0.93, shared=0.9)
    assert next(answer_section.sentences(one)) == answer


def test_the_plan_says_the_limit():
    assert plan_of({"seeds": [1], "limit": {"milliseconds": 20.0, "megabytes": None}}).limit == {"milliseconds": 20.0}
    assert plan_of({"seeds": [1]}).limit == {}


def test_a_limit_without_measured_costs_is_not_applied(monkeypatch):
    one = found(monkeypatch, 1, limit={"milliseconds": 1}, single=0.93, shared=0.9)
    assert len(one.candidates) == 2
    told = "The limit is not applied: nobody has measured yet what the ways cost to run."
    assert told in [*answer_section.sentences(one)]


def test_a_way_whose_costs_nobody_has_measured_is_over_the_limit():
    ways = [Row("LoRA", ("lora",), {}, costs={"milliseconds": 4.0}), Row("PALs", ("pals",), {})]
    answer = Answer(made.results({("lora", 1): {"sst": [0, 1, 2, 3]}}), ways, Plan(limit={"milliseconds": 5.0}))
    assert [answer.over_limit(way) for way in ways] == [[], ["milliseconds"]]


def test_a_limit_is_not_applied_where_the_costs_of_others_alone_are_known():
    ways = [Row("bot", ("other-bot",), {}, costs={"milliseconds": 800.0}), Row("LoRA", ("lora",), {})]
    answer = Answer(made.results({("lora", 1): {"sst": [0, 1, 2, 3]}}), ways, Plan(limit={"milliseconds": 5.0}))
    assert answer.limit == {}
    timed = [ways[0], replace(ways[1], costs={"milliseconds": 4.0})]
    assert replace(answer, ways=timed).limit == {"milliseconds": 5.0}


def test_the_frontier_has_the_ways_that_no_faster_one_beats(monkeypatch, tmp_path: Path):
    one = found(monkeypatch, 1, costs={"milliseconds": MS}, single=0.93, shared=0.9, lora=0.91, pals=0.7)
    assert [way.label for way in picture.timed(one)] == ["Shared", "Pals", "One model per task", "Lora"]
    assert [way.label for way in picture.frontier(picture.timed(one), one.metric)] == ["Shared", "One model per task"]
    assert picture.render(one, tmp_path) == f"![{picture.ALT}](pictures/costs.png)"
    assert (tmp_path / "pictures/costs-narrow.png").is_file()


def test_no_label_of_the_costs_covers_another_or_leaves_the_picture() -> None:
    figure = Figure(figsize=(9.7, 3.6))
    axes = figure.subplots()
    axes.set(xlim=(30, 100), ylim=(0.7, 0.9))
    close = {"TF-IDF": (31, 0.861), "One shared model": (45, 0.861), "Merged, TIES": (45.3, 0.865), "Lora": (99, 0.861)}
    figure.draw_without_rendering()
    texts = picture.put_labels(axes, close)
    boxes = [text.get_window_extent() for text in texts]
    assert [box.count_overlaps(boxes) for box in boxes] == [1, 1, 1, 1]  # itself
    assert all(axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1 for box in boxes)


def test_one_way_alone_has_no_answer(monkeypatch):
    monkeypatch.setattr(made, "LABELS", {task: of.tolist() for task, of in LABELS.items()})
    random = np.random.default_rng(1)
    results = made.results(
        {("shared", 1): {task: said(task, 0.9, random) for task in SHARED}}, {"shared": {"paper": "own"}}
    )
    assert judge(Scoreboard(results)).answer is None


def test_ways_of_one_label_are_told_apart_and_each_has_its_own_difference(monkeypatch):
    one = found(monkeypatch, 1, single=0.9, shared=0.8, lora=0.6)
    settings = one.results.runs["settings"].str.replace('"Lora"', '"Shared"')
    paper = settings.where(one.results.runs["variant"] != "lora", settings.str.replace('"own"', '"catalog"'))
    both = Results(one.results.runs.assign(settings=paper), one.results.predictions, one.results.history)
    answer = judge(Scoreboard(both)).answer
    assert answer is not None
    assert [way.label for way in answer.ways] == ["One model per task", "Shared (shared)", "Shared (lora)"]
    assert (mean(answer, "Shared (shared)"), mean(answer, "Shared (lora)")) == (mean(one, "Shared"), mean(one, "Lora"))
