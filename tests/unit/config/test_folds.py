"""What goes together with folds: whole repeats of seeds, spared rows that choose the epoch, no held-out rows."""

from pathlib import Path
from typing import Any

import pytest
from unit.config.conftest import PARAMS

from mtbert import files
from mtbert.config import planning
from mtbert.config.params import Params
from mtbert.errors import SettingsError

MOOD = "mood:\n  files: {train: mood.csv}\n  sentences: [text]\n  label: mood\n  classes: 2\n  folds: 5\n"


def planned(folder: Path, **changes: Any) -> dict[str, Any]:
    """What is planned for a folder of one task with five folds."""
    (folder / "tasks.yaml").write_text(MOOD)
    (folder / "mood.csv").write_text("text,mood\na,0\n")
    files.write_yaml(folder / "params.yaml", PARAMS.own | {
        "profile": "own", "data_dir": str(folder), "variants": ["own-shared"], "ensembles": {}, "model": {},
        "seeds": [1, 2, 3, 4, 5],
    } | changes)  # fmt: skip
    (folder / "papers").symlink_to(PARAMS.file.parent / "papers")
    return planning.plan(Params(folder / "params.yaml"))


def test_a_round_of_seeds_is_planned_and_the_model_knows_of_its_folds(tmp_path: Path) -> None:
    plan = planned(tmp_path)
    assert plan["own-shared"]["described"]["mood"]["folds"] == 5
    assert plan["preprocess"]["splits"] == [["mood", "dev"], ["mood", "train"]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"seeds": [1, 2, 3]},
            r"seeds: \[1, 2, 3\] divide the folds unevenly: mood has `folds: 5` in tasks.yaml; allow",
        ),
        ({"seeds": [2, 3, 4, 5, 6]}, "divide the folds unevenly"),
        ({"held_out": 20}, "held_out: it takes dev from train, and mood has `folds: 5` in tasks.yaml; allowed: null, "),
        ({"run": {"selection": "half"}}, "run.selection: own-shared has half, and mood has `folds: 5` in tasks.yaml"),
    ],
)
def test_what_does_not_go_together_with_folds_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        planned(tmp_path, **changes)
