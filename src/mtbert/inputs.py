"""What a variant starts from, by digest: its training stage depends on this small file, not on all data and encoders.

So a variant trains again where its own starting weights or its own tasks' examples have changed, and only there.
"""

import hashlib
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.errors import DataError
from mtbert.tasks import REUSES, SPLITS, corpus

WEIGHTS = "model.safetensors"
ENCODER_FILES = (WEIGHTS, "config.json", "tokenizer.json")


def manifest(settings: dict[str, Any], build: Path) -> dict[str, Any]:
    """The digests of one resolved variant's starting weights and examples."""
    encoder = build / "encoders" / settings["model"]["encoder"]
    if not (encoder / WEIGHTS).exists():
        raise DataError(f"{encoder} holds no {WEIGHTS}; `dvc repro pretrain` or `dvc repro encoder` makes it")
    examples = [build / "data" / task / f"{split}.parquet" for task in settings["tasks"] for split in SPLITS]
    reused = {corpus(entry) for phase in settings["phases"] for entry in phase["tasks"] if entry in REUSES}
    examples += [build / "data" / name / "train.parquet" for name in sorted(reused - set(settings["tasks"]))]
    return {
        "encoder": {"path": _relative(encoder, build)} | {name: files.sha256(encoder / name) for name in ENCODER_FILES},
        "data": {_relative(file, build): files.sha256(file) for file in examples if file.exists()},
    }


def write(plan: Path, build: Path, out: Path) -> None:
    """One manifest a selected variant, in a new directory."""
    variants = files.read_yaml(plan / "catalog.yaml")["variants"]
    with files.new_directory(out) as directory:
        for name in (name for name, variant in variants.items() if variant["selected"]):
            files.write_json(directory / f"{name}.json", manifest(files.read_yaml(plan / f"{name}.yaml"), build))


def identity(build: Path, variant: str, seed: int) -> str:
    """A digest of all that a run's result depends on: settings, data, starting weights, code, PyTorch, processes."""
    package = Path(__file__).parent
    parts = {
        "plan": files.sha256(build / "plan" / f"{variant}.yaml"),
        "init": files.sha256(build / "init" / f"{variant}.json"),
        "seed": seed,
        "code": {_relative(file, package): files.sha256(file) for file in sorted(package.rglob("*.py"))},
        "torch": metadata.version("torch"),
        "processes": os.environ.get("WORLD_SIZE", "1"),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _relative(path: Path, build: Path) -> str:
    return path.relative_to(build).as_posix()
