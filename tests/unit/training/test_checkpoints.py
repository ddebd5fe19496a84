"""Checkpoints: whole, checked, and the one before where the last is not."""

import math
import resource
from pathlib import Path

import pytest
import torch

from mtbert.errors import TrainingError
from mtbert.training.checkpoints import Checkpoints

STATE = {
    "weights": {"a": torch.tensor([[1.5, -0.0]]), "b": torch.tensor(7)},
    "by number": {0: {"step": torch.tensor(3.0)}, 1: []},
    "score": -math.inf,
    "loss": 0.1 + 0.2,
    "rows": [[1, 2, "loss/sst", 5e-324], (True, None)],
}


def same(first: object, second: object) -> bool:
    if isinstance(first, torch.Tensor):
        return isinstance(second, torch.Tensor) and first.dtype == second.dtype and torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def test_what_was_saved_is_loaded(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path / "own", "me")
    assert checkpoints.steps() == []
    checkpoints.save(40, STATE)
    assert checkpoints.steps() == [40]
    assert same(checkpoints.load(40), STATE)
    checkpoints.clear()
    assert not (tmp_path / "own").exists()


def test_a_cut_or_an_altered_byte_anywhere_leaves_the_one_before(tmp_path: Path, capsys: pytest.CaptureFixture):
    checkpoints = Checkpoints(tmp_path, "me")
    checkpoints.save(1, {"a": 1})
    checkpoints.save(2, {"a": torch.ones(3)})
    (last,) = tmp_path.glob("000000002-*")
    whole = last.read_bytes()
    for place in range(len(whole)):
        for damaged in (whole[:place], whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]):
            last.write_bytes(damaged)
            assert checkpoints.steps() == [1]
            assert not last.exists()
    assert f"checkpoint {last} was altered or cut off: it is not used" in capsys.readouterr().err
    last.write_bytes(whole)
    assert checkpoints.steps() == [1, 2]


def test_what_a_kill_has_left_half_written_is_removed(tmp_path: Path):
    (tmp_path / ".7.partial").write_bytes(b"half")
    assert Checkpoints(tmp_path, "me").steps() == []
    assert list(tmp_path.iterdir()) == []


def test_those_of_other_settings_are_not_used_and_the_last_two_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture):
    Checkpoints(tmp_path, "before").save(900, {})
    after = Checkpoints(tmp_path, "after")
    assert after.steps() == []
    assert "is of other settings, data or code: it is not used" in capsys.readouterr().err
    for step in (9, 10, 110):
        after.save(step, {})
    assert after.steps() == [10, 110]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_full_disk_is_a_clear_error_and_leaves_the_one_before(tmp_path: Path):
    checkpoints = Checkpoints(tmp_path, "me")
    checkpoints.save(1, {"a": 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(TrainingError, match=r"checkpoint of step 2 could not be written to .* those before it are"):
            checkpoints.save(2, {"a": torch.ones(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert checkpoints.steps() == [1]
    assert len(list(tmp_path.iterdir())) == 1
