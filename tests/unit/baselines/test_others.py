"""Predictions that others made: which rows they are of, and what is refused."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from mtbert.baselines import others
from mtbert.baselines.rows import Rows
from mtbert.errors import DataError
from mtbert.scores.schemas import Costs
from mtbert.tasks import Split, Task

TOPIC = Task("topic", 2, ("body",), "topic", "accuracy", labels={"bug": 0, "praise": 1})
MOODS = Task(
    "moods", 2, ("body",), "moods", "micro_f1", labels={"joy": 0, "fear": 1}, several=True, separator=";"
)  # fmt: skip
FEELINGS = Task(
    "feelings", 3, ("text",), "feelings", "micro_f1", labels={"joy": 0, "anger": 1, "fear": 2}, several=True
)
SAME = Task("same", 1, ("a", "b"), "same", "pearson", highest=5.0)
TASKS = {
    "topic": TOPIC,
    "moods": MOODS,
    "same": SAME,
    "feelings": FEELINGS,
    "more": Task("more", 2, ("body",), "topic", "accuracy", serves="topic"),
}
ROWS = {
    "topic": Rows(["7", "8", "9"], [["It broke", "so nice", "so nice"]], np.array([0.0, 1.0, 1.0])),
    "moods": Rows(["7", "8"], [["It broke", "so nice"]], np.array([2.0, 1.0])),
    "feelings": Rows(["1", "2"], [["yes", "no"]], np.array([5.0, 0.0])),
    "same": Rows(["1", "2"], [["a dog", "a cat"], ["a hound", "a tree"]], np.array([5.0, 0.0])),
}


def rows(task: Task, split: Split) -> Rows | None:
    return ROWS[task.name] if split == "dev" else None


def read(folder: Path, **contents: str) -> list[others.Other]:
    """Of gpt; `topic_dev_csv` is topic-dev.csv."""
    (folder / "others/gpt").mkdir(parents=True)
    for name, content in contents.items():
        task, split, ending = name.split("_")
        (folder / f"others/gpt/{task}-{split}.{ending}").write_text(content)
    return others.read(folder, TASKS, rows)


def predicted(folder: Path, **contents: str) -> list[list]:
    [other] = read(folder, **contents)
    [table] = other.predicted["dev"].values()
    return table.drop(columns=["label", "scored"]).to_numpy().tolist()


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("topic_dev_csv", "id,prediction\n9,praise\n7,bug\n8,bug\n", [["7", 0.0], ["8", 0.0], ["9", 1.0]]),
        ("moods_dev_csv", "id,prediction\n7,fear;joy\n8,\n", [["7", 3.0], ["8", 0.0]]),  # sets, of which one is empty
        ("topic_dev_csv", "body,prediction\nso  nice,praise\nIt broke,bug\n", [["7", 0.0], ["8", 1.0], ["9", 1.0]]),
        ("topic_dev_tsv", "text\tprediction\nIt broke\tbug\nso nice\tbug\n", [["7", 0.0], ["8", 0.0], ["9", 0.0]]),
        (
            "topic_dev_csv",
            "body,prediction\nso nice,praise\nIt broke,bug\nso nice,praise\n",
            [["7", 0.0], ["8", 1.0], ["9", 1.0]],
        ),
        (
            "topic_dev_csv",
            "id,body,prediction,probability\n7,It broke,bug,0.9\n8,so nice,bug,1\n9,so nice,bug,.5\n",
            [["7", 0.0, 0.9], ["8", 0.0, 1.0], ["9", 0.0, 0.5]],
        ),
        ("same_dev_csv", "b,a,prediction\na tree,a cat,-0.5\na hound,a dog,4\n", [["1", 4.0], ["2", -0.5]]),
        ("feelings_dev_csv", 'id,prediction\n2,[]\n1,"[""joy"", ""fear""]"\n', [["1", 5.0], ["2", 0.0]]),
        (
            "feelings_dev_jsonl",
            '{"id": 1, "prediction": ["fear", "joy"]}\n{"id": 2, "prediction": []}\n',
            [["1", 5.0], ["2", 0.0]],
        ),
        ("same_dev_jsonl", '{"id": 2, "prediction": 1}\n{"id": 1, "prediction": 4.5}\n', [["1", 4.5], ["2", 1.0]]),
    ],
)
def test_rows_are_told_by_id_or_text_in_any_order(tmp_path: Path, name: str, content: str, expected: list):
    assert predicted(tmp_path, **{name: content}) == expected


def test_labels_are_those_of_the_data_and_costs_as_they_are_said(tmp_path: Path):
    assert read(tmp_path / "a", topic_dev_csv="body,prediction\nso nice,bug\nIt broke,bug\n")[0].costs == Costs()
    folder = tmp_path / "b/others/gpt"
    folder.mkdir(parents=True)
    (folder / "costs.yaml").write_text("price: 4\ncurrency: EUR\nmilliseconds: 800\n")
    (folder / "topic-dev.csv").write_text("body,prediction\nso nice,bug\nIt broke,bug\n")
    [other] = others.read(tmp_path / "b", TASKS, rows)
    assert other.costs == Costs(price=4.0, currency="EUR", milliseconds=800.0)
    table = other.predicted["dev"]["topic"]
    assert table.to_dict("list") == {
        "id": ["7", "8", "9"], "label": [0.0, 1.0, 1.0], "prediction": [0.0, 0.0, 0.0], "scored": [True] * 3,
    }  # fmt: skip
    assert [*other.digests] == ["costs.yaml", "topic-dev.csv"]
    assert [*others.in_lines([other], TASKS)] == ["others/gpt: predictions of topic dev"]
    assert others.read(tmp_path, TASKS, rows) == []


GOOD = "id,prediction\n7,bug\n8,bug\n9,bug\n"
FAULTS = {
    "topic-dev.csv: 1 of 3 rows of dev have no prediction, first id '8'": ("topic_dev_csv", "7,bug\n9,bug\n"),
    "topic-dev.csv: 1 of 3 rows of dev have no prediction, first id '9'; 1 others have one, first line 4, id '10'": (
        "topic_dev_csv",
        "7,bug\n8,bug\n10,bug\n",
    ),
    "topic-dev.csv: 1 rows are none of dev, or were left out there, first line 5, id '3'; remove them": (
        "topic_dev_csv",
        "7,bug\n8,bug\n9,bug\n3,bug\n",
    ),
    "topic-dev.csv, line 5: id '8' is in line 3, too": ("topic_dev_csv", "7,bug\n8,bug\n9,bug\n8,bug\n"),
    "topic-dev.csv, line 3: its prediction is 'maybe'; allowed: bug, praise": ("topic_dev_csv", "7,bug\n8,maybe\n"),
    "topic-dev.csv, line 2: its prediction is empty; allowed: bug, praise": ("topic_dev_csv", "7,NaN\n"),
    "same-dev.csv, line 2: its prediction is 'inf'; allowed: a number from 0 to 5": ("same_dev_csv", "1,inf\n"),
    "unknown task 'topics'; did you mean topic? known: topic, moods, same, feelings": ("topics_dev_csv", ""),
    "unknown task 'more'; known: topic, moods, same, feelings": ("more_dev_csv", ""),
    "feelings-dev.csv, line 2: its prediction is 'joy'; allowed: a JSON list of joy, anger, fear": (
        "feelings_dev_csv",
        "1,joy\n",
    ),
    "feelings-dev.csv, line 2: its prediction is empty; allowed: a JSON list of joy, anger, fear": (
        "feelings_dev_csv",
        "1,\n",
    ),
    "moods-dev.csv, line 2: its prediction is 'joy;awe'; allowed: labels with ';' between: joy, fear": (
        "moods_dev_csv",
        "7,joy;awe\n",
    ),
    "topic-train.csv: its name says no split of a task; allowed: TASK-dev.csv, TASK-test.csv and costs.yaml": (
        "topic_train_csv",
        "",
    ),
    "topic-dev.xls: its name says no split of a task": ("topic_dev_xls", ""),
    "topic-test.csv: topic has no rows of test; remove the file": ("topic_test_csv", ""),
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_would_score_something_else_is_refused(tmp_path: Path, message: str):
    name, content = FAULTS[message]
    with pytest.raises(DataError) as error:
        read(tmp_path, **{name: f"id,prediction\n{content}"})
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,label\n7,bug\n", "topic-dev.csv has no column prediction; it has id, label"),
        (
            "number,prediction\n7,bug\n",
            "does not say which row a prediction is of; allowed: a column id, or body; it has number",
        ),
        (
            "id,seed,prediction\n7,1,bug\n",
            "has a column seed; allowed: one prediction a row, so each seed in a folder of",
        ),
        ("id,prediction,Probability\n7,bug,0.9\n", "has a column Probability; allowed: probability, spelled like this"),
        ("id,Predictions\n7,bug\n", "has a column Predictions; allowed: prediction, spelled like this"),
        (
            "id,prediction,probability\n7,bug,90\n",
            "line 2: its probability is '90'; allowed: 0 to 1, that of the predict",
        ),
        ("id,prediction,probability\n7,bug,\n", "line 2: its probability is ''; allowed: 0 to 1"),
        (
            "body,prediction\nso nice,bug\nso nice,praise\n",
            "line 3: text 'so nice' is in line 2, too, with the predictions bug and praise",
        ),
        (
            "id,body,prediction\n7,so nice,bug\n8,It broke,bug\n9,so nice,bug\n",
            "line 2: id '7' is 'It broke' in the data, and 'so nice' here",
        ),
    ],
)
def test_columns_that_say_something_else_are_refused(tmp_path: Path, content: str, message: str):
    with pytest.raises(DataError) as error:
        read(tmp_path, topic_dev_csv=content)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        (
            "topic_dev_csv", "id,prediction,probability\n7,bug,0.1\n8,bug,.499\n9,bug,0.5\n",
            "others/gpt, topic dev: 1 of 3 probabilities are below 1/2, which that of the likeliest class is not; is "
            "each that of the predicted class?",
        ),
        ("same_dev_csv", "id,prediction\n1,5\n2,99\n",
         "others/gpt, same dev: 1 of 2 scores are not from 0 to 5, such as 99"),
    ],
)  # fmt: skip
def test_values_that_predictions_rarely_have_are_named(tmp_path: Path, name: str, content: str, note: str):
    assert [*others.in_lines(read(tmp_path, **{name: content}), TASKS)][1:] == [note]


def test_a_file_in_another_encoding_is_to_be_saved_as_utf_8_whatever_the_tasks_own_have(tmp_path: Path):
    (tmp_path / "others/gpt").mkdir(parents=True)
    (tmp_path / "others/gpt/topic-dev.csv").write_bytes("id,prediction\n7,très bug\n".encode("cp1252"))
    in_cp1252 = {"topic": dataclasses.replace(TOPIC, encoding="cp1252")}
    with pytest.raises(DataError, match=r"topic-dev\.csv, line 2: not UTF-8 text; save it as UTF-8"):
        others.read(tmp_path, in_cp1252, rows)


def test_ids_of_a_task_that_has_none_are_refused_with_what_to_do(tmp_path: Path):
    with pytest.raises(DataError, match=r"; topic has no `id` in tasks.yaml, so leave this column out and name"):
        read(tmp_path, topic_dev_csv="id,prediction\n1,bug\n2,bug\n3,bug\n")


def test_a_score_and_a_set_have_no_probability(tmp_path: Path):
    with pytest.raises(DataError, match=r"line 2: a score has no probability; remove the column"):
        read(tmp_path / "score", same_dev_csv="id,prediction,probability\n1,4,0.5\n")
    with pytest.raises(DataError, match=r"line 2: a set of labels has no probability; remove the column"):
        read(tmp_path / "set", moods_dev_csv="id,prediction,probability\n7,joy,0.5\n")


def test_a_set_without_a_prediction_is_not_an_empty_set(tmp_path: Path):
    with pytest.raises(DataError, match=r"line 2: its prediction is missing; of a row without labels it is "):
        read(tmp_path, moods_dev_jsonl='{"id": 7, "prediction": ["joy"]}\n{"id": 8}\n')


def test_what_lies_elsewhere_is_refused(tmp_path: Path):
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "topic-dev.csv").write_text(GOOD)
    with pytest.raises(
        DataError, match=r"topic-dev\.csv is a file; allowed in others: a folder for each who predicted"
    ):
        others.read(tmp_path, TASKS, rows)
    (folder / "topic-dev.csv").unlink()
    (folder / "GPT 4").mkdir()
    with pytest.raises(DataError, match="GPT 4: a folder of this name cannot be a row of the report; allowed: a to z"):
        others.read(tmp_path, TASKS, rows)
    (folder / "GPT 4").rename(folder / "gpt-4")
    with pytest.raises(DataError, match="gpt-4 holds no predictions of dev; allowed: TASK-dev"):
        others.read(tmp_path, TASKS, rows)
    (folder / "gpt-4/topic-dev.csv").write_text(GOOD)
    (folder / "gpt-4/topic-dev.tsv").write_text(GOOD)
    with pytest.raises(DataError, match="gpt-4 has two files of topic, dev; remove one"):
        others.read(tmp_path, TASKS, rows)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({"prize": 3}, "costs.yaml: prize: unknown key 'prize'; did you mean price?"),
        ({"price": "cheap"}, "got 'cheap'; allowed: such as `price: 0.4`, of 1,000 rows"),
        ({"milliseconds": -1}, "got -1; allowed: such as"),
        ({"milliseconds": True}, "got True; allowed: such as"),
        ({"currency": "EUR"}, "costs.yaml: `currency` without `price`: add the price of 1,000 rows, or remove the"),
        ({"price": 3, "currency": "  "}, "costs.yaml: `currency` is '  ': write a word, such as EUR; allowed"),
        ({"price": 3, "currency": "E\nR"}, "costs.yaml: `currency` is 'E\\nR': write a word, such as EUR; allowed"),
        ({"price": None, "milliseconds": 3}, "costs.yaml: price: no value; allowed: such as"),
        ({"price": 3, "currency": ""}, "costs.yaml: currency: no value; allowed: such as"),
        ([], "costs.yaml holds no keys with values; allowed: such as"),
        ([{"price": 3}], "costs.yaml holds no keys with values; allowed: such as"),
        ({}, "costs.yaml holds no keys with values; allowed: such as"),
        (None, "costs.yaml holds no keys with values; allowed: such as"),
    ],
)
def test_costs_of_another_kind_are_refused(tmp_path: Path, costs: object, message: str):
    folder = tmp_path / "others/gpt"
    folder.mkdir(parents=True)
    (folder / "costs.yaml").write_text(json.dumps(costs))
    with pytest.raises(DataError) as error:
        others.read(tmp_path, TASKS, rows)
    assert message in str(error.value)


def test_a_key_that_comes_twice_is_refused(tmp_path: Path):
    folder = tmp_path / "others/gpt"
    folder.mkdir(parents=True)
    (folder / "costs.yaml").write_text("price: 3\nprice: 4\n")
    with pytest.raises(DataError, match=r"costs\.yaml is not plain YAML: .* found duplicate key \"price\""):
        others.read(tmp_path, TASKS, rows)


def test_the_time_of_a_whole_batch_is_asked_about(tmp_path: Path):
    folder = tmp_path / "others/gpt"
    folder.mkdir(parents=True)
    (folder / "costs.yaml").write_text("milliseconds: 5\nbatch_milliseconds: 80\n")
    (folder / "topic-dev.csv").write_text(GOOD)
    assert [*others.in_lines(others.read(tmp_path, TASKS, rows), TASKS)][1:] == [
        "others/gpt/costs.yaml: `batch_milliseconds` 80 is more than `milliseconds` 5; is it the time of one row among "
        "32, not of all 32?"
    ]
