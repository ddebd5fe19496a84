"""What a folder's files tell of its tasks, and what they do not."""

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mtbert import tasks
from mtbert.errors import DataError, SettingsError
from mtbert.study import classes, naming
from mtbert.study.drafting import draft, with_draft
from mtbert.tasks import Task

TOPIC = "text,topic\n" + "".join(f"text number {n},{'bug' if n % 3 else 'praise'}\n" for n in range(30))


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        file = folder / name.replace("_csv", ".csv")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "task", "split"),
    [
        ("topic-train.csv", "topic", "train"),
        ("topic_dev.csv", "topic", "dev"),
        ("topic.validation.jsonl.gz", "topic", "dev"),
        ("topic-dev.CSV", "topic", "dev"),
        ("Topic.JSONL.GZ", "topic", "train"),
        ("topic.csv", "topic", "train"),
        ("contest.csv", "contest", "train"),
        ("My Tickets-train.tsv", "my_tickets", "train"),
        ("topic/train.parquet", "topic", "train"),
        ("topic/test-00000-of-00001.parquet", "topic", "test"),
        ("20-news-train.csv", "task_20_news", "train"),
        ("задача-train.csv", "task", "train"),
        ("topic-eval.csv", "topic", "dev"),
        ("topic-development.csv", "topic", "dev"),
        ("topic_testing.csv", "topic", "test"),
        ("dev_topic.csv", "topic", "dev"),
        ("test data.csv", "data", "test"),
        ("mnli/validation_matched.csv", "matched", "dev"),
        ("train/topic.csv", "topic", "train"),
        ("Test/topic.csv", "topic", "test"),
        ("dev/dev.csv", "desk", "dev"),
        ("dev-team/urgent.csv", "urgent", "train"),
        ("test files/topic.csv", "topic", "train"),
        ("İyi-dev.csv", "i_yi", "dev"),
    ],
)
def test_a_files_name_tells_task_and_split(name: str, task: str, split: str):
    words, split_of_file = naming._words_and_split(Path("/desk", name), Path("/desk"))
    assert (naming.task_name(words), split_of_file) == (task, split)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        (
            "topic-holdout.csv",
            "its name holds holdout, but which split it is cannot be told; rename the file, such as ",
        ),
        (
            "topicDev.csv.gz",
            "holds Dev, but which split it is cannot be told; rename the file, such as topic-train.csv.",
        ),
        (
            "topic-train (1).csv",
            "rename the file, such as topic-train.csv, topic-dev.csv, topic-test.csv, or name it in ",
        ),
        ("train-1.csv", "rename the file, such as topic-train.csv, "),
        (
            "urgent/train-1.csv",
            "its name holds train, but which split it is cannot be told; rename the file, such as urg",
        ),
        ("holdout-mood.csv", "rename the file, such as mood-train.csv, mood-dev.csv, mood-test.csv, or name it in "),
        (
            "urgent-test/1.csv",
            "its folder's name holds test, but which split it is cannot be told; rename the file, such ",
        ),
        ("urgent-test/1.csv", "rename the file, such as urgent-train.csv, urgent-dev.csv, urgent-test.csv, or name it"),
        ("test/topic-train.csv", "its folder says test, its name train; rename one of them"),
    ],
)
def test_a_name_that_may_mean_another_split_is_refused(name: str, told: str):
    with pytest.raises(DataError) as error:
        naming._words_and_split(Path("/desk", name), Path("/desk"))
    assert told in str(error.value)


def test_a_task_is_told_from_its_header_and_rows(tmp_path: Path):
    write(tmp_path, topic_csv=TOPIC)
    assert draft(tmp_path).changes == {
        "topic": {
            "files": {"train": "topic.csv"}, "sentences": ["text"], "label": "topic", "classes": ["bug", "praise"],
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["yes", "no"], {"classes": ["no", "yes"]}),
        (["3", "1", "2"], {"classes": [1, 2, 3], "metric": "f1"}),
        (["True", "False"], {"classes": [False, True]}),
        (["0.5", "4.8"], {"score": [0, 5]}),
        ([str(n) for n in range(1, 31)], {"classes": [*range(1, 31)], "metric": "f1"}),
        ([str(n) for n in range(0, 60, 2)], {"score": [0, 58]}),
        (["-1.0", "0.0", "1.0"], {"classes": [-1, 0, 1], "metric": "f1"}),
        (["01", "1", "1_0", "10"], {"classes": ["01", "1", "10", "1_0"], "metric": "f1"}),
        (["1.00", "2.00"], {"classes": ["1.00", "2.00"]}),
        (["1e999", "1"], {"classes": ["1", "1e999"]}),
        (["0", "1", "nan", ""], {"classes": [0, 1]}),
        (["[pos]", "[neg]", "{O}"], {"classes": ["[neg]", "[pos]", "{O}"], "metric": "f1"}),
        (["Favor", "None", "NaN"], {"classes": ["Favor", "None"]}),
    ],
)
def test_labels_tell_whether_they_are_classes_or_a_score(tmp_path: Path, labels: list[str], told: dict):
    rows = "".join(f"text number {n},{labels[n % len(labels)]}\n" for n in range(60))
    write(tmp_path, a_csv=f"text,label\n{rows}")
    found = draft(tmp_path).changes["a"]
    assert {key: found[key] for key in found if key not in ("files", "sentences", "label")} == told


def test_numbers_in_a_column_called_score_are_a_score(tmp_path: Path):
    write(tmp_path, a_csv="text,score\n" + "".join(f"text number {n},{n % 6}\n" for n in range(60)))
    assert draft(tmp_path).changes["a"]["score"] == [0, 5]


def test_more_whole_numbers_than_classes_may_be_are_a_score(tmp_path: Path):
    write(tmp_path, a_csv="text,label\n" + "".join(f"text number {n},{n % 201}\n" for n in range(600)))
    assert draft(tmp_path).changes["a"]["score"] == [0, 200]


def test_null_is_no_label_and_the_word_none_is_one(tmp_path: Path):
    labels = ["None", None, float("nan"), "Favor"]
    rows = [json.dumps({"text": f"text number {n}", "label": labels[n % 4]}) for n in range(40)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    assert draft(tmp_path).changes["a"]["classes"] == ["Favor", "None"]


MANY = Task("a", 30, ("text",), "label", "macro_f1", {str(n): n for n in range(30)})
MANY_SCORES = Task("a", 1, ("text",), "label", "pearson", lowest=0, highest=58)


@pytest.mark.parametrize(
    ("task", "labels", "told"),
    [
        (
            MANY, range(30),
            "its label holds 30 whole numbers, which are taken for classes; if they are a score, write "
            "`score: [0, 29]` in place of `classes` and `metric`",
        ),
        (
            MANY_SCORES, range(0, 60, 2),
            "its label holds 30 whole numbers, which are taken for a score; if they are classes, write `classes` in "
            "place of `score`",
        ),
        (MANY, range(20), ""),
        (replace(MANY, labels={f"word {n}": n for n in range(30)}), range(30), ""),
        (replace(MANY_SCORES, label="Score"), range(0, 60, 2), ""),
        (MANY_SCORES, [n / 2 for n in range(30)], ""),
        (
            MANY_SCORES, range(1000),
            "its label holds 1,000 whole numbers, which are taken for a score; if they are classes, write `classes` in "
            "place of `score`",
        ),
    ],
)  # fmt: skip
def test_many_whole_numbers_are_in_doubt(task: Task, labels: Iterable[float], told: str):
    assert classes.note_of_numbers(task, {float(label) for label in labels}) == told


@pytest.mark.parametrize(
    ("name", "columns", "sentences", "label"),
    [
        ("bank", {"text": 60, "label": 30, "label_text": 30}, ["text"], "label"),
        ("topic", {"question1": 60, "question2": 60, "date": 60, "label": 2}, ["question1", "question2"], "label"),
        ("review", {"review": 400, "sentiment": 2}, ["review"], "sentiment"),
        ("intent", {"text": 60, "intent": 25}, ["text"], "intent"),
        ("mood", {"text": 60, "mood": 2, "category": 3}, ["text"], "mood"),
        ("mood", {"text": 60, "mood": 3, "label": 2}, ["text"], "label"),
        ("a", {"text": 60, "kind": 3, "Gold Label": 2}, ["text"], "Gold Label"),
        ("my_mood", {"text": 60, "kind": 3, "My Mood": 2}, ["text"], "My Mood"),
        ("query", {"query": 144, "intent": 10}, ["query"], "intent"),
        ("intent", {"text": 300, "intent": 150, "domain": 10}, ["text"], "intent"),
        ("a", {"text": 60, "class": 3, "class_name": 3}, ["text"], "class"),
        ("a", {"text": 60, "language": 1, "target": 3}, ["text"], "target"),
        ("a", {"genre": 3, "year": 4, "score": 6, "premise": 60, "hypothesis": 60}, ["premise", "hypothesis"], "score"),
        ("a", {"question1": 15, "question2": 60, "is_duplicate": 2}, ["question1", "question2"], "is_duplicate"),
    ],
)
def test_columns_are_told_by_name_or_by_how_many_values_they_hold(
    tmp_path: Path, name: str, columns: dict[str, int], sentences: list[str], label: str
):
    """Each column has so many different values."""
    rows = [",".join(f"{column} value {n % count}" for column, count in columns.items()) for n in range(400)]
    write(tmp_path, **{f"{name}_csv": "\n".join([",".join(columns), *rows])})
    entry = draft(tmp_path).changes[name]
    assert (entry["sentences"], entry["label"]) == (sentences, label)


def test_files_with_rows_are_known_by_their_ending_and_others_by_the_name_of_a_split(tmp_path: Path):
    for name in (
        "a.CSV", "b-dev.json", "c-test.csv.zip", "notes.txt", ".d-dev.csv", "e/train.jsonl.gz", "e/dev.xlsx",
        "f/g/dev.csv", "f/g/.dev.csv", "f/g/h/dev.tsv.gz", ".ipynb_checkpoints/a-train-checkpoint.csv",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).touch()
    assert naming._data_files(tmp_path) == ["a.CSV", "e/train.jsonl.gz"]
    assert naming.unreadable_files(tmp_path) == ["b-dev.json", "c-test.csv.zip", "e/dev.xlsx"]
    assert naming.deep_files(tmp_path) == ["f/g/dev.csv", "f/g/h/dev.tsv.gz"]


def test_an_id_is_taken_where_it_differs_in_every_row(tmp_path: Path):
    write(tmp_path, a_csv="id,text,label\n" + "".join(f"{n},text number {n},{n % 2}\n" for n in range(30)))
    assert draft(tmp_path).changes["a"]["id"] == "id"
    write(tmp_path, a_csv="id,text,label\n" + "".join(f"1,text number {n},{n % 2}\n" for n in range(30)))
    assert "id" not in draft(tmp_path).changes["a"]


@pytest.mark.parametrize(
    ("name", "header", "labels"),
    [
        ("a", "text,spam", ["spam", "ham"]),
        ("a", "text,sarcastic", ["sarcastic", "not sarcastic"]),
        ("a", "my text,label", ["label", "other"]),
        ("a", "my text,category", ["category", "other"]),
        ("spam", "my text,spam", ["spam", "ham"]),
    ],
)
def test_a_column_may_be_called_like_one_of_its_classes(tmp_path: Path, name: str, header: str, labels: list[str]):
    write(tmp_path, **{f"{name}_csv": columns_of(header, labels * 30)})
    entry = draft(tmp_path).changes[name]
    assert (entry["label"], entry["classes"]) == (header.split(",")[1], sorted(labels))


def test_a_text_called_like_the_task_is_no_label_beside_a_number_of_each_row(tmp_path: Path):
    write(tmp_path, topic_csv=columns_of("topic,row,kind", range(60), ["a", "b"] * 30))
    entry = draft(tmp_path).changes["topic"]
    assert (entry["sentences"], entry["label"]) == (["topic"], "kind")


def test_ids_that_repeat_are_no_label_beside_a_column_that_is_called_like_one(tmp_path: Path):
    quora = "id,qid1,qid2,question1,question2,is_duplicate"
    rows = [f"{n},{n % 300},{n % 299},question {n},other {n},{n % 2}" for n in range(400)]
    users = ["user,text,target", *(f"{n % 300},text {n},{n % 2}" for n in range(400))]
    write(tmp_path, a_csv="\n".join([quora, *rows]), b_csv="\n".join(users))
    labels = {name: entry["label"] for name, entry in draft(tmp_path).changes.items()}
    assert labels == {"a": "is_duplicate", "b": "target"}


@pytest.mark.parametrize("others", [["text", "label"], ["text", "sentiment"]])
def test_whole_numbers_that_all_differ_are_no_label(tmp_path: Path, others: list[str]):
    rows = "".join(f"{1000 + n},text number {n},{n % 2}\n" for n in range(400))
    write(tmp_path, a_csv=f"tweet,{','.join(others)}\n{rows}")
    assert draft(tmp_path).changes["a"]["label"] == others[1]


DEV_IDS = {
    "of its own": range(9),
    "none": None,
    "the same twice": [1, 1, 2],
    "of no kind": [1.0, 2.0],
    "null": [0, None],
}


@pytest.mark.parametrize("ids", DEV_IDS)
def test_an_id_is_taken_where_all_files_of_the_task_have_it(tmp_path: Path, ids: str):
    rows = [{"id": n, "text": f"text number {n}", "label": n % 2} for n in range(30)]
    (tmp_path / "a-train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    dev = [{"text": "x", "label": 1} | ({"id": value} if ids != "none" else {}) for value in DEV_IDS[ids] or [0]]
    (tmp_path / "a-dev.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in dev))
    assert draft(tmp_path).changes["a"].get("id") == ("id" if ids == "of its own" else None)


def test_another_encoding_of_dev_is_told_with_the_tasks_name(tmp_path: Path):
    write(tmp_path, **{"a-train_csv": "id,text,label\n1,x,0\n2,y,1\n"})
    (tmp_path / "a-dev.csv").write_bytes("id,text,label\n1,é,0\n".encode("cp1252"))
    with pytest.raises(DataError, match=r"a-dev\.csv, line 2: not UTF-8 text; set `encoding` of a in tasks"):
        draft(tmp_path)


def test_columns_of_json_lines_are_those_of_all_rows(tmp_path: Path):
    first = {"sentence1": "text number 30"}
    rows = [{"label": n % 2, "sentence2": f"other number {n}", "sentence1": f"text number {n}"} for n in range(30)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in [first, *rows]))
    entry = draft(tmp_path).changes["a"]
    assert (entry["sentences"], entry["label"]) == (["sentence1", "sentence2"], "label")


TEXTS = [f"text number {n}" for n in range(60)]


def columns_of(header: str, *columns: Iterable[object]) -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in zip(TEXTS, *columns, strict=True))])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"a_csv": columns_of("red cat,0", [0, 1] * 30)},
            "a.csv: line 1 looks like a row, not a header: the columns would be called red cat, 0; if line 1 is the ",
        ),
        ({"a_csv": columns_of("red cat,neg", ["neg", "pos"] * 30)}, "the columns would be called red cat, neg; if "),
        ({"a_csv": columns_of("red cat,3.25", ["0.5", "1.5"] * 30)}, "the columns would be called red cat, 3.25; if "),
        (
            {"a_csv": columns_of("what a red cat,4,x7", [4, 5] * 30, TEXTS)},
            "line 1 looks like a row, not a header: the columns would be called what a red cat, 4, x7; if line 1 is ",
        ),
        (
            {"a_csv": columns_of("text,label", ['"2,5"', '"1,0"', "3"] * 20)},
            "its label holds 1,0, a number with a comma; write it with a point, or without the comma if it parts "
            "thousands, or list its `classes` in tasks.yaml",
        ),
        (
            {"a.jsonl": '{"text": "x", "label": ["a"]}\n{"text": "y", "label": []}\n'},
            "its label holds a; allowed: two labels or more",
        ),
        (
            {"a.jsonl": "".join(f'{{"text": "x{n}", "label": ["{n}"]}}\n' for n in range(100))},
            "its label holds 100 labels, of which a row has several; allowed: at most 53; leave out rare ones, or make",
        ),
        ({"a_csv": columns_of("text,label", ["['a']", "[]"] * 30)}, "its label holds ['a'], several labels a row; "),
        (
            {"a.jsonl": '{"text": "x", "label": {"a": 1}}\n{"text": "y", "label": {"a": 2}}\n'},
            "its label holds {'a': 1}, an object; write the label alone in its place, as a word or a number",
        ),
        (
            {"a.jsonl": "".join(f'{{"text": "x", "label": {label}}}\n' for label in ('["a"]', '"b"', '"c"'))},
            "its label holds ['a'], several labels a row; write a column of 0 and 1 for each label",
        ),
        (
            {"a_csv": "text,label\none,one\ntwo, two\n"},
            "a.csv: its label is the text itself in every row; allowed: a label of each text",
        ),
        (
            {
                "a_csv": "text,joy,fear,awe\n" + "".join(f"text {n},{n % 2},{n % 3 % 2},0\n" for n in range(60)),
                "tasks.yaml": "a: {files: {train: a.csv}, sentences: [text], label: [joy, awe], several: false}\n",
            },
            "its awe holds 0; allowed: two labels or more; to leave awe out, write into tasks.yaml: `a: {files: {train"
            ": a.csv}, sentences: [text], label: [joy]}`",
        ),
        ({}, "holds no task; allowed: files such as topic-train.csv"),
        ({"a-train.json": ""}, "or of the endings .tsv, .jsonl, .parquet; not read: a-train.json"),
        (
            {"b/train-00000-of-00002.csv": TOPIC, "b/train-00001-of-00002.csv": TOPIC},
            "two files are train of b: b/train-00000-of-00002.csv and b/train-00001-of-00002.csv; join them into one",
        ),
        (
            {"mnli/train.csv": TOPIC, "mnli/dev_matched.csv": TOPIC},
            "matched has mnli/dev_matched.csv, but no train; add matched-train.csv, or rename it like the train of its",
        ),
        (
            {"感情-train.csv": TOPIC, "話題-dev.csv": TOPIC},
            "感情-train.csv and 話題-dev.csv would both be of the task task; a task's name holds a to z and 0 to 9 a",
        ),
        (
            {"c++-train_csv": TOPIC, "c-dev_csv": TOPIC},
            "c++-train.csv and c-dev.csv would both be of the task c; a task",
        ),
        ({"a-train_csv": TOPIC, "a_csv": TOPIC}, "two files are train of a: a-train.csv and a.csv"),
        (
            {"a-train_csv": TOPIC, "Copy of a-train_csv": TOPIC},
            "Copy of a-train.csv and a-train.csv hold the same; remove the copy",
        ),
        (
            {"web-development_csv": TOPIC},
            "web-development.csv is taken for dev of web; if it is train of web_development, call it "
            "web-development-train.csv",
        ),
        (
            {"valid-claims_csv": TOPIC},
            "is taken for dev of claims; if it is train of valid_claims, call it valid-claims-train.csv",
        ),
        ({"a-dev_csv": TOPIC}, "a has a-dev.csv, but no train; add a-train.csv"),
        ({"a_csv": "text,label\n"}, "a.csv: it holds no row"),
        ({"a_csv": "text,label\none,x\ntwo,x\n"}, "its label holds x; allowed: two labels or more"),
    ],
)
def test_what_the_files_do_not_tell_is_refused(tmp_path: Path, files: dict[str, str], told: str):
    write(tmp_path, **files)
    with pytest.raises(DataError) as error:
        draft(tmp_path)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("files", "asked"),
    [
        (
            {"a_csv": columns_of("text,sentiment,score", ["neg", "pos"] * 30, range(60))},
            "its columns are text, sentiment, score, and it is not clear which one is the label (it may be "
            "sentiment, score). Write the label's column here, and the text's (of a pair both) at `sentences`, such as "
            "[text]",
        ),
        (
            {
                "a_csv": "premise,hypothesis,class,score\n"
                + "".join(f"a {n},b {n},{n % 2},{n % 6}\n" for n in range(60))
            },
            "it is not clear which one is the label (it may be class, score). Write",
        ),
        (
            {"a_csv": columns_of("text,target,sentiment", [f"{n % 25}" for n in range(60)], ["neg", "pos"] * 30)},
            "it is not clear which one is the label (it may be target, sentiment)",
        ),
        (
            {"a_csv": columns_of("text,age", (n % 21 for n in range(60)))},
            "its columns are text, age, and it is not clear which one is the label. Write",
        ),
        (
            {"a_csv": columns_of("text,row", range(60))},
            "its columns are text, row, and it is not clear which one is the label",
        ),
        (
            {"a_csv": "x,y\n" + "".join(f"a {n} b,c {n} d\n" for n in range(60))},
            "it is not clear which one is the label",
        ),
        (
            {"a_csv": "text,label\n" + "".join(f"a {n} b,c {n % 300} d\n" for n in range(600))},
            "its columns are text, label, and label holds 300 words. Write the label's column here, ",
        ),
    ],
)
def test_a_label_that_the_files_do_not_tell_is_asked(tmp_path: Path, files: dict[str, str], asked: str):
    write(tmp_path, **files)
    drafted = draft(tmp_path)
    assert drafted.changes == {"a": {"files": {"train": "a.csv"}, "sentences": "?", "label": "?"}}
    (question,) = drafted.questions
    assert question.startswith("a.label: a.csv: its columns are ")
    assert asked in question


def test_the_only_column_of_words_that_rows_share_is_the_label(tmp_path: Path):
    write(tmp_path, a_csv=columns_of("text,topic", (f"topic {n % 21}" for n in range(60))))
    (task,) = draft(tmp_path).changes.values()
    assert (task["sentences"], task["label"], len(task["classes"])) == (["text"], "topic", 21)


@pytest.mark.parametrize(
    ("header", "row"), [("day,text,label", "day {n},b {n},{odd}"), ("x,y,z,label", "a {n},b {n},c {n},{odd}")]
)
def test_texts_that_the_files_do_not_tell_are_asked(tmp_path: Path, header: str, row: str):
    write(tmp_path, a_csv="\n".join([header, *(row.format(n=n, odd=n % 2) for n in range(60))]))
    drafted = draft(tmp_path)
    assert drafted.changes == {"a": {"files": {"train": "a.csv"}, "sentences": "?", "label": "label"}}
    assert drafted.questions == [
        f"a.sentences: a.csv: its columns are {header.replace(',', ', ')}, and it is not clear which hold the "
        "text. Write them here, such as [text]. If it is the file of no task, write `ignore: [FILE]` in "
        "place of these lines"
    ]


def test_of_few_rows_a_column_that_differs_in_most_is_no_label(tmp_path: Path):
    rows = "".join(f"text number {n},code {n % 8},{'ab'[n % 2]}\n" for n in range(12))
    write(tmp_path, a_csv=f"text,code,kind\n{rows}")
    assert draft(tmp_path).changes == {"a": {"files": {"train": "a.csv"}, "sentences": "?", "label": "kind"}}


def test_the_classes_of_a_task_are_told_once_its_columns_are_written(tmp_path: Path):
    write(tmp_path, a_csv=columns_of("text,more,mood", TEXTS, ["bad", "good"] * 30), b_csv=TOPIC)
    said = "# mine\nc:\n  files: {train: a.csv}\n  sentences: [text]\n  label: mood\n"
    (tmp_path / "tasks.yaml").write_text(said)
    told = draft(tmp_path)
    assert told.changes["c"] == {
        "files": {"train": "a.csv"}, "sentences": ["text"], "label": "mood", "classes": ["bad", "good"],
    }  # fmt: skip
    assert (told.tasks, told.questions) == (["b", "c"], [])
    with with_draft(tmp_path, told):
        pass
    text = (tmp_path / "tasks.yaml").read_text()
    assert text.startswith("# mine\nc:\n")
    assert [*tasks.read_folder(tmp_path)] == ["c", "b"]
    assert draft(tmp_path).changes == {}


def test_a_label_that_is_named_may_have_any_number_of_classes(tmp_path: Path):
    write(tmp_path, a_csv="text,label\n" + "".join(f"a {n} b,c {n % 300} d\n" for n in range(600)))
    (tmp_path / "tasks.yaml").write_text("a:\n  files: {train: a.csv}\n  sentences: [text]\n  label: label\n")
    assert len(draft(tmp_path).changes["a"]["classes"]) == 300


def test_a_label_that_is_named_and_not_there_is_refused(tmp_path: Path):
    write(tmp_path, a_csv=TOPIC)
    (tmp_path / "tasks.yaml").write_text("a:\n  files: {train: a.csv}\n  sentences: [text]\n  label: mood\n")
    with pytest.raises(
        DataError, match=r"a\.csv: it has no column mood, which tasks\.yaml calls the label; it has text"
    ):
        draft(tmp_path)


def test_files_that_tasks_yaml_lacks_are_drafted_beside_it_and_those_that_it_ignores_are_not(tmp_path: Path):
    write(
        tmp_path, **{"a-train_csv": TOPIC, "a-dev_csv": TOPIC, "b_csv": f"{TOPIC}one more,bug\n", "old-dev_csv": TOPIC}
    )
    mine = "a:\n  files: {train: a-train.csv}\n  sentences: [text]\n  label: topic\n  classes: [bug, praise]\n"
    (tmp_path / "tasks.yaml").write_text(f"{mine}ignore: [old-dev.csv]\n")
    told = draft(tmp_path)
    assert told.changes["a.files"] == {"train": "a-train.csv", "dev": "a-dev.csv"}
    assert told.changes["b"]["label"] == "topic"
    assert (told.tasks, told.questions) == (["b"], [])


def test_a_dev_that_comes_with_the_answer_to_a_question_is_kept_with_the_classes(tmp_path: Path):
    write(tmp_path, **{"a-train_csv": TOPIC, "a-dev_csv": TOPIC})
    mine = "a:\n  files: {train: a-train.csv}\n  sentences: [text]\n  label: topic\n"
    (tmp_path / "tasks.yaml").write_text(mine)
    with with_draft(tmp_path, draft(tmp_path)):
        pass
    assert tasks.read_folder(tmp_path)["a"].files == {"train": "a-train.csv", "dev": "a-dev.csv"}


def test_a_second_file_of_a_split_is_refused(tmp_path: Path):
    write(tmp_path, **{"a-train_csv": TOPIC, "a-dev_csv": TOPIC, "a-val_csv": TOPIC})
    mine = "a:\n  files: {train: a-train.csv, dev: a-dev.csv}\n  sentences: [text]\n  label: topic\n  classes: 2\n"
    (tmp_path / "tasks.yaml").write_text(mine)
    told = r"a-val\.csv would be dev of a, as a-dev\.csv is; list it in `ignore` of tasks\.yaml, or rename it$"
    with pytest.raises(DataError, match=told):
        draft(tmp_path)


def test_a_file_of_no_task_beside_those_of_tasks_yaml_may_be_ignored(tmp_path: Path):
    write(tmp_path, a_csv=TOPIC, notes_csv="text,label\none,x\n")
    mine = "a:\n  files: {train: a.csv}\n  sentences: [text]\n  label: topic\n  classes: [bug, praise]\n"
    (tmp_path / "tasks.yaml").write_text(mine)
    with pytest.raises(DataError, match=r"two labels or more; if it is the file of no task, list it in `ignore` of ta"):
        draft(tmp_path)
    (tmp_path / "tasks.yaml").write_text("ignore: [notes.csv]\n")
    assert draft(tmp_path).tasks == ["a"]


def test_a_tasks_yaml_without_tasks_is_refused(tmp_path: Path):
    write(tmp_path, a_csv=TOPIC)
    (tmp_path / "tasks.yaml").write_text("# nothing\n")
    with pytest.raises(SettingsError, match=r"tasks\.yaml has to hold tasks by name, and holds none"):
        draft(tmp_path)


@pytest.mark.parametrize(
    ("ignored", "told"),
    [
        ("a.csv", r"tasks\.yaml:6: ignore: it is 'a\.csv'; allowed: \[FILE, OTHER\]"),
        ("[b.csv]", r"tasks\.yaml:6: ignore\.0: b\.csv is not there; allowed: files below the folder"),
    ],
)
def test_what_is_ignored_is_a_list_of_files_that_are_there(tmp_path: Path, ignored: str, told: str):
    write(tmp_path, a_csv=TOPIC)
    mine = "a:\n  files: {train: a.csv}\n  sentences: [text]\n  label: topic\n  classes: [bug, praise]\n"
    (tmp_path / "tasks.yaml").write_text(f"{mine}ignore: {ignored}\n")
    with pytest.raises(SettingsError, match=told):
        tasks.read_folder(tmp_path)


def named_in_parquet(file: Path, names: list[str], labels: list[int]) -> None:
    """Write texts whose labels are numbers with names, as `datasets` does."""
    features = {"label": {"names": names, "_type": "ClassLabel"}}
    info = {"huggingface": json.dumps({"info": {"features": features}})}
    table = pa.table({"text": TEXTS, "label": [labels[n % len(labels)] for n in range(60)]})
    pq.write_table(table.replace_schema_metadata(info), file)


@pytest.mark.parametrize(("labels", "left_out"), [([0, 1], {}), ([0, 1, -1], {"left_out": [-1]})])
def test_classes_that_a_parquet_file_names_have_these_names(tmp_path: Path, labels: list[int], left_out: dict):
    named_in_parquet(tmp_path / "a.parquet", ["neg", "neutral", "pos"], labels)
    entry = draft(tmp_path).changes["a"]
    found = {key: entry[key] for key in entry if key not in ("files", "sentences", "label")}
    assert found == {"classes": [0, 1, 2], "names": ["neg", "neutral", "pos"], "metric": "f1"} | left_out


def test_classes_that_a_file_names_may_be_many(tmp_path: Path):
    named_in_parquet(tmp_path / "a.parquet", [f"class {n}" for n in range(201)], [0, 200])
    assert draft(tmp_path).changes["a"]["classes"] == [*range(201)]


def test_a_further_header_is_no_class(tmp_path: Path):
    write(tmp_path, a_csv=TOPIC + TOPIC)
    assert draft(tmp_path).changes["a"]["classes"] == ["bug", "praise"]


TEAMS = ["north", "south", ""]


def tickets(rows: int = 60, header: str = "text,topic,urgent,team") -> str:
    """A file of three labels, of which the last has gaps."""
    lines = [f"text number {n},{'bug' if n % 4 else 'praise'},{n % 2},{TEAMS[n % 3]}" for n in range(rows)]
    return "\n".join([header, *lines, ""])


def task(label: str, classes: list, **files: str) -> dict:
    return {"files": files, "sentences": ["text"], "label": label, "classes": classes}


def test_each_of_several_columns_of_few_values_beside_a_text_is_a_task_of_its_own(tmp_path: Path):
    for split in ("train", "dev", "test"):
        write(tmp_path, **{f"ticket-{split}_csv": tickets()})
    named = {"train": "ticket-train.csv", "dev": "ticket-dev.csv", "test": "ticket-test.csv"}
    told = draft(tmp_path)
    assert {name: {**entry, "files": {**entry["files"]}} for name, entry in told.changes.items()} == {
        "topic": task("topic", ["bug", "praise"], **named),
        "urgent": task("urgent", [0, 1], **named),
        "team": task("team", ["north", "south"], **named),
    }
    assert (told.tasks, told.questions) == (["topic", "urgent", "team"], [])
    with with_draft(tmp_path, told):
        read = tasks.read_folder(tmp_path)
    assert [task.left_out for task in read.values()] == [("",)] * 3
    assert draft(tmp_path).changes == {}


def test_one_more_file_is_of_all_tasks_of_its_train(tmp_path: Path):
    write(tmp_path, **{"ticket-train_csv": tickets()})
    with with_draft(tmp_path, draft(tmp_path)):
        pass
    write(tmp_path, **{"ticket-dev_csv": tickets()})
    files = {"train": "ticket-train.csv", "dev": "ticket-dev.csv"}
    assert draft(tmp_path).changes == {f"{name}.files": files for name in ("topic", "urgent", "team")}


def test_a_task_whose_name_is_taken_has_that_of_its_files_before_it(tmp_path: Path):
    write(tmp_path, ticket_csv=tickets(), mail_csv=tickets(61), topic_csv=TOPIC)
    mine = "team:\n  files: {train: team.csv}\n  sentences: [text]\n  label: team\n  classes: 2\n"
    write(tmp_path, team_csv=TOPIC + "one more,bug\n", **{"tasks.yaml": mine})
    write(tmp_path, other_csv=tickets(62, "text,kind,mean,group"))
    assert draft(tmp_path).tasks == [
        "mail_topic", "mail_urgent", "mail_team", "kind", "other_mean", "group", "ticket_topic", "ticket_urgent",
        "ticket_team", "topic",
    ]  # fmt: skip


def test_columns_that_would_make_one_name_are_refused(tmp_path: Path):
    write(tmp_path, ticket_csv=tickets(60, "text,Topic,topic!,team"))
    with pytest.raises(
        DataError, match=r"ticket\.csv: columns Topic and topic! would both be the task ticket_topic; a"
    ):
        draft(tmp_path)


def test_a_name_that_is_too_long_for_a_task_is_refused_where_it_comes_from(tmp_path: Path):
    write(tmp_path / "columns", ticket_csv=tickets(60, f"text,{'q' * 49},urgent,team"))
    told = f"which is 49 characters; allowed: at most 48; rename column {'q' * 49} of ticket.csv"
    with pytest.raises(DataError, match=told):
        draft(tmp_path / "columns")
    write(tmp_path / "files", **{f"{'f' * 49}_csv": TOPIC})
    with pytest.raises(DataError, match=f"at most 48; rename {'f' * 49}.csv"):
        draft(tmp_path / "files")


def test_columns_that_say_nothing_are_no_tasks(tmp_path: Path):
    """One is empty, one the same in all rows, and one numbers another's classes."""
    rows = [f"text number {n},{'bug' if n % 4 else 'praise'},{int(n % 4 > 0)},,en,{n % 3}" for n in range(60)]
    write(tmp_path, ticket_csv="\n".join(["text,topic,topic_id,empty,language,stars", *rows]))
    assert draft(tmp_path).tasks == ["topic", "stars"]


def test_of_a_file_with_one_column_of_labels_beside_empty_ones_the_task_is_called_like_the_file(tmp_path: Path):
    rows = [f"text number {n},{'bug' if n % 4 else 'praise'},,en" for n in range(60)]
    write(tmp_path, ticket_csv="\n".join(["text,topic,empty,language", *rows]))
    assert draft(tmp_path).changes["ticket"]["label"] == "topic"


def test_two_texts_beside_several_labels_are_asked_once_and_the_answer_makes_a_task_for_each(tmp_path: Path):
    rows = [f"text number {n},{'bug' if n % 4 else 'praise'},{n % 2},note {n}" for n in range(60)]
    write(tmp_path, ticket_csv="\n".join(["text,topic,urgent,notes", *rows]))
    told = draft(tmp_path)
    assert told.changes == {
        "ticket": {"files": {"train": "ticket.csv"}, "sentences": "?", "label": ["topic", "urgent"]}
    }
    assert len(told.questions) == 1
    with pytest.raises(DataError, match=r"written with a question: ticket\.sentences"), with_draft(tmp_path, told):
        pass
    own = tmp_path / "tasks.yaml"
    own.write_text(own.read_text().replace("sentences: '?'", "sentences: [text]"))
    with with_draft(tmp_path, draft(tmp_path)):
        pass
    assert {name: task.label for name, task in tasks.read_folder(tmp_path).items()} == {
        "topic": "topic", "urgent": "urgent",
    }  # fmt: skip
    assert draft(tmp_path).changes == {}


def test_a_list_of_labels_in_tasks_yaml_leaves_out_the_other_columns(tmp_path: Path):
    write(tmp_path, ticket_csv=tickets())
    (tmp_path / "tasks.yaml").write_text("ticket: {files: {train: ticket.csv}, sentences: [text], label: [team]}\n")
    with with_draft(tmp_path, draft(tmp_path)):
        pass
    assert [*tasks.read_folder(tmp_path)] == ["team"]


def test_a_fault_in_one_of_several_labels_says_how_to_leave_it_out(tmp_path: Path):
    write(tmp_path, ticket_csv=tickets().replace("south", "#REF!"))
    with pytest.raises(DataError) as error:
        draft(tmp_path)
    assert str(error.value).endswith(
        "; to leave team out, write into tasks.yaml: `ticket: {files: {train: ticket.csv}, sentences: [text], label: "
        "[topic, urgent]}`"
    )
