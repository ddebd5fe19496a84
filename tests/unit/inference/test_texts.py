"""Files of texts, and predictions as files of the same kind."""

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from mtbert.errors import DataError
from mtbert.inference import texts
from mtbert.tasks import TASKS

PAIRS = [("a cat .", "a dog ."), ("a man, old", 'he said "no"')]
WRITTEN = {
    "pairs.csv": 'id,text,text_pair\n1,a cat .,a dog .\n2,"a man, old","he said ""no"""\n',
    "pairs.tsv": 'id\ttext\ttext_pair\n1\ta cat .\ta dog .\n2\ta man, old\t"he said ""no"""\n',
    "course.csv": '\tid\tsentence1\tsentence2\n0\tx\ta cat .\ta dog .\n1\ty\ta man, old\t"he said ""no"""\n',
    "pairs.jsonl": "".join(f"{json.dumps({'text': one, 'text_pair': other})}\n\n" for one, other in PAIRS),
    "pairs.txt": 'a cat .\ta dog .\na man, old\the said "no"\n',
}


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


@pytest.mark.parametrize("name", WRITTEN)
def test_every_kind_gives_the_same_pairs(tmp_path: Path, name: str):
    assert texts.read(write(tmp_path, name, WRITTEN[name])).texts(TASKS["sts"]) == PAIRS


@pytest.mark.parametrize("name", ["odd.txt", "odd.jsonl"])
def test_only_line_ends_end_a_line(tmp_path: Path, name: str):
    odd = ["a\u2028b", "c\x85d", "e\x0cf"]
    lines = odd if name == "odd.txt" else [json.dumps({"text": text}, ensure_ascii=False) for text in odd]
    read = texts.read(write(tmp_path, name, "\n".join(lines[:2]) + "\r\n" + lines[2] + "\r" + lines[0]))
    assert [text for (text,) in read.texts(TASKS["sst"])] == [*odd, odd[0]]


def test_a_csv_file_with_tabs_is_the_course_s(tmp_path: Path):
    assert texts.read(write(tmp_path, "course.csv", WRITTEN["course.csv"])).kind == "tsv"


def test_standard_input_holds_plain_lines_unless_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("ein Hündchen\n".encode())))
    assert texts.read(Path("-")).texts(TASKS["sst"]) == [("ein Hündchen",)]
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"sentence\nNA\n")))
    assert texts.read(Path("-"), "csv").texts(TASKS["sst"]) == [("NA",)]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "text\n", r"a\.csv holds no rows$"),
        ("a.csv", "", r"a\.csv holds no rows$"),
        ("a.csv", "text,n\na,b,c\n", r"a\.csv, line 2: it has 3 fields, the header 2; quote a text that holds ','"),
        ("a.tsv", 'id\ttext\n1\t"a\n2\tb"\n', r"a\.tsv, line 3: a quoted text holds a tab and a line end"),
        ("a.csv", 'text\n"a\n', r"a\.csv, line 2: unexpected end of data"),
        ("a.csv", "text,text\na,b\n", r"a\.csv, line 1: columns come twice: text"),
        ("a.csv", b"text\na\n\xff\n", r"a\.csv, line 3: not UTF-8 text"),
        ("a.jsonl", '{"text": "a"}\n{"text"\n', r"a\.jsonl, line 2: not JSON"),
        ("a.jsonl", '["a"]\n', r"a\.jsonl, line 1: not a JSON object"),
        ("a.txt", "a\nb\tc\td\n", r"a\.txt, line 2: 3 texts with tabs between; allowed: one or two"),
        ("a.xlsx", "text\na\n", r"a\.xlsx: unknown ending; allowed: \.csv, \.tsv, \.jsonl"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: str | bytes, said: str):
    with pytest.raises(DataError, match=said):
        texts.read(write(tmp_path, name, content))


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(DataError, match=r"rows\.csv cannot be read: No such file or directory"):
        texts.read(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    ("header", "task", "said"),
    [
        (
            "id,sentence",
            "sts",
            "has the columns id, sentence; sts needs sentence1 and sentence2, or text and text_pair",
        ),
        ("text,text_pair", "sst", "has the columns text, text_pair; sst needs sentence, or text"),
        ("Text", "sst", "has the columns Text; sst needs sentence, or text"),
    ],
)
def test_columns_that_a_task_does_not_know(tmp_path: Path, header: str, task: str, said: str):
    given = texts.read(write(tmp_path, "a.csv", f"{header}\n{','.join('a' for _ in header.split(','))}\n"))
    assert given.columns(TASKS[task]) is None
    with pytest.raises(DataError, match=said):
        given.texts(TASKS[task])


@pytest.mark.parametrize(
    ("given", "kind", "predictions", "written"),
    [
        ('{"text": "a, b", "n": 7}', "csv", [0.1 + 0.2], 'text,n,task,prediction\n"a, b",7,sst,0.30000000000000004\n'),
        ('{"text": "a, b", "n": 7}', "txt", [0.5], "text\tn\ttask\tprediction\na, b\t7\tsst\t0.5\n"),
        (
            '{"text": "a", "n": 7}\n{"text": "b"}',
            "csv",
            [0.5, 1.0],
            "text,n,task,prediction\na,7,sst,0.5\nb,,sst,1.0\n",
        ),
        (
            '{"text": "a", "n": 7}\n{"text": "é", "by": ["d", NaN], "n": Infinity}',
            "jsonl",
            [0.5, float("nan")],
            '{"text": "a", "n": 7, "by": null, "task": "sst", "prediction": 0.5}\n'
            '{"text": "é", "n": null, "by": ["d", null], "task": "sst", "prediction": null}\n',
        ),
    ],
)
def test_predictions_stand_behind_the_columns_that_were_given(
    tmp_path: Path, given: str, kind: texts.Kind, predictions: list[float], written: str
):
    rows = texts.read(write(tmp_path, "a.jsonl", given)).rows
    joined = texts.joined(rows, "sst", [{"prediction": prediction} for prediction in predictions])
    assert texts.written(joined, kind) == written


@pytest.mark.parametrize(
    ("kind", "written"),
    [
        ("csv", "text,n\na,NaN\nb,\n"),
        ("jsonl", '{"text": "a", "n": "NaN"}\n{"text": "b", "n": ""}\n'),
    ],
)
def test_nan_in_a_csv_file_stays_the_text_that_it_is(tmp_path: Path, kind: texts.Kind, written: str):
    assert texts.written(texts.read(write(tmp_path, "a.csv", "text,n\na,NaN\nb,\n")).rows, kind) == written


def test_rows_of_several_tasks_stand_below_each_other():
    rows = [{"text": "a", "task": "sst", "class": "x"}, {"text": "a", "task": "sts", "lowest": 0.0, "cut": False}]
    assert texts.written(rows, "tsv") == "text\ttask\tclass\tlowest\tcut\na\tsst\tx\t\t\na\tsts\t\t0.0\tFalse\n"


def test_a_column_is_never_written_over():
    with pytest.raises(DataError, match="columns with names of predictions: prediction, task; rename them"):
        texts.joined([{"task": "a", "prediction": "b"}], "sst", [{"prediction": 1.0}])
