"""Models of other rows or classes than a build folder has now."""

from pathlib import Path

import pytest

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import inputs, stale
from mtbert.provenance.stale import Cause, InputKind, Present

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


def test_a_model_of_the_same_rows_and_classes_is_not_stale(build: Path):
    assert Present(build).changes(run(build)) == []
    stale.check(Present(build), [run(build)])


def test_a_changed_file_is_named_with_both_digests_and_the_dev_of_another_task_is_as_it_was(build: Path):
    files.write_text(build / "data/dup/dev.parquet", "other")
    before, now = (files.sha256_of(text) for text in (b"data/dup/dev.parquet", b"other"))
    changed = [Cause(InputKind.DATA, "data/dup/dev.parquet", before, now)]
    assert Present(build).changes(run(build)) == Present(build).changes(run(build), "dup") == changed
    assert Present(build).changes(run(build), "urgent") == []


def test_a_changed_train_leaves_predictions_of_dev_as_they_were(build: Path):
    files.write_text(build / "data/dup/train.parquet", "other")
    assert [cause.name for cause in Present(build).changes(run(build))] == ["data/dup/train.parquet"]
    assert Present(build).changes(run(build), "dup") == []


def test_a_file_that_is_gone_has_no_digest(build: Path):
    (build / "data/dup/dev.parquet").unlink()
    assert [cause.now for cause in Present(build).changes(run(build), "dup")] == [None]


def test_another_order_of_classes_is_a_change(build: Path):
    describe(build, SWAPPED)
    changed = [Cause(InputKind.SETTING, "urgent.labels", '{"no": 0, "yes": 1}', '{"no": 1, "yes": 0}')]
    assert Present(build).changes(run(build)) == Present(build).changes(run(build), "urgent") == changed
    assert Present(build).changes(run(build), "dup") == []


@pytest.mark.parametrize("change", [{"classes": 3}, {"several": True}, {"lowest": 1}, {"highest": 5}, {"folds": 5}])
def test_other_numbers_of_a_task_are_a_change(build: Path, change: dict):
    describe(build, URGENT | change)
    (cause,) = Present(build).changes(run(build))
    assert cause.name == f"urgent.{next(iter(change))}"


@pytest.mark.parametrize(
    "change", [{"title": "Hurry"}, {"matters": 0.1}, {"metric": "macro_f1"}, {"names": ["a", "b"]}]
)
def test_what_only_people_read_of_a_task_may_change(build: Path, change: dict):
    describe(build, URGENT | change)
    assert Present(build).changes(run(build)) == []


def test_a_task_that_is_gone_is_a_change(build: Path):
    files.write_yaml(layout.plan(build), {"tasks": {"dup": DUP}})
    assert Present(build).changes(run(build)) == [Cause(InputKind.SETTING, "urgent.classes", "2", None)]


def test_a_model_of_an_earlier_version_is_compared_by_the_seal_of_all_examples(build: Path):
    files.write_text(build / "data/digests.json", "now")
    made_from = files.read_json(run(build) / layout.INPUTS) | {"files": {"data/digests.json": "before"}}
    files.write_json(run(build) / layout.INPUTS, made_from)
    assert [cause.name for cause in Present(build).changes(run(build), "dup")] == ["data/digests.json"]


def test_stale_models_are_refused_by_name_with_all_that_changed(build: Path):
    describe(build, SWAPPED)
    files.write_text(build / "data/dup/dev.parquet", "other")
    with pytest.raises(DataError) as error:
        stale.check(Present(build), [run(build)])
    assert str(error.value) == (
        f"{run(build)}: made before these changed: data dup/dev.parquet changed, "
        'urgent.labels {"no": 0, "yes": 1} -> {"no": 1, "yes": 0}; so their predictions are of other rows or classes; '
        "`dvc repro train@shared-1` makes them again"
    )
