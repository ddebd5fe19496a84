"""Trainings packed, run from the pack, and taken back, with a script that trains nothing and no DVC."""

import contextlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from elsewhere import repository, snapshot, start_from, told
from safetensors.numpy import save_file

from mtbert import files, layout
from mtbert.errors import DataError, SettingsError, TrainingError, UnknownNameError
from mtbert.provenance import seals
from mtbert.trainings import archives, dvc, grid, packs
from mtbert.trainings.many import Training

A, B = Training(variant="a", seed=1), Training(variant="b", seed=1)


@pytest.fixture
def recorded() -> list[Training]:
    """What DVC has recorded."""
    return []


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded: list[Training]) -> Path:
    """The repository, as the working folder."""
    root = repository(tmp_path / "here")
    monkeypatch.chdir(root)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(dvc, "prepare", lambda *_: [A, B])
    monkeypatch.setattr(dvc, "commit", lambda *done: recorded.extend(done))
    return root


@pytest.fixture
def there(here: Path, tmp_path: Path) -> Path:
    """The folder of a pack of both trainings, on a machine of its own."""
    packs.pack(here / "pack.tar", None)
    archives.extract(here / "pack.tar", tmp_path / "there")
    told(tmp_path / "there/mtbert-pack")
    return tmp_path / "there/mtbert-pack"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a pack of a repository like `here`, both trained."""
    root = repository(tmp_path_factory.mktemp("made") / "root")
    with contextlib.chdir(root):
        packs.write(root / "pack.tar", [A, B])
    archives.extract(root / "pack.tar", root)
    told(root / "mtbert-pack")
    runs(root / "mtbert-pack")
    return root / "mtbert-pack"


@pytest.fixture
def archive(here: Path, trained: Path) -> Path:
    """An archive of both runs."""
    return shutil.copy(runs(trained, weights=True), here / "runs.tar")


def runs(there: Path, jobs: int = 2, weights: bool = False) -> Path:
    with contextlib.chdir(there):
        packs.train(there.parent / "runs.tar", jobs, weights)
    return there.parent / "runs.tar"


def test_a_pack_holds_what_its_trainings_read_once_and_nothing_else(here: Path, there: Path):
    files.write_text(here / "build/data/qqp/train.parquet", "of another variant")
    packs.write(here / "pack.tar", [A, B])
    with tarfile.open(here / "pack.tar") as tar:
        found = [name.removeprefix("mtbert-pack/") for name in tar.getnames()]
    assert sorted(name for name in found if not name.startswith("src/")) == sorted([
        "pack.json", "run.py", "stages/train.py", "build/machine.json", "build/plan/code-train.yaml",
        "build/plan/encoder.yaml", "build/plan/a.yaml", "build/plan/b.yaml",
        "build/manifest/a.json", "build/manifest/b.json", "build/data/sst/train.parquet", "build/data/sst/dev.parquet",
        "build/encoders/base/config.json", "build/encoders/base/encoder.json",
        "build/encoders/base/model.safetensors", "build/encoders/base/tokenizer.json",
        "build/encoders/base/tokenizer_config.json",
    ])  # fmt: skip
    assert "src/mtbert/training/loop.py" in found


@pytest.fixture
def student(here: Path) -> Path:
    """The repository, where `b` learns from `a`, which is trained."""
    plan = files.read_yaml(here / "build/plan/b.yaml")
    files.write_yaml(here / "build/plan/b.yaml", plan | {"teachers": ["a"]})
    files.write_text(here / "build/runs/a/1/model.safetensors", "weights")
    seals.seal(here / "build/runs/a/1")
    return here


def packed(here: Path, *trainings: Training) -> set[str]:
    packs.write(here / "pack.tar", trainings)
    with tarfile.open(here / "pack.tar") as tar:
        return {name.removeprefix("mtbert-pack/") for name in tar.getnames()}


def test_a_pack_of_a_student_brings_the_runs_of_teachers_that_it_does_not_train(student: Path):
    found = packed(student, B)
    assert {"build/plan/a.yaml", "build/manifest/a.json"} <= found
    runs_there = {name for name in found if name.startswith("build/runs")}
    assert runs_there == {"build/runs/a/1/model.safetensors", "build/runs/a/1/digests.json"}
    assert not any(name.startswith("build/runs") for name in packed(student, A, B))


def test_a_pack_of_a_student_without_its_teacher_is_refused(student: Path):
    shutil.rmtree(student / "build/runs/a/1")
    with pytest.raises(DataError, match=r"runs/a/1/digests\.json is missing; `dvc repro train@a-1` makes it"):
        packs.write(student / "pack.tar", [B])


def test_a_cluster_trains_no_student_beside_its_teachers(student: Path):
    grid._check_teachers([A])
    grid._check_teachers([B])
    with pytest.raises(SettingsError, match=r'b-1 learns from a, .* --variants "a"` trains these'):
        grid._check_teachers([A, B])


def test_a_run_without_its_weights_says_so_and_weights_that_come_later_complete_it(here: Path, trained: Path):
    packs.unpack(runs(trained))
    run = here / "build/runs/a/1"
    seals.check(run)
    machine = {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"}
    assert files.read_json(run / "elsewhere.json") == {"machine": machine}
    with pytest.raises(DataError, match=r"stayed on the machine that trained it; run.py --weights"):
        seals.check(run, only=["model.safetensors"])
    packs.unpack(runs(trained, weights=True))
    assert snapshot(here / "build/runs") == snapshot(trained / "build/runs")
    packs.unpack(runs(trained))  # without them it takes none away
    assert snapshot(here / "build/runs") == snapshot(trained / "build/runs")
    assert sorted((trained / "told/trained").read_text().split()) == ["a-1", "b-1"]  # once each


def test_a_run_of_another_machine_says_so(here: Path, archive: Path):
    def move(folder: Path) -> None:
        (log,) = (folder / "logs/a/1").glob("*/run.json")
        rewrite(str(log.relative_to(folder)), "Some CPU", "Other CPU")(folder)

    repacked(archive, move)
    packs.unpack(archive)
    other = {"processor": "Other CPU", "accelerator": "", "torch": "2.13.0"}
    assert files.read_json(here / "build/runs/a/1/elsewhere.json") == {"machine": other}


def test_what_fails_is_told_with_its_output_and_the_others_are_taken(here: Path, there: Path, recorded: list[Training]):
    told(there, "a-1.fail")
    with pytest.raises(TrainingError, match=r"1 of 2 failed.*\n  a-1: .*output/a-1\.log"):
        runs(there, jobs=1)
    with pytest.raises(DataError, match=r"recorded\n  a-1: not finished; its output is build/grid/a-1.log"):
        packs.unpack(there.parent / "runs.tar")
    assert "the loss is not finite" in (here / "build/grid/a-1.log").read_text()
    assert recorded == [B]
    assert not (here / "build/runs/a").exists()


def test_a_pack_that_was_altered_is_not_trained_on(here: Path, there: Path):
    (there / "build/data/sst/train.parquet").write_text("other rows")
    with pytest.raises(DataError, match=r"build/data/sst/train\.parquet is not as it was packed"):
        runs(there)


def test_a_training_that_a_pack_does_not_have_is_refused_and_an_archive_stays(there: Path):
    archive = there.parent / "runs.tar"
    archive.write_text("of yesterday")
    with contextlib.chdir(there), pytest.raises(UnknownNameError, match="unknown training 'a-7'; did you mean a-1"):
        packs.train(archive, 1, False, only="a-7")
    assert archive.read_text() == "of yesterday"


def test_a_package_that_is_not_there_is_named_with_what_installs_it(there: Path):
    bare = [sys.executable, "-S", str(there / "run.py")]
    done = subprocess.run(bare, capture_output=True, text=True, check=False, env={"PATH": "/usr/bin"})
    assert done.returncode == 1
    assert done.stderr.startswith("error: trainings need packages that are not installed: pip install torch")


# what is refused on return

RUN = "runs/a/1"


def repacked(archive: Path, change: Callable[[Path], None], seal: bool = False) -> None:
    """Change an archive as someone would who knows its form; `seal` makes digests of a run anew."""
    folder = archive.with_suffix(".changed")
    archives.extract(archive, folder)
    run = folder / "mtbert-runs" / RUN
    log = layout.log(run)
    change(folder / "mtbert-runs")
    if seal:
        seals.seal(run)
        log.rename(layout.log(run))
    archives.write(
        archive, "mtbert-runs", {name: folder / "mtbert-runs" / name for name in snapshot(folder / "mtbert-runs")}
    )


def rewrite(file: str, old: str, new: str) -> Callable[[Path], None]:
    return lambda folder: (folder / file).write_text((folder / file).read_text().replace(old, new)) and None


DAMAGES: list[tuple[Callable[[Path], object], bool, str]] = [
    (rewrite(f"{RUN}/metrics.json", '"steps": 1', '"steps": 2'), False, "is not as it was written"),
    (lambda folder: shutil.rmtree(folder / "runs/a"), False, r"not finished; its output is build/grid/a-1\.log"),
    (lambda folder: (folder / RUN / "digests.json").unlink(), False, r"runs/a/1/digests\.json is missing"),
    (rewrite(f"{RUN}/metrics.json", "0.5", "NaN"), True, r"metrics\.json is not JSON"),
    (rewrite(f"{RUN}/metrics.json", "0.5", "0.9"), True, "dev_qqp not as the predictions say"),
    (lambda folder: (folder / RUN / "model.safetensors").write_text("weights"), True, "it cannot be read: "),
    (lambda folder: save_file({}, next((folder / "logs/a/1").iterdir()) / "run.json"), False, r"run\.json is not JSON"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "seal", "why"), DAMAGES)
def test_a_run_that_is_not_whole_or_cannot_be_read_is_named_and_the_others_are_recorded(
    here: Path, archive: Path, recorded: list[Training], change: Callable[[Path], None], seal: bool, why: str
):
    files.write_text(here / "build/runs/a/1/scores", "of earlier settings")
    repacked(archive, change, seal)
    with pytest.raises(DataError, match=rf"the others are recorded\n  a-1: .*{why}"):
        packs.unpack(archive)
    assert snapshot(here / "build/runs/a") == {"1/scores": b"of earlier settings"}
    assert recorded == [B]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"variant": "a"', '"variant": "../a"', "trainings.0.variant: String should match pattern"),
        ('"seed": 1', '"seed": "1/../../.."', "trainings.0.seed: Input should be a valid integer"),
        ('"variant": "a"', '"variant": "c"', "c-1: params.yaml does not list its variant or seed, but a-1, b-1"),
        ('"trainings": [', '"trainings": [[[', "is not JSON"),
    ],
)
def test_names_that_are_paths_or_not_listed_are_refused(archive: Path, old: str, new: str, why: str):
    repacked(archive, rewrite("pack.json", old, new))
    with pytest.raises(DataError, match=why):
        packs.unpack(archive)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("build/data/sst/train.parquet", "other rows"),
        ("build/plan/a.yaml", "model: {encoder: base}\ntasks: [sst]\nphases: [{tasks: [sst]}]\nsources: {}\nmore: 1\n"),
        ("stages/train.py", "other"),
    ],
)
def test_a_run_of_something_else_than_lies_here_is_refused(here: Path, archive: Path, file: str, text: str):
    files.write_text(here / file, text)
    start_from(here / "build")
    with pytest.raises(DataError, match=r"was made from other settings, data|was made with another stages/train\.py"):
        packs.unpack(archive)
    assert not (here / "build/runs/a").exists()


def test_a_pack_is_no_archive_of_runs(here: Path):
    packs.write(here / "pack.tar", [A, B])
    with pytest.raises(DataError, match=r"mtbert-runs/pack\.json is missing"):
        packs.unpack(here / "pack.tar")
