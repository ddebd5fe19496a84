"""What is printed of a learning curve."""

from pathlib import Path

import desk
import numpy as np
import pytest

from mtbert import files
from mtbert.labelling import trained
from mtbert.labelling.curve import Gain, Point
from mtbert.stats import Side
from mtbert.study import curves
from mtbert.study.parts import WayOnParts


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Gain(0.0213, 0.004, 0.0371), "+0.021 [+0.004, +0.037]"),
        (Gain(0.01, -0.01, 0.03), "cannot be told (+0.010 [-0.010, +0.030])"),
        (Gain(0.0, -0.0001, 0.0), "cannot be told (+0.000 [+0.000, +0.000])"),
    ],
)
def test_a_gain_that_may_be_nothing_cannot_be_told(gain: Gain, words: str):
    assert curves.in_words(gain) == words


def test_each_task_has_a_line_and_a_missing_encoder_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    desk.write(tmp_path / "desk", "csv", {"topic": (160, 40)})
    files.write_yaml(tmp_path / "desk/tasks.yaml", {"topic": {
        "files": {"train": "topic-train.csv", "dev": "topic-dev.csv"}, "sentences": ["text"], "label": "topic",
        "classes": ["billing", "bug", "praise", "question"],
    }})  # fmt: skip
    curves.run(tmp_path / "desk", tmp_path / "build")
    lines = capsys.readouterr().out.splitlines()
    assert lines[2] == f"(without a frozen encoder: {tmp_path}/build has none yet; `dvc repro encoder` fetches it)"
    assert lines[3].startswith("topic        TF-IDF         accuracy 0.")
    assert "twice as many rows: " in lines[3]
    assert len(lines) == 4


def test_a_trained_way_has_a_line_for_each_task_and_one_seed_tells_no_gain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    side = Side(np.array([0.5]), np.zeros((40, 1)), 40, 40)
    monkeypatch.setattr(trained, "measure", lambda *_: [Point(rows, side) for rows in (20, 40, 80)])
    curves.run_trained(
        WayOnParts("own-shared", {"sst": {1.0: "own-shared"}, "sts": {1.0: "own-shared"}}, [1]), tmp_path
    )
    unknown = "cannot be told from one seed, or one repeat of folds"
    assert capsys.readouterr().out.splitlines()[1:] == [
        "The same for own-shared, one seed:",
        f"SST-5        own-shared     accuracy 0.500 (20)  0.500 (40)  0.500 (80); twice as many rows: {unknown}",
        f"STS-B        own-shared     Pearson 0.500 (20)  0.500 (40)  0.500 (80); twice as many rows: {unknown}",
    ]
