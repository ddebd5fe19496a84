"""What a folder's files tell of its tasks, and what they do not."""

from pathlib import Path

import pytest

from mtbert.data import guessing
from mtbert.errors import DataError

TOPIC = "text,topic\n" + "".join(f"text number {n},{'bug' if n % 3 else 'praise'}\n" for n in range(30))


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_csv", ".csv")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize(
    ("name", "task", "split"),
    [
        ("topic-train.csv", "topic", "train"),
        ("topic_dev.csv", "topic", "dev"),
        ("topic.validation.jsonl.gz", "topic", "dev"),
        ("topic.csv", "topic", "train"),
        ("contest.csv", "contest", "train"),
        ("My Tickets-train.tsv", "my_tickets", "train"),
        ("topic/train.parquet", "topic", "train"),
        ("topic/test-00000-of-00001.parquet", "topic", "test"),
        ("20-news-train.csv", "task_20_news", "train"),
        ("задача-train.csv", "task", "train"),
    ],
)
def test_a_files_name_tells_task_and_split(name: str, task: str, split: str):
    assert guessing._task_and_split(Path("/desk", name), Path("/desk")) == (task, split)


def test_a_task_is_told_from_its_header_and_rows(tmp_path: Path):
    write(tmp_path, topic_csv=TOPIC)
    assert guessing.tasks_of(tmp_path) == {
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
        ([str(n) for n in range(30)], {"score": [0, 29]}),
    ],
)
def test_labels_tell_whether_they_are_classes_or_a_score(tmp_path: Path, labels: list[str], told: dict):
    rows = "".join(f"text number {n},{labels[n % len(labels)]}\n" for n in range(60))
    write(tmp_path, a_csv=f"text,label\n{rows}")
    found = guessing.tasks_of(tmp_path)["a"]
    assert {key: found[key] for key in found if key not in ("files", "sentences", "label")} == told


def test_numbers_in_a_column_called_score_are_a_score(tmp_path: Path):
    write(tmp_path, a_csv="text,score\n" + "".join(f"text number {n},{n % 6}\n" for n in range(60)))
    assert guessing.tasks_of(tmp_path)["a"]["score"] == [0, 5]


def test_an_id_is_taken_where_it_differs_in_every_row(tmp_path: Path):
    write(tmp_path, a_csv="id,text,label\n" + "".join(f"{n},text number {n},{n % 2}\n" for n in range(30)))
    assert guessing.tasks_of(tmp_path)["a"]["id"] == "id"
    write(tmp_path, a_csv="id,text,label\n" + "".join(f"1,text number {n},{n % 2}\n" for n in range(30)))
    assert "id" not in guessing.tasks_of(tmp_path)["a"]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "holds no task; allowed: files such as topic-train.csv"),
        ({"a-train_csv": TOPIC, "a_csv": TOPIC}, "two files are train of a: a-train.csv and a.csv"),
        ({"a-dev_csv": TOPIC}, "a has a-dev.csv, but no train; add a-train.csv"),
        ({"a_csv": "text,label\n"}, "a.csv: it holds no row"),
        ({"a_csv": "text,label\none,x\ntwo,x\n"}, "its label holds x; allowed: two labels or more"),
        ({"a_csv": "x,y\n" + "".join(f"a {n} b,c {n} d\n" for n in range(60))}, "which of them is the label cannot be"),
        (
            {"a_csv": "x,y,z,label\n" + "".join(f"a {n},b {n},c {n},{n % 2}\n" for n in range(60))},
            "its columns are x, y, z, label, and which of them are the one or two sentences cannot be told; say it in ",
        ),
    ],
)
def test_what_the_files_do_not_tell_is_refused(tmp_path: Path, files: dict[str, str], told: str):
    write(tmp_path, **files)
    with pytest.raises(DataError) as error:
        guessing.tasks_of(tmp_path)
    assert told in str(error.value)


def test_where_it_cannot_be_told_the_message_has_the_five_lines_that_say_it(tmp_path: Path):
    write(tmp_path, a_csv="x,y\n" + "".join(f"a {n} b,c {n} d\n" for n in range(60)))
    with pytest.raises(DataError) as error:
        guessing.tasks_of(tmp_path)
    assert str(error.value).splitlines()[1:] == [
        "a:", "  files: {train: a.csv}", "  sentences: [COLUMN]", "  label: COLUMN", "  classes: [ONE, OTHER]",
    ]  # fmt: skip
