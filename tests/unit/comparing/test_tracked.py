"""Predictions of MLflow's runs, in a store of their own."""

from pathlib import Path

import pytest

from mtbert.comparing import tracked
from mtbert.comparing.rows import Row
from mtbert.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of MLflow's own use of SQLAlchemy
TEXT = "id,label,prediction\n7,1,0.5\n"
HERE = Row("line 2", "7", "1", "0.5")


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    mlflow = pytest.importorskip("mlflow")
    uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    found = mlflow.MlflowClient(uri)
    found.create_experiment("e", artifact_location=(tmp_path / "artifacts").as_uri())
    return found


def run(client, tmp_path: Path, files: dict[str, str], **tags: str) -> str:
    experiment = client.get_experiment_by_name("e").experiment_id
    made = client.create_run(experiment, tags=tags).info.run_id
    for name, text in files.items():
        path = tmp_path / Path(name).name
        path.write_text(text)
        client.log_artifact(made, str(path), str(Path(name).parent) if "/" in name else None)
    return made


def read(source: str, task: str | None = None, build: Path = Path("nowhere")) -> list[Row]:
    return tracked.read(source, {}, "accuracy", None, task, build).rows


def test_a_runs_only_file_is_found_and_its_seed_told(client, tmp_path: Path) -> None:
    first = run(client, tmp_path, {"predictions/sts-dev.csv": TEXT, "notes.txt": "x"}, seed="3")
    assert read(first) == [HERE._replace(seed="3")]
    second = run(client, tmp_path, {"predictions/sts-dev.csv": TEXT}, seed="4")
    assert [row.seed for row in read(f"{first},{second}")] == ["3", "4"]


def test_of_several_files_the_tasks_or_the_named_one_is_taken(client, tmp_path: Path) -> None:
    both = {"p/sts-dev.csv": TEXT, "p/sst-dev.csv": TEXT.replace("0.5", "2")}
    found = run(client, tmp_path, both)
    assert [row.prediction for row in read(found, "sst")] == ["2"]
    assert [row.prediction for row in read(f"runs:/{found}/p/sts-dev.csv")] == ["0.5"]
    with pytest.raises(DataError, match=r"several artifacts hold predictions; name one, as runs:/"):
        read(found)


def test_what_is_not_there_is_said(client, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no run 0000"):
        read("0" * 32)
    empty = run(client, tmp_path, {})
    with pytest.raises(DataError, match=r"its artifacts hold no file of predictions .*needs --task, and --build"):
        read(empty)


def test_an_artifact_that_is_not_there_is_said(client, tmp_path: Path) -> None:
    found = run(client, tmp_path, {"p/sts-dev.csv": TEXT})
    said = f"runs:/{found} has no artifact missing.csv that can be read \\(MLflow at .*mlflow.db: MlflowException: "
    with pytest.raises(DataError, match=said):
        read(f"runs:/{found}/missing.csv")


def test_artifacts_that_cannot_be_listed_are_said(client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionError("the store does not answer")

    found = run(client, tmp_path, {})
    monkeypatch.setattr(type(client), "list_artifacts", refuse)
    said = f"the artifacts of run {found} cannot be listed \\(MLflow at .*: ConnectionError: the store does not answer"
    with pytest.raises(DataError, match=said):
        read(found)


def test_without_mlflow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracked.tracking, "installed", lambda: False)
    with pytest.raises(DataError, match=r"which is not installed: pip install 'mtbert\[pipeline\]'"):
        read("0" * 32)
