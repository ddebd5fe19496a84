"""What teachers predict, and which models may teach."""

from pathlib import Path

import made
import numpy as np
import pandas as pd
import pytest
import runs
import torch
import trained

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.data.batches import Examples
from mtbert.errors import DataError
from mtbert.machine.hardware import Hardware
from mtbert.provenance import manifests, seals
from mtbert.training import assembly, run, teaching
from mtbert.training.teaching import Lesson
from mtbert.variants.building import read_split
from mtbert.variants.settings import VariantSettings

TASKS = ("sst", "sts")
ALL_ROWS = 100_000


def settings(name: str, tasks: tuple[str, ...], teachers: tuple[str, ...] = (), **model: object) -> VariantSettings:
    """A small variant that also writes what it predicts of all training rows."""
    given = trained.settings(name, tasks, **model).model_dump()
    if teachers:
        given["phases"][0]["objectives"] = [{"name": "distillation"}]
    return VariantSettings(**given | {"teachers": [*teachers], "run": given["run"] | {"train_rows": ALL_ROWS}})


STUDENT = settings("student", TASKS, ("of-sst", "of-sts"), pair_encoding="bi")


def train(build: Path, plan: VariantSettings) -> Path:
    """Train a variant as the stage does, with its inputs.json; return its run."""
    files.write_yaml(layout.plan(build, plan.variant), plan.model_dump())
    files.write_json(layout.manifest(build, plan.variant), made.MANIFEST)
    parts = assembly.assemble(plan, 1, build)
    parts.made_from = manifests.of_training(build, plan.variant, 1)
    folder = layout.run(build, plan.variant, 1)
    run.train(parts, folder, layout.logs(build, plan.variant, 1), runs.checkpoint(build))
    return folder


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build folder with a teacher of each task; that of pairs reads both sentences in one sequence."""
    folder = trained.start(tmp_path_factory.mktemp("taught"))
    for task in TASKS:
        train(folder, settings(f"of-{task}", (task,), pair_encoding="cross"))
    return folder


def lesson(build: Path) -> Lesson:
    """The training rows of the student, which encodes sentences of pairs apart."""
    special = tokens.special_tokens(layout.encoder(build))
    train_rows = {task: read_split(STUDENT, task, task, "train", layout.data(build), special) for task in TASKS}
    return Lesson(STUDENT, 1, build, train_rows, Hardware(torch.device("cpu")))


def predicted(build: Path, examples: Examples) -> pd.DataFrame:
    """What the teacher's own run says of these rows, in their order."""
    task = examples.task.name
    table = files.read_parquet(layout.predictions(layout.run(build, f"of-{task}", 1), task, "train"))
    return table.set_index("id").loc[list(examples.ids)]


def test_soft_labels_are_what_each_tasks_teacher_predicts_of_the_same_rows(build: Path):
    given = lesson(build)
    teaching.teach(TASKS, given)
    sst, sts = (given.train[task] for task in TASKS)
    probabilities = predicted(build, sst)[[f"probability_{label}" for label in range(5)]]
    np.testing.assert_allclose(sst.soft_labels, probabilities, atol=1e-6)
    np.testing.assert_allclose(sts.soft_labels, predicted(build, sts)["prediction"], atol=1e-5)
    assert sts.soft_labels.std() > 0


def test_teachers_leave_the_students_random_numbers_alone(build: Path):
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    teaching.teach(TASKS, lesson(build))
    assert torch.equal(torch.rand(1), expected)


def test_a_training_learns_from_its_teachers_and_a_phase_without_distillation_does_not(build: Path):
    plain = settings("plain", TASKS, pair_encoding="bi")
    histories = [(train(build, plan) / "history.csv").read_text() for plan in (STUDENT, plain)]
    assert ["loss/distillation/sst" in history for history in histories] == [True, False]
    weights = [layout.run(build, name, 1) / layout.WEIGHTS for name in ("student", "plain")]
    assert files.sha256(weights[0]) != files.sha256(weights[1])


def refusal(build: Path) -> str:
    with pytest.raises(DataError) as error:
        teaching.teach(("sst",), lesson(build))
    return str(error.value).replace(str(build), "build")


def test_a_teacher_that_is_missing_is_named_with_what_trains_it(build: Path):
    folder = layout.run(build, "of-sst", 1)
    folder.rename(build / "away")
    try:
        assert refusal(build) == (
            "student, seed 1, learns from of-sst of the same seed, but build/runs/of-sst/1 is missing; "
            "`dvc repro train@of-sst-1` trains it first"
        )
    finally:
        (build / "away").rename(folder)


@pytest.mark.parametrize("change", [{"files": made.MANIFEST["files"] | {"data/sst": "other"}}, {"code": {"a.py": "1"}}])
def test_a_teacher_of_other_rows_labels_or_code_is_refused(build: Path, change: dict):
    manifest = layout.manifest(build, "of-sst")
    before = manifest.read_bytes()
    files.write_json(manifest, made.MANIFEST | change)
    try:
        assert refusal(build) == (
            "student, seed 1, learns from of-sst of the same seed, but build/runs/of-sst/1 was made from other "
            "settings, data, weights or code than lie in build, or is damaged; "
            "`dvc repro train@of-sst-1` trains it again"
        )
    finally:
        manifest.write_bytes(before)


def test_a_teacher_without_weights_here_is_refused(build: Path):
    weights = layout.run(build, "of-sst", 1) / layout.WEIGHTS
    weights.rename(build / "weights")
    try:
        assert "model.safetensors (missing)" in refusal(build)
    finally:
        (build / "weights").rename(weights)
    seals.check(layout.run(build, "of-sst", 1))
