"""`mtbert predict`: sentences and files in, predictions out."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import mtbert
from mtbert import cli, files
from mtbert.errors import DataError
from mtbert.inference import exporting, loading
from mtbert.inference import predict as command
from mtbert.inference.answers import ModelError
from mtbert.inference.model import Model
from mtbert.provenance import why
from mtbert.provenance.changes import Change, InputKind
from mtbert.scores import ensembles
from mtbert.tasks import COURSE, Task

TEST = Path("data/sample/cs224n/sts-test-student.csv").resolve()
OF_SAMPLE = "note: it was trained on the sample's generated sentences alone, and knows no others\n"
PAIRS = [("a cat .", "a dog ."), ("a man, old", 'he said "no"')]
WRITTEN = {
    "pairs.csv": 'id,text,text_pair\n1,a cat .,a dog .\n2,"a man, old","he said ""no"""\n',
    "pairs.tsv": 'id\ttext\ttext_pair\n1\ta cat .\ta dog .\n2\ta man, old\t"he said ""no"""\n',
    "course.csv": '\tid\tsentence1\tsentence2\n0\tx\ta cat .\ta dog .\n1\ty\ta man, old\t"he said ""no"""\n',
}


def predict(build: Path, capsys: pytest.CaptureFixture[str], *arguments: str | Path, status: Any = 0) -> Any:
    capsys.readouterr()
    with pytest.raises(SystemExit if status == 0 else DataError, match=None if status == 0 else status) as ended:
        cli.app(["predict", *map(str, arguments), "--build", str(build)], prog_name="mtbert")
    return capsys.readouterr() if status == 0 else ended


def rows_of(folder: Path, name: str, content: str | bytes) -> list[dict[str, Any]]:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return [values for _, values in command.read(folder / name)[0]]


def test_a_person_reads_names_and_probabilities(build: Path, capsys: pytest.CaptureFixture[str]):
    out, err = predict(build, capsys, "crossed", "--task", "sst", "a plot .", "a cast .")
    assert err == f"crossed, seed 1, sst\n{OF_SAMPLE}"
    lines = out.splitlines()
    assert [lines[0], lines[2]] == ["a plot .", "a cast ."]
    named = re.findall(r"([a-z ]+) (0\.\d{3})", lines[1])
    assert sorted(name.strip() for name, _ in named) == sorted(COURSE["sst"].class_names)
    assert [number for _, number in named] == sorted((number for _, number in named), reverse=True)


def test_without_a_task_each_that_takes_such_rows_answers(build: Path, capsys: pytest.CaptureFixture[str]):
    out, err = predict(build, capsys, "crossed", "a plot .")
    assert err == f"crossed, seed 1, sst\nnote: not asked, since they take other rows: sts\n{OF_SAMPLE}"
    assert re.fullmatch(r"a plot \.\n  sst: (very )?(negative|neutral|positive) 0\.\d{3}\n", out)


def test_a_file_gets_a_column_for_each_task_and_its_probability(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (tmp_path / "a.csv").write_text("id,text\n7,a plot .\n")
    out, _ = predict(build, capsys, "crossed", "--file", tmp_path / "a.csv")
    assert out.splitlines()[0] == "id,text,sst,sst_probability,cut"
    (tmp_path / "b.csv").write_text("text,sst\na plot .,4\n")
    said = "the rows have columns with names of predictions: sst; rename them, or name one task by --task"
    predict(build, capsys, "crossed", "--file", tmp_path / "b.csv", status=said)


def test_a_column_that_is_called_like_a_prediction_is_told_before_all_rows_are_predicted(
    build: Path, monkeypatch: pytest.MonkeyPatch
):
    predicted: list[int] = []
    tables = Model.tables
    monkeypatch.setattr(Model, "tables", lambda *args: predicted.append(len(args[2])) or tables(*args))
    asked = [command.TaskColumns(COURSE["sst"], ("text",))]
    with pytest.raises(DataError, match="names of predictions: prediction; rename them"):
        command._predict(
            loading.load_any("crossed", build=build, device="cpu"), asked, [{"text": "a", "prediction": 1}] * 5, False
        )
    assert predicted == [1]


def test_a_class_below_the_threshold_is_left_empty(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    (tmp_path / "a.csv").write_text("text\na plot .\na cast .\n")
    arguments = ("alone", "--task", "sst", "--file", tmp_path / "a.csv", "--at-least")
    out, err = predict(build, capsys, *arguments, "1")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["prediction"], row["class"], row["cut"]) for row in rows] == [("", "", "False")] * 2
    assert all(0 < float(row["probability_0"]) < 1 for row in rows)
    assert "note: the probabilities of sst are not calibrated, since alone was trained without held-out rows" in err
    out, _ = predict(build, capsys, *arguments, "0.1")
    assert all(row["class"] in COURSE["sst"].class_names for row in csv.DictReader(io.StringIO(out)))


def test_a_baseline_is_not_said_to_hold_rows_out(capsys: pytest.CaptureFixture[str]):
    command._check_probabilities(SimpleNamespace(name="baseline-tfidf", metrics=None), [COURSE["sst"]])
    assert capsys.readouterr().err == (
        "note: the probabilities of sst are not calibrated, since baseline-tfidf is a baseline, which holds no rows "
        "out\n"
    )


def test_a_person_reads_which_class_is_not_sure(build: Path, capsys: pytest.CaptureFixture[str]):
    out, _ = predict(build, capsys, "crossed", "a plot .", "--at-least", "1")
    assert re.fullmatch(r"a plot \.\n  sst: not sure 0\.\d{3}\n", out)
    out, _ = predict(build, capsys, "crossed", "--task", "sst", "a plot .", "--at-least", "1")
    assert re.match(r"a plot \.\n  not sure: [a-z ]+ 0\.\d{3}, ", out)


def test_a_score_has_no_threshold(build: Path, capsys: pytest.CaptureFixture[str]):
    status = "--at-least is for tasks with one class a row; sts predicts a score, which has no probability. Name one"
    predict(build, capsys, "crossed", "--task", "sts", "a", "b", "--at-least", "0.9", status=status)


def test_a_model_without_classes_is_asked_without_a_threshold():
    model = SimpleNamespace(name="moods", tasks=("sts",), task=lambda name: COURSE[name])
    with pytest.raises(DataError, match=r"which has no probability\. Leave --at-least out$"):
        command._check_probabilities(model, [COURSE["sts"]])


def test_a_person_reads_a_pair_s_score_and_its_range(build: Path, capsys: pytest.CaptureFixture[str]):
    out, _ = predict(build, capsys, "crossed", "--task", "sts", "a plot .", "a cast .")
    assert re.fullmatch(r"a plot . \| a cast .\n  \d\.\d{3} on a scale of 0 to 5\n", out)


@pytest.mark.parametrize(("sentences", "came"), [(["a plot ."], 1), (["a", "b", "c"], 3)])
def test_a_pair_has_two_sentences(build: Path, capsys: pytest.CaptureFixture[str], sentences: list[str], came: int):
    said = f"sts takes two sentences, got {came}; for more pairs use --file"
    predict(build, capsys, "crossed", "--task", "sts", *sentences, status=said)


def test_a_file_comes_back_with_all_its_columns_and_every_digit(build: Path, capsys: pytest.CaptureFixture[str]):
    out, _ = predict(build, capsys, "apart", "--task", "sts", "--file", TEST)
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    its = pd.read_parquet(build / "runs/apart/1/predictions/sts-test.parquet")
    assert list(rows[0])[:4] == ["", "id", "sentence1", "sentence2"]
    assert [float(row["prediction"]) for row in rows] == its["prediction"].tolist()
    assert [row["id"] for row in rows] == its["id"].tolist()


def test_the_ending_of_the_output_decides_its_kind(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    out, _ = predict(build, capsys, "apart", "--task", "sst", "a plot .", "--out", tmp_path / "said.csv")
    assert not out
    assert (tmp_path / "said.csv").read_text().startswith("text,prediction,class,probability_0,")
    ending = r"a\.json: unknown ending; allowed: \.csv"
    predict(build, capsys, "apart", "--task", "sst", "a", "--out", "a.json", status=ending)


def test_what_was_cut_is_told(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    rows = tmp_path / "rows.csv"
    rows.write_text(f"text,text_pair\n{'a ' * 40},b\na,b\n")
    out, err = predict(build, capsys, "crossed", "--task", "sts", "--file", rows)
    assert [line.rpartition(",")[2] for line in out.splitlines()] == ["cut", "True", "False"]
    assert err == (
        f"crossed, seed 1, sts\n{OF_SAMPLE}"
        "warning: 1 of 2 rows are longer than 16 word pieces and lost their end, as in training: row 1\n"
    )


@pytest.mark.parametrize(
    ("header", "task", "said"),
    [
        ("id,sentence", "sts", "columns id, sentence; sts needs sentence1 and sentence2, or text and text_pair"),
        ("text,text_pair", "sst", "columns text, text_pair; sst needs sentence, or text"),
        ("text,cut,prediction", "sst", "columns with names of predictions: cut, prediction; rename them"),
    ],
)
def test_columns_that_do_not_go(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, header: str, task: str, said: str
):
    (tmp_path / "a.csv").write_text(f"{header}\n{','.join('a' for _ in header.split(','))}\n")
    predict(build, capsys, "crossed", "--task", task, "--file", tmp_path / "a.csv", status=said)


@pytest.mark.parametrize(
    ("name", "content", "task", "said"),
    [
        ("a.txt", "a\n\nb\n \n", "sst", r"a\.txt, line 2: text is empty, line 4: text is empty; each row needs its "),
        ("a.csv", "text\na\n\nb\n", "sst", r"a\.csv, line 3: text is empty;"),
        ("a.csv", 'n,text,text_pair\n"1\n2",a,b\n3,a,\n', "sts", r"a\.csv, line 4: text_pair is empty;"),
        ("a.csv", "id,text\n1,a\nid,text\n2,b\n", "sst", r"a\.csv, line 3: it repeats the header; each row"),
        ("a.tsv", "sentence1\tsentence2\n \ta\n", "sts", r"a\.tsv, line 2: sentence1 is empty;"),
    ],
)
def test_empty_texts_of_a_file_are_told_by_their_lines(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, content: str, task: str, said: str
):
    (tmp_path / name).write_text(content)
    predict(build, capsys, "crossed", "--task", task, "--file", tmp_path / name, status=said)


def test_standard_input_is_read_and_standard_output_written(
    build: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("ein Hündchen\na cast .\n".encode())))
    out, _ = predict(build, capsys, "crossed", "--task", "sst", "--file", "-")
    assert [line.split("\t")[0] for line in out.splitlines()] == ["text", "ein Hündchen", "a cast ."]


def test_one_sentence_imports_torch_alone_of_what_is_large(build: Path):
    command = [sys.executable, "-X", "importtime", "-m", "mtbert", "predict", "crossed", "--task", "sst", "a plot ."]
    ended = subprocess.run([*command, "--build", str(build)], capture_output=True, text=True, check=True)
    found = set(re.findall(r"\|\s+([\w.]+)$", ended.stderr, re.MULTILINE))
    assert "torch" in found
    assert found.isdisjoint({"torch._dynamo", "scipy", "accelerate", "transformers", "sklearn", "mlflow"})


# files


@pytest.mark.parametrize("name", WRITTEN)
def test_every_kind_gives_the_same_pairs(tmp_path: Path, name: str):
    assert [tuple(row.values())[-2:] for row in rows_of(tmp_path, name, WRITTEN[name])] == PAIRS


def test_only_line_ends_end_a_line(tmp_path: Path):
    odd = ["a\u2028b", "c\x85d", "e\x0cf"]
    rows = rows_of(tmp_path, "odd.txt", "\n".join(odd[:2]) + "\r\n" + odd[2] + "\r\n" + odd[0] + "\rg")
    assert [row["text"] for row in rows] == [*odd, odd[0], "g"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "text\n", r"a\.csv holds no rows$"),
        ("a.csv", "text,n\na,b,c\n", r"a\.csv, line 2: it has 3 fields, the header 2; quote a text that holds ','"),
        (
            "a.csv",
            b"text\na\n\xff\n",
            r"a\.csv, line 3: not UTF-8 text; name its encoding, such as --encoding cp1252, or save it as UTF-8$",
        ),
        (
            "a.jsonl",
            '{"text": "a"}\n{"text": "b", "n": [NaN]}\n',
            r"a\.jsonl, line 2: n holds NaN or an infinity, which",
        ),
        ("a.jsonl", '{"text": "a", "n": {"m": 1e999}}\n', r"a\.jsonl, line 1: n holds NaN or an infinity, which JSON"),
        ("a.xlsx", "text\na\n", r"a\.xlsx: unknown ending; allowed: \.csv, \.tsv, \.jsonl, \.txt"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, name: str, content: str | bytes, said: str):
    with pytest.raises(DataError, match=said):
        rows_of(tmp_path, name, content)


def test_a_file_that_is_not_there(tmp_path: Path):
    with pytest.raises(DataError, match=r"rows\.csv cannot be read: No such file or directory"):
        command.read(tmp_path / "rows.csv")


def test_a_file_of_another_encoding_is_predicted_and_written_as_utf_8(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (tmp_path / "in.csv").write_bytes("text\nder Film ist schön .\n".encode("cp1252"))
    arguments = ("apart", "--task", "sst", "--file", tmp_path / "in.csv", "--out", tmp_path / "out.csv")
    predict(build, capsys, *arguments, "--encoding", "cp1252")
    assert (tmp_path / "out.csv").read_bytes().splitlines()[1].startswith("der Film ist schön .,".encode())


# what is written


ODD = {
    "a lone carriage return": "a\rb",
    "a line feed": "a\nb",
    "both": "a\r\nb",
    "a line separator": "a\u2028b",
    "a next line": "a\x85b",
    "a form feed": "a\x0cb",
    "a quote at the start": '"a" b',
    "a quote within": 'a "b" c',
    "the separator": "a,b",
    "another separator": "a;b\tc",
    "blanks at the ends": " a ",
    "a formula": "=1+1",
    "a byte order mark within": "a\ufeffb",
    "a backslash before a quote": 'a\\"b',
    "a comment": "# a",
}


@pytest.mark.parametrize("text", ODD.values(), ids=[*ODD])
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl"])
def test_what_is_written_is_read_back_by_this_command_and_by_others(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, ending: str
):
    given = pd.DataFrame({"id": ["a", "b"], "text": [text, "the plot ."], "note": ["", "x"]})
    source, out = tmp_path / "in.jsonl", tmp_path / f"out.{ending}"
    given.to_json(source, orient="records", lines=True)
    predict(build, capsys, "apart", "--task", "sst", "--file", source, "--out", out)
    again = [row.values for row in command.read(out).rows]
    assert [{column: row[column] for column in given} for row in again] == given.to_dict("records")
    if ending == "jsonl":
        return
    separator = {"csv": ",", "tsv": "\t"}[ending]
    content = out.read_bytes().decode()
    assert [row[1] for row in csv.reader(io.StringIO(content, newline=""), delimiter=separator)][1:] == [*given["text"]]
    for engine in ("c", "python"):
        table = pd.read_csv(out, sep=separator, keep_default_na=False, engine=engine)  # pyright: ignore[reportCallIssue, reportArgumentType]
        assert table["text"].to_list() == [*given["text"]]


def test_a_lone_carriage_return_is_quoted_as_excel_needs_it(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (tmp_path / "in.csv").write_bytes(b'id,text\r\na,"one .\rtwo ."\r\n')
    predict(build, capsys, "apart", "--task", "sst", "--file", tmp_path / "in.csv", "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().split(b"\n")[1].startswith(b'a,"one .\rtwo .",')


def test_json_in_a_column_stays_json_in_csv(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    row = '{"text": "a plot .", "n": [1, true, "é"], "o": {"p": null}, "q": false, "r": null, "s": 2}'
    (tmp_path / "in.jsonl").write_text(row, encoding="utf-8")
    predict(build, capsys, "apart", "--task", "sst", "--file", tmp_path / "in.jsonl", "--out", tmp_path / "out.csv")
    (written,) = csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text(encoding="utf-8")))
    assert [written[name] for name in "noqrs"] == ['[1, true, "é"]', '{"p": null}', "false", "", "2"]


def test_json_lines_keep_their_values_and_get_the_predictions(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (tmp_path / "in.jsonl").write_text('{"text": "a plot .", "n": [1]}\n{"text": "a cast .", "m": null}\n')
    out, _ = predict(build, capsys, "apart", "--task", "sst", "--file", tmp_path / "in.jsonl")
    rows = [json.loads(line) for line in out.splitlines()]
    assert [[*row][:3] for row in rows] == [["text", "n", "prediction"], ["text", "m", "prediction"]]
    (tmp_path / "in.jsonl").write_text('{"text": "a plot ."}\n{"text": "a cast .", "text_pair": "a film ."}\n')
    predict(build, capsys, "apart", "--file", tmp_path / "in.jsonl", status=r"line 1: text_pair is missing")
    (tmp_path / "in.jsonl").write_text('{"text": "a plot ."}\n{"n": 1}\n')
    said = r"in\.jsonl, line 2: text is missing; allowed: text; each row needs its text"
    predict(build, capsys, "apart", "--task", "sst", "--file", tmp_path / "in.jsonl", status=said)


# models


def test_a_changed_setting_is_said_though_the_old_model_predicts(
    build: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    change = Change(InputKind.SETTING, "pals.dim", "204", "276")
    monkeypatch.setattr(why, "changes_since", lambda run: [change] if run.parent.name == "apart" else [])
    _, err = predict(build, capsys, "apart", "--task", "sst", "a plot .")
    assert err.splitlines()[-1] == (
        "note: apart, seed 1, was trained before these changed: pals.dim 204 -> 276; `dvc repro train@apart-1` trains "
        "it again (mtbert why apart)"
    )


def test_an_ensemble_predicts_as_it_votes_on_test(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    copy = Path(shutil.copytree(build, tmp_path / "build"))
    members = ["crossed", "apart"]
    files.write_yaml(copy / "plan/catalog.yaml", {"ensembles": {"both": {"selected": True, "members": members}}})
    out, err = predict(copy, capsys, "both", "--task", "sts", "--file", TEST)
    assert err.splitlines()[0] == "both, seed 1, sts"
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    voted = ensembles.voted_by([copy / f"runs/{name}/1" for name in members], COURSE)["test"]["sts"]
    assert [float(row["prediction"]) for row in rows] == voted["prediction"].tolist()
    said = (
        r"both is a vote of models that are not all trained with that seed \(seeds that are: crossed: 1; apart: 1\); "
        r"`dvc exp run -S 'variants=\[crossed,apart\]' -S 'seeds=\[1,2\]'` trains or restores them"
    )
    with pytest.raises(ModelError, match=said):
        mtbert.load("both", 2, copy)
    with pytest.raises(ModelError, match="both is a vote of crossed, apart, and has no weights of its own"):
        exporting.export(mtbert.load("both", build=copy), "hf", tmp_path / "out")
    table = mtbert.load("both", build=copy).predict(task="sst", rows=["a plot .", "a cast ."])
    names = COURSE["sst"].class_names
    assert table["class"].tolist() == [names[int(number)] for number in table["prediction"]]


MOODS = replace(COURSE["sst"], classes=3, names=("joy", "anger", "fear"), several=True, metric="micro_f1")
ROW = {"text": "a", "prediction": ["joy", "fear"], "probability_0": 0.75, "probability_1": 0.125, "probability_2": 0.5}


@pytest.mark.parametrize(
    ("task", "form", "text"),
    [
        (MOODS, "\t", 'text\tprediction\tprobability_0\na\t"[""joy"", ""fear""]"\t0.75\n'),
        (replace(MOODS, separator=";"), ",", "text,prediction,probability_0\na,joy;fear,0.75\n"),
        (MOODS, command.JSON, '{"text": "a", "prediction": ["joy", "fear"], "probability_0": 0.75}\n'),
    ],
)
def test_several_labels_are_written_as_the_tasks_file_writes_them(task: Task, form: str, text: str):
    row = {name: ROW[name] for name in ("text", "prediction", "probability_0")}
    assert command._as_text([row], form, [task], of_all=False) == text


def test_several_labels_are_named_before_those_that_a_row_has_not():
    words = "joy 0.750, fear 0.500; not anger 0.125"
    assert command._prediction_in_words(MOODS, ROW) == words
    of_all = {f"sst_probability_{number}": ROW[f"probability_{number}"] for number in range(3)}
    assert command._answer_in_words(MOODS, of_all | {"sst": ["joy", "fear"]}) == words
    none = command._prediction_in_words(MOODS, ROW | {"prediction": []})
    assert none == "no label; not joy 0.750, fear 0.500, anger 0.125"
