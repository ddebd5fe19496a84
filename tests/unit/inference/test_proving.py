"""Dev, by which a smaller export is judged."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from mtbert import files, layout
from mtbert.inference import compressing, outside, proving
from mtbert.inference.compressing import Compression, ExportError
from mtbert.inference.outside import ExportOutputs
from mtbert.provenance import why
from mtbert.tasks import load_tasks

URGENT = {"classes": 2, "sentences": ["body"], "label": "urgent", "metric": "accuracy", "labels": {"no": 0, "yes": 1}}


@pytest.fixture
def model(tmp_path: Path) -> Any:
    """A model of one task, which was made from dev as it is."""
    files.write_yaml(layout.plan(tmp_path), {"tasks": {"urgent": URGENT}})
    data = layout.data(tmp_path)
    files.write_json(layout.data_report(data), {"whose": "own"})
    (data / "urgent").mkdir()
    dev = {"id": ["a", "b", "c"], "label": [0.0, 1.0, None], "sentence1": ["x", "y", "z"], "cluster": [7, 8, 9]}
    pd.DataFrame(dev).to_parquet(data / "urgent/dev.parquet")
    run = layout.run(tmp_path, "small", 1)
    digest = files.sha256(data / "urgent/dev.parquet")
    made_from = {
        "settings": {"described": {"urgent": URGENT}},
        "code": {},
        "files": {"data/urgent/dev.parquet": digest},
    }
    files.write_json(run / layout.INPUTS, made_from)
    network = SimpleNamespace(head=lambda _: SimpleNamespace(thresholds=None))
    task = load_tasks({"urgent": URGENT})["urgent"]
    return SimpleNamespace(name="small", seed=1, run=run, tasks=("urgent",), task=lambda _: task, network=network)


def swap_classes(model: Any) -> None:
    swapped = URGENT | {"labels": {"yes": 0, "no": 1}}
    files.write_yaml(layout.plan(layout.build_of(model.run)), {"tasks": {"urgent": swapped}})


def test_dev_has_texts_labels_and_clusters_of_labelled_rows(model: Any):
    dev = proving.read_dev(model)["urgent"]
    assert (dev.columns, dev.labels.tolist(), dev.clusters.tolist()) == ([["x", "y"]], [0.0, 1.0], [7, 8])


def test_dev_of_other_classes_is_refused(model: Any):
    swap_classes(model)
    with pytest.raises(
        ExportError, match=r"^a smaller export is judged on dev: .*small/1: made before .*urgent\.labels"
    ):
        proving.read_dev(model)


def test_it_is_said_that_a_model_was_made_before_its_classes_changed(model: Any):
    assert [*why.notes([model.run])] == []
    swap_classes(model)
    assert [*why.notes([model.run])] == [
        "small, seed 1, was trained before these changed: "
        'urgent.labels {"no": 0, "yes": 1} -> {"no": 1, "yes": 0}; '
        "`dvc repro train@small-1` trains it again"
    ]


def test_what_one_type_of_node_changes_is_measured_on_whole_texts(model: Any, monkeypatch: pytest.MonkeyPatch):
    written: list[Any] = []
    monkeypatch.setattr(compressing, "node_types", lambda _: ["MatMul"])
    monkeypatch.setattr(compressing, "write", lambda _, __, *given: written.append(given))
    monkeypatch.setattr(outside, "outputs_of", lambda *_: ExportOutputs([{}], None))
    compression = Compression(int8=True, max_tokens=64)
    changed = proving._changed_by_type(model, Path("full"), compression, {}, ExportOutputs([{}], None))
    assert (changed, written) == ({"MatMul": 0}, [(Compression(int8=True), ["MatMul"])])
