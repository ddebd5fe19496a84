"""Rates that are tried before a study, on a model that trains in an instant."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from runs import parts, settings

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.trainings import dvc, tuning
from mtbert.trainings.tuning import Trial

SPARED: dict[str, Any] = {"phase": {"spared": 0.25, "head_rate": 0.02}, "run": {"selection": "spared"}}


def test_a_trial_scales_every_rate_and_a_third_of_the_steps_is_trained(monkeypatch: pytest.MonkeyPatch):
    trained = []

    def assemble(shorter, seed, build):
        trained.append(shorter.phases[0])
        return parts(shorter, seed)

    monkeypatch.setattr(tuning.assembly, "assemble", assemble)
    trial = tuning.trial(settings(**SPARED), 3.0, Path("build"))
    assert -1 <= trial.score <= 1
    assert (trained[0].learning_rate, trained[0].head_rate, trained[0].adapter_rate) == (0.003, 0.06, None)
    assert trained[0].epoch_length.stated() == "1 steps"  # of 3


def test_the_rates_of_the_best_trial_are_written_and_all_trials_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "params.yaml"
    file.write_text("tuned: {}    # rates\n")
    monkeypatch.setattr(dvc, "PARAMS", file)
    monkeypatch.setattr(dvc, "LOCK", tmp_path / "lock")
    monkeypatch.setattr(dvc, "run", lambda *_: None)
    monkeypatch.setattr(tuning, "_selected", lambda build: ["small"])
    monkeypatch.setattr(tuning, "_planned", lambda build, name: settings(**SPARED))
    trials = [Trial(1 / 3, 0.5, 10.2), Trial(1.0, 0.7, 11.0), Trial(3.0, 0.6, 12.0)]
    monkeypatch.setattr(tuning, "_trials", lambda variants, jobs, build: [("small", trials)])
    tuning.run(1, tmp_path)
    small = files.read_yaml(file)["tuned"]["small"]
    assert small["training"] == {"learning_rate": 0.001, "head_rate": 0.02}
    assert small["trials"][0] == {"factor": 0.333, "score": 0.5, "seconds": 10}
    assert "small: 0.33 times its rates 0.500 (10 s), 1 times its rates 0.700" in capsys.readouterr().out


def test_a_task_with_folds_is_not_tuned_since_each_row_is_scored():
    chosen = settings(**SPARED)
    with_folds = replace(chosen.described["sst"], folds=5)
    chosen = chosen.model_copy(update={"described": {**chosen.described, "sst": with_folds}})
    with pytest.raises(SettingsError, match=r"small cannot be tuned: sst has `folds` in tasks\.yaml"):
        tuning._check({"small": chosen})


def test_a_variant_that_chooses_on_dev_is_not_tuned():
    with pytest.raises(SettingsError, match="small cannot be tuned: its trials are scored on spared training rows"):
        tuning._check({"small": settings()})
