"""Manifests: the digests of a variant's inputs, in a small file that its training stage depends on.

So a variant trains again exactly where its starting weights, its tasks' examples or the shared code have changed. DVC
checks three files for each training, not thirty. A training compares its inputs with the manifest before it starts.
"""

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.encoders import loading
from mtbert.errors import DataError
from mtbert.models.encoder.config import MLM_HEAD
from mtbert.results.schemas import Manifest, Origin, RunLog
from mtbert.tasks import SPLITS

MACHINE = "machine.json"
CODE = "code-train.yaml"  # of the plan: the code that every training uses
ENCODER_FILES = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")


def manifest(settings: dict[str, Any], build: Path) -> dict[str, Any]:
    """Return the digests of one variant's starting weights, examples and code, and the build's machine."""
    encoder = build / "encoders" / settings["model"]["encoder"]
    weights = [*ENCODER_FILES, *([MLM_HEAD] if (encoder / MLM_HEAD).is_file() else [])]
    parts = (*SPLITS, "dev-rows")
    examples = [build / "data" / task / f"{part}.parquet" for task in settings["tasks"] for part in parts]
    entries = {entry for phase in settings["phases"] for entry in phase["tasks"]}
    examples += [build / "data" / name / "train.parquet" for name in sorted(entries - set(settings["tasks"]))]
    named = [*(encoder / name for name in weights), *(file for file in examples if file.exists())]
    return {
        "files": {_relative(file, build): files.sha256(file) for file in named},
        "code": files.sha256(build / "plan" / CODE),
        "machine": machine(build),
    }


def machine(build: Path) -> dict[str, str]:
    """Return processor, accelerator and PyTorch's version where the build folder was begun: scores depend on them."""
    return files.read_as(Origin, build / MACHINE, f"rm -f {build / MACHINE} && dvc repro machine").model_dump()


def write(plan: Path, build: Path, out: Path) -> None:
    """Write a manifest for each selected variant, in a new directory."""
    variants = files.read_plan(plan / "catalog.yaml", "variants")["variants"]
    with files.new_directory(out) as directory:
        for name in (name for name, variant in variants.items() if variant["selected"]):
            settings = files.read_plan(plan / f"{name}.yaml", "model", "tasks", "phases")
            model = settings["model"]
            loading.check_use(build / "encoders" / model["encoder"], model["pooling"], model["max_tokens"])
            files.write_json(directory / f"{name}.json", manifest(settings, build))
        files.seal(directory)


def check_stages(build: Path, *names: str) -> None:
    """Compare what earlier stages wrote with its digests, so that no damage is passed on.

    Args:
        build: the build directory.
        names: folders below it that are compared, beside those of the encoders; a missing one is left to its reader.

    Raises:
        DataError: a file was altered since, is missing, or is one too many; the message names it and what makes it.
    """
    for folder in (*(build / name for name in names), *sorted(build.glob("encoders/*"))):
        if folder.is_dir():
            files.check_sealed(folder, f"dvc repro {_stage(_relative(folder / files.DIGESTS, build))}")


def identity(build: Path, variant: str, seed: int, torch: str | None = None) -> str:
    """Return a digest of all that a run's result depends on: settings, data, starting weights, code, torch.

    `torch` is the version that the run was made with, if it is not the installed one.
    """
    parts = {
        "plan": files.sha256(build / "plan" / f"{variant}.yaml"),
        "manifest": files.sha256(build / "manifest" / f"{variant}.json"),
        "seed": seed,
        "torch": torch or metadata.version("torch"),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def log(run: Path) -> RunLog:
    """Return what the log of a run says, which lies in a build folder's `runs`; DataError where there is none."""
    folder = files.log_directory(run.parents[2], run)
    return files.read_as(RunLog, folder / "run.json", f"dvc repro train@{run.parent.name}-{run.name}")


def check_run(run: Path, build: Path) -> None:
    """Check that a run, in any build folder, is whole and was made from what lies in `build`; DataError else."""
    variant, seed, about = run.parent.name, run.name, log(run)
    files.check_sealed(run, f"dvc repro train@{variant}-{seed}")
    if about.identity != identity(build, variant, int(seed), about.versions.get("torch", "")):
        raise DataError(f"{run} was made from other settings, data, weights or code than lie in {build}")


def is_finished(run: Path, build: Path) -> bool:
    """Return whether a run is there that `check_run` finds no fault in."""
    try:
        check_run(run, build)
    except DataError:
        return False
    return True


def read(manifest: Path) -> Manifest:
    """Read a manifest that `write` wrote; DataError where it is missing or damaged."""
    return files.read_as(Manifest, manifest, "dvc repro manifest")


def check(manifest: Path, build: Path) -> None:
    """Compare the files below `build` with a manifest that `write` wrote, so that no altered file is trained on.

    Raises:
        DataError: the manifest is missing or damaged, or a file that it names is missing or altered.
    """
    for path, expected in read(manifest).files.items():
        if not (build / path).is_file() or files.sha256(build / path) != expected:
            raise DataError(
                f"{build / path} is missing, or not the file of {manifest}, whose SHA-256 is {expected}; "
                f"`dvc repro {_stage(path)} manifest` makes both again"
            )


def _stage(path: str) -> str:
    """Return the stage that makes a file below the build directory."""
    stages = {"plan": "plan", "data": "preprocess", "manifest": "manifest", "encoders/base": "encoder"}
    start = next((start for start in stages if path.startswith(f"{start}/")), None)
    return stages[start] if start else f"pretrain@{Path(path).parent.name}"


def _relative(path: Path, build: Path) -> str:
    return path.relative_to(build).as_posix()
