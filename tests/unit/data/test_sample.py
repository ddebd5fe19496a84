"""The generated sample: the committed bytes, and what makes it worth learning."""

import runpy
from pathlib import Path

import pytest

from mtbert.data.checks import digests, duplicates
from mtbert.data.readers import read
from mtbert.tasks import COURSE

DATA = Path(__file__).parents[3] / "data"
SAMPLE = DATA / "sample"
SCRIPT = runpy.run_path(str(DATA / "make_sample.py"))


def test_the_committed_files_are_what_the_script_writes(tmp_path: Path) -> None:
    SCRIPT["write"](tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    committed = {path.relative_to(SAMPLE): path.read_bytes() for path in SAMPLE.rglob("*.*")}
    assert made == committed


def test_every_file_of_its_tasks_is_there_and_no_row_is_refused() -> None:
    for task in (COURSE[name] for name in SCRIPT["SIZES"]):
        for split in task.files:
            assert read(SAMPLE, task, split)[1] == []


@pytest.mark.parametrize("task", ["sst", "qqp", "sts", "cfimdb", "snli", "mnli"])
def test_dev_repeats_three_rows_of_train_and_no_more(task: str) -> None:
    dev, train = (read(SAMPLE, COURSE[task], split)[0] for split in ("dev", "train"))
    assert duplicates(digests([*dev, *train])) - duplicates(digests(dev)) - duplicates(digests(train)) == 3
