"""Files of one's own, to the answer: every stage in this process, with models that train in an instant."""

import re
import runpy
import shutil
from pathlib import Path
from typing import Any

import desk
import pytest

from mtbert import files
from mtbert.inference import speed
from mtbert.machine import hardware
from mtbert.study import costs
from mtbert.study.run import run
from mtbert.study.selecting import StudyOptions
from mtbert.tracking import live

ROOT = Path(__file__).parents[3]
SMALL = dict.fromkeys(desk.SIZES, (60, 40))
ENCODER = {"width": 24, "heads": 2, "feed_forward": 48, "vocabulary": 1000}


def stage(name: str, *given: Any) -> None:
    """Do what dvc.yaml has this stage do."""
    runpy.run_path(str(ROOT / f"stages/{name}.py"))["main"](*given)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of `mtbert study --quick` on the four files of a support desk, some by semicolons and gzipped."""
    home, build = tmp_path_factory.mktemp("home"), Path("build")
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(home)
        patched.setattr(costs, "TRIED", 0.0)
        patched.setattr(hardware, "SECONDS", 0.01)
        patched.setattr(speed, "ROUNDS", dict.fromkeys(speed.ROUNDS, 1))
        patched.setenv(live.SWITCH, "off")
        patched.setenv("MTBERT_TABLES", "later")
        shutil.copytree(ROOT / "papers", home / "papers")
        desk.write(home / "desk", "semicolon", SMALL)
        for task in ("dup", "rel"):
            for file in (home / "desk").glob(f"{task}-*"):
                file.unlink()
        desk.write(home / "more", "jsonl.gz", {task: SMALL[task] for task in ("dup", "rel")})
        shutil.copytree(home / "more", home / "desk", dirs_exist_ok=True)
        given = files.read_yaml(ROOT / "params.yaml", aliases=True)
        given["encoder"] |= ENCODER | {"name": "tiny"}
        given["training"] |= {"epochs": 1, "epoch_length": "40 examples of each task"}
        files.write_yaml(home / "params.yaml", given, in_order=True)
        run(Path("desk"), StudyOptions(quick=True), "utf-8", Path("params.yaml"))
        stage("plan", Path("params.yaml"), build / "plan")
        stage("machine", build / "machine.json")
        stage("encoder", build / "plan/encoder.yaml", Path("desk"), build / "encoders/base")
        stage("preprocess", Path("desk"), build / "encoders/base", build / "data", build / "plan/preprocess.yaml")
        stage("baselines", build, Path("desk"), build / "baselines")
        stage("manifest", build, build / "manifest")
        for variant in files.read_yaml(Path("params.yaml"), aliases=True)["variants"]:
            stage("train", variant, 1)
        stage("merge", build, build / "merged")
        stage("speed", build, build / "speed")
        stage("collect", build, build / "results")
        stage("judge", build, build / "judged")
        stage("report", build, build / "report", build / "submissions")
    return home / "build/report"


def cells(report: Path) -> list[list[str]]:
    """The rows of the report's first table."""
    tables = [part for part in (report / "README.md").read_text().split("\n\n") if part.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables[0].splitlines()]


def test_the_first_screen_says_that_one_seed_decides_nothing_and_what_would(report: Path):
    text = (report / "README.md").read_text()
    # a tiny encoder that has learnt for an instant
    assert text.splitlines()[2].startswith("**These models are not trained well enough to compare**: on dup ")
    assert "Train longer: `training.epochs` in params.yaml is 1 now." in text.splitlines()[2]


def test_every_way_and_baseline_has_a_row_with_scores_weights_and_times(report: Path):
    head, _, *rows = cells(report)
    assert head == [
        "way", "mean", "dup", "rel", "topic", "urgent", "difference to one model per task", "verdict",
        "trained well enough", "weights to keep", "to train", "ms a text", "ms of 32", "requests a second",
        "MB to load",
    ]  # fmt: skip
    assert {row[0] for row in rows[:-1]} == {
        "One model per task", "One shared model", "LoRA", "Merged, mean", "Merged, task arithmetic", "Merged, TIES",
        "Majority class", "TF-IDF", "Frozen encoder, logistic regression",
    }  # fmt: skip
    assert rows[-1][0] == "Untrained encoder"
    assert all(row[-5].endswith(" s") and re.fullmatch(r"[\d.,]+", "".join(row[-4:])) for row in rows[:-1])
    assert "](pictures/costs.png)" in (report / "README.md").read_text()
    means = [float(row[1].split(" [")[0]) for row in rows[:-1]]  # with their intervals over rows
    assert means == sorted(means, reverse=True)


def test_the_report_speaks_of_these_tasks_and_of_no_others(report: Path):
    text = (report / "README.md").read_text()
    assert "The mean is over dup (accuracy), rel (Pearson), topic (macro-F1), urgent (accuracy)" in text
    assert [word for word in ("SST", "QQP", "STS", "sentiment", "overall") if word in text] == []
    assert "| praise" in text  # a class by its name
    # a row by file and line, since no text may be shown; the words of topic are easy, so that it has no errors
    assert re.search(r"(dup|rel|urgent)-dev\.(csv|jsonl)", text)
    assert desk.HURRY[0] not in text.split("## Each task")[1].split("## ")[0]
