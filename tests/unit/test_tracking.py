"""What a run is in MLflow, where it goes, and that a training never waits for it. None of this needs MLflow."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbert import files, tracking
from mtbert.errors import DataError
from mtbert.tracking import live, mirror, naming, place, record
from mtbert.tracking.place import TrackingError

ROOT = Path(__file__).parents[2]
SETTINGS = {
    "variant": "pals",
    "paper": "pals-for-pals",
    "row": "Original PALs",
    "profile": "sample",
    "tasks": ["sst", "sts"],
    "model": {"encoder": "base", "adapter": {"name": "pals", "dim": 204}},
    "run": {"keep": "best", "selection": "half"},
    "phases": [{"tasks": ["sst"], "clip": None, "learning_rate": 2e-5}],
}


def write_run(build: Path) -> tuple[Path, Path]:
    """One finished run of two steps, with its logs, data and encoder."""
    directory = build / "runs/pals/1"
    files.write_yaml(directory / "settings.yaml", {**SETTINGS, "seed": 1})
    results = {
        "variant": "pals",
        "seed": 1,
        "steps": 2,
        "epoch": 1,
        "dev": {"sst": 0.5},
        "test": {"sts": 0.25},
        "parameters": {"added": 7},
    }
    files.write_json(directory / "metrics.json", results)
    files.write_text(
        directory / "history.csv", "phase,step,name,value\n0,1,loss/sst,1.5\n0,2,loss/sst,1.25\n0,2,dev/sst,0.25\n"
    )
    files.seal(directory)
    logs = files.log_directory(build, directory)
    files.write_json(logs / "run.json", {"started": "2026-01-01T00:00:00+00:00", "seconds": 10.0})
    files.write_text(logs / "speed.csv", "step,name,value\n2,examples_per_second,80.0\n")
    files.write_text(build / "data/sst/train.parquet", "rows")
    files.write_json(build / "encoders/base/encoder.json", {"name": "tiny", "sha256": "ab" * 32, "source": "made here"})
    return directory, logs


def write_catalog(build: Path, departures: dict[str, dict[str, object]]) -> None:
    variants = {name: {"departures": changes} for name, changes in departures.items()}
    files.write_yaml(build / "plan/catalog.yaml", {"variants": variants})


def test_settings_become_flat_parameters() -> None:
    assert record.parameters(SETTINGS) == {
        "variant": "pals",
        "paper": "pals-for-pals",
        "row": "Original PALs",
        "profile": "sample",
        "tasks": '["sst", "sts"]',
        "model.encoder": "base",
        "model.adapter.name": "pals",
        "model.adapter.dim": "204",
        "run.keep": "best",
        "run.selection": "half",
        "phases.0.tasks": '["sst"]',
        "phases.0.clip": "null",
        "phases.0.learning_rate": "2e-05",
    }


def test_no_part_of_a_long_value_is_lost() -> None:
    text = "a" * 6000 + "b" * 6000 + "c"
    assert record.parameters({"note": text}) == {"note": "a" * 6000, "note.part2": "b" * 6000, "note.part3": "c"}


def test_names_that_mlflow_forbids_stay_apart() -> None:
    flat = record.parameters({"a$": 1, "a#": 2, "a" * 300: 3, "a" * 301: 4})
    assert list(flat.values()) == ["1", "2", "3", "4"]
    assert all(len(name) <= 250 and not record.FORBIDDEN.search(name) for name in flat)


def test_card_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_STAGE", "train@pals-1")
    monkeypatch.setenv("DVC_EXP_NAME", "calm-eels")
    monkeypatch.setattr(record, "_commit", lambda: "c0ffee")
    card = record.card(SETTINGS, 1, {"pals.dim": 276})
    assert (card.experiment, card.name, card.params["seed"]) == ("mtbert-sample", "pals pals.dim=276 seed 1", "1")
    assert card.tags == {
        "variant": "pals",
        "seed": "1",
        "paper": "pals-for-pals",
        "row": "Original PALs",
        "profile": "sample",
        "kind": "variant",
        "settings_key": record.card(
            SETTINGS, 1, {}
        ).settings_key,  # what departs from what may change, the run is the same
        "mlflow.note.content": naming.note({**SETTINGS, "seed": 1}, {"pals.dim": 276}),
        "mlflow.source.name": "stages/train.py",
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": "c0ffee",
        "dvc_stage": "train@pals-1",
        "dvc_experiment": "calm-eels",
    }


def test_contents_of_a_run(tmp_path: Path) -> None:
    contents = record.of_run(*write_run(tmp_path)).read()
    new_year = 1767225600000
    assert [(p.name, p.step, p.value, p.time - new_year) for p in contents.points] == [
        ("loss/sst", 1, 1.5, 5000),
        ("loss/sst", 2, 1.25, 10000),
        ("choosing/sst", 2, 0.25, 10000),
        ("speed/examples_per_second", 2, 80.0, 10000),
        ("score/dev/sst", 2, 0.5, 10000),
        ("score/test/sts", 2, 0.25, 10000),
        ("parameters/added", 2, 7.0, 10000),
        ("run/steps", 2, 2.0, 10000),
        ("run/epoch", 2, 1.0, 10000),
        ("run/seconds", 2, 10.0, 10000),
    ]
    assert [(entry.name, entry.context, entry.digest[:4]) for entry in contents.inputs] == [
        ("sst-train", "training", files.sha256(tmp_path / "data/sst/train.parquet")[:4]),
        ("tiny", "encoder", "abab"),
    ]
    assert (contents.started, contents.ended) == (new_year, new_year + 10_000)


def test_run_is_read_without_its_logs(tmp_path: Path) -> None:
    directory, _ = write_run(tmp_path)
    contents = record.of_run(directory, tmp_path / "nowhere").read()
    assert (contents.started, contents.points[0].time, len(contents.points)) == (None, 0, 8)


def test_ensemble_of_the_catalog(tmp_path: Path) -> None:
    results = {"ensemble": "vote", "seed": 1, "members": ["pals", "smart"], "dev": {"sst": 0.5}, "test": {}}
    directory = tmp_path / "ensembles/vote/1"
    files.write_json(directory / "metrics.json", results)
    files.seal(directory)
    write_catalog(tmp_path, {"pals": {"pals.dim": 276}, "smart": {}, "other": {"mlp.width": 4}})
    entry = {"paper": "pals-for-pals", "row": "PALs ensemble", "members": ["pals", "smart"], "selected": True}
    found = record.of_ensemble(directory, entry, "sample")
    assert (found.card.name, found.card.tags["row"]) == ("vote pals.dim=276 seed 1", "PALs ensemble")
    assert [(point.name, point.value) for point in found.read().points] == [("score/dev/sst", 0.5)]


@pytest.mark.parametrize(
    ("file", "before", "after"),
    [
        ("settings.yaml", "dim: 204", "dim: 276"),
        ("metrics.json", '"sst": 0.5', '"sst": 0.6'),
        ("metrics.json", '"seed": 1', '"seed": 2'),
        ("history.csv", "1.25", "1.26"),
    ],
)
def test_run_key_follows_settings_seed_and_results(tmp_path: Path, file: str, before: str, after: str) -> None:
    directory, logs = write_run(tmp_path)
    first = record.of_run(directory, logs).run_key
    files.write_json(logs / "run.json", {"started": "2026-02-02T00:00:00+00:00", "seconds": 99.0})
    assert record.of_run(directory, logs).run_key == first
    text = (directory / file).read_text()
    assert before in text
    files.write_text(directory / file, text.replace(before, after))
    files.seal(directory)
    assert record.of_run(directory, logs).run_key != first


def test_root_is_named_by_dvc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    monkeypatch.setenv("DVC_ROOT", str(tmp_path / "real"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert tracking.tracking_uri() == f"sqlite:///{tmp_path}/real/mlflow.db"


def test_root_is_the_nearest_with_a_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "dvc.yaml").touch()
    monkeypatch.delenv("DVC_ROOT", raising=False)
    monkeypatch.chdir(tmp_path / "a/b")
    assert tracking.project_root() == tmp_path


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("sqlite:///logs/my.db", "sqlite:////repo/logs/my.db"),
        ("sqlite:////else/where.db", "sqlite:////else/where.db"),
        ("http://host:5000", "http://host:5000"),
        ("postgresql://me:pw@host/db", "postgresql://me:pw@host/db"),
    ],
)
def test_uri_of_ones_own(monkeypatch: pytest.MonkeyPatch, given: str, used: str) -> None:
    monkeypatch.setenv("DVC_ROOT", "/repo")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", given)
    assert tracking.tracking_uri() == used


@pytest.mark.parametrize(
    ("uri", "told"),
    [
        ("https://ann:p%40ss@host:5000/path?key=k3y", "https://host:5000"),
        ("https://host/a-t0ken/mlflow", "https://host"),
        ("http://[::1]:5000/x", "http://[::1]:5000"),
        ("postgresql://me:p@w@db.lab/runs", "postgresql://db.lab"),
        ("http://ann:s3cret", "http://***"),  # no port, so perhaps a password
        ("ann:s3cret", "***://"),
        ("sqlite:////home/a@b/mlflow.db", "/home/a@b/mlflow.db"),
    ],
)
def test_places_are_named_by_scheme_host_and_port_alone(uri: str, told: str) -> None:
    assert place.shown(uri) == told


def test_reasons_are_told_without_what_the_address_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "t0ken")
    uri = "https://ann:p%40ss@host:5000/s3gment/x?key=k3y"
    told = place.without_credentials("ann:p%40ss p@ss key=k3y t0ken /s3gment/ at https://bob:pw@else/", uri)
    assert told == "*** *** *** *** /***/ at https://***@else/"
    said = (
        "API request to https://host:5000/s3/api failed with HTTPSConnectionPool(host='host', port=5000): "
        "Max retries exceeded with url: /s3/api (Caused by NewConnectionError: refused)"
    )
    assert place.reason(OSError(said), "https://host:5000/s3") == (
        "OSError: API request to https://host:5000*** failed with HTTPSConnectionPool(host='host', port=5000): "
        "Max retries exceeded with url: *** (Caused by NewConnectionError: refused)"
    )


AWKWARD = st.text(st.sampled_from("aZ9/@:?#[]%&=+ ~'\""), max_size=6)


@given(AWKWARD, AWKWARD)
def test_no_password_is_told(before: str, after: str) -> None:
    """Wherever the awkward characters stand: the address is refused, or told without the password."""
    uri = f"http://ann:{before}s3cret{after}@host:5000/mlflow"
    assert "s3cret" not in place.shown(uri)
    assert "s3cret" not in place.without_credentials(f"refused: {uri}", uri)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", uri)
        if {*"/?#"} & {*before, *after}:
            with pytest.raises(TrackingError, match="an @ behind its host") as caught:
                tracking.tracking_uri()
            assert "s3cret" not in str(caught.value)
        else:
            assert tracking.tracking_uri() == uri


def test_training_process_never_imports_mlflow() -> None:
    code = "import sys; import mtbert.tracking; print(sorted({'mlflow', 'torch', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src", capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_training_without_mlflow_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(live.OFF, raising=False)
    monkeypatch.setitem(sys.modules, "mlflow", None)  # as if it were not installed
    run = tracking.LiveRun(SETTINGS, 1)
    run.log(1, {"loss/sst": 1.5})
    run.finish(tmp_path, tmp_path)
    assert capfd.readouterr() == (
        "",
        "warning: MLflow is not installed: this run is not logged live; "
        "`python stages/track.py build` can bring it in once it is\n",
    )


def test_live_log_can_be_turned_off(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(live.OFF, "off")
    run = tracking.LiveRun(SETTINGS, 1)
    run.log(1, {"loss/sst": 1.5})
    run.fail("stopped")
    assert capfd.readouterr() == ("", "")


def replace_writer(monkeypatch: pytest.MonkeyPatch, command: list[str], output: Path) -> None:
    """Let `command` stand for the process that logs."""
    handle = output.open("wb")
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=handle, bufsize=0)
    handle.close()
    monkeypatch.setattr(live, "_start_writer", lambda: writer)


def messages(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines() if line]


def test_messages_of_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_writer(monkeypatch, ["cat"], tmp_path / "sent")
    monkeypatch.setattr(time, "time_ns", lambda: 5_000_000)
    with tracking.LiveRun({"variant": "pals"}, 3) as run:
        run.log(1, {"loss/sst": 1.5})
        run.finish(Path("build/runs/pals/3"), Path("build/logs/pals/3"))
    assert messages(tmp_path / "sent") == [
        {"settings": {"variant": "pals"}, "seed": 3, "build": "build"},
        {"step": 1, "values": {"loss/sst": 1.5}, "time": 5},
        {"finish": ["build/runs/pals/3", "build/logs/pals/3"]},
    ]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("loss is NaN"), {"fail": "ValueError: loss is NaN", "status": "FAILED"}),
        (KeyboardInterrupt(), {"fail": "KeyboardInterrupt: ", "status": "KILLED"}),
    ],
)
def test_training_that_ends_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, message: dict[str, str]
) -> None:
    replace_writer(monkeypatch, ["cat"], tmp_path / "sent")
    with pytest.raises(type(error)), tracking.LiveRun(SETTINGS, 1):
        raise error
    assert messages(tmp_path / "sent")[-1] == message


def test_full_pipe_never_stops_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    replace_writer(monkeypatch, ["sleep", "60"], tmp_path / "sent")  # reads nothing, ever
    run = tracking.LiveRun(SETTINGS, 1, patience=0.2)
    start = time.monotonic()
    for step in range(5000):  # about 300 kB into a pipe of 64 kB
        run.log(step, {"loss/sst": 1.5})
    run.finish(tmp_path, tmp_path)
    assert time.monotonic() - start < 5
    assert capfd.readouterr().err == (
        "warning: MLflow took more than 0.2 seconds; `python stages/track.py build` brings this run in later\n"
    )


def test_last_message_waits_for_room_in_a_full_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, MLflow would be told that the training was killed."""
    replace_writer(monkeypatch, ["sh", "-c", "sleep 0.5; grep finish"], tmp_path / "sent")
    run = tracking.LiveRun(SETTINGS, 1)
    for step in range(5000):
        run.log(step, {"loss/sst": 1.5})
    run.finish(Path("runs"), Path("logs"))
    assert messages(tmp_path / "sent") == [{"finish": ["runs", "logs"]}]


def test_writer_that_is_gone_never_stops_a_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_writer(monkeypatch, ["false"], tmp_path / "sent")
    run = tracking.LiveRun(SETTINGS, 1)
    for step in range(50):
        run.log(step, {"loss/sst": 1.5})
        time.sleep(0.001)
    run.finish(tmp_path, tmp_path)
    assert messages(tmp_path / "sent") == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "pals seed 1"),
        ({"pals.heads": 6, "pals.dim": 276}, "pals pals.dim=276 pals.heads=6 seed 1"),
        ({"catalog.pals": {"uses": ["pals"], "pals": {"dim": 9}}}, 'pals pals.dim=9 uses=["pals"] seed 1'),
        ({"pals.note": "a" * 99}, "pals ... (1 change, a71812) seed 1"),
        ({"training.clip": None, "variant.note": "a b"}, "pals training.clip=null variant.note=a b seed 1"),
    ],
)
def test_names_of_runs(changes: dict[str, object], name: str) -> None:
    assert naming.run_name("pals", changes, 1) == name


def test_many_changes_are_shortened_in_the_name_and_whole_in_the_description() -> None:
    changes = {f"training.setting_{number}": number for number in range(9)}
    name = naming.run_name("pals", changes, 1)
    assert name == "pals training.setting_0=0 training.setting_1=1 ... (9 changes, 40a235) seed 1"
    assert naming.run_name("pals", {**changes, "training.setting_8": 99}, 1) not in ("", name)
    told = naming.note({**SETTINGS, "seed": 1}, changes)
    assert all(f"- `training.setting_{number}`: {number}" in told for number in range(9))


def test_description_of_a_finished_run() -> None:
    assert naming.note({**SETTINGS, "seed": 1}, {"pals.dim": 276}, {"epoch": 4}) == (
        "**pals**, row \N{LEFT DOUBLE QUOTATION MARK}Original PALs\N{RIGHT DOUBLE QUOTATION MARK} of pals-for-pals; "
        "profile sample, seed 1.\n\n"
        "Departs from the defaults of params.yaml in:\n\n- `pals.dim`: 276\n\n"
        "Epoch kept 4: the best by the mean of the tasks' scores on one half of dev (`choosing/...`). "
        "`score/dev/...` is of the half of dev that chooses no epoch, `choosing/...` of the other half."
    )


OF_HALVES = "`score/dev/...` is of all of dev, `choosing/...` the mean of the scores of its halves."
OF_ONE_HALF = "`score/dev/...` is of the half of dev that chooses no epoch, `choosing/...` of the other half."
OF_WHOLE = "`score/dev/...` and `choosing/...` are both of all of dev."


@pytest.mark.parametrize(
    ("keep", "selection", "told"),
    [
        (
            "best",
            "cross",
            "Epoch kept 4: two, each the best by the mean of the tasks' scores on one half of dev, and scored on the "
            "other half; the number, the weights and `score/test/...` are of the first half's choice. " + OF_HALVES,
        ),
        (
            "best",
            "half",
            "Epoch kept 4: the best by the mean of the tasks' scores on one half of dev (`choosing/...`). "
            + OF_ONE_HALF,
        ),
        (
            "best",
            "whole",
            "Epoch kept 4: the best by the mean of the tasks' scores on dev (`choosing/...`). " + OF_WHOLE,
        ),
        ("last", "cross", "Epoch kept 4: the last. " + OF_HALVES),
        ("last", "half", "Epoch kept 4: the last. " + OF_ONE_HALF),
        ("last", "whole", "Epoch kept 4: the last. " + OF_WHOLE),
    ],
)
def test_description_says_which_epoch_was_kept_and_which_rows_are_scored(keep: str, selection: str, told: str) -> None:
    run = {"keep": keep, "selection": selection}
    note = naming.note({**SETTINGS, "seed": 1, "run": run}, {}, {"epoch": 4})
    assert note.rpartition("\n\n")[2] == told


def test_a_run_that_comes_back_is_named_by_the_plan_as_it_was_live(tmp_path: Path) -> None:
    directory, logs = write_run(tmp_path)
    write_catalog(tmp_path, {"pals": {"pals.dim": 204}})
    live_card = record.card(SETTINGS, 1, record.departures(tmp_path, "pals"))
    found = record.of_run(directory, logs)
    assert (found.card.name, found.card.settings_key) == ("pals pals.dim=204 seed 1", live_card.settings_key)
    assert found.card.name == live_card.name
    assert "Epoch kept 1" in found.read().note


@pytest.mark.parametrize("file", ["settings.yaml", "metrics.json", "history.csv"])
def test_an_altered_run_is_refused(tmp_path: Path, file: str) -> None:
    directory, logs = write_run(tmp_path)
    (directory / file).write_text((directory / file).read_text().replace("5", "6") + "\n")
    with pytest.raises(DataError, match=rf"not as it was written \(altered: {file}\); .* dvc repro train@pals-1`"):
        record.of_run(directory, logs)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("run.json", "[]", "valid dictionary"),
        ("run.json", '{"seconds": 1.0}', "started: Field required"),
        ("run.json", '{"started": "yesterday"}', "started: Invalid isoformat string: 'yesterday'"),
        ("run.json", '{"started": "2026-01-01T00:00:00+00:00", "seconds": NaN}', "NaN is not a number in JSON"),
        ("run.json", '{"started": "2026-01-01T00:00:00+00:00", "seconds": 1e999}', "seconds: .* finite number"),
        ("speed.csv", "step,name\n1,examples_per_second\n", "KeyError: 'value'"),
        ("speed.csv", "step,name,value\nx,examples_per_second,1\n", "ValueError: invalid literal"),
    ],
)
def test_damaged_logs_are_told(tmp_path: Path, name: str, text: str, told: str) -> None:
    directory, logs = write_run(tmp_path)
    (logs / name).write_text(text)
    with pytest.raises(DataError, match=rf"{name} is .*{told}"):
        record.of_run(directory, logs).read()


def test_a_damaged_encoder_file_is_told(tmp_path: Path) -> None:
    directory, logs = write_run(tmp_path)
    (tmp_path / "encoders/base/encoder.json").write_text('{"name": "tiny", "source": []}')
    with pytest.raises(DataError, match=r"encoder\.json is damaged: sha256: Field required; source: .*valid string"):
        record.of_run(directory, logs).read()


def test_work_that_goes_on_is_waited_for_and_work_that_hangs_is_not() -> None:
    def slow(tick: mirror.Tick) -> str:
        for _ in range(8):
            time.sleep(0.05)
            tick()
        return "done"

    assert mirror.within(0.3, slow) == "done"  # 0.4 seconds in all
    with pytest.raises(TimeoutError, match=r"no complete answer within 0\.1 seconds"):
        mirror.within(0.1, lambda _: time.sleep(5))
    with pytest.raises(ZeroDivisionError):
        mirror.within(1, lambda _: 1 / 0)
