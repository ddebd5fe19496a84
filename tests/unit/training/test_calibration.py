"""Temperatures: literal rows, and what a training does with them."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from runs import checkpoint, parts, settings
from safetensors.numpy import load_file

from mtbert.training import calibration, run

LOG3 = np.log(3.0)  # the logit of 75 %


def train(folder: Path, **changes) -> dict:
    return run.train(parts(settings(**changes), 1), folder / "run", folder / "logs", checkpoint(folder))


@pytest.mark.parametrize("too_sure", [0.5, 1.0, 2.0, 4.0])
def test_three_of_four_right_ends_at_75_per_cent(too_sure: float):
    logits = np.tile([0.0, too_sure * LOG3], (4000, 1))
    assert calibration.temperature(logits, np.tile([1.0, 1.0, 1.0, 0.0], 1000)) == pytest.approx(too_sure, rel=0.01)


def test_a_shift_of_a_rows_logits_changes_nothing():
    logits, labels = np.array([[0.0, 2.0], [1.0, 0.0], [0.0, 3.0]]), np.array([1.0, 0.0, 0.0])
    assert calibration.temperature(logits + 7, labels) == calibration.temperature(logits, labels)


def test_rows_that_are_all_right_do_not_make_a_model_certain():
    logits = np.tile([0.0, 6.0], (100, 1))
    # 101 of 102 would be 6 / log 101 = 1.300; the prior of log T draws it a little towards 1
    assert calibration.temperature(logits, np.ones(100)) == pytest.approx(1.2444, abs=1e-4)


def test_few_rows_move_the_temperature_little():
    logits = np.tile([0.0, 4 * LOG3], (4, 1))  # sure to 99 %, and three of four are right
    labels = np.array([1.0, 1.0, 1.0, 0.0])
    few, many = (
        calibration.temperature(logits, labels),
        calibration.temperature(np.tile(logits, (100, 1)), np.tile(labels, 100)),
    )
    assert few == pytest.approx(1.827, abs=1e-3)  # without the prior 6.3: Platt's targets say two of three
    assert many == pytest.approx(3.8063, abs=1e-3)


def test_without_rows_the_temperature_is_1():
    assert calibration.temperature(np.zeros((0, 2)), np.zeros(0)) == 1.0


def test_a_training_that_holds_rows_out_scales_the_probabilities_of_classes(tmp_path: Path):
    metrics = train(tmp_path, run={"selection": "spared", "keep": "last"}, phase={"spared": 0.5})
    other = train(tmp_path / "other", run={"selection": "whole", "keep": "last"}, phase={"spared": 0.5})
    assert [*metrics["temperatures"]] == ["sst"]  # sts is a score
    assert "temperatures" not in other
    weights, same = (load_file(folder / "run/model.safetensors") for folder in (tmp_path, tmp_path / "other"))
    assert all(np.array_equal(weights[name], same[name]) for name in same)
    scaled, plain = (
        pd.read_parquet(folder / "run/predictions/sst-dev.parquet") for folder in (tmp_path, tmp_path / "other")
    )
    names = [f"probability_{number}" for number in range(5)]
    powers = plain[names].to_numpy() ** (1 / metrics["temperatures"]["sst"])
    np.testing.assert_allclose(scaled[names], powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    assert scaled["prediction"].equals(plain["prediction"])


def test_rows_that_an_earlier_phase_trained_on_are_not_spared():
    made = parts(settings(run={"selection": "spared"}, phase={"spared": 0.5}), 1)
    (phase,) = made.settings.phases
    assert [*run.spared_rows(made)] == ["sst"]
    phases = [phase.model_copy(update={"spared": 0.0}), phase]
    several = dataclasses.replace(made, settings=made.settings.model_copy(update={"phases": phases}))
    assert run.spared_rows(several) == {}
