"""Trainings packed, run from the pack, and taken back, with a script that trains nothing and no DVC."""

import ast
import gzip
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from elsewhere import REPOSITORY, repository, snapshot, start_from, told

from mtbert import files
from mtbert import repository as dvc_here
from mtbert.errors import DataError, TrainingError
from mtbert.parcels import alone, archives, packing, parcel, running, unpacking
from mtbert.parcels.parcel import Pack, Returned

BOTH = [("a", 1), ("b", 1)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The repository, as the working folder; DVC is only asked, and what it records is noted in `recorded`."""
    root = repository(tmp_path / "here")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    changed = {"train@a-1", "train@b-1"}

    monkeypatch.setattr(dvc_here, "dvc", lambda *_: None)
    monkeypatch.setattr(dvc_here, "record", changed.difference_update)
    monkeypatch.setattr(dvc_here, "changed", lambda: sorted(changed))
    return root


@pytest.fixture
def there(here: Path, tmp_path: Path) -> Path:
    """The folder of a pack of both trainings, on a machine of its own."""
    packing.write(here / "pack.tar", BOTH)
    (tmp_path / "there").mkdir()
    shutil.copy(here / "pack.tar", tmp_path / "there")
    folder = running.of_archive(tmp_path / "there/pack.tar")
    told(folder)
    return folder


def trained(there: Path) -> list[str]:
    file = there / "told/trained"
    return file.read_text().split() if file.exists() else []


def runs(there: Path, jobs: int = 2, minutes: float | None = None, weights: bool = False) -> Path:
    out = there.parent / "runs.tar"
    running.run(there, out, jobs, minutes, weights)
    return out


def names(archive: Path) -> set[str]:
    with tarfile.open(archive) as tar:
        return {name.partition("/")[2] for name in tar.getnames()}


def refused(archive: Path) -> str:
    with pytest.raises(DataError) as error:
        unpacking.unpack(archive)
    return str(error.value)


# what a pack holds


def test_a_pack_holds_what_its_trainings_need_once_and_nothing_else(here: Path):
    files.write_text(here / "build/data/qqp/train.parquet", "of another variant")
    packing.write(here / "pack.tar", BOTH)
    found = names(here / "pack.tar")
    assert {name for name in found if not name.startswith("src/")} == {
        "pack.json", "run.py", "stages/train.py", "build/machine.json",
        "build/plan/a.yaml", "build/plan/b.yaml", "build/init/a.json", "build/init/b.json",
        "build/data/sst/train.parquet", "build/data/sst/dev.parquet",
        "build/encoders/base/config.json", "build/encoders/base/encoder.json",
        "build/encoders/base/model.safetensors", "build/encoders/base/tokenizer.json",
        "build/encoders/base/tokenizer_config.json",
    }  # fmt: skip
    assert "src/mtbert/files.py" in found
    assert "src/mtbert/parcels/unpacking.py" not in found


def test_the_code_of_a_pack_holds_every_technique_and_all_that_the_plan_names(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(REPOSITORY)
    from mtbert.plan import code

    held = {file.as_posix() for file in parcel.code()}
    assert {f"src/mtbert/{name}" for name in code.of_training()} <= held
    assert "src/mtbert/adapters/pals.py" in held
    assert not [name for name in held if name.startswith(("src/mtbert/report/", "src/mtbert/plan/"))]


IN_FUNCTIONS = {"pyarrow", "tokenizers"}  # what trainings import there; nltk, too, where a variant's features are pos


def test_what_a_bare_machine_needs_is_what_the_code_imports_when_it_starts():
    package, found, seen = REPOSITORY / "src/mtbert", set(IN_FUNCTIONS), set[Path]()
    starts = ("assembly.py", "inputs.py", "training/run.py", "parcels/running.py")
    waiting = [REPOSITORY / "stages/train.py", *(package / start for start in starts)]
    while waiting:
        file = waiting.pop()
        if file in seen or not file.is_file():
            continue
        seen.add(file)
        for module in imported(ast.parse(file.read_text()).body):
            first, *rest = module.split(".")
            places = [package.joinpath(*rest[:depth]) for depth in range(len(rest) + 1)]
            if first == "mtbert":
                waiting += [*(place / "__init__.py" for place in places), places[-1].with_suffix(".py")]
            elif first not in sys.stdlib_module_names:
                found.add(first)
    assert found == set(alone.NEEDED.values())


def imported(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Try):
            yield from imported(node.body)


def test_a_package_that_is_not_there_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(alone.NEEDED, "no-such-thing", "no_such_thing")
    monkeypatch.setattr(sys, "argv", ["run.py"])
    with pytest.raises(SystemExit, match="not installed: pip install no-such-thing"):
        alone.main(Path())


# training from a pack


def test_trained_from_the_pack_placed_and_recorded(here: Path, there: Path, capsys: pytest.CaptureFixture[str]):
    unpacking.unpack(runs(there, weights=True))
    assert "2 runs placed, 0 already there" in capsys.readouterr().out
    for name in ("a", "b"):
        assert snapshot(here / f"build/runs/{name}") == snapshot(there / f"build/runs/{name}")
        assert snapshot(here / f"build/logs/{name}") == snapshot(there / f"build/logs/{name}")
    assert dvc_here.changed() == []
    assert (here / "build/parcels/a-1.log").read_text().startswith("3 of 8 steps")


def test_a_run_without_its_weights_says_so_and_is_whole(here: Path, there: Path):
    unpacking.unpack(runs(there))
    run = here / "build/runs/a/1"
    files.check_sealed(run, "dvc repro train@a-1")
    assert not (run / "model.safetensors").exists()
    assert files.read_json(run / "elsewhere.json") == {
        "left": {"model.safetensors": files.sha256(there / "build/runs/a/1/model.safetensors")},
        "machine": {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"},
    }
    with pytest.raises(DataError, match="stayed on the machine that trained it; run-packed with --weights"):
        files.sealed(run, "model.safetensors", "dvc repro train@a-1")
    assert files.sealed(run, "metrics.json", "dvc repro train@a-1").is_file()


def test_weights_that_come_later_complete_what_is_there(here: Path, there: Path, capsys: pytest.CaptureFixture[str]):
    unpacking.unpack(runs(there))
    unpacking.unpack(runs(there, weights=True))
    assert "2 runs placed, 0 already there" in capsys.readouterr().out
    assert snapshot(here / "build/runs") == snapshot(there / "build/runs")
    assert trained(there) == trained(there)[:2]  # once each


def test_what_is_there_with_its_weights_stays_when_the_run_comes_without(
    here: Path, there: Path, capsys: pytest.CaptureFixture[str]
):
    unpacking.unpack(runs(there, weights=True))
    before = snapshot(here / "build/runs")
    unpacking.unpack(runs(there))
    assert "0 runs placed, 2 already there" in capsys.readouterr().out
    assert snapshot(here / "build/runs") == before


def test_a_run_of_another_machine_says_so(here: Path, there: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PROCESSOR", "Other CPU")
    monkeypatch.setenv("TORCH", "2.14.0")
    unpacking.unpack(runs(there, weights=True))
    assert files.read_json(here / "build/runs/a/1/elsewhere.json") == {
        "left": {},
        "machine": {"processor": "Other CPU", "accelerator": "", "torch": "2.14.0"},
    }
    files.check_sealed(here / "build/runs/a/1", "dvc repro train@a-1")


def test_what_fails_is_told_with_its_output_and_the_others_are_taken(here: Path, there: Path):
    told(there, "a-1.fail")
    with pytest.raises(TrainingError, match=r"1 of 2 failed, the others are in .*runs\.tar\n  a-1: .*output/a-1\.log"):
        runs(there, jobs=1)
    message = refused(there.parent / "runs.tar")
    assert message.endswith("the others are recorded\n  a-1: failed; its output is build/parcels/a-1.log")
    assert "the loss is not finite" in (here / "build/parcels/a-1.log").read_text()
    assert dvc_here.changed() == ["train@a-1"]
    assert not (here / "build/runs/a").exists()


def test_a_training_that_was_killed_says_why_since_its_output_does_not(
    here: Path, there: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    begin = running._start

    def killed(one: parcel.Parcel, *others: Any) -> running.Running:
        training = begin(one, *others)
        if one.name == "a-1":
            training.process.kill()
        return training

    monkeypatch.setattr(running, "_start", killed)
    with pytest.raises(TrainingError, match="1 of 2 failed"):
        runs(there)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("a-1: failed")]
    assert line.endswith(
        ": it was killed, as a system does that runs out of memory; fewer at a time (--jobs) need less"
    )


def test_after_the_minutes_trainings_are_stopped_and_go_on_later(
    here: Path, there: Path, capsys: pytest.CaptureFixture[str]
):
    told(there, "b-1.hold")
    runs(there, minutes=0.1)
    assert (there / "told/b-1.stopped").exists()
    assert "not finished: b-1; the same command goes on" in capsys.readouterr().out
    assert refused(there.parent / "runs.tar").endswith("\n  b-1: not finished when the archive was written")
    assert dvc_here.changed() == ["train@b-1"]
    (there / "told/b-1.hold").unlink()
    unpacking.unpack(runs(there))
    assert trained(there) == ["a-1", "b-1"]
    assert dvc_here.changed() == []


def test_the_end_of_the_minutes_leaves_time_to_stop():
    assert [running.seconds_of(minutes) for minutes in (None, 1, 60)] == [float("inf"), 54.0, 3540.0]


def test_on_sigterm_trainings_are_stopped_and_the_archive_is_written(here: Path, there: Path):
    told(there, "a-1.hold")
    command = [sys.executable, str(there / "run.py"), "--jobs", "2", "--out", str(there.parent / "runs.tar")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        wait_for(lambda: (there / "build/runs/b/1").is_dir() and (there / "told/a-1.begun").exists())
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert (there / "told/a-1.stopped").exists()
    assert "1 of 2 runs" in output


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


def test_gpus_are_given_in_turn(here: Path, there: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    runs(there, jobs=2)
    assert [(there / f"told/{name}-1.gpu").read_text() for name in "ab"] == ["5", "5"]


def test_a_line_tells_how_far_a_training_is(
    here: Path, there: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(running, "TELL", 0.5)
    told(there, "a-1.hold")
    threading.Timer(4.0, (there / "told/a-1.hold").unlink).start()
    runs(there)
    assert "a-1: 3 of 8 steps, 00:01 gone, 00:02 left, loss=0.7\n" in capsys.readouterr().out


def test_a_pack_that_was_altered_is_not_trained_on(here: Path, there: Path):
    (there / "build/data/sst/train.parquet").write_text("other rows")
    with pytest.raises(DataError, match=r"mtbert-pack: build/data/sst/train\.parquet is not as it was written"):
        runs(there)
    assert trained(there) == []


def test_the_folder_of_another_pack_is_left_alone(here: Path, there: Path):
    packing.write(there.parents[1] / "pack.tar", [("a", 1)])
    with pytest.raises(DataError, match="is of another pack"):
        running.of_archive(there.parents[1] / "pack.tar")


# what is refused on return


def repacked(archive: Path, change: Callable[[Path], None]) -> None:
    """Change an archive of runs as someone would who knows its form: its list of contents is made anew."""
    folder = archive.with_suffix(".changed")
    folder.mkdir()
    archives.extract(archive, folder)
    change(folder / running.RUNS_TOP)
    listed = files.read_as(Returned, folder / running.RUNS_TOP / "runs.json", "")
    (folder / running.RUNS_TOP / "runs.json").unlink()
    members: dict[str, archives.Member] = {
        name: folder / running.RUNS_TOP / name for name in snapshot(folder / running.RUNS_TOP)
    }
    archives.write(archive, running.RUNS_TOP, listed, "runs.json", members)


def alter_metrics(folder: Path) -> None:
    file = folder / "runs/a/1/metrics.json"
    file.write_text(file.read_text().replace('"steps": 1', '"steps": 2'))


def alter_and_seal(folder: Path) -> None:
    alter_metrics(folder)
    files.seal(folder / "runs/a/1")


def take_away_the_run(folder: Path) -> None:
    shutil.rmtree(folder / "runs/a")


def take_away_a_file(folder: Path) -> None:
    (folder / "runs/a/1/metrics.json").unlink()


def exchange(folder: Path) -> None:
    for kind in ("runs", "logs"):
        (folder / kind / "a").rename(folder / kind / "c")
        (folder / kind / "b").rename(folder / kind / "a")
        (folder / kind / "c").rename(folder / kind / "b")


@pytest.mark.parametrize(
    ("change", "why", "recorded"),
    [
        (alter_metrics, "a-1: .*runs/a/1 is not as it was written", {"b"}),
        (alter_and_seal, r"a-1: .*run\.json is missing", {"b"}),
        (take_away_the_run, "a-1: .*runs/a/1 is missing", {"b"}),
        (take_away_a_file, r"a-1: .*missing: metrics\.json", {"b"}),
        (exchange, "a-1: .*runs/a/1 was made from other settings", set()),
    ],
)
def test_a_run_that_is_not_whole_is_named_and_the_others_are_recorded(
    here: Path, there: Path, change: Callable[[Path], None], why: str, recorded: set[str]
):
    files.write_text(here / "build/runs/a/1/scores", "of earlier settings")
    archive = runs(there)
    repacked(archive, change)
    with pytest.raises(DataError, match=why):
        unpacking.unpack(archive)
    assert snapshot(here / "build/runs/a") == {"1/scores": b"of earlier settings"}
    assert {stage[6] for stage in dvc_here.changed()} == {"a", "b"} - recorded


def test_a_tampered_archive_is_refused_whole(here: Path, there: Path):
    archive = runs(there)
    content = gzip.decompress(archive.read_bytes())
    archive.write_bytes(gzip.compress(content.replace(b'"steps": 1', b'"steps": 2')))
    before = snapshot(here / "build")
    assert "is not as it was written" in refused(archive)
    assert {name: content for name, content in snapshot(here / "build").items() if "grid" not in name} == before


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_archive_is_refused_whole(here: Path, there: Path, share: float):
    archive = runs(there)
    content = archive.read_bytes()
    archive.write_bytes(content[: int(len(content) * share)])
    assert "runs.tar is cut off" in refused(archive)
    assert not (here / "build/runs").exists()


@pytest.mark.parametrize(
    ("file", "text", "what"),
    [
        ("build/plan/code-train.yaml", "model.py: '2'\n", "data, starting weights or machine and code"),
        ("build/data/sst/train.parquet", "other rows", "data, starting weights or machine"),
        ("build/plan/a.yaml", None, "settings"),
        ("stages/train.py", "other", "stages/train.py"),
    ],
)
def test_a_run_of_something_else_than_lies_here_is_refused(
    here: Path, there: Path, file: str, text: str | None, what: str
):
    archive = runs(there)
    files.write_text(here / file, (here / file).read_text() + "more: 1\n" if text is None else text)
    start_from(here / "build")
    assert f"a-1: made with other {what} than lie here now" in refused(archive)
    assert not (here / "build/runs/a").exists()


def test_a_seed_that_is_not_listed_is_refused(here: Path, there: Path):
    archive = runs(there)
    catalog = files.read_yaml(here / "build/plan/catalog.yaml")
    files.write_yaml(here / "build/plan/catalog.yaml", catalog | {"seeds": [2, 3]})
    assert "a-1: params.yaml lists the seeds 2, 3; add 1 to take it" in refused(archive)


@pytest.mark.parametrize("name", ["..", "../a", "a/b", "", ".hidden", "a\\b"])
def test_a_variant_whose_name_is_a_path_is_refused(name: str):
    with pytest.raises(ValueError, match="pattern"):
        parcel.Parcel(variant=name, seed=1, plan="", init="", code="", script="")


def test_a_pack_is_no_archive_of_runs(here: Path, there: Path):
    shutil.copy(here / "pack.tar", here / "runs.tar")
    assert "runs.json is missing" in refused(here / "runs.tar")


def test_a_pack_trains_in_the_order_of_params_yaml_whatever_dvc_lists_first():
    listed = [("a", 2), ("a", 1), ("b", 1), ("c", 1)]
    assert packing.in_order(listed, ["c", "a", "b"]) == [("c", 1), ("a", 1), ("a", 2), ("b", 1)]


def test_packing_takes_what_is_not_up_to_date(here: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[tuple[str, ...]] = []
    (here / "params.yaml").write_text("variants: [a, b]")
    monkeypatch.setattr(dvc_here, "dvc", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(dvc_here, "one_process_each", lambda: None)
    monkeypatch.setattr(dvc_here, "changed", lambda: ["train@b-1"])
    packing.pack(here / "pack.tar", "a b", [1, 2], "fp16")
    assert asked == [("exp", "run", "-S", "variants=[a,b]", "-S", "seeds=[1,2]", "-S", "encoder.weights=fp16", "init")]
    with archives.extracted(here / "pack.tar", here / "x") as folder:
        pack = archives.read_contents(folder / "mtbert-pack", Pack, "pack.json", "mtbert pack")
    assert [one.name for one in pack.parcels] == ["b-1"]
    monkeypatch.setattr(dvc_here, "changed", list)
    os.unlink(here / "pack.tar")
    packing.pack(here / "pack.tar", None, [], None)
    assert asked[1:] == [("repro", "init")]
    assert not (here / "pack.tar").exists()


def test_what_dvc_counts_as_up_to_date_is_not_recorded_again(here: Path, monkeypatch: pytest.MonkeyPatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(dvc_here, "record", asked.append)
    unpacking.record([parcel.of("a", 1), parcel.of("b", 1)])
    monkeypatch.setattr(dvc_here, "changed", lambda: ["train@b-1"])
    unpacking.record([parcel.of("a", 1), parcel.of("b", 1)])
    assert asked == [["train@a-1", "train@b-1"], ["train@b-1"]]
