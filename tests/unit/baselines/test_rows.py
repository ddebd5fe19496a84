"""The rows of a split."""

from pathlib import Path

import pandas as pd

from mtbert import layout
from mtbert.baselines import rows
from mtbert.tasks import Task

TASK = Task("topic", 2, ("text",), "topic", "accuracy", labels={"bug": 0, "praise": 1})


def test_rows_of_a_cluster_of_train_stay_together(tmp_path: Path) -> None:
    columns = {"id": ["1", "2", "3"], "sentence1": ["crash", "great", "love it"], "label": [0.0, 1.0, None]}
    file = layout.examples(tmp_path, "topic", "train")
    file.parent.mkdir()
    pd.DataFrame(columns).assign(cluster=7).to_parquet(file)
    train = rows.read(tmp_path, TASK, "train")
    assert train is not None
    assert (list(train.ids), train.clusters().tolist()) == (["1", "2"], [0, 0])
