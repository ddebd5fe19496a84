"""What is refused in a task's file, and what a data set of the model hub comes to."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mtbert import files, tasks
from mtbert.data import readers
from mtbert.data.readers import Example
from mtbert.errors import MtbertError

MOOD = {
    "title": "Mood", "classes": 2, "id": "",
    "files": {"train": "mood/train.parquet", "dev": "mood/dev.parquet"}, "sentences": ["text"], "label": "label",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("mood", {"metrics": "f1"}, "metrics"),
        ("mood", {"classes": 1}, "classes is 1; allowed: 2 or more, or 1 for a score from lowest up to highest"),
        ("mood", {"classes": 2, "highest": 5.0}, "classes is 2; allowed"),
        ("mood", {"files": {"train": "a"}}, "files"),
        ("mood", {"sentences": []}, "sentences"),
        ("mood", {"labels": {"bad": 0, "good": 2}}, "labels"),
        ("mood", {"reused": {"x": {"serves": "sst"}}}, "labels: "),
        ("mood", {"reused": []}, "dictionary"),
        ("a-b", {}, "name: "),
    ],
)
def test_a_file_that_is_no_task_is_refused_by_name(tmp_path: Path, name: str, change: dict[str, Any], told: str):
    files.write_yaml(tmp_path / f"{name}.yaml", MOOD | change)
    with pytest.raises(MtbertError, match=rf"{name}\.yaml: .*") as error:
        tasks.load(tmp_path)
    assert told in str(error.value)


def test_a_data_set_of_the_hub_is_read_without_ids_and_with_numbers_for_labels(tmp_path: Path):
    files.write_yaml(tmp_path / "mood.yaml", MOOD)
    (task,) = tasks.load(tmp_path)[0].values()
    (tmp_path / "mood").mkdir()
    table = pd.DataFrame({"text": ["nice .", None, "dull ."], "label": [1, 1, 0], "more": ["a", "b", "c"]})
    table.to_parquet(tmp_path / "mood/train.parquet")
    kept, _ = readers.read(tmp_path, task, "train")
    assert kept == [Example("1", "nice .", None, 1.0, 1), Example("3", "dull .", None, 0.0, 3)]
    (tmp_path / "mood/dev.parquet").write_bytes(b"PAR1")
    with pytest.raises(MtbertError, match=r"dev\.parquet: not a whole Parquet file"):
        readers.read(tmp_path, task, "dev")
