"""`mtbert predict`: sentences and files in, predictions out."""

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import trained

from mtbert import cli

TEST = Path("data/sample/cs224n/sts-test-student.csv").resolve()


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained.build(tmp_path_factory.mktemp("trained") / "build")


def predict(build: Path, capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.app(["predict", *map(str, arguments), "--build", str(build)], prog_name="mtbert")
    assert ended.value.code == 0
    return capsys.readouterr()


def test_a_person_reads_names_probabilities_and_ranges(build: Path, capsys: pytest.CaptureFixture[str]):
    out, err = predict(build, capsys, "crossed", "--all-tasks", "a plot .", "a cast .")
    assert err == "crossed, seed 1\n"
    lines = out.splitlines()
    assert [lines[0], lines[2], lines[4]] == ["a plot .", "a cast .", "a plot . | a cast ."]
    assert lines[5].startswith("  sts: ")
    assert lines[5].endswith(" on a scale of 0 to 5")
    assert sorted(part.rpartition(" ")[0] for part in lines[1].removeprefix("  sst: ").split(", ")) == sorted(
        ["very negative", "negative", "neutral", "positive", "very positive"]
    )


def test_a_file_comes_back_with_all_its_columns_and_every_digit(build: Path, capsys: pytest.CaptureFixture[str]):
    out, _ = predict(build, capsys, "apart", "--task", "sts", "--file", TEST)
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    its = pd.read_parquet(build / "runs/apart/1/predictions/sts-test.parquet")
    assert list(rows[0])[:4] == ["", "id", "sentence1", "sentence2"]
    assert [float(row["prediction"]) for row in rows] == its["prediction"].tolist()
    assert [row["id"] for row in rows] == its["id"].tolist()


def test_the_ending_of_the_output_decides_its_kind(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    out, _ = predict(build, capsys, "both", "--task", "sst", "a plot .", "--out", tmp_path / "said.jsonl")
    assert not out
    record = json.loads((tmp_path / "said.jsonl").read_text())
    assert list(record)[:4] == ["text", "task", "prediction", "class"]


def test_what_was_cut_and_what_was_left_out_is_told(build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(f'{{"text": "{"a " * 40}", "text_pair": "b"}}\n{{"text": "a", "text_pair": "b"}}\n')
    out, err = predict(build, capsys, "crossed", "--all-tasks", "--file", rows)
    assert [json.loads(line)["cut"] for line in out.splitlines()] == [True, False]
    assert err == (
        "crossed, seed 1\n"
        "left out, since the texts do not fit: sst\n"
        "warning: sts: 1 of 2 rows are longer than 16 word pieces and lost their end, as in training: row 1\n"
    )


def test_a_link_and_a_device_are_written_through_and_stay(
    build: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    (tmp_path / "link").symlink_to("target")
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    for name in ("link", "pipe"):
        predict(build, capsys, "crossed", "--task", "sst", "a plot .", "--out", tmp_path / name)
    assert (tmp_path / "link").readlink() == Path("target")
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "target").read_bytes() == os.read(reader, 10_000)
    os.close(reader)


def test_standard_input_is_read_and_standard_output_written(build: Path):
    command = [sys.executable, "-m", "mtbert", "predict", "crossed", "--task", "sst", "--build", str(build)]
    ended = subprocess.run([*command, "--file", "-"], input="a plot .\na cast .\n", capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert [line.split("\t")[:2] for line in ended.stdout.splitlines()] == [
        ["text", "task"], ["a plot .", "sst"], ["a cast .", "sst"],
    ]  # fmt: skip


def test_one_sentence_imports_torch_alone_of_what_is_large(build: Path):
    command = [sys.executable, "-X", "importtime", "-m", "mtbert", "predict", "crossed", "--task", "sst", "a plot ."]
    ended = subprocess.run([*command, "--build", str(build)], capture_output=True, text=True, check=True)
    found = set(re.findall(r"\|\s+([\w.]+)$", ended.stderr, re.MULTILINE))
    assert "torch" in found
    assert found.isdisjoint(
        {"torch._dynamo", "scipy", "accelerate", "transformers", "sklearn", "mlflow", "pandas", "pyarrow"}
    )


def test_many_rows_have_a_progress_bar_at_a_terminal_alone(
    build: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert "%" not in predict(build, capsys, "crossed", "--task", "sts", "--file", TEST)[1]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "sts: 100%" in predict(build, capsys, "crossed", "--task", "sts", "--file", TEST)[1]
