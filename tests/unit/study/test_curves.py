"""What is printed of a learning curve."""

from pathlib import Path

import desk
import pytest

from mtbert import files
from mtbert.labelling.curve import Gain
from mtbert.study import curves


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
