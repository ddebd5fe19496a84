"""What the papers' pictures show, from a build directory of a few rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file

from mtbert import files, predictions
from mtbert.reporting import pictures
from mtbert.reporting.catalog import Catalog, Entry
from mtbert.tasks import TASKS

MINE = Entry("mine", "own", "mine", ("sst", "sts"), True, seeds=(1,))
HISTORY = "phase,step,name,value\n1,1,loss/sst,1.5\n1,2,loss/sst,1.25\n1,1,loss/sts,4.0\n1,2,loss/sts,3.0\n"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    run = tmp_path / "runs/mine/1"
    files.write_text(run / "history.csv", HISTORY)
    random = np.random.default_rng(0)
    labels = {"sst": [0.0, 4.0, 2.0, 1.0], "sts": [5.0, 0.5, 2.5, 4.0]}
    for task, values in labels.items():
        table = pd.DataFrame({"id": list("abcd"), "label": values, "prediction": values})
        for column in predictions.probability_columns(TASKS[task]):
            table[column] = 0.2
        table["scored"] = True
        predictions.write(predictions.path(run, task, "dev"), table, TASKS[task])
    kept = {"sst": random.normal(size=(1, 4, 6)), "sts": random.normal(size=(2, 4, 6))}
    save_file({task: value.astype(np.float16) for task, value in kept.items()}, run / "embeddings.safetensors")
    for split, values in (("train", [0.0, 0.0, 1.0, 3.0]), ("dev", [1.0, 3.0])):
        (tmp_path / "data/sst").mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"label": values}).to_parquet(tmp_path / f"data/sst/{split}.parquet")
    return tmp_path


def test_every_picture_is_written_once_and_named(build: Path, tmp_path: Path):
    plan = Catalog("sample", (1,), "last", "whole", "tiny", "", "", (MINE,))
    made = pictures.write(build, plan, tmp_path / "pictures")
    names = ["own-loss-sst", "own-loss-sts", "own-sentiment", "own-pairs-sts", "labels"]
    assert [picture.name for picture in made] == names
    for name in names:
        assert (tmp_path / f"pictures/{name}.png").read_bytes().startswith(b"\x89PNG")


def test_the_loss_of_a_task_is_a_line_for_each_variant(build: Path):
    sst, _ = pictures.losses(build, [MINE], "own", "Mine")
    (line,) = sst.figure.axes[0].lines
    assert (line.get_label(), line.get_xydata().tolist()) == ("mine", [[1.0, 1.5], [2.0, 1.25]])


def test_labels_are_shares_of_each_set(build: Path):
    assert pictures.shares(build, "sst").to_dict("list") == {"train": [0.5, 0.25, 0.25], "dev": [0.0, 0.5, 0.5]}
    assert list(pictures.shares(build, "sst").index) == [0, 1, 3]


def test_pairs_alike_and_pairs_unlike_and_none_between(build: Path):
    assert pictures.kind_of(np.array([5.0, 0.5, 2.5, 4.0]), "sts").tolist() == [0, 1, -1, 0]
    (picture,) = pictures.pairs(build, [MINE], "sts", "own", "Mine")
    colours = [line.get_color() for line in picture.figure.axes[0].lines]
    assert colours == ["tab:blue", "tab:blue", "tab:orange"]


def test_sentences_in_one_sequence_make_no_picture_of_pairs(build: Path):
    file = build / "runs/mine/1/embeddings.safetensors"
    save_file({"sts": np.zeros((1, 4, 6), dtype=np.float16)}, file)
    assert list(pictures.pairs(build, [MINE], "sts", "own", "Mine")) == []


def test_the_same_embeddings_give_the_same_picture():
    points = np.random.default_rng(1).normal(size=(8, 5)).astype(np.float32)
    np.testing.assert_array_equal(pictures.tsne(points, 2), pictures.tsne(points, 2))
    assert pictures.tsne(points, 3).shape == (8, 3)


def test_a_run_without_embeddings_is_left_out(build: Path):
    (build / "runs/mine/1/embeddings.safetensors").unlink()
    assert list(pictures.sentiment(build, [MINE], "own", "Mine")) == []
