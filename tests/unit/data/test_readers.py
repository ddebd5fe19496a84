"""Readers: what is read, what is refused with which reason, and which faults stop everything."""

import contextlib
import csv
import gzip
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbert.data.readers import Example, Refusal, class_names, read
from mtbert.errors import DataError
from mtbert.tasks import COURSE, Split

HEADERS = {
    "sst": "\tid\tsentence\tsentiment\n",
    "qqp": "\tid\tsentence1\tsentence2\tis_duplicate\n",
    "sts": "\tid\tsentence1\tsentence2\tsimilarity\n",
    "snli": "",
}


def read_from(folder: Path, content: bytes, task: str, split: Split = "train") -> list[Example | Refusal]:
    """What a file of the task with that content comes to, in the file's order."""
    file = folder / COURSE[task].files[split]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    kept, refused = read(folder, COURSE[task], split)
    return sorted([*kept, *refused], key=lambda row: row.line)


def rows(directory: Path, task: str, text: str, split: Split = "train") -> list[Example | Refusal]:
    """What a file with that text below the header of the task comes to."""
    return read_from(directory, (HEADERS[task] + text).encode(), task, split)


def reason(directory: Path, task: str, row: str) -> str:
    """Why a row is refused, when it stands below one that is kept."""
    good = {
        "sst": "0\ta\tFine .\t3\n",
        "qqp": "0\ta\tWho ?\tWhy ?\t0.0\n",
        "sts": "0\ta\tOne .\tTwo .\t2.5\n",
        "snli": '{"gold_label": "neutral", "sentence1": "A", "sentence2": "B", "pairID": "a"}\n',
    }
    kept, refused = rows(directory, task, good[task] + row)
    assert isinstance(kept, Example)
    return refused.reason


def test_reads_one_sentence_with_its_class(tmp_path: Path) -> None:
    assert rows(tmp_path, "sst", "0\tf00\tIt 's a lovely film .\t3\n7\tba7\tNULL\t0\n8\tc\t\t0\n") == [
        Example("f00", "It 's a lovely film .", None, 3.0, 2),
        Example("ba7", "NULL", None, 0.0, 3),
        Refusal(4, "sentence is empty"),
    ]


def test_reads_pairs_with_quotes_line_breaks_and_the_line_on_which_each_row_starts(tmp_path: Path) -> None:
    text = '0\ta\t"Is it ""so""?"\tIs it?\t1.0\n1\tb\t"two\nlines"\tone line\t0.0\n\n2\tc\tx\ty\t1\n'
    assert rows(tmp_path, "qqp", text) == [
        Example("a", 'Is it "so"?', "Is it?", 1.0, 2),
        Example("b", "two\nlines", "one line", 0.0, 3),
        Example("c", "x", "y", 1.0, 6),
    ]


def test_reads_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\tid\tsentence1\tsentence2\tsimilarity\r\n0\ta\tx\ty\t4.25\r\n"
    assert read_from(tmp_path, content, "sts") == [Example("a", "x", "y", 4.25, 2)]


def test_reads_the_other_layout_of_the_courses_test_files_which_have_no_labels(tmp_path: Path) -> None:
    content = b"0\t\tid\tsentence\n1\t0.0\ta\tEffective biopic\n2\t1.0\tb\t \n"
    assert read_from(tmp_path, content, "sst", "test") == [
        Example("a", "Effective biopic", None, None, 2), Refusal(3, "sentence is empty"),
    ]  # fmt: skip


def test_keeps_the_labels_of_a_test_file_that_has_some(tmp_path: Path) -> None:
    assert rows(tmp_path, "sst", "0\ta\tFine .\t4\n", "test") == [Example("a", "Fine .", None, 4.0, 2)]


@pytest.mark.parametrize("withheld", ["", "-1"])
def test_a_test_file_whose_labels_are_withheld_has_none(
    tmp_path: Path, withheld: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rows(tmp_path, "sst", f"0\ta\tFine .\t{withheld}\n1\tb\tDull .\t3\n", "test") == [
        Example("a", "Fine .", None, None, 2),
        Refusal(3, "it has a sentiment, and the first row has none"),
    ]
    assert "ids-sst-test-student.csv: its sentiment is empty or -1" in capsys.readouterr().err


@pytest.mark.parametrize(("labels", "label"), [({"-1": 0, "0": 1, "1": 2}, 0.0), ({}, None)])
def test_minus_one_is_a_label_where_the_task_has_it_as_one(
    tmp_path: Path, labels: dict[str, int], label: float | None
) -> None:
    (tmp_path / "a.csv").write_text("sentence,sentiment\nFine .,-1.0\n")
    task = replace(COURSE["sst"], files={"test": "a.csv"}, id="", labels=labels, classes=3)
    assert read(tmp_path, task, "test") == ([Example("a.csv:2", "Fine .", None, label, 2)], [])


def test_minus_one_is_a_score_where_it_is_within_its_range(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sentence1,sentence2,similarity\nOne .,Two .,-1\n")
    task = replace(COURSE["sts"], files={"test": "a.csv"}, id="", lowest=-1.0, highest=1.0)
    assert read(tmp_path, task, "test")[0] == [Example("a.csv:2", "One .", "Two .", -1.0, 2)]


def test_a_first_row_whose_label_is_left_out_does_not_say_that_a_test_file_has_no_labels(tmp_path: Path) -> None:
    task = replace(COURSE["sst"], files={"test": "a.csv"}, id="", left_out=("-1",))
    (tmp_path / "a.csv").write_text("sentence,sentiment\nOdd .,-1\nFine .,3\n")
    assert read(tmp_path, task, "test")[0] == [Example("a.csv:3", "Fine .", None, 3.0, 3)]
    (tmp_path / "a.csv").write_text("sentence,sentiment\nOdd .,-1\nFine .,-1\n")
    assert [row.label for row in read(tmp_path, task, "test")[0]] == [None, None]


def test_a_missing_label_is_none_of_the_labels_in_every_form(tmp_path: Path) -> None:
    """Null, NaN, the word nan, and empty text, beside the word None, which is a label."""
    values = [None, float("nan"), "nan", "", "None"]
    rows = [{"sentence": f"row {number}", "sentiment": value} for number, value in enumerate(values)]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "a.csv").write_text("sentence,sentiment\nrow 0,\nrow 1,NaN\nrow 2,nan\nrow 3,\nrow 4,None\n")
    texts = pa.Table.from_pylist(
        [row | {"sentiment": text} for row, text in zip(rows, [None, "NaN", *values[2:]], strict=True)]
    )
    pq.write_table(texts, tmp_path / "a.parquet")
    task = replace(COURSE["sst"], id="", labels={"None": 0, "Favor": 1}, classes=2)
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        kept, refused = read(tmp_path, replace(task, files={"train": name}), "train")
        assert [(row.sentence1, row.label) for row in kept] == [("row 4", 0.0)]
        assert [(row.label, row.is_faulty) for row in refused] == [("", True)] * 4


@pytest.mark.parametrize(
    ("metadata", "names"),
    [
        ({"names": ["neg", "pos"], "_type": "ClassLabel"}, ["neg", "pos"]),
        ({"feature": {"names": ["neg", "pos"], "_type": "ClassLabel"}, "_type": "List"}, ["neg", "pos"]),
        ({"names": ["neg", "neg"], "_type": "ClassLabel"}, []),
        ({"dtype": "int64", "_type": "Value"}, []),
        ("odd", []),
    ],
)
def test_a_parquet_file_of_datasets_names_its_classes(tmp_path: Path, metadata: object, names: list[str]) -> None:
    info = json.dumps({"info": {"features": {"label": metadata}}})
    table = pa.table({"text": ["a", "b"], "label": [0, 1]}).replace_schema_metadata({"huggingface": info})
    pq.write_table(table, tmp_path / "a.parquet")
    assert class_names(tmp_path / "a.parquet", "label") == names
    assert class_names(tmp_path / "a.parquet", "other") == []


def test_a_parquet_file_that_names_its_classes_otherwise_than_train_is_refused(tmp_path: Path) -> None:
    for split, names in (("train", ["neg", "pos"]), ("dev", ["pos", "neg"])):
        info = json.dumps({"info": {"features": {"sentiment": {"names": names, "_type": "ClassLabel"}}}})
        table = pa.table({"sentence": [f"{split} row"], "sentiment": [0]})
        pq.write_table(table.replace_schema_metadata({"huggingface": info}), tmp_path / f"{split}.parquet")
    task = replace(COURSE["sst"], id="", files={"train": "train.parquet", "dev": "dev.parquet"})
    assert len(read(tmp_path, task, "train")[0]) == 1
    told = "dev.parquet: its sentiment numbers the classes pos, neg, and train.parquet numbers them neg, pos; write bo"
    with pytest.raises(DataError, match=told):
        read(tmp_path, task, "dev")


def test_a_group_that_is_a_rounded_number_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sentence,sentiment,user\none,3,1.23457E+17\ntwo,3,1234\n")
    task = replace(COURSE["sst"], files={"test": "a.csv"}, id="", group_on="user")
    kept, refused = read(tmp_path, task, "test")
    assert [row.group for row in kept] == ["user 1234"]
    assert refused == [
        Refusal(2, "user is 1.23457E+17, a number that was rounded when it was saved; save its column as text")
    ]


def test_categories_of_a_parquet_file_are_their_words(tmp_path: Path) -> None:
    words = pa.array(["pos", "neg"]).dictionary_encode()
    pq.write_table(pa.table({"sentence": ["a", "b"], "sentiment": words}), tmp_path / "a.parquet")
    task = replace(COURSE["sst"], id="", labels={"neg": 0, "pos": 1}, classes=2, files={"train": "a.parquet"})
    assert [row.label for row in read(tmp_path, task, "train")[0]] == [1.0, 0.0]


def test_numbers_of_a_parquet_file_may_be_missing_too(tmp_path: Path) -> None:
    numbers = pa.array([0.0, float("nan"), None], pa.float64())
    pq.write_table(pa.table({"sentence": ["a", "b", "c"], "sentiment": numbers}), tmp_path / "a.parquet")
    kept, refused = read(tmp_path, replace(COURSE["sst"], id="", files={"train": "a.parquet"}), "train")
    assert [(row.line, row.label) for row in kept] == [(1, 0.0)]
    assert [(row.line, row.label) for row in refused] == [(2, ""), (3, "")]


def test_labels_that_are_written_differently_are_different_labels(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "sentence,sentiment\n" + "".join(f"{n},{n}\n" for n in ("1.1", "1.10", "01", "1", "1.0"))
    )
    labels = {"1.1": 0, "1.10": 1, "01": 2, "1": 3}
    task = replace(COURSE["sst"], id="", files={"train": "a.csv"}, labels=labels, classes=4)
    assert [row.label for row in read(tmp_path, task, "train")[0]] == [0, 1, 2, 3, 3]
    kept, refused = read(tmp_path, replace(task, labels={}), "train")
    assert [row.line for row in kept] == [5, 6]
    assert refused[0].reason == "sentiment is '1.1'; allowed: 0, 1, 2, 3"


def test_of_many_allowed_labels_the_first_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sentence,sentiment\na,1\nb,99\n")
    task = replace(COURSE["sst"], id="", files={"train": "a.csv"}, classes=15)
    allowed = "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 3 more"
    assert read(tmp_path, task, "train")[1][0].reason == f"sentiment is '99'; allowed: {allowed}"


@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c"])
def test_a_line_ends_at_a_line_end_alone(tmp_path: Path, inside: str) -> None:
    assert rows(tmp_path, "sst", f"0\ta\tone{inside}two\t3\n") == [Example("a", f"one{inside}two", None, 3.0, 2)]
    row = {"gold_label": "neutral", "sentence1": f"A{inside}B", "sentence2": "C", "pairID": "p"}
    text = json.dumps(row, ensure_ascii=False) + "\n"
    assert rows(tmp_path, "snli", text) == [Example("p", f"A{inside}B", "C", 1.0, 1)]


def test_a_column_of_json_lines_may_begin_in_a_later_row(tmp_path: Path) -> None:
    first = '{"gold_label": "-", "pairID": "a"}\n'
    second = '{"gold_label": "neutral", "sentence1": "A", "sentence2": "B", "pairID": "b"}\n'
    assert rows(tmp_path, "snli", first + second)[1:] == [Example("b", "A", "B", 1.0, 2)]


def test_reads_json_lines(tmp_path: Path) -> None:
    text = '{"gold_label": "entailment", "sentence1": "A dog .", "sentence2": "An animal .", "pairID": "p", "x": [1]}\n'
    assert rows(tmp_path, "snli", text) == [Example("p", "A dog .", "An animal .", 2.0, 1)]


@pytest.mark.parametrize(
    ("task", "row", "expected"),
    [
        ("sst", "1\tb\tFine .\t5\n", "sentiment is '5'; allowed: 0, 1, 2, 3, 4"),
        ("sst", "1\tb\tFine .\t-1\n", "sentiment is '-1'; allowed: 0, 1, 2, 3, 4"),
        ("sst", "1\tb\tFine .\t2.5\n", "sentiment is '2.5'; allowed: 0, 1, 2, 3, 4"),
        ("sst", "1\tb\tFine .\tnan\n", "sentiment is 'nan'; allowed: 0, 1, 2, 3, 4"),
        ("sst", "1\tb\tFine .\tgood\n", "sentiment is 'good'; allowed: 0, 1, 2, 3, 4"),
        ("sst", "1\tb\t \t3\n", "sentence is empty"),
        ("sst", "1\tb\t\u200b\t3\n", "sentence is empty"),
        ("sst", "1\t\tFine .\t3\n", "its id is empty"),
        ("sst", "1\ta\tFine .\t3\n", "its id is that of line 2"),
        ("qqp", "1\tb\tWho ?\t\t\n", "sentence2 is empty; is_duplicate is ''; allowed: 0, 1"),
        ("sts", "1\tb\tOne .\tTwo .\t5.2\n", "similarity is '5.2'; allowed: a number from 0 to 5"),
        ("sts", "1\tb\tOne .\tTwo .\tinf\n", "similarity is 'inf'; allowed: a number from 0 to 5"),
        (
            "snli",
            '{"gold_label": "-", "sentence1": "A", "sentence2": "B", "pairID": "b"}\n',
            "its gold_label is '-', which is left out",
        ),
        (
            "snli",
            '{"gold_label": "yes", "sentence1": "A", "sentence2": "B", "pairID": "b"}\n',
            "gold_label is 'yes'; allowed: contradiction, neutral, entailment",
        ),
        (
            "snli",
            '{"sentence1": 3, "sentence2": "B\\ud800", "pairID": [7]}\n',
            "sentence1 is 3; allowed: text; sentence2 holds '\\ud800', which is no character; "
            "its id is [7]; allowed: text; "
            "gold_label is missing; allowed: contradiction, neutral, entailment",
        ),
    ],
)
def test_refuses_a_faulty_row_with_a_reason(tmp_path: Path, task: str, row: str, expected: str) -> None:
    assert reason(tmp_path, task, row).splitlines() == [expected]


@pytest.mark.parametrize("score", ["0_1", "\u0661", "\uff11", "1e400", "infinity", "nan", "0x1", "1,5", "e1", "."])
def test_a_score_is_a_number_as_everybody_writes_it(tmp_path: Path, score: str) -> None:
    row = f"1\tb\tOne .\tTwo .\t{score}\n"
    assert reason(tmp_path, "sts", row).startswith(f"similarity is {score!r}; allowed: a number from 0 to 5")


@pytest.mark.parametrize(("score", "number"), [("+1.50", 1.5), ("1.", 1.0), (".5", 0.5), ("1E-1", 0.1), ("05", 5.0)])
def test_a_score_may_be_written_in_many_ways(tmp_path: Path, score: str, number: float) -> None:
    assert rows(tmp_path, "sts", f"1\tb\tOne .\tTwo .\t{score}\n") == [Example("b", "One .", "Two .", number, 2)]


@pytest.mark.parametrize(
    ("task", "content", "expected"),
    [
        (
            "sst",
            b"\tid\tsentence\n0\ta\tx\n",
            "needs the columns id, sentence, sentiment; missing: sentiment; it has [",
        ),
        (
            "sst",
            b"\tid\tsentence\t Sentiment\n0\ta\tx\t3\n",
            "what sst reads; write ' Sentiment' as it is in train and tasks.yaml, with its capitals and blanks",
        ),
        ("sst", b"id sentence sentiment\na x 3\n", "it has ['id sentence sentiment']"),
        ("sst", b"\tid\tsentence\tsentiment\n", ": it holds no row"),
        ("sst", b"\tid\tsentence\tsentiment\n0\ta\t\t3\n", "that can be used; line 2: sentence is empty"),
        ("sst", b"\tid\tsentence\tsentiment\n0\ta\tb\n", ", line 2: it has 3 fields, the header 4"),
        ("sst", b"\tid\tsentence\tsentiment\n0\ta\tcaf\xe9\t3\n", ", line 2: not UTF-8 text"),
        (
            "sst",
            b"\tid\tsentence\tsentiment\n0\ta\t\t3\n0\tb\tx\t9\n",
            "line 2: sentence is empty; line 3: sentiment is",
        ),
        ("snli", b"\tid\tsentence1\n", ", line 1: not JSON"),
        ("snli", b'{"gold_label": "neutral"}\n', "missing: pairID, sentence1, sentence2; it has ['gold_l"),
    ],
)
def test_stops_at_a_file_with_a_fault_of_its_own(tmp_path: Path, task: str, content: bytes, expected: str) -> None:
    with pytest.raises(DataError) as error:
        read_from(tmp_path, content, task)
    assert expected in str(error.value)


TABLE = [["id", "sentence", "sentiment"], ["001", 'NA, "well; well"', "3"], ["002", "Fine .", "4"]]
OF_TABLE = [Example("001", 'NA, "well; well"', None, 3.0, 2), Example("002", "Fine .", None, 4.0, 3)]


def written(separator: str, **form: str) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=separator, **form).writerows(TABLE)
    return buffer.getvalue().encode()


def parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([dict(zip(TABLE[0], row, strict=True)) for row in TABLE[1:]]), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", written(",")),
        ("a.csv", written(";")),
        ("a.csv", written("\t")),
        ("a.tsv", written("\t", lineterminator="\n")),
        ("a.csv", b"\xef\xbb\xbf" + written(",")),
        ("a.parquet", parquet()),
        ("a.csv.gz", gzip.compress(written(","), mtime=0)),
        ("a.TSV", written("\t")),
        ("a.CSV.GZ", gzip.compress(written(","), mtime=0)),
        ("a.jsonl", b"\n".join(json.dumps(dict(zip(TABLE[0], row, strict=True))).encode() for row in TABLE[1:])),
        (
            "a.JSONL.GZ",
            gzip.compress(
                b"\n".join(json.dumps(dict(zip(TABLE[0], row, strict=True))).encode() for row in TABLE[1:]), mtime=0
            ),
        ),
    ],
)
def test_the_same_rows_in_every_form_are_the_same(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    kept, refused = read(tmp_path, replace(COURSE["sst"], files={"train": name}), "train")
    assert [row[:4] for row in kept] == [row[:4] for row in OF_TABLE]
    assert not refused


def test_a_text_with_commas_does_not_make_a_file_of_semicolons_one_of_commas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id;sentence, if any;sentiment\n1;one, two, three;3\n2;four;1\n")
    task = replace(COURSE["sst"], files={"train": "a.csv"}, sentences=("sentence, if any",))
    assert [row.sentence1 for row in read(tmp_path, task, "train")[0]] == ["one, two, three", "four"]


def test_another_encoding_is_named_in_the_error_and_read_where_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id,sentence,sentiment\n1,café,3\n".encode("cp1252"))
    task = replace(COURSE["sst"], files={"train": "a.csv"})
    told = r"a\.csv, line 2: not UTF-8 text; set `encoding` of sst in tasks\.yaml, or --encoding where there "
    with pytest.raises(DataError, match=told):
        read(tmp_path, task, "train")
    assert read(tmp_path, replace(task, encoding="cp1252"), "train")[0][0].sentence1 == "café"


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(written(","), mtime=0)[:20])
    with pytest.raises(DataError, match=r"a\.csv\.gz: not a whole gzip file"):
        read(tmp_path, replace(COURSE["sst"], files={"train": "a.csv.gz"}), "train")


def test_rows_without_ids_are_numbered_by_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(written(","))
    task = replace(COURSE["sst"], files={"train": "a.csv"}, id="")
    assert [row.id for row in read(tmp_path, task, "train")[0]] == ["a.csv:2", "a.csv:3"]


@pytest.mark.parametrize(
    ("labels", "came"),
    [
        ({"yes": 0, "no": 1}, ["yes", "no"]),
        ({"1": 0, "2": 1}, ["1", "2.0"]),
        ({"false": 0, "true": 1}, ["False", "TRUE"]),
    ],
)
def test_labels_are_words_numbers_or_booleans(tmp_path: Path, labels: dict[str, int], came: list[str]) -> None:
    (tmp_path / "a.csv").write_text("sentence,sentiment\n" + "".join(f"s {label},{label}\n" for label in came))
    task = replace(COURSE["sst"], files={"train": "a.csv"}, id="", labels=labels, classes=2)
    assert [row.label for row in read(tmp_path, task, "train")[0]] == [0.0, 1.0]


@pytest.mark.parametrize("name", ["a.xlsx", "a.ndjson", "a.json.gz", "a"])
def test_a_file_of_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("id,sentence,sentiment\n1,Fine .,3\n")
    told = "a file of this ending is not read; allowed: .csv, .tsv, .jsonl, .parquet"
    with pytest.raises(DataError, match=told):
        read(tmp_path, replace(COURSE["sst"], files={"train": name}), "train")


def test_stops_at_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"ids-sst-dev\.csv: no such file"):
        read(tmp_path, COURSE["sst"], "dev")


ANY_TEXT = st.text(max_size=12)  # of all characters but halves of surrogate pairs, which UTF-8 has none for


@given(ANY_TEXT, ANY_TEXT, ANY_TEXT)
def test_any_text_in_any_field_is_read_back_or_refused_for_being_empty(
    tmp_path_factory: pytest.TempPathFactory, identifier: str, first: str, second: str
) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter="\t", quoting=csv.QUOTE_ALL).writerow([0, identifier, first, second, "1"])
    try:
        assert rows(tmp_path_factory.getbasetemp(), "qqp", buffer.getvalue()) == [
            Example(identifier, first, second, 1.0, 2)
        ]
    except DataError as error:
        if "NUL byte" in str(error):
            assert "\0" in identifier + first + second
        elif "or those within a text are not doubled" in str(error):
            assert re.search("[\r\n]", identifier + first + second)
        else:
            assert not all(map(visible, (identifier, first, second)))


def visible(text: str) -> bool:
    return any(character.isprintable() and not character.isspace() for character in text)


PIECES = [
    b"\tid\tsentence1\tsentence2\tis_duplicate\n",
    b"0\ta\tWho ?\tWhy ?\t1\n", b'1\tb\t"x\n""y"\tz\t0\n', b"\t", b"\n", b"\r",
    b'"', b'""', b"\0", b"\xef\xbb\xbf", b"\xff", b"a", b"1", b"{", b"}", b"[", b"]", b'"sentence1": ', b"\\ud800",
    b'{"gold_label": "neutral", "sentence1": "A", "sentence2": "B", "pairID": "a"}\n', b"1e999", b"9" * 5000, b"NaN",
]  # fmt: skip


@given(st.binary(max_size=40) | st.lists(st.sampled_from(PIECES) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_any_bytes_are_read_or_are_a_data_error(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    for task in ("qqp", "snli"):
        with contextlib.suppress(DataError):
            read_from(tmp_path_factory.getbasetemp(), content, task)


def test_a_corpus_that_serves_a_task_has_its_labels_and_loses_what_has_none(tmp_path: Path) -> None:
    labels = ("contradiction", "neutral", "entailment")
    lines = [f'{{"gold_label": "{of}", "sentence1": "A", "sentence2": "B", "pairID": "{of[0]}"}}\n' for of in labels]
    read_rows = read_from(tmp_path, "".join(lines).encode(), "snli_as_qqp")
    kept = [(row.id, row.label) for row in read_rows if isinstance(row, Example)]
    left_out = [(row.line, row.is_faulty) for row in read_rows if isinstance(row, Refusal)]
    assert kept == [("c", 0.0), ("e", 1.0)]
    assert left_out == [(2, False)]


def test_a_further_header_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sentence,sentiment\na,1\nsentence,sentiment\nb,2\n")
    kept, refused = read(tmp_path, replace(COURSE["sst"], id="", files={"train": "a.csv"}), "train")
    assert [row.sentence1 for row in kept] == ["a", "b"]
    assert [(row.line, row.reason) for row in refused] == [(3, "it repeats the header")]


TOPIC = replace(COURSE["sst"], id="", sentences=("text",), files={"test": "a.csv"}, label="topic", left_out=("",))


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["", "1", "", "0"], [("b", 1.0), ("d", 0.0)]),  # of several tasks, some rows are of others alone
        (["", "", "", ""], [("a", None), ("b", None), ("c", None), ("d", None)]),
        (["-1", "-1", "-1", "-1"], [("a", None), ("b", None), ("c", None), ("d", None)]),
    ],
)
def test_a_test_file_of_several_tasks_has_the_labels_of_each(tmp_path: Path, labels: list[str], expected: list) -> None:
    rows = "".join(f"{text},{label}\n" for text, label in zip("abcd", labels, strict=True))
    (tmp_path / "a.csv").write_text(f"text,topic\n{rows}")
    examples, refusals = read(tmp_path, TOPIC, "test")
    assert ([(row.sentence1, row.label) for row in examples], refusals) == (expected, [])
