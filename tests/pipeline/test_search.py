"""The search for learning rates from the sample to its table, with a model so small that a training takes seconds."""

from pathlib import Path

import pandas as pd
import pytest

from mtbert import files
from mtbert.config.params import Params
from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import wordpieces
from mtbert.pretraining import fetching
from mtbert.pretraining.settings import EncoderSettings
from mtbert.scale import search, trainings
from mtbert.training import logs

ROOT = Path(__file__).parents[2]
SMALL = {
    ("search", "kinds"): {"encoder": "bert-sst"},
    ("search", "rates"): [1e-4, 1e-2],
    ("search", "held_out"): 60,
    ("training", "examples_per_task"): 8,
    ("training", "batch_size"): 4,
    ("training", "epochs"): 1,
    ("run", "threads"): 1,
    ("mlp", "width"): 8,
}


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """What the stages before trainings write, and a dev set that no one may open."""
    build, sample = tmp_path / "build", ROOT / "data/sample"
    small = EncoderSettings(name="tiny", width=24, heads=2, feed_forward=48)
    fetching.fetch(small, sample, build / "encoders/base")
    preprocess(sample, build / "data", wordpieces(build / "encoders/base"), set())
    (build / "data/sst/dev.parquet").write_bytes(b"not for the search")
    files.write_json(build / "machine.json", logs.origin())
    return build


def test_a_search_trains_each_rate_once_and_leaves_a_table(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    params = Params(Path("params.yaml"))
    for place, value in SMALL.items():
        params = params.put(place, value)
    monkeypatch.setattr(trainings, "cores", lambda: 1)
    monkeypatch.setattr(trainings, "gpus", list)
    search.run(params, 2, build, tmp_path / "out")
    shown = capsys.readouterr().out
    assert "2 of 2 to train" in shown
    assert "1 at a time" in shown
    file = tmp_path / "out/sample.csv"
    first, table = file.read_bytes(), pd.read_csv(file)
    assert list(table) == ["kind", "variant", "rate", "seed", "sst", "mean", "chosen", "rows", "steps"]
    assert list(table["rate"]) == [1e-4, 1e-2]
    assert (table["rows"].tolist(), table["steps"].tolist()) == ([60, 60], [2, 2])
    (best,) = table.loc[table["chosen"], "rate"]
    assert f"profiles.sample.training.learning_rates.encoder: {best}\n" in shown
    assert "The best rate of encoder is at the end of the list" in shown

    search.run(params, 1, build, tmp_path / "out")
    assert "0 of 2 to train" in capsys.readouterr().out
    assert file.read_bytes() == first
