"""Which way is trained on parts of train, and what becomes of params.yaml."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import desk
import pytest

from mtbert import files
from mtbert.errors import SettingsError, UnknownNameError
from mtbert.study import costs, parts, selecting
from mtbert.study.run import run
from mtbert.study.selecting import StudyOptions

ROOT = Path(__file__).parents[3]
PARAMS = Path("params.yaml")
DESK = Path("desk")


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of topic (80 rows) and urgent (40), of which nothing is trained; it is in the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(costs, "in_words", lambda *_: "")
    shutil.copytree(ROOT / "papers", "papers")
    shutil.copy(ROOT / "params.yaml", PARAMS)
    desk.write(DESK, "csv", {"topic": (80, 40), "urgent": (40, 40)})
    run(DESK, StudyOptions(quick=True), "utf-8", PARAMS)
    return tmp_path / "build"


def test_the_parts_of_a_named_way_become_variants(build: Path):
    way = parts.select(PARAMS, DESK, build, "own-shared")
    assert way is not None
    shares = {0.25: "own-shared-quarter", 0.5: "own-shared-half", 1.0: "own-shared"}
    assert (way.name, way.variants, [*way.seeds]) == ("own-shared", {"topic": shares, "urgent": shares}, [1])
    settings = files.read_yaml(PARAMS, "")
    assert settings["catalog"] == {
        "own-shared-quarter": {"part": {"of": "own-shared", "share": 0.25}},
        "own-shared-half": {"part": {"of": "own-shared", "share": 0.5}},
    }
    assert settings["variants"][-2:] == ["own-shared-quarter", "own-shared-half"]
    before = PARAMS.read_text()
    parts.select(PARAMS, DESK, build, "own-shared")
    assert PARAMS.read_text() == before


def test_each_model_of_one_model_per_task_has_the_parts_that_its_rows_allow(build: Path):
    way = parts.select(PARAMS, DESK, build, "own-single")
    assert way is not None
    assert {task: [*by_share] for task, by_share in way.variants.items()} == {
        "topic": [0.25, 0.5, 1.0], "urgent": [0.5, 1.0],
    }  # fmt: skip
    assert "own-single-urgent-half" in way.names


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (
            "own-merged-ties",
            "--way is own-merged-ties, a merge of several models, which no part trains; allowed: one of",
        ),
        ("own-distilled", "own-distilled learns from teachers, which have read all rows; allowed: a variant without"),
    ],
)
def test_a_way_that_parts_cannot_train_is_refused_and_nothing_is_written(build: Path, way: str, message: str):
    before = PARAMS.read_text()
    with pytest.raises(SettingsError, match=message):
        parts.select(PARAMS, DESK, build, way)
    assert PARAMS.read_text() == before


def test_an_unknown_way_is_named(build: Path):
    with pytest.raises(UnknownNameError, match="unknown way 'own-share'; did you mean own-shared"):
        parts.select(PARAMS, DESK, build, "own-share")


def test_without_results_no_way_is_kept(build: Path, capsys: pytest.CaptureFixture[str]):
    assert parts.select(PARAMS, DESK, build, None) is None
    assert capsys.readouterr().out.splitlines()[-1].startswith("(no way is trained for these tasks yet: ")


def test_a_study_is_prepared_for_its_own_folder(build: Path):
    assert selecting.is_prepared(PARAMS, DESK)
    desk.write(Path("other"), "csv", {"topic": (80, 40)})
    (Path("other") / "tasks.yaml").write_text((DESK / "tasks.yaml").read_text())
    assert not selecting.is_prepared(PARAMS, Path("other"))


@pytest.mark.parametrize(
    ("kept", "printed"),
    [
        (SimpleNamespace(names=("own-shared",), is_baseline=False, label="One shared model"), ""),
        (
            SimpleNamespace(names=("baseline-tfidf",), is_baseline=True, label="TF-IDF"),
            "(the report keeps TF-IDF, which",
        ),
        (
            SimpleNamespace(names=("own-merged-ties",), is_baseline=False, label="Merged, TIES"),
            "which is made of several",
        ),
        (None, "(the report keeps no way yet; --way names one, such as own-single)"),
    ],
)
def test_the_way_that_the_report_keeps_is_trained_on_parts(
    build: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kept: Any, printed: str
):
    results = build / "results"
    results.mkdir(parents=True)
    files.write_yaml(build / "plan/catalog.yaml", {"data_dir": "desk", "seeds": [1]})
    members = {"own-merged-ties": ["own-single-topic", "own-single-urgent"]}
    about = {name: SimpleNamespace(members=members.get(name, [])) for name in ("own-shared", "own-merged-ties")}
    best = SimpleNamespace(names=("own-single-topic", "own-single-urgent"))
    answer = SimpleNamespace(kept=kept, best=best, results=SimpleNamespace(about=about))
    monkeypatch.setattr(parts.tables, "read", lambda folder: folder)
    monkeypatch.setattr(parts, "Scoreboard", lambda results: results)
    monkeypatch.setattr(parts, "judge", lambda read, plan: SimpleNamespace(answer=answer if read == results else None))
    way = parts.select(PARAMS, DESK, build, None)
    output = capsys.readouterr().out
    assert printed in output
    assert bool(output) == bool(printed)
    assert (way and way.name) == ("own-shared" if not printed else None)


def test_a_build_folder_of_other_tasks_keeps_nothing(build: Path, capsys: pytest.CaptureFixture[str]):
    (build / "results").mkdir(parents=True)
    files.write_yaml(build / "plan/catalog.yaml", {"data_dir": "elsewhere", "seeds": [1]})
    assert parts.select(PARAMS, DESK, build, None) is None
    assert capsys.readouterr().out.splitlines()[-1].startswith("(no way is trained for these tasks yet: ")
