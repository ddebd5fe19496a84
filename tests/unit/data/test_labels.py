"""What labels are: classes, scores, or what has to be mended or asked."""

import re
from pathlib import Path

import pytest

from mtbert import files, tasks
from mtbert.data import labels as labelling
from mtbert.data import readers
from mtbert.errors import DataError
from mtbert.study.drafting import draft
from mtbert.tasks import COURSE, Task


@pytest.mark.parametrize(
    ("column", "labels", "said"),
    [
        ("score", ["10%", "80%"], "10%, a percentage; write the number alone, such as 80 of 80%"),
        ("label", ["10 %", "N/A"], "10 %, a percentage; write the number alone"),
        ("label", ["1/5", "4/5"], "1/5, a fraction; write the number alone, such as 4 of 4/5"),
        ("label", ["3 out of 5", "4"], "3 out of 5, a fraction"),
        ("label", ["½", "1"], "½, a fraction"),
        ("label", ["1,000,000", "5"], "1,000,000, a number in groups of digits; write it without what parts them"),
        ("label", ["2,5", "3,5"], "2,5, a number with a comma; write it with a point, or without the comma if it"),
        ("label", ["1", "1,5", "2", "2,5", "3,5", "5"], "1,5, a number with a comma; "),
        ("score", ["3,4", "4"], "3,4, a number with a comma; "),
        ("label", ["$5", "$7"], "$5, an amount of money; write the number alone"),
        ("label", ["\u22120.5", "0.5"], "\u22120.5, a number with another minus sign; write it with -"),
        ("label", ["\uff11", "2"], "\uff11, a number in other digits; write it in 0 to 9"),
        ("score", ["3 stars", "4 stars"], "'3 stars', which is more than a number, in a column that is called score; "),
        ("score", ["3", ">4"], "'>4', which is more than a number"),
        ("label", ["2,27", "27", "3", "3,27"], "2,27, several labels a row, since 27 is a label, too; describe the "),
        ("label", ["0 1 0", "1 0 0"], "0 1 0, a yes or no to each of several labels; write a column of 0 "),
        ("label", ["caf\u00e9", "cafe\u0301", "x"], r"'cafe\u0301' and 'caf\xe9'; write both alike"),
        ("label", ["good", "good\u200b"], r"'good' and 'good\u200b'; write both alike"),
        ("label", ["a b", "a\u00a0b"], "which look alike and differ in how their characters are coded"),
        (
            "label",
            ["tensor(1)", "tensor(0)"],
            "tensor(0), as a program writes a value for programmers; write the value",
        ),
        ("score", ["'1", "'2"], "'1, a number in quotation marks; write the number alone"),
        ("label", ["neg (0.71)", "pos (1.0)"], "neg (0.71), as a program writes a value"),
        ("label", ["b'pos'", "b'neg'"], "b'neg', as a program writes a value"),
        ("label", ["#REF!", "pos", "neg"], "#REF!, an error of a spreadsheet; mend the cell, or empty it"),
    ],
)
def test_what_is_neither_class_nor_score_is_a_fault(column: str, labels: list[str], said: str):
    assert said in labelling.fault(column, labels)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("label", ["5%", "little", "much"]),  # a class's own name
        ("label", ["0", "1"]),
        ("label", ["01", "1"]),
        ("label", ["1e5", "a12", "b07"]),
        ("label", ["1", "2", "other"]),
        ("label", ["+1", "-1", "0"]),
        ("score", ["+0.5", "-0.5"]),
        ("score", ["low", "high"]),
        ("score", ["grade 1", "grade 2"]),
        ("label", ["None (other)", "array"]),
        ("label", ["Yes", "yes"]),
        ("label", ["2024-01-01", "2024-01-02"]),
        ("label", ["12", "21"]),
    ],
)
def test_what_is_a_class_or_a_score_is_none(column: str, labels: list[str]):
    assert not labelling.fault(column, labels)


@pytest.mark.parametrize(
    ("column", "labels", "key", "asked_about"),
    [
        ("label", ["sport", "politics", "sport|politics"], "separator", ["sport|politics"]),
        ("label", ["toxic", "insult", "toxic, threat"], "separator", ["toxic, threat"]),  # threat is never alone
        ("label", ["a;b", "b;c", "a;c"], "separator", ["a;b", "b;c"]),  # b comes first, and last
        ("label", ["a", "b", "a#b"], "separator", ["a#b"]),
        ("label", ["a", "b", "a\nb"], "separator", ["a\nb"]),
        ("label", ["0", "1", "yes", "no"], "classes", ["0", "1", "no", "yes"]),
        ("label", ["true", "0", "1"], "classes", ["0", "1", "true"]),
        ("label", ["neg", "pos", "negative"], "classes", ["neg", "negative", "pos"]),
        ("label", ["yes", "no", "Y"], "classes", ["Y", "no", "yes"]),
        ("score", ["-1", "0", "0.5", "1.5", "2", "5"], "left_out", ["-1"]),
        ("score", ["0", "1", "2.5", "4", "5", "999"], "left_out", ["999"]),
        ("score", ["0", "1", "2.5", "4", "5", "98", "99"], "left_out", ["98", "99"]),
        ("score", ["0", "1", "2.5", "4", "5", "-999"], "left_out", ["-999"]),
        ("score", ["-1", "0", "1", "2.5", "4", "5", "999"], "left_out", ["-1", "999"]),
        ("label", ["0.5", "1.5", "N/A"], "left_out", ["N/A"]),
    ],
)
def test_what_only_the_user_knows_is_asked(column: str, labels: list[str], key: str, asked_about: list[str]):
    question = labelling.question(column, labels)
    assert question
    assert (question.key, list(question.labels)) == (key, asked_about)


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        ("label", ["news|sport", "news|politics"]),  # a path: each word stands at one place
        ("label", ["C#", "C", "F#"]),
        ("label", ["very good", "good", "very"]),  # its name may be so: a note
        ("label", ["no", "yes", "maybe"]),
        ("label", ["-1", "0", "1"]),
        ("score", ["-1", "-0.5", "0", "0.5", "1"]),
        ("score", ["0", "25.5", "50", "75", "99"]),
        ("score", ["0", "5"]),
        ("score", ["1", "2", "4", "8", "15.5"]),
        ("label", ["0", "1", "2", "3", "4", "99"]),  # classes: a note
    ],
)
def test_what_is_plain_is_not_asked(column: str, labels: list[str]):
    assert labelling.question(column, labels) is None


def test_classes_of_the_words_of_others_are_told():
    assert labelling.made_of_others(["very good", "good", "very"], has_sets=False) == (
        "'very good' is made of 'very' and 'good', classes too; if its rows have both, add `separator` to "
        "the task, which says what parts them"
    )
    assert not labelling.made_of_others(["very good", "good", "bad"], has_sets=False)


@pytest.mark.parametrize(
    ("task", "label", "said"),
    [
        (
            "ort",
            "cafe\u0301",
            r"; it looks like 'café', and differs in how its characters are coded: 'cafe\u0301' and ",
        ),
        ("ort", "Café", "; it differs from 'café' in capitals, blanks or how a number is written; write both alike"),
        ("ort", "bar", ""),
        ("sts", "80%", "; it is a percentage; write the number alone, such as 80 of 80%"),
        ("sts", "999", "; if it stands for no score, add it to `left_out` of sts in tasks.yaml"),
        ("sts", "n/a", "; if it stands for no score, add it to `left_out` of sts in tasks.yaml"),
        ("sts", "7", ""),
    ],
)
def test_what_else_is_said_of_a_label_that_a_task_lacks(task: str, label: str, said: str):
    ort = Task("ort", 2, ("text",), "label", "accuracy", {"café": 0, "hôtel": 1})
    hint = labelling.hint(ort if task == "ort" else COURSE[task], label)
    assert (hint[: len(said)], bool(hint)) == (said, bool(said))


def test_questions_are_asked_with_all_that_is_understood(tmp_path: Path):
    scores = [0, 0.5, 1, 2.5, 5, 999]
    (tmp_path / "rel.csv").write_text("text,score\n" + "".join(f"text number {n},{scores[n % 6]}\n" for n in range(60)))
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"text number {n},{n % 2}\n" for n in range(60)))
    asked = draft(tmp_path)
    assert asked.changes == {
        "a": {"files": {"train": "a.csv"}, "sentences": ["text"], "label": "label", "classes": [0, 1]},
        "rel": {
            "files": {"train": "rel.csv"}, "sentences": ["text"], "label": "score", "score": [0, 5], "left_out": "?",
        },
    }  # fmt: skip
    assert asked.questions == [
        "rel.left_out: rel.csv: 999 may stand for no score, since the others are 0 to 5. If so, write [999]. If it is "
        "a score, write [], and its range at `score`"
    ]


@pytest.mark.parametrize(
    "labels",
    [["sport", "politics", "sport|politics"], ["a", "b", "a\nb"], ["it's", "a", "it's, a"], ["0", "1", "Yes", "no"]],
)
def test_each_answer_that_is_named_is_read(tmp_path: Path, labels: list[str]):
    rows = "".join(f'text number {n},"{labels[n % len(labels)]}"\n' for n in range(60))
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}")
    asked = draft(tmp_path)
    for answer in re.findall(r"\{[^{}]*\}|\[[^\[\]]*\]", asked.questions[0]):
        files.write_yaml(tmp_path / "tasks.yaml", asked.changes, in_order=True)
        text = (tmp_path / "tasks.yaml").read_text()
        (tmp_path / "tasks.yaml").write_text(text.replace("'?'", answer))
        task = tasks.read_folder(tmp_path)["a"]
        examples, refusals = readers.read(tmp_path, task, "train")
        assert (len(examples), refusals, task.classes) == (60, [], 2 if answer.startswith("{") else len(labels))


def test_percentages_are_refused_with_their_file(tmp_path: Path):
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"text number {n},{n % 5}0%\n" for n in range(60)))
    with pytest.raises(DataError, match=r"a\.csv: its label holds 00%, a percentage; .*, or list its `classes` in ta"):
        draft(tmp_path)


@pytest.mark.parametrize(
    ("label", "other"),
    [
        ("caf\u00e9", "cafe\u0301"), ("very good", "very  good"), ("good", "\u200bgood"), ("1", "1.00"), ("Yes", "yes"),
        ("a\u00a0b", "a b"),
    ],
)  # fmt: skip
def test_labels_of_which_the_same_is_seen(label: str, other: str):
    assert labelling.seen(label) == labelling.seen(other)


@pytest.mark.parametrize(
    ("label", "other"),
    [("1", "-1"), ("1.1", "1.11"), ("1000001", "1000002"), ("a b", "ab"), ("resume", "r\u00e9sum\u00e9")],
)
def test_labels_of_which_something_else_is_seen(label: str, other: str):
    assert labelling.seen(label) != labelling.seen(other)


@pytest.mark.parametrize(
    ("labels", "missing_values"),
    [
        (["pos", "neg", "NULL", "None", "NA", "n/a", "-"], ["NULL", "None", "NA", "n/a", "-"]),
        (["-1", "0", "1", "2"], ["-1"]),
        (["-1", "1"], []),
        (["0", "1", "2", "99"], ["99"]),
        (["1", "2", "3", "4", "5", "6", "7", "8", "9"], []),
        (["90", "98", "99", "100"], []),
        (["Favor", "None"], ["None"]),
        (["no", "yes"], []),
    ],
)
def test_labels_that_may_stand_for_none(labels: list[str], missing_values: list[str]):
    task = Task(
        "a", len(labels), ("text",), "label", "macro_f1", {label: number for number, label in enumerate(labels)}
    )
    assert labelling.missing_values(task) == missing_values


@pytest.mark.parametrize(
    ("label", "unmarked"),
    [
        ("Spam.", "spam"),
        ("'spam'", "spam"),
        ("\u201cspam\u201d", "spam"),
        ("a&amp;b", "a&b"),
        (":)", ":)"),
        ("?", "?"),
        ("c++", "c++"),
        ("1.0", "1.0"),
        ("01", "01"),
    ],
)
def test_marks_at_the_ends_of_a_label_do_not_make_it_look_different(label: str, unmarked: str):
    assert labelling.unmarked(label) == unmarked


def test_labels_of_fasttext_that_a_blank_joins_are_asked_about():
    asked = labelling.question("label", ["__label__a", "__label__b", "__label__a __label__b"])
    assert asked is not None
    assert (asked.key, asked.labels) == ("separator", ["__label__a __label__b"])
    assert "write what parts them, ' '" in asked.text
