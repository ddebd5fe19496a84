"""Models of other rows or classes than a build folder has now."""

from pathlib import Path

import pytest

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import changes, inputs
from mtbert.provenance.changes import Change, InputKind

URGENT = {"classes": 2, "sentences": ["body"], "label": "urgent", "metric": "accuracy", "labels": {"no": 0, "yes": 1}}
SWAPPED = URGENT | {"labels": {"yes": 0, "no": 1}}
DUP = {"classes": 2, "sentences": ["first", "second"], "label": "same", "metric": "accuracy"}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """Tasks `urgent` and `dup`, and a run of both."""
    describe(tmp_path)
    names = [f"data/{task}/{split}.parquet" for task in ("urgent", "dup") for split in ("train", "dev")]
    for name in names:
        files.write_text(tmp_path / name, name)
    digests = inputs.digests(tmp_path, [tmp_path / name for name in names])
    made_from = {"settings": {"described": {"urgent": URGENT, "dup": DUP}}, "code": {}, "seed": 1}
    files.write_json(run(tmp_path) / layout.INPUTS, made_from | {"files": digests | {"encoders/base/config.json": "1"}})
    return tmp_path


def describe(build: Path, urgent: dict = URGENT) -> None:
    files.write_yaml(layout.plan(build), {"tasks": {"urgent": urgent, "dup": DUP}})


def run(build: Path) -> Path:
    return layout.run(build, "shared", 1)


def of_rows(build: Path, task: str | None = None) -> list[Change]:
    return changes.of_rows(build, [run(build)], task).get(run(build), [])


def test_a_model_of_the_same_rows_and_classes_has_no_change(build: Path):
    assert of_rows(build) == []
    changes.check_rows(build, [run(build)])


def test_a_changed_file_is_named_with_both_digests_and_the_dev_of_another_task_is_as_it_was(build: Path):
    files.write_text(build / "data/dup/dev.parquet", "other")
    before, now = (files.sha256_of(text) for text in (b"data/dup/dev.parquet", b"other"))
    changed = [Change(InputKind.DATA, "data/dup/dev.parquet", before, now)]
    assert of_rows(build) == of_rows(build, "dup") == changed
    assert of_rows(build, "urgent") == []


def test_a_changed_train_leaves_predictions_of_dev_as_they_were(build: Path):
    files.write_text(build / "data/dup/train.parquet", "other")
    assert [change.name for change in of_rows(build)] == ["data/dup/train.parquet"]
    assert of_rows(build, "dup") == []


def test_a_file_that_is_gone_has_no_digest(build: Path):
    (build / "data/dup/dev.parquet").unlink()
    assert [change.now for change in of_rows(build, "dup")] == [None]


def test_another_order_of_classes_is_a_change(build: Path):
    describe(build, SWAPPED)
    changed = [Change(InputKind.SETTING, "described.urgent.labels", '{"no": 0, "yes": 1}', '{"no": 1, "yes": 0}')]
    assert of_rows(build) == of_rows(build, "urgent") == changed
    assert of_rows(build, "dup") == []


@pytest.mark.parametrize("change", [{"classes": 3}, {"several": True}, {"lowest": 1}, {"highest": 5}, {"folds": 5}])
def test_other_numbers_of_a_task_are_a_change(build: Path, change: dict):
    describe(build, URGENT | change)
    (found,) = of_rows(build)
    assert found.name == f"described.urgent.{next(iter(change))}"


@pytest.mark.parametrize(
    "change", [{"title": "Hurry"}, {"matters": 0.1}, {"metric": "macro_f1"}, {"names": ["a", "b"]}]
)
def test_what_only_people_read_of_a_task_may_change(build: Path, change: dict):
    describe(build, URGENT | change)
    assert of_rows(build) == []


def test_a_task_that_is_gone_is_a_change(build: Path):
    files.write_yaml(layout.plan(build), {"tasks": {"dup": DUP}})
    assert of_rows(build) == [Change(InputKind.SETTING, "described.urgent.classes", "2", None)]


def test_a_model_of_an_earlier_version_is_compared_by_the_seal_of_all_examples(build: Path):
    files.write_text(build / "data/digests.json", "now")
    made_from = files.read_json(run(build) / layout.INPUTS) | {"files": {"data/digests.json": "before"}}
    files.write_json(run(build) / layout.INPUTS, made_from)
    assert [change.name for change in of_rows(build, "dup")] == ["data/digests.json"]


def test_models_of_other_rows_are_refused_by_name_with_all_that_changed(build: Path):
    describe(build, SWAPPED)
    files.write_text(build / "data/dup/dev.parquet", "other")
    with pytest.raises(DataError) as error:
        changes.check_rows(build, [run(build)])
    assert str(error.value) == (
        f"{run(build)}: made before these changed: "
        'urgent.labels {"no": 0, "yes": 1} -> {"no": 1, "yes": 0}, data dup/dev.parquet changed; '
        "so their predictions are of other rows or classes; `dvc repro train@shared-1` makes them again"
    )
