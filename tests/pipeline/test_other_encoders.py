"""An encoder of RoBERTa's kind, from its folder to scores, through the stages' own scripts."""

from pathlib import Path
from typing import Any

import encoders
from pipeline.small import SMALL, Project, small
from safetensors import safe_open

from mtbert import files
from mtbert.pretraining import settings as sources
from mtbert.tasks import TASKS

POOLING = dict.fromkeys(TASKS, "mean")
VARIANT = {
    "paper": "mine", "row": "mine", "tasks": ["sst", "sts"], "uses": ["pals", "smart"],
    "phases": [{}, {"objectives": ["masked_language_model"], "supervised": False, "trainable": ["encoder"]}],
}  # fmt: skip
LATER = {name: {"paper": "mine", "row": name, "tasks": ["sts"], "uses": [name]} for name in ("sbert", "mlm")}
STAGES = (
    ("stages/machine.py", "build/machine.json"),
    ("stages/plan.py", "params.yaml", "build/plan"),
    ("stages/encoder.py", "build/plan/encoder.yaml", "data/sample", "build/encoders/base"),
    ("stages/preprocess.py", "data/sample", "build/encoders/base", "build/data", "build/plan/needs.yaml"),
    ("stages/pretrain.py", "sbert", "build/plan/pretrain-sbert.yaml", "build"),
    ("stages/pretrain.py", "mlm", "build/plan/pretrain-mlm.yaml", "build"),
    ("stages/init.py", "build", "build/init"),
)


def project(root: Path, variants: dict[str, Any], **encoder: Any) -> Project:
    roberta = root / "models/roberta"
    lines = [line for file in Path("data/sample/cs224n").glob("*train.csv") for line in file.read_text().splitlines()]
    encoders.folder(roberta, lines=lines)
    profile = {name: section for name, section in SMALL.items() if name != "encoder"}
    profile |= {"pretrain": {"sbert": {"max_pairs": 8, "epochs": 1}, "mlm": {"max_sentences": 8, "epochs": 1}}}
    params = small(variants, profiles={"sample": {**profile, "model": {"pooling": POOLING, "max_tokens": 100}}})
    name = {"name": "./models/roberta", "revision": sources.folder_digest(roberta)}
    return Project(root, **params | {"encoder": name | encoder})


def run(project: Project, *command: str) -> str:
    done = project.run(*command, PYTHONPATH="src", HF_HUB_OFFLINE="1")
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_a_folder_of_robertas_kind_goes_through_every_stage(tmp_path: Path) -> None:
    at = project(tmp_path, {"mine": VARIANT, "from-sbert": LATER["sbert"], "from-mlm": LATER["mlm"]})
    for stage in STAGES:
        run(at, *stage)
    assert "dev: " in run(at, "stages/train.py", "mine", "1")
    build = tmp_path / "build"
    assert files.read_json(build / "runs/mine/1/metrics.json")["dev"].keys() == {"sst", "sts"}
    assert files.read_yaml(build / "plan/catalog.yaml")["encoder"] == {"name": "roberta", "note": ""}
    for encoder in ("base", "sbert", "mlm"):
        assert files.read_json(build / f"encoders/{encoder}/encoder.json")["pooler"] is False
        with safe_open(build / f"encoders/{encoder}/model.safetensors", "pt") as weights:
            assert not any("pooler" in name for name in weights.keys())  # noqa: SIM118, it is no mapping
    digests = {name: files.sha256(build / f"encoders/{name}/tokenizer.json") for name in ("base", "sbert", "mlm")}
    assert len(set(digests.values())) == 1
