"""The checkpoint: whole, of this run, or the one before where a new one cannot be written."""

import math
import resource
from pathlib import Path

import pytest
import torch

from mtbert.errors import TrainingError
from mtbert.training.checkpoints import Checkpoint

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


def test_the_last_state_that_was_saved_is_loaded(tmp_path: Path):
    checkpoint = Checkpoint(tmp_path / "own", "me")
    assert checkpoint.load() is None
    checkpoint.save({"a": 1})
    checkpoint.save(STATE)
    assert same(checkpoint.load(), STATE)
    checkpoint.clear()
    assert not (tmp_path / "own").exists()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda whole: whole[:-1], "is damaged"),
        (lambda whole: b"half", "is damaged"),
        (lambda whole: whole.replace(b"before", b"others"), "is of other settings, data or code"),
    ],
)
def test_a_damaged_one_and_that_of_other_settings_is_not_used(tmp_path: Path, capsys, damage, told: str):
    checkpoint = Checkpoint(tmp_path, "before")
    checkpoint.save({"a": torch.ones(3)})
    checkpoint.file.write_bytes(damage(checkpoint.file.read_bytes()))
    assert checkpoint.load() is None
    assert f"warning: checkpoint {checkpoint.file} {told}" in capsys.readouterr().err


def test_a_full_disk_is_a_clear_error_and_leaves_the_one_before(tmp_path: Path):
    checkpoint = Checkpoint(tmp_path, "me")
    checkpoint.save({"a": 1})
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(TrainingError, match=r"could not be written .* the checkpoint before it is intact"):
            checkpoint.save({"a": torch.ones(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert checkpoint.load() == {"a": 1}
    assert list(tmp_path.iterdir()) == [checkpoint.file]
