"""Manifests: the digests of a variant's inputs, in a small file that its training stage depends on.

So a variant trains again exactly where its starting weights, its tasks' examples or the shared code have changed. DVC
checks three files for each training, not thirty. A training compares its inputs with the manifest before it starts.
"""

import hashlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.models.encoder.config import MLM_HEAD
from mtbert.pretrained import loading
from mtbert.scores.schemas import Manifest, Origin, RunLog
from mtbert.tasks import SPLITS

CODE = "code-train"  # of the plan: the code that every training uses
ENCODER = "encoder"  # of the plan: where the starting weights come from
ENCODER_FILES = (layout.WEIGHTS, "config.json", "tokenizer.json", "tokenizer_config.json")


def manifest(settings: dict[str, Any], build: Path) -> dict[str, Any]:
    """Return the digests of one variant's starting weights, examples and code, and the build's machine."""
    named = [*_encoder_files(settings, build), *_data_files(settings, build)]
    return {
        "files": {_relative(file, build): files.sha256(file) for file in named},
        "code": files.sha256(layout.plan(build, CODE)),
        "machine": machine(build),
    }


def _encoder_files(settings: dict[str, Any], build: Path) -> list[Path]:
    """Return the files of the starting weights."""
    encoder = layout.encoder(build, settings["model"]["encoder"])
    mlm_head = encoder / MLM_HEAD
    required = [encoder / name for name in ENCODER_FILES]
    return [*required, mlm_head] if mlm_head.is_file() else required


def _data_files(settings: dict[str, Any], build: Path) -> list[Path]:
    """Return the files of examples that are there: all splits of own tasks, train alone of those that serve them."""
    data, examples = layout.data(build), list[Path]()
    for task in settings["tasks"]:
        examples += [layout.examples(data, task, split) for split in SPLITS]
        examples.append(layout.rows(data, task, "dev"))
    trained = {task for phase in settings["phases"] for task in phase["tasks"]}
    for task in sorted(trained - {*settings["tasks"]}):
        examples.append(layout.examples(data, task, "train"))
    return [file for file in examples if file.exists()]


def machine(build: Path) -> dict[str, str]:
    """Return processor, accelerator and PyTorch's version where the build folder was begun: scores depend on them."""
    file = layout.machine(build)
    return files.read_as(Origin, file, f"rm -f {file} && dvc repro machine").model_dump()


def write(build: Path, out: Path) -> None:
    """Write a manifest for each selected variant, in a new directory."""
    variants = layout.read_catalog(build, "variants")["variants"]
    with files.new_directory(out) as directory:
        for name, variant in variants.items():
            if not variant["selected"]:
                continue
            settings = layout.read_plan(layout.plan(build, name), "model", "tasks", "phases")
            model = settings["model"]
            loading.check_use(layout.encoder(build, model["encoder"]), model["pooling"], model["max_tokens"])
            files.write_json(directory / f"{name}.json", manifest(settings, build))
        layout.seal(directory)


def identity(build: Path, variant: str, seed: int, torch: str | None = None) -> str:
    """Return a digest of all that a run's result depends on: settings, data, starting weights, code, torch.

    `torch` is the version that the run was made with, if it is not the installed one.
    """
    parts = {
        "plan": files.sha256(layout.plan(build, variant)),
        "manifest": files.sha256(layout.manifest(build, variant)),
        "seed": seed,
        "torch": torch or metadata.version("torch"),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def log(run: Path) -> RunLog:
    """Return what the log of a run says, which lies in a build folder's `runs`; DataError if there is none."""
    return files.read_as(RunLog, layout.log(run) / layout.LOG, layout.remedy(run))


def check_run(run: Path, build: Path) -> None:
    """Check that a run, in any build folder, is whole and was made from what lies in `build`; DataError else."""
    variant, seed, run_log = run.parent.name, int(run.name), log(run)
    layout.check_sealed(run)
    if run_log.identity != identity(build, variant, seed, run_log.versions.get("torch", "")):
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
                f"`dvc repro {layout.stage_of_input(build, path)} manifest` makes both again"
            )


def _relative(path: Path, build: Path) -> str:
    return path.relative_to(build).as_posix()
