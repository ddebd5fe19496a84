"""What a tasks.yaml may say of a data folder's tasks, what it comes to, and what is refused with its line."""

import re
from pathlib import Path
from typing import Any

import pytest

from mtbert import files, tasks
from mtbert.errors import SettingsError
from mtbert.tasks import Task

MOOD = {"files": {"train": "mood.csv"}, "sentences": ["text"], "label": "mood", "classes": ["dull", "nice"]}
SCORE = {"files": {"train": "a.csv"}, "sentences": ["a", "b"], "label": "score", "score": [0, 5]}


def read(folder: Path, **described: dict[str, Any]) -> dict[str, Task]:
    files.write_yaml(folder / "tasks.yaml", described)
    return tasks.read_folder(folder)


def test_five_lines_describe_a_task_with_words_as_labels(tmp_path: Path):
    (tmp_path / "tasks.yaml").write_text(
        "topic:\n  files: {train: topic.csv}\n  sentences: [text]\n  label: topic\n  classes: [billing, bug, praise]\n"
    )
    assert tasks.read_folder(tmp_path) == {
        "topic": Task(
            "topic", 3, ("text",), "topic", "accuracy", {"billing": 0, "bug": 1, "praise": 2},
            files={"train": "topic.csv"},
        )
    }  # fmt: skip


def test_a_folder_without_the_file_has_the_courses_tasks_and_one_with_it_may_use_their_names(tmp_path: Path):
    assert tasks.main(tasks.read_folder(tmp_path)) == ("sst", "qqp", "sts")
    assert read(tmp_path, sst=MOOD)["sst"].class_names == ("dull", "nice")


@pytest.mark.parametrize(
    ("change", "labels"),
    [
        ({"classes": [1, 2, 3]}, {"1": 0, "2": 1, "3": 2}),
        ({"classes": [False, True]}, {"false": 0, "true": 1}),
        ({"classes": ["yes", "no"], "positive": "yes"}, {"no": 0, "yes": 1}),
        ({"classes": ["yes", "no"], "positive": "no"}, {"yes": 0, "no": 1}),
        ({"classes": 3}, {}),
        ({"classes": {"neg": 0, "negative": 0, "pos": 1}}, {"neg": 0, "negative": 0, "pos": 1}),
        ({"classes": {"neg": 0, "pos": 1}, "positive": "neg"}, {"pos": 0, "neg": 1}),
        ({"classes": ["01", "1", "1_0", 10]}, {"01": 0, "1": 1, "1_0": 2, "10": 3}),
    ],
)
def test_classes_are_numbered_as_they_are_listed_and_the_positive_one_is_the_second(
    tmp_path: Path, change: dict[str, Any], labels: dict[str, int]
):
    assert read(tmp_path, mood=MOOD | change)["mood"].labels == labels


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"classes": ["spam", "ham"], "names": ["Junk", "Normal"]}, ("Junk", "Normal")),
        ({"classes": ["spam", "ham"], "names": ["Junk", "Normal"], "positive": "spam"}, ("Normal", "Junk")),
        ({"classes": ["spam", "ham"], "names": ["Junk", "Normal"], "positive": "ham"}, ("Junk", "Normal")),
        ({"classes": {"pos": 1, "neg": 0, "negative": 0}}, ("neg / negative", "pos")),
        ({"classes": 3}, ("0", "1", "2")),
    ],
)
def test_a_class_has_one_name_that_goes_with_its_labels(tmp_path: Path, change: dict[str, Any], names: tuple[str, ...]):
    assert read(tmp_path, mood=MOOD | change)["mood"].class_names == names


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"), ("1.0", "1"), (-1, "-1"), (" 10 ", "10"), (True, "true"), ("False", "false"), (1.5, "1.5"),
        ("01", "01"), ("1_0", "1_0"), ("1.10", "1.10"), ("1.00", "1.00"), ("-0", "-0"), ("1e3", "1e3"),
        ("\N{FULLWIDTH DIGIT ONE}", "\N{FULLWIDTH DIGIT ONE}"), ("9007199254740993", "9007199254740993"),
        ("None", "None"), (None, ""), (float("nan"), ""), ("NaN", ""), (" ", ""),
    ],
)  # fmt: skip
def test_only_a_whole_number_has_two_spellings_and_what_is_missing_is_no_label(value: object, text: str):
    assert tasks.label_text(value) == text


@pytest.mark.parametrize(
    ("described", "metric"),
    [
        (MOOD, "accuracy"),
        (MOOD | {"metric": "f1"}, "macro_f1"),
        (MOOD | {"metric": "f1", "positive": "nice"}, "f1"),
        (MOOD | {"positive": "nice"}, "f1"),
        (MOOD | {"metric": "mcc"}, "mcc"),
        (SCORE, "pearson"),
        (SCORE | {"metric": "spearman"}, "spearman"),
    ],
)
def test_the_metric_is_the_one_that_is_named_or_that_of_the_kind(tmp_path: Path, described: dict, metric: str):
    assert read(tmp_path, mood=described)["mood"].metric == metric


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("m" * 49, {}, "tasks.yaml:1: " + "m" * 49 + ": a task's name of 49 characters; allowed: at most 48, so write"),
        ("mood", {"files": {"train": "a/../mood.csv"}}, "mood.files: it has to name that of train, and files below"),
        ("mood", {"clases": 2}, "tasks.yaml:2: mood.clases: unknown key 'clases'; did you mean classes?"),
        ("mood", {"classes": 1}, "tasks.yaml:2: mood.classes: allowed: two or more, or `score: [lowest, highest]`"),
        ("mood", {"score": [0, 5]}, "mood.classes: allowed: two or more, or"),
        ("mood", {"classes": ["a", "a"]}, "mood.classes: a label is listed twice"),
        ("mood", {"classes": [1, "1.0"]}, "mood.classes: a label is listed twice"),
        ("mood", {"files": {"dev": "a"}}, "mood.files: it has to name that of train"),
        ("mood", {"files": {"train": "a", "held": "b"}}, "mood.files.held"),
        ("mood", {"sentences": []}, "mood.sentences"),
        (
            "mood",
            {"group_on": "text"},
            "mood.group_on: text is a column of the text, the label or the ids; allowed: an",
        ),
        ("mood", {"time_on": "mood"}, "mood.time_on: mood is a column of the text, the label or the ids"),
        (
            "mood",
            {"time_on": "sent", "files": {"train": "a", "dev": "b"}},
            "mood.time_on: it draws dev, and the task draws none; leave it out",
        ),
        (
            "mood",
            {"time_format": "%d"},
            "mood.time_format: it says how dates are written, and `time_on` names no column",
        ),
        (
            "mood",
            {"time_on": "sent", "time_format": "dd/mm"},
            "it is 'dd/mm', which has no code for the year; allowed: su",
        ),
        ("mood", {"time_on": "sent", "time_format": "%d/%m"}, "it is '%d/%m', which has no code for the year"),
        (
            "mood",
            {"sentences": ["text", "mood"]},
            "mood.sentences: mood is the column of the label; allowed: columns of t",
        ),
        ("mood", {"sentences": ["text", "text"]}, "mood.sentences: text comes twice; allowed: one column, or two diff"),
        ("mood", {"names": ["x", "x"]}, "mood.names: a name comes twice; allowed: another for each class"),
        (
            "mood",
            {"classes": ["a", "b", "c"], "names": ["b", "a", "x"]},
            "mood.names: b, a: labels of other classes; allowed: other names",
        ),
        (
            "mood",
            {"classes": "neg, pos"},
            "mood.classes: it is 'neg, pos'; allowed: [LABEL, OTHER], {LABEL: 0, OTHER: 1}, or how many there are",
        ),
        ("mood", {"score": [0, 1, 5]}, "mood.score: it is [0, 1, 5]; allowed: [LOWEST, HIGHEST], two numbers"),
        ("mood", {"score": [0, "five"]}, "mood.score.1: it is 'five'; allowed: [LOWEST, HIGHEST], two numbers"),
        ("mood", {"left_out": [[1], "N/A"]}, "mood.left_out.0: it is [1]; allowed: [LABEL, OTHER]"),
        (
            "mood",
            {"classes": ["dull", [1]]},
            "mood.classes.1: it is [1]; allowed: [LABEL, OTHER], {LABEL",
        ),
        ("mood", {"score": [0]}, "mood.score.1: it is [0]; allowed: [LOWEST, HIGHEST], two numbers"),
        (
            "mood",
            {"metric": "acuracy"},
            "mood.metric: it is acuracy; allowed: for a score pearson, spearman; for classes accuracy, f1, mcc",
        ),
        (
            "mood",
            {"metric": "pearson"},
            "mood.metric: it is pearson; allowed: for a score pearson, spearman; for classes accuracy, f1, mcc",
        ),
        ("mood", {"positive": "great"}, "mood.positive: allowed: one of two classes that are listed"),
        (
            "mood",
            {"positive": "nice", "metric": "mcc"},
            "metric: it is mcc, beside `positive`; allowed: f1, that of this",
        ),
        (
            "mood",
            {"positive": "nice", "metric": "accuracy"},
            "mood.metric: it is accuracy, beside `positive`; allowed:",
        ),
        (
            "mood",
            {"classes": {"neg": 0, "pos": 5}},
            "mood.classes: its numbers are 0, 5; allowed: 0, 1, ..., each for a",
        ),
        ("mood", {"classes": {"a": -1, "b": 0, "c": 1}}, "mood.classes: its numbers are -1, 0, 1; allowed: 0, 1, ..."),
        (
            "mood",
            {"classes": ["a", "nan"]},
            "mood.classes: a label is empty or nan, which stands for none; allowed: an",
        ),
        ("mood", {"classes": ["a", ""]}, "mood.classes: a label is empty or nan"),
        ("mood", {"files": {"train": "a", "dev": "./a"}}, "mood.files: one file is that of two splits; allowed: an"),
        ("mood", {"names": ["bad"]}, "mood.names: allowed: one for each of 2 classes"),
        ("mood", {"serves": "sst"}, "mood.serves: unknown task 'sst'"),
        ("mood", {"title": "a | b"}, "mood.title"),
        (
            "mood",
            {"title": "Mean"},
            "mood.title: Mean is the name of another column of tables; allowed: any other title",
        ),
        ("mood", {"matters": 0.0}, "mood.matters"),
        (
            "mood",
            {"matters": 2},
            "mood.matters: it is 2; allowed: above 0 and below 1, since scores are from 0 to 1: 0.02",
        ),
        (
            "a-b",
            {},
            "tasks.yaml:1: a-b: 'a-b' cannot be a task's name; allowed: a to z, 0 to 9 and _ between them, a l",
        ),
        ("all", {}, "all: 'all' has another meaning in settings"),
    ],
)
def test_what_does_not_go_together_is_refused_with_its_line(tmp_path: Path, name: str, change: dict, told: str):
    with pytest.raises(SettingsError) as error:
        read(tmp_path, **{name: MOOD | change})
    assert told in str(error.value)


def test_labels_that_are_left_out_may_be_numbers_or_none(tmp_path: Path):
    left_out = [-1, 2.0, True, "N/A", None]
    assert read(tmp_path, mood=MOOD | {"left_out": left_out})["mood"].left_out == ("-1", "2", "true", "N/A", "")


def test_two_tasks_may_not_have_one_title(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"other\.title: MOOD is the name of task mood, too; allowed: any other"):
        read(tmp_path, mood=MOOD, other=MOOD | {"title": "MOOD"})


@pytest.mark.parametrize(
    ("served", "told"),
    [
        (MOOD, "other.classes: its last class is 2; allowed: 0 to 1, as mood has, which it serves"),
        (SCORE, "other.classes: its last class is 2; allowed: a score, as mood has, which it serves"),
    ],
)
def test_a_class_that_the_served_task_lacks_is_refused(tmp_path: Path, served: dict[str, Any], told: str):
    with pytest.raises(SettingsError, match=told):
        read(tmp_path, mood=served, other=MOOD | {"serves": "mood", "classes": {"a": 0, "b": 2}})


def test_a_task_that_serves_itself_is_told_of_the_others(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"other\.serves: unknown task 'other'; known: mood$"):
        read(tmp_path, mood=MOOD, other=MOOD | {"serves": "other"})


@pytest.mark.parametrize("change", [{"score": [5, 0]}, {"metric": "accuracy"}, {"weights": "balanced"}])
def test_what_a_score_cannot_have_is_refused(tmp_path: Path, change: dict[str, Any]):
    with pytest.raises(SettingsError, match=f"mood.{next(iter(change))}: "):
        read(tmp_path, mood=SCORE | change)


def test_a_runs_settings_hold_what_a_model_needs_of_a_task_and_nothing_of_reports_and_files(tmp_path: Path):
    task = read(tmp_path, mood=MOOD | {"title": "Mood", "matters": 0.02, "metric": "f1", "weights": "balanced"})["mood"]
    told = tasks.dump_task(tasks.of_a_model(task))
    assert told == {
        "classes": 2, "sentences": ["text"], "label": "mood", "metric": "macro_f1", "labels": {"dull": 0, "nice": 1},
        "balanced": True,
    }  # fmt: skip
    assert tasks.load_tasks({"mood": told})["mood"] == tasks.of_a_model(task)


def test_a_folder_without_a_task_of_the_mean_is_refused(tmp_path: Path):
    described = "mood:\n  files: {train: a.csv}\n  sentences: [text]\n  label: x\n  classes: 2\n  in_mean: false\n"
    (tmp_path / "tasks.yaml").write_text(described)
    with pytest.raises(SettingsError, match="no task is part of the mean; allowed: one at least without `in_mean: fa"):
        tasks.read_folder(tmp_path)


@pytest.mark.parametrize(
    ("trained", "in_mean"),
    [(["one"], [False]), (["one", "two"], [True, True]), (["one", "two", "apart"], [True, True, False])],
)
def test_a_model_has_a_mean_where_it_has_all_tasks_of_the_mean(trained: list[str], in_mean: list[bool]):
    folder = {
        name: Task(name, 2, ("text",), "x", "accuracy", in_mean=name != "apart") for name in ("one", "two", "apart")
    }
    assert [task.in_mean for task in tasks.for_run(folder, trained).values()] == in_mean


@pytest.mark.parametrize(("seeds", "whole"), [([2, 1, 3], [2, 1]), ([1, 1, 3], []), ([1, 3], [])])
def test_a_repeat_is_whole_where_each_of_its_folds_has_a_seed(seeds: list[int], whole: list[int]):
    assert tasks.whole_repeats(seeds, 2) == whole


def test_tasks_of_one_file_draw_dev_in_one_way(tmp_path: Path):
    grouped = MOOD | {"group_on": "customer"}
    assert [task.group_on for task in read(tmp_path, mood=grouped, other=grouped).values()] == ["customer"] * 2
    told = "other.group_on: it is left out, and customer in mood, which draws dev from the same file; allowed: the same"
    with pytest.raises(SettingsError, match=told):
        read(tmp_path, mood=grouped, other=MOOD)
    with_dev = MOOD | {"files": {"train": "mood.csv", "dev": "dev.csv"}}
    assert read(tmp_path, mood=grouped, other=with_dev)["other"].group_on == ""


def test_how_rows_are_split_is_nothing_of_a_model(tmp_path: Path):
    task = read(tmp_path, mood=MOOD | {"group_on": "customer", "time_on": "sent", "time_format": "%d.%m.%Y"})["mood"]
    assert (task.group_on, task.time_on, task.time_format) == ("customer", "sent", "%d.%m.%Y")
    assert tasks.of_a_model(task) == tasks.of_a_model(read(tmp_path, mood=MOOD)["mood"])


def test_a_seed_has_a_fold_and_a_repeat_has_each_fold_once(tmp_path: Path):
    task = read(tmp_path, mood=MOOD | {"folds": 5})["mood"]
    assert [task.fold(seed) for seed in (1, 2, 5, 6, 0)] == [0, 1, 4, 0, 4]
    assert tasks.of_a_model(task).folds == 5  # a model of a fold has trained on other rows than one of all
    assert tasks.whole_repeats([1, 2, 3, 4, 5, 6, 7], 5) == [1, 2, 3, 4, 5]
    assert tasks.whole_repeats([6, 7, 8, 9, 10, 1], 5) == [6, 7, 8, 9, 10]
    assert tasks.whole_repeats([2, 3, 4, 5, 6], 5) == []  # two halves of repeats
    assert tasks.whole_repeats([3, 1], 0) == [3, 1]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"folds": 1}, "mood.folds: it is 1; allowed: 2 to 10"),
        ({"folds": 0}, "mood.folds: it is 0; allowed: 2 to 10"),
        ({"folds": 11}, "mood.folds: it is 11; allowed: 2 to 10"),
        ({"folds": "five"}, "mood.folds: it is 'five'; allowed: 2 to 10"),
        ({"folds": 5, "time_on": "sent"}, "mood.folds: a fold may be of any date, and `time_on` draws the latest rows"),
        ({"folds": 5, "files": {"train": "a.csv", "dev": "b.csv"}}, "mood.folds: it divides train, and the task has a"),
    ],
)
def test_folds_that_cannot_be_are_refused(tmp_path: Path, entry: dict[str, Any], message: str):
    with pytest.raises(SettingsError, match=re.escape(message)):
        read(tmp_path, mood=MOOD | entry)


def test_all_folds_of_a_folder_are_as_many(tmp_path: Path):
    other = MOOD | {"files": {"train": "other.csv"}}
    assert tasks.number_of_folds(read(tmp_path, mood=MOOD | {"folds": 5}, other=other)) == 5
    with pytest.raises(SettingsError, match=r"other\.folds: it is 4, and 5 in mood; allowed: the same in all tasks"):
        read(tmp_path, mood=MOOD | {"folds": 5}, other=other | {"folds": 4})
    with pytest.raises(
        SettingsError, match=r"other\.folds: it is left out, and 5 in mood, which draws dev from the sam"
    ):
        read(tmp_path, mood=MOOD | {"folds": 5}, other=MOOD)


SETS = MOOD | {"several": True, "classes": ["joy", "anger", "fear"]}


@pytest.mark.parametrize(
    ("entry", "columns", "labels", "metric"),
    [
        (SETS, (), {"joy": 0, "anger": 1, "fear": 2}, "micro_f1"),
        (MOOD | {"separator": ";"}, (), {"dull": 0, "nice": 1}, "micro_f1"),  # which says that there are several
        (SETS | {"metric": "f1"}, (), {"joy": 0, "anger": 1, "fear": 2}, "labels_f1"),
        ({**SETS, "label": ["j", "a"], "classes": 1}, ("j", "a"), {"j": 0, "a": 1}, "micro_f1"),
        ({**SETS, "label": {"anger": "a", "joy": "j"}, "classes": 1}, ("a", "j"), {"anger": 0, "joy": 1}, "micro_f1"),
    ],
)
def test_a_row_of_a_task_may_have_several_labels(
    tmp_path: Path, entry: dict[str, Any], columns: tuple[str, ...], labels: dict[str, int], metric: str
):
    task = read(tmp_path, mood=entry)["mood"]
    assert (task.kind, task.classes, task.columns, task.labels, task.metric) == (
        "sets", len(labels), columns, labels, metric,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"classes": ["a;b", "c"], "separator": ";"},
            "mood.separator: it is ';', which the label 'a;b' holds; allowed",
        ),
        ({"names": ["a", "b;c", "d"], "separator": ";"}, "mood.separator: it is ';', which the label 'b;c' holds"),
        ({"classes": 100}, "mood.classes: they are 100; allowed: at most 53 labels, of which a row has several"),
        ({"label": [f"c{n}" for n in range(54)], "classes": 1}, "mood.label: they are 54; allowed: at most 53 labels"),
        ({"label": ["a", "b"]}, "mood.classes: `label` names a column for each label; remove this key, or name one"),
        ({"label": ["a", "a"], "classes": 1}, "mood.label: a column or a label comes twice"),
        ({"label": ["a", "b"], "classes": 1, "separator": ";"}, "mood.separator: columns of 0 and 1 have none; remove"),
        ({"label": [], "classes": 1}, "mood.label: it is []; allowed: COLUMN; "),
        ({"label": ["a"], "classes": 1}, "mood.label: it is ['a']; allowed: two columns of 0 and 1, or more"),
        ({"several": "yes"}, "mood.several: it is 'yes'; allowed: true or false, without quotation marks"),
        ({"metric": "accuracy"}, "mood.metric: it is accuracy; allowed for several labels a row: micro_f1, f1"),
        ({"several": False, "metric": "micro_f1"}, "mood.metric: micro_f1 is of several labels a row; add `several: t"),
        ({"weights": "balanced"}, "mood.weights: each of several labels is there or not; remove this key"),
        ({"classes": 1, "score": [0, 5]}, "mood.score: each of several labels is there or not; remove this key"),
        ({"serves": "sst"}, "mood.serves: a task of several labels a row serves no other; remove this key"),
        ({"separator": "?"}, "mood.separator: it is '?', where `mtbert study` asks something"),
        ({"several": "?"}, "mood.several: it is '?', where `mtbert study` asks something"),
        ({"several": False, "label": ["a", "b"]}, "mood.label: it is ['a', 'b']; allowed: COLUMN; of a list, `mtbert "),
    ],
)
def test_what_several_labels_cannot_have_is_refused(tmp_path: Path, change: dict[str, Any], told: str):
    with pytest.raises(SettingsError) as error:
        read(tmp_path, mood=SETS | change)
    assert told in str(error.value)


def test_one_file_in_two_spellings_is_one_file(tmp_path: Path):
    spelt = {name: MOOD | {"files": {"train": train}} for name, train in (("p", "a/m.csv"), ("q", "./a//./m.csv"))}
    p, q = read(tmp_path, **spelt).values()
    assert p.files == q.files == {"train": "a/m.csv"}
    with pytest.raises(SettingsError, match="which draws dev from the same file"):
        read(tmp_path, p=spelt["p"], q=spelt["q"] | {"group_on": "customer"})
