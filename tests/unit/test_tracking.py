"""What a run is in MLflow, where it goes, and that a training needs no MLflow. None of this imports MLflow."""

import json
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import built
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline.tracked import planned, write_catalog, write_run

from mtbert import files, layout, tracking
from mtbert.errors import DataError, SettingsError
from mtbert.provenance import inputs, seals
from mtbert.scores import ensembles
from mtbert.tasks import COURSE
from mtbert.tracking import live, record, server, store, view

ROOT = Path(__file__).parents[2]
SETTINGS: dict[str, Any] = {
    "variant": "pals",
    "paper": "pals-for-pals",
    "row": "Original PALs",
    "profile": "sample",
    "tasks": ["sst", "sts"],
    "model": {"encoder": "base", "adapter": {"name": "pals", "dim": 204}, "heads": {"sst": {"name": "mlp"}}},
    "run": {"keep": "best"},
    "phases": [{"clip": None, "epochs": 4, "objectives": [{"name": "smart", "noise": 0.1}]}],
    "sources": {"adapters/pals.py": "ab12"},
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One finished run, with its plan, log and data."""
    write_catalog(tmp_path, ["pals"], {"pals.dim": 204})
    return write_run(tmp_path)


def test_parameters_have_the_names_of_params_yaml() -> None:
    assert record.parameters(SETTINGS) == {
        "variant": "pals",
        "paper": "pals-for-pals",
        "row": "Original PALs",
        "profile": "sample",
        "tasks": '["sst", "sts"]',
        "model.encoder": "base",
        "model.adapter": "pals",
        "pals.dim": "204",
        "model.heads.sst": "mlp",
        "run.keep": "best",
        "training.clip": "null",
        "training.epochs": "4",
        "training.objectives": '["smart"]',
        "smart.noise": "0.1",
    }


def test_the_labels_of_a_task_are_one_parameter_since_they_may_have_any_characters() -> None:
    described = {"intent": {"classes": 2, "labels": {"lost card?": 0, "name": 1}}}
    assert record.parameters({"described": described}) == {
        "described.intent.classes": "2",
        "described.intent.labels": '{"lost card?": 0, "name": 1}',
    }


def test_what_phases_do_not_share_is_named_by_phase() -> None:
    phases = [{"epochs": 4, "clip": 1.0}, {"epochs": 2, "clip": 1.0}]
    assert record.parameters({"phases": phases}) == {
        "phases.0.epochs": "4", "phases.1.epochs": "2", "training.clip": "1.0",
    }  # fmt: skip
    phases = [{"epochs": 4, "head_rate": 0.1}, {"epochs": 4}]
    assert record.parameters({"phases": phases}) == {"training.epochs": "4", "training.head_rate": "0.1"}


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "pals seed 1"),
        ({"pals.dim": 276, "training.clip": None}, "pals.dim=276 training.clip=null pals seed 1"),
        ({"catalog.pals.pals.dim": 9}, "pals.dim=9 pals seed 1"),
        ({"pals.note": "a" * 99}, f"pals.note={'a' * 70} pals seed 1"),
    ],
)
def test_names_of_runs(changes: dict[str, Any], name: str) -> None:
    assert record.run_name("pals", changes, 1) == name


def of_run(run: Path) -> record.Record:
    return record.of_run(run, record.read_catalog(run.parents[2]))


def test_a_finished_run(run: Path) -> None:
    found = of_run(run)
    start = 1767225600000
    assert (found.experiment, found.name) == ("mtbert-sample", "pals.dim=204 pals seed 1")
    assert (found.started, found.ended) == (start, start + 10_000)
    assert [entry[:3] for entry in found.entries[:6]] == [
        ("final/dev/sst", 0, 0.123456),
        ("run/steps", 0, 20),
        ("run/epoch", 0, 1),
        ("run/seconds", 0, 10.0),
        ("loss/sst", 0, 1.0),
        ("learning_rate", 0, 0.5),
    ]
    tags = found.tags
    assert (tags["data"], tags["variant"], tags["seed"]) == ("data/sample", "pals", "1")
    assert tags["inputs"] == files.sha256(run / "inputs.json")
    assert tags["changed"] == "pals.dim=204"


def test_a_long_list_of_changes_is_cut_where_mlflow_would_refuse_the_tag(run: Path) -> None:
    catalog = record.read_catalog(run.parents[2])
    catalog["variants"]["pals"]["overrides"] = {"pals.note": "a" * 6000}
    assert record.of_run(run, catalog).tags["changed"] == f"pals.note={'a' * 4990}"


def test_a_vote_has_its_scores_members_and_settings_and_the_name_of_what_was_changed_in_a_member(
    tmp_path: Path,
) -> None:
    build = built.build(tmp_path / "build")
    ensembles.vote_all(build, build / "votes")
    folder = build / "votes/vote/1"
    found = record.of_model(folder, record.read_catalog(build))
    assert (found.experiment, found.name) == ("mtbert-own-mine", "data=mine pals.dim=8 vote seed 1")
    assert found.params == {
        "variant": "vote",
        "seed": "1",
        "paper": "pals-for-pals",
        "row": "vote",
        "profile": "own",
        "members": '["one", "two"]',
        "tasks": '["sst"]',
        "data": "mine",
    }
    assert [entry[:3] for entry in found.entries] == [
        ("final/dev/sst", 0, 2 / 3),
        ("parameters/added", 0, 20),
        ("parameters/encoder", 0, 1000),
        ("parameters/stored", 0, 2020),
        ("parameters/trained", 0, 2020),
    ]
    assert (found.tags["changed"], found.tags["inputs"]) == ("pals.dim=8", files.sha256(folder / "inputs.json"))


def test_a_vote_of_other_members_is_another_run_even_where_its_scores_are_the_same(tmp_path: Path) -> None:
    build = built.build(tmp_path / "build")
    ensembles.vote_all(build, build / "votes")
    catalog = record.read_catalog(build)
    first = record.of_model(build / "votes/vote/1", catalog).run_key
    file = built.run(build, "two", [0.0, 1.0, 1.0]) / "history.csv"
    files.write_text(file, "phase,step,name,value\n1,10,loss/sst,2.5\n")
    seals.seal(file.parent)
    ensembles.vote_all(build, build / "votes")
    assert record.of_model(build / "votes/vote/1", catalog).run_key != first


def test_an_altered_vote_is_not_logged(tmp_path: Path) -> None:
    build = built.build(tmp_path / "build")
    ensembles.vote_all(build, build / "votes")
    files.write_json(build / "votes/vote/1/inputs.json", {})
    with pytest.raises(DataError, match=r"\(altered: inputs.json\); .* dvc repro ensemble`"):
        record.of_model(build / "votes/vote/1", record.read_catalog(build))


@pytest.mark.parametrize(
    ("chosen_by", "expected"), [({"chosen_by": [0.6, 0.7]}, 0.6), ({"chosen_by": []}, None), ({}, None)]
)
def test_the_score_that_chose_the_weights_is_the_first_half_s(
    run: Path, chosen_by: Any, expected: float | None
) -> None:
    files.write_json(run / "metrics.json", files.read_json(run / "metrics.json") | chosen_by)
    seals.seal(run)
    assert of_run(run).chosen_by == expected


def test_dev_scores_of_epochs_come_before_losses(run: Path) -> None:
    """MLflow's page that compares runs begins with the value that was logged first."""
    with (run / "history.csv").open("a") as handle:
        handle.write("0,20,dev/sst,0.5\n")
    seals.seal(run)
    names = [entry.name for entry in of_run(run).entries]
    assert names.index("dev/sst") < names.index("loss/sst")


def test_the_page_that_shows_changes_and_scores() -> None:
    found = json.loads(view.saved(view.scores(COURSE)))
    state = json.loads(found["state"])
    assert (state["orderByKey"], state["orderByAsc"]) == ("metrics.`final/dev/overall_raw`", False)  # the best on top
    assert (found["name"], json.loads(found["state"])["selectedColumns"]) == (
        "Scores",
        [
            "tags.`changed`",
            *(f"metrics.`final/dev/{name}`" for name in ("sst", "qqp", "sts", "cfimdb", "snli", "mnli", "overall_raw")),
        ],
    )
    own = {"topic": replace(COURSE["sst"], name="topic"), "more": replace(COURSE["sst"], name="more", serves="topic")}
    assert view.scores(own) == ("final/dev/topic", "final/dev/overall_normalised")
    assert view.address(5001, "2") == (
        "http://127.0.0.1:5001/#/experiments/2/runs?workflowType=machine_learning&viewStateShareKey=scores"
    )
    assert view.address(5000, None) == "http://127.0.0.1:5000/#/experiments?workflowType=machine_learning"


def test_a_run_that_comes_back_is_the_one_that_was_live(tmp_path: Path, run: Path) -> None:
    build = tmp_path / "build"
    live = record.begun(planned(run), 1, inputs.identity(run), record.read_catalog(build))
    for name in ("experiment", "name", "params", "tags"):
        assert getattr(of_run(run), name) == getattr(live, name)


def test_data_of_ones_own_never_look_like_the_sample(tmp_path: Path) -> None:
    write_catalog(tmp_path, ["pals"], data_dir="/home/me/reviews")
    found = record.begun(SETTINGS, 1, "1f", record.read_catalog(tmp_path / "build"))
    assert (found.experiment, found.name) == ("mtbert-sample-reviews-880c59", "data=reviews-880c59 pals seed 1")
    assert (found.tags["data"], found.params["data"]) == ("reviews-880c59", "reviews-880c59")


def test_the_scores_of_a_run_are_those_of_the_plans_tasks(tmp_path: Path) -> None:
    write_catalog(tmp_path, ["pals"])
    mood = {"classes": 2, "sentences": ["text"], "label": "mood", "metric": "accuracy"}
    catalog = record.read_catalog(tmp_path / "build") | {"tasks": {"mood": mood}}
    assert record.begun(SETTINGS, 1, "1f", catalog).scores == ("final/dev/mood", "final/dev/overall_normalised")


@pytest.mark.parametrize(("file", "before", "after"), [("metrics.json", "0.12", "0.13"), ("history.csv", "0.5", "0.6")])
def test_other_results_are_another_run(run: Path, file: str, before: str, after: str) -> None:
    first = of_run(run).run_key
    (run / file).write_text((run / file).read_text().replace(before, after))
    with pytest.raises(DataError, match=rf"\(altered: {file}\); .* dvc repro train@pals-1`"):
        of_run(run)
    seals.seal(run)
    assert of_run(run).run_key != first


def test_a_run_without_its_weights_is_the_one_with_them_and_a_run_of_other_inputs_is_another(run: Path) -> None:
    first = of_run(run).run_key
    files.write_json(run / "elsewhere.json", {})
    seals.seal(run)
    assert of_run(run).run_key == first
    files.write_json(run / "inputs.json", files.read_json(run / "inputs.json") | {"code": {"loop.py": "1f"}})
    seals.seal(run)
    assert of_run(run).run_key != first


def test_a_run_of_an_earlier_version_is_known_by_its_settings_where_nothing_tells_its_inputs(run: Path) -> None:
    (run / "inputs.json").unlink()
    seals.seal(run)
    assert of_run(run).tags["inputs"] == files.sha256(run / "settings.yaml")


def test_damaged_logs_are_told(tmp_path: Path, run: Path) -> None:
    log = layout.log(run) / "run.json"
    log.write_text('{"started": "yesterday", "seconds": 1.0}')
    with pytest.raises(DataError, match=r"run.json is damaged: started: .*'yesterday'"):
        of_run(run)


@pytest.mark.parametrize(
    ("root", "given", "used"),
    [
        ("/repo", "", "sqlite+pysqlite:////repo/mlflow.db?timeout=60"),
        ("/feature%2Fx", "", "sqlite+pysqlite:////feature%252Fx/mlflow.db?timeout=60"),
        ("/a #?'\"", "", "sqlite+pysqlite:////a %23%3F%27%22/mlflow.db?timeout=60"),
        ("/repo", "sqlite:///logs/my.db", "sqlite+pysqlite:////repo/logs/my.db?timeout=60"),
        ("/repo", "sqlite:////else/where.db", "sqlite+pysqlite:////else/where.db?timeout=60"),
        ("/repo", "http://host:5000", "http://host:5000"),
    ],
)
def test_where_runs_are_tracked(monkeypatch: pytest.MonkeyPatch, root: str, given: str, used: str) -> None:
    monkeypatch.setenv("DVC_ROOT", root)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", given)
    assert tracking.tracking_uri() == used
    if not given:
        assert store.database(used) == Path(root) / "mlflow.db"


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(tracking.TrackingError) as caught:
            server.serve(tmp_path, port)
    another = f"another `make mlflow`, or another program; `make mlflow PORT={port + 1}` takes another port"
    assert str(caught.value) == f"port {port} is taken: {another}"


def test_runs_on_a_server_are_not_shown_from_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://ann:s3cret@host:5000")
    with pytest.raises(tracking.TrackingError, match="MLFLOW_TRACKING_URI names a server: open its address"):
        server.serve(tmp_path, 5000)


def test_a_database_is_named_by_its_file_and_a_server_by_its_variable() -> None:
    assert store.place("sqlite:////home/a@b/mlflow.db") == "/home/a@b/mlflow.db"
    assert store.place("http://ann:s3cret@host:5000") == "MLFLOW_TRACKING_URI"


def test_the_reason_is_what_an_error_goes_back_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken")
    uri = "https://host:5000/s3gment"
    error = RuntimeError(f"Max retries exceeded with url: {uri}/api")
    error.__context__ = ConnectionRefusedError("refused t0ken\nmore")
    assert store.reason(error, uri) == "ConnectionRefusedError: refused ***"


AWKWARD = st.text(st.sampled_from("aZ9/@:?#[]%&=+ ~'\""), max_size=6)


@given(AWKWARD, AWKWARD)
def test_no_password_is_told(before: str, after: str) -> None:
    """Wherever the awkward characters stand."""
    uri = f"http://ann:{before}s3cret{after}@host:5000/mlflow"
    assert "s3cret" not in store.reason(OSError(f"refused: {uri}"), uri)


def test_mlflow_is_imported_only_where_it_is_used() -> None:
    code = "import sys; import mtbert.tracking; print(sorted({'mlflow', 'sqlalchemy', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("switch", "told"),
    [
        ("", "warning: this run is not logged to MLflow any further (ModuleNotFoundError: "),
        ("off", ""),
    ],
)
def test_a_training_without_mlflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], switch: str, told: str
) -> None:
    monkeypatch.setenv(live.SWITCH, switch)
    monkeypatch.setattr(live, "BEGINS_AFTER", 0)
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    with tracking.LiveRun(SETTINGS, 1, "1f") as run:
        run.log(1, {"loss/sst": 1.5})
        run.finish(tmp_path)
    assert capfd.readouterr().err.partition("import of")[0] == told


def test_the_switch_of_the_live_log_has_two_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MTBERT_LIVE", "false")
    with pytest.raises(SettingsError, match="the environment variable MTBERT_LIVE is 'false'; allowed: on, off"):
        tracking.LiveRun(SETTINGS, 1, "1f")


def test_a_short_training_needs_no_mlflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(live.SWITCH)
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with tracking.LiveRun(SETTINGS, 1, "1f") as run:
        run.log(1, {"loss/sst": 1.5})
        run.finish(tmp_path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("profile", "data_dir", "kind", "name"),
    [
        ("sample", "data/sample", "sample", "sample"),
        ("sample", "data/sample", "own", "sample-sample-e92943"),  # somebody has changed it
        ("own", "desk", "own", "own-desk"),
        ("own", "/a/desk", "own", "own-desk-2115d8"),
        ("own", "/b/desk/", "own", "own-desk-b5360b"),
        ("sample", "/home/me/reviews", None, "sample-reviews-880c59"),
        ("sample", "data/official", "course", "sample-course"),
        ("laptop", "/mnt/corpora", "course", "laptop"),
    ],
)
def test_a_study_is_named_by_profile_and_data(
    tmp_path: Path, profile: str, data_dir: str, kind: str | None, name: str
) -> None:
    catalog = {"profile": profile, "data_dir": data_dir, "variants": {}, "ensembles": {}, "seeds": [1]}
    files.write_yaml(tmp_path / "plan/catalog.yaml", catalog)
    if kind:
        files.write_json(tmp_path / "data/report.json", {"whose": kind})
    assert record.read_catalog(tmp_path)["study"] == name
