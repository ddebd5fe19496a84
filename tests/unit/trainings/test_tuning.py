"""Rates that are tried before a study, on a model that trains in an instant."""

import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from runs import parts, settings
from unit.config.conftest import PARAMS, edited

from mtbert import files
from mtbert.config.params import Params
from mtbert.errors import SettingsError, TrainingError
from mtbert.provenance.inputs import Inputs
from mtbert.training.loop import Numbers, Update, check_finite
from mtbert.trainings import dvc, tuning
from mtbert.trainings.tuning import Trial
from mtbert.variants.settings import VariantSettings

SPARED: dict[str, Any] = {"phase": {"spared": 0.25, "head_rate": 0.02}, "run": {"selection": "spared"}}


def test_a_trial_scales_every_rate_and_a_third_of_the_steps_is_trained(monkeypatch: pytest.MonkeyPatch):
    trained = []

    def assemble(shorter, seed, build):
        trained.append(shorter.phases[0])
        return parts(shorter, seed)

    monkeypatch.setattr(tuning.assembly, "assemble", assemble)
    trial = tuning._train(settings(**SPARED), 3.0, Path("build"))
    assert trial.score is not None
    assert -1 <= trial.score <= 1
    assert (trained[0].learning_rate, trained[0].head_rate, trained[0].adapter_rate) == (0.003, 0.06, None)
    assert trained[0].epoch_length.dump() == "1 steps"  # of 3


def test_a_trial_that_diverges_has_no_score(monkeypatch: pytest.MonkeyPatch):
    def diverge(parts):
        check_finite(Update(1, "sst: sst1", Numbers((), (), torch.empty(0))), {"sst": math.inf}, 1.0)

    monkeypatch.setattr(tuning.assembly, "assemble", lambda shorter, seed, build: parts(shorter, seed))
    monkeypatch.setattr(tuning, "best_score", diverge)
    assert tuning._train(settings(**SPARED), 3.0, Path("build")).score is None


def test_a_trial_is_made_once_until_what_it_is_made_from_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made: list[float] = []

    def train(chosen: VariantSettings, factor: float, build: Path) -> Trial:
        made.append(factor)
        return Trial(factor=factor, score=0.5, seconds=2.0)

    manifest = Inputs(settings={"tasks": ["sst"]}, code={"loop.py": "a"}, files={"data/sst/train.parquet": "b"})
    monkeypatch.setattr(tuning, "_train", train)
    monkeypatch.setattr(tuning.manifests, "of_training", lambda build, variant, seed: manifest)
    small = settings(**SPARED)
    trials = [tuning.trial(small, factor, tmp_path) for factor in (1.0, 3.0, 1.0)]
    assert made == [1.0, 3.0]
    assert trials[2] == Trial(factor=1.0, score=0.5, seconds=2.0)
    manifest = manifest.model_copy(update={"files": {"data/sst/train.parquet": "c"}})
    tuning.trial(small, 1.0, tmp_path)
    assert made == [1.0, 3.0, 1.0]


def end_process(chosen: VariantSettings, factor: float, build: Path) -> Trial:
    """In place of a trial for which the memory is too small."""
    os._exit(1)


def test_where_a_trials_process_is_ended_that_is_said_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tuning, "trial", end_process)
    said = "a trial of small, .* ended from outside: .*"
    message = f"{said}; {tmp_path}/cache/trials keeps .* `mtbert tune --jobs 1` makes"
    with pytest.raises(TrainingError, match=message):
        [*tuning._trials({"small": settings(**SPARED)}, 1, tmp_path)]


def test_a_diverged_trial_is_worst_and_without_another_there_is_no_best():
    trials = [
        Trial(factor=1 / 3, score=-0.5, seconds=1.0),
        Trial(factor=1.0, score=None, seconds=1.0),
        Trial(factor=3.0, score=-0.2, seconds=1.0),
    ]
    assert tuning._best_of(trials) == trials[2]
    assert tuning._best_of([trials[1]]) is None


def test_of_equal_trials_the_first_is_the_best():
    trials = [Trial(factor=factor, score=0.7, seconds=1.0) for factor in (1.0, 3.0)]
    assert tuning._best_of(trials) == trials[0]


def test_the_rates_of_the_best_trial_are_written_and_all_trials_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "params.yaml"
    text = yaml.safe_dump(PARAMS.own | {"variants": ["pals"]})
    file.write_text(text.replace("tuned: {}", "tuned: {}  # rates"))
    shutil.copytree(PARAMS.file.parent / "papers", tmp_path / "papers")
    monkeypatch.setattr(dvc, "PARAMS", file)
    monkeypatch.setattr(dvc, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(dvc, "run", lambda *_: None)
    monkeypatch.setattr(tuning, "_planned", lambda params: {"small": settings(**SPARED)})
    monkeypatch.setattr(tuning, "_check_rates_count", lambda *_: None)
    trials = [
        Trial(factor=1 / 3, score=0.5, seconds=10.2),
        Trial(factor=1.0, score=0.7, seconds=11.0),
        Trial(factor=3.0, score=None, seconds=12.0),
    ]
    monkeypatch.setattr(tuning, "_trials", lambda variants, jobs, build: [("small", trials)])
    tuning.run(1, tmp_path)
    small = files.read_yaml(file)["tuned"]["small"]
    assert small["training"] == {"learning_rate": 0.001, "head_rate": 0.02}
    assert small["trials"][0] == {"factor": 0.333, "score": 0.5, "seconds": 10}
    assert small["trials"][2]["score"] is None
    told = "small: 0.33 times its rates 0.500 (10 s), 1 times its rates 0.700 (11 s), 3 times its rates diverged (12 s)"
    assert told in capsys.readouterr().out


def test_a_student_is_not_tuned_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(PARAMS.own | {"variants": ["pals"]}))
    shutil.copytree(PARAMS.file.parent / "papers", tmp_path / "papers")
    monkeypatch.setattr(dvc, "PARAMS", file)
    monkeypatch.setattr(dvc, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(dvc, "run", lambda *_: None)
    small = settings(**SPARED)
    student = small.model_copy(update={"teachers": ["small"]})
    monkeypatch.setattr(tuning, "_planned", lambda params: {"small": small, "student": student})
    monkeypatch.setattr(tuning, "_check_rates_count", lambda *_: None)
    tried = []
    monkeypatch.setattr(tuning, "_trials", lambda variants, jobs, build: tried.extend(variants) or [])
    tuning.run(1, tmp_path)
    assert tried == ["small"]
    assert "student is not tuned, since no trial trains its teachers: it keeps its rates" in capsys.readouterr().out


def test_a_task_with_folds_is_not_tuned_since_each_row_is_scored():
    chosen = settings(**SPARED)
    with_folds = replace(chosen.described["sst"], folds=5)
    chosen = chosen.model_copy(update={"described": {**chosen.described, "sst": with_folds}})
    with pytest.raises(SettingsError, match=r"small cannot be tuned: sst has `folds` in tasks\.yaml"):
        tuning._check({"small": chosen})


def test_a_variant_that_chooses_on_dev_is_not_tuned():
    with pytest.raises(SettingsError, match="small cannot be tuned: its trials are scored on spared training rows"):
        tuning._check({"small": settings()})


def own(*edits: tuple[str, Any]) -> Params:
    return edited(("profile", "own"), ("variants", ["own-lora"]), *edits)


def test_the_tuned_rates_are_those_that_are_trained():
    params = own(("tuned", {"own-lora": {"training": {"learning_rate": 7e-3}}}))
    assert tuning._planned(params)["own-lora"].phases[0].learning_rate == 7e-3
    (phase,) = tuning._planned(params.put(("tuned",), {}))["own-lora"].phases
    assert phase.learning_rate == 3e-3
    tuning._check_rates_count(own(), "own-lora", phase)


@pytest.mark.parametrize(
    ("key", "value", "places"),
    [
        ("training.learning_rate", {"adapters": 1e-3}, "training.learning_rate.adapters"),
        ("training.head_rate", 1e-3, "training.head_rate"),
        ("catalog.own-lora.training.learning_rate", 1e-3, "catalog.own-lora.training.learning_rate"),
    ],
)
def test_a_rate_that_a_stronger_layer_sets_is_not_tuned(key: str, value: Any, places: str):
    params = own((key, value))
    (phase,) = tuning._planned(params)["own-lora"].phases
    with pytest.raises(SettingsError, match=rf"own-lora cannot be tuned: {places} in .*params.yaml would overrule its"):
        tuning._check_rates_count(params, "own-lora", phase)
