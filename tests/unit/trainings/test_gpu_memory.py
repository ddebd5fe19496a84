"""How much of a GPU's memory a training needs."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from mtbert.config import resolve
from mtbert.config.params import Params
from mtbert.training import evaluation
from mtbert.trainings import gpu_memory

ROOT = Path(__file__).parents[3]
BERT_BASE, SHAPE = 109_482_240, {"num_hidden_layers": 12, "hidden_size": 768}
CATALOG = json.loads((ROOT / "benchmarks/results.json").read_text())["catalog"]["rows"]


@pytest.fixture(scope="module")
def paper() -> Params:
    return Params(ROOT / "params.yaml").put(("profile",), "paper").put(("pos", "tagger"), "shipped")


@pytest.mark.parametrize("row", CATALOG, ids=lambda row: row["variant"])
def test_the_rule_tells_at_least_what_a_variant_was_seen_to_need(
    paper: Params, row: dict, monkeypatch: pytest.MonkeyPatch
):
    """Of its steps, on a CPU: without CUDA's context, epochs that are kept, and predictions."""
    plan, _ = resolve.variant(paper, row["variant"])
    monkeypatch.setattr(evaluation, "GPU_BATCH", 0)
    needed = gpu_memory.needed(plan | {"run": {"keep": "last"}}, BERT_BASE, SHAPE) - gpu_memory.CONTEXT
    assert needed / gpu_memory.GIB >= row["GiB"]


@pytest.mark.parametrize(
    ("run", "kept"),
    [
        ({"keep": "last", "selection": "whole"}, 0),
        ({"keep": "best", "selection": "whole"}, 4.6e9),
        ({"keep": "best", "selection": "half"}, 4.6e9),
    ],
)
def test_the_rule_counts_what_is_kept_and_predictions_where_no_step_needs_more(run: dict, kept: float):
    model = {"pair_encoding": "bi", "max_tokens": 512, "heads": {}}
    plan = {"model": model, "phases": [], "run": run}
    of_predictions = 256 * 2 * 512 * 768 * 24
    assert gpu_memory.needed(plan, 10**9, SHAPE) == pytest.approx(0.6 * 2**30 + 18.4e9 + kept + of_predictions)


def test_weights_are_counted(tmp_path: Path):
    save_file({"a": torch.zeros(2, 3), "b": torch.zeros(4)}, tmp_path / "model.safetensors")
    assert gpu_memory.weights(tmp_path) == 10
