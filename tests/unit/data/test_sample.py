"""The generated sample: the committed bytes, and what makes it worth learning."""

import runpy
from pathlib import Path

import pytest

from mtbert.data.checks import digests, duplicates
from mtbert.data.readers import Example, read, stream
from mtbert.tasks import TASKS

DATA = Path(__file__).parents[3] / "data"
SAMPLE = DATA / "sample"
SCRIPT = runpy.run_path(str(DATA / "make_sample.py"))


def test_the_committed_files_are_what_the_script_writes(tmp_path: Path) -> None:
    SCRIPT["write"](tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.*")}
    committed = {path.relative_to(SAMPLE): path.read_bytes() for path in SAMPLE.rglob("*.*")}
    assert made == committed


def test_every_file_of_its_tasks_is_there_and_no_row_is_refused() -> None:
    for task in (TASKS[name] for name in SCRIPT["SIZES"]):
        for split in task.files:
            assert all(isinstance(row, Example) for row in stream(SAMPLE / task.files[split], task, split))


def test_test_files_have_labels_so_that_test_tables_can_be_filled() -> None:
    assert read(SAMPLE, TASKS["sst"], "test")["label"].notna().all()


@pytest.mark.parametrize(("task", "most"), [("sst", 0.3), ("qqp", 0.63), ("cfimdb", 0.65), ("snli", 0.35)])
def test_the_largest_class_is_no_good_answer(task: str, most: float) -> None:
    assert read(SAMPLE, TASKS[task], "dev")["label"].value_counts(normalize=True).max() <= most


def test_similarity_spans_the_scale() -> None:
    labels = read(SAMPLE, TASKS["sts"], "train")["label"]
    assert (labels.min(), labels.max()) == (0.0, 5.0)
    assert labels.std() > 1.5


@pytest.mark.parametrize("task", ["sst", "qqp", "sts", "cfimdb", "snli", "mnli"])
def test_dev_repeats_three_rows_of_train_and_no_more(task: str) -> None:
    paths = {split: SAMPLE / TASKS[task].files[split] for split in ("dev", "train")}
    dev, train = ([*stream(path, TASKS[task], split)] for split, path in paths.items())
    assert duplicates(digests([*dev, *train])) - duplicates(digests(dev)) - duplicates(digests(train)) == 3
