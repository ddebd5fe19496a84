"""What a variant starts from, by digest: its training stage depends on this small file, not on all that it names.

So a variant trains again where its own starting weights, its own tasks' examples or the code that all variants share
have changed, and only there; DVC looks at three files a training, not at thirty. And what is there when it trains can
be compared with what it should be.
"""

import hashlib
import json
import os
from importlib import metadata
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.encoder import loading
from mtbert.errors import DataError
from mtbert.outputs import Manifest
from mtbert.tasks import REUSES, SPLITS, corpus

MACHINE = "machine.json"
CODE = "code-train.yaml"  # of the plan: what every training goes through
ENCODER_FILES = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")


def manifest(settings: dict[str, Any], build: Path) -> dict[str, Any]:
    """The digests of one resolved variant's starting weights, examples and code, and where the build was begun."""
    encoder = build / "encoders" / settings["model"]["encoder"]
    for name in ENCODER_FILES:
        if not (encoder / name).is_file():
            stage = _stage(_relative(encoder / name, build))
            raise DataError(f"{encoder} holds no {name}; `dvc repro {stage}` makes it")
    parts = (*SPLITS, "dev-rows")
    examples = [build / "data" / task / f"{part}.parquet" for task in settings["tasks"] for part in parts]
    reused = {corpus(entry) for phase in settings["phases"] for entry in phase["tasks"] if entry in REUSES}
    examples += [build / "data" / name / "train.parquet" for name in sorted(reused - set(settings["tasks"]))]
    return {
        "encoder": {"path": _relative(encoder, build)} | {name: files.sha256(encoder / name) for name in ENCODER_FILES},
        "data": {_relative(file, build): files.sha256(file) for file in examples if file.exists()},
        "code": files.sha256(build / "plan" / CODE),
        "machine": machine(build),
    }


def machine(build: Path) -> dict[str, str]:
    """Processor, accelerator and PyTorch's version where this build folder was begun: scores depend on them."""
    return files.read_as(dict[str, str], build / MACHINE, f"rm -f {build / MACHINE} && dvc repro machine")


def write(plan: Path, build: Path, out: Path) -> None:
    """One manifest a selected variant, in a new directory."""
    variants = files.read_plan(plan / "catalog.yaml", "variants")["variants"]
    with files.new_directory(out) as directory:
        for name in (name for name, variant in variants.items() if variant["selected"]):
            settings = files.read_plan(plan / f"{name}.yaml", "model", "tasks", "phases")
            model = settings["model"]
            loading.check_use(build / "encoders" / model["encoder"], model["pooling"], model["max_tokens"])
            files.write_json(directory / f"{name}.json", manifest(settings, build))


def identity(build: Path, variant: str, seed: int, torch: str | None = None) -> str:
    """A digest of all that a run's result depends on: settings, data, starting weights, code, PyTorch, processes.

    `torch` is the version that the run was made with, where that is not the one which is installed here.
    """
    parts = {
        "plan": files.sha256(build / "plan" / f"{variant}.yaml"),
        "init": files.sha256(build / "init" / f"{variant}.json"),
        "seed": seed,
        "torch": torch or metadata.version("torch"),
        "processes": os.environ.get("WORLD_SIZE", "1"),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def code(manifest: Path) -> str:
    """The digest of the code that all trainings share, as a manifest has it."""
    return files.read_as(Manifest, manifest, "dvc repro init").code


def check(manifest: Path, build: Path) -> None:
    """Compare what lies below `build` with a manifest that `write` wrote, so that nothing altered is trained on.

    Raises:
        DataError: the manifest is missing or damaged, or a file that it names is missing or altered.
    """
    for path, expected in named(manifest).items():
        file = build / path
        came = f"SHA-256 {files.sha256(file)}" if file.is_file() else "no file"
        if came != f"SHA-256 {expected}":
            raise DataError(
                f"{file} is not what {manifest} was made for: expected SHA-256 {expected}, came {came}; "
                f"`dvc repro {_stage(path)} init` makes both again"
            )


def named(manifest: Path) -> dict[str, str]:
    """The files that a manifest names, relative to the build directory, and the digest of each."""
    if not manifest.is_file():
        raise DataError(f"{manifest} is missing; `dvc repro init` makes it for the variants that params.yaml lists")
    content = files.read_as(Manifest, manifest, "dvc repro init").model_dump(by_alias=True)
    encoder = content["encoder"]
    return {f"{encoder['path']}/{name}": encoder[name] for name in ENCODER_FILES} | content["data"]


def _stage(path: str) -> str:
    """What makes a file below the build directory."""
    if path.startswith("data/"):
        return "preprocess"
    name = Path(path).parent.name
    return "encoder" if name == "base" else f"pretrain@{name}"


def _relative(path: Path, build: Path) -> str:
    return path.relative_to(build).as_posix()
