"""Profile `modern`: ModernBERT-base with what its paper, and where that is silent its code, states."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from unit.config.conftest import PARAMS

from mtbert import files
from mtbert.config import planning
from mtbert.config.params import Params


def test_it_resolves_to_the_rates_and_the_schedule_of_modernberts_paper(planned: Callable[..., dict[str, Any]]):
    plan = planned(("profile", "modern"), ("variants", ["bert-sst", "frozen-pals"]))
    assert (plan["encoder"]["name"], plan["encoder"]["revision"]) == ("modernbert-base", None)
    (whole,), (frozen,) = (plan[name]["phases"] for name in ("bert-sst", "frozen-pals"))
    given = {"batch_size": 64, "epochs": 10, "weight_decay": 5e-6, "betas": [0.9, 0.98], "eps": 1e-6, "clip": None,
             "schedule": {"name": "slanted_triangular", "warmup": 0.1}}  # fmt: skip
    assert {key: whole[key] for key in given} == {key: frozen[key] for key in given} == given
    assert (whole["learning_rate"], frozen["learning_rate"]) == (5e-5, 2e-5)  # the paper says nothing of a frozen one


def test_no_task_reads_a_pooler_since_modernbert_has_none_nor_does_one_of_a_persons_own(
    planned: Callable[..., dict[str, Any]], tmp_path: Path
):
    plan = planned(("profile", "modern"), ("variants", ["frozen-pals"]))
    assert plan["frozen-pals"]["model"]["pooling"] == dict.fromkeys(["sst", "qqp", "sts"], "mean")
    mood = {"files": {"train": "train.csv", "dev": "dev.csv"}, "sentences": ["text"], "label": "mood", "classes": 2}
    files.write_yaml(tmp_path / "tasks.yaml", {"mood": mood})
    for name in mood["files"].values():
        files.write_text(tmp_path / name, "text,mood\nfine,1\n")
    (tmp_path / "papers").symlink_to(PARAMS.file.parent / "papers")
    chosen = {
        "data_dir": str(tmp_path),
        "profile": "modern",
        "variants": ["mine"],
        "catalog": {"mine": {"tasks": ["mood"]}},
    }
    files.write_yaml(tmp_path / "params.yaml", PARAMS.own | chosen)
    own = planning.plan(Params(tmp_path / "params.yaml"))
    assert own["mine"]["model"]["pooling"] == {"mood": "mean"}
