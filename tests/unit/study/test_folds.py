"""Small tasks without dev get folds: written into tasks.yaml, told in a line, trained in whole repeats."""

import shutil
from pathlib import Path

import pytest

from mtbert import files
from mtbert.errors import DataError, SettingsError
from mtbert.study import costs, folds
from mtbert.study.run import run
from mtbert.study.selecting import StudyOptions

ROOT = Path(__file__).parents[3]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository's params.yaml and papers; no step is measured, which takes seconds."""
    monkeypatch.setattr(costs, "in_words", lambda *_: "At most about an hour.")
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    return Path(shutil.copy(ROOT / "params.yaml", tmp_path))


def write(folder: Path, **rows: int) -> Path:
    """A folder with a file of so many rows for each name."""
    folder.mkdir()
    for name, count in rows.items():
        lines = [f"text {number} of {name},{('no', 'yes')[number % 2]}" for number in range(count)]
        (folder / f"{name}.csv").write_text("\n".join([f"text,{name}", *lines]) + "\n")
    return folder


def test_few_rows_without_dev_are_folds_and_more_have_one_dev(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(tmp_path / "mine", few=40, many=300)
    run(folder, StudyOptions(quick=True), "utf-8", params)
    printed = capsys.readouterr().out
    assert "few     40 in 5 folds" in printed
    assert "many    240 train, 60 dev" in printed
    line = (
        "few.csv: fewer than 300 labelled rows, so tasks.yaml says `folds: 5`; 5 seeds make a repeat, each with anothe"
    )
    assert line in printed
    described = files.read_yaml(folder / "tasks.yaml", "")
    assert (described["few"]["folds"], "folds" in described["many"]) == (5, False)
    assert files.read_yaml(params, "")["seeds"] == [1, 2, 3, 4, 5]


def test_tasks_yaml_that_is_there_stays_as_it_is(tmp_path: Path, params: Path) -> None:
    folder = write(tmp_path / "mine", few=40)
    run(folder, StudyOptions(quick=True), "utf-8", params)
    described = files.read_yaml(folder / "tasks.yaml", "")
    del described["few"]["folds"]
    files.write_yaml(folder / "tasks.yaml", described)
    run(folder, StudyOptions(quick=True), "utf-8", params)
    assert "folds" not in files.read_yaml(folder / "tasks.yaml", "")["few"]
    assert files.read_yaml(params, "")["seeds"] == [1]


def test_a_question_about_one_task_leaves_another_new(tmp_path: Path, params: Path) -> None:
    folder = write(tmp_path / "mine", few=40)
    asked = ["text,odd", *(f"odd {number},{('a', 'b', 'a|b')[number % 3]}" for number in range(40))]
    (folder / "odd.csv").write_text("\n".join(asked) + "\n")
    with pytest.raises(DataError, match=r"odd\.separator"):
        run(folder, StudyOptions(quick=True), "utf-8", params)
    described = folder / "tasks.yaml"
    described.write_text(described.read_text().replace("separator: '?'", "separator: ''"))
    run(folder, StudyOptions(quick=True), "utf-8", params)
    assert [task["folds"] for task in files.read_yaml(described, "").values()] == [5, 5]


def test_rows_that_cannot_be_folds_keep_one_dev_and_are_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    lines = [f"text {max(number, 22)},{number % 2}" for number in range(40)]  # 23 rows of one text
    (folder / "few.csv").write_text("\n".join(["text,few", *lines]) + "\n")
    run(folder, StudyOptions(quick=True), "utf-8", params)
    assert "few.csv: fewer than 300 labelled rows, which cannot be 5 folds: " in capsys.readouterr().out
    assert "folds" not in files.read_yaml(folder / "tasks.yaml", "")["few"]


def test_a_column_of_few_labels_beside_one_of_many_is_told(
    tmp_path: Path, params: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    urgent = ("no", "yes")
    lines = [f"text {number},{'abc'[number % 3]},{urgent[number % 2] if number < 60 else ''}" for number in range(400)]
    (folder / "tickets.csv").write_text("\n".join(["text,topic,urgent", *lines]) + "\n")
    run(folder, StudyOptions(quick=True), "utf-8", params)
    told = (
        "tickets.csv: urgent has 60 labelled rows alone, so its dev is small; to have each of them predicted, write "
        "`folds: 5` to every task of this file"
    )
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(("seeds", "number", "whole"), [(1, 5, 5), (5, 5, 5), (6, 5, 10), (3, 0, 3)])
def test_seeds_make_whole_repeats(seeds: int, number: int, whole: int) -> None:
    assert folds.in_repeats(seeds, number) == whole


def test_after_a_fault_tasks_yaml_is_as_it_was(tmp_path: Path, params: Path) -> None:
    folder = write(tmp_path / "mine", few=40)
    with pytest.raises(SettingsError):
        run(folder, StudyOptions(encoder="unknown-encoder"), "utf-8", params)
    assert not (folder / "tasks.yaml").is_file()
