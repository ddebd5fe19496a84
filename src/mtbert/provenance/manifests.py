"""Manifests: the inputs.json that a training of a variant would write now, without its seed.

The training stage depends on this small file. So a variant trains again exactly where its settings, its starting
weights, its tasks' examples or its code have changed, and DVC checks three files for each training, not thirty.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import inputs, seals
from mtbert.provenance.inputs import Inputs
from mtbert.tasks import SPLITS

ENCODER_FILES = (layout.WEIGHTS, *layout.CONFIG_AND_TOKENIZER)


def selected(build: Path) -> list[str]:
    """Return the variants that the plan selects."""
    variants = layout.read_catalog(build, "variants")["variants"]
    return [name for name, variant in variants.items() if variant["selected"]]


def write(build: Path, out: Path) -> None:
    """Write a manifest for each selected variant, in a new directory."""
    with files.new_directory(out) as directory:
        for name in selected(build):
            files.write_text(directory / f"{name}.json", of_now(build, name).text())
        seals.seal(directory)


def of_now(build: Path, variant: str) -> Inputs:
    """Return what a selected variant would be made from, as it lies in the build folder."""
    plan = layout.read_plan(layout.plan(build, variant), "model", "tasks", "phases", "sources")
    code_of_techniques = plan.pop("sources")
    read = [*encoder_files(build, plan["model"]["encoder"]), *_data_files(plan, build)]
    return Inputs(
        settings=plan,
        code=layout.read_plan(layout.plan(build, "code-train")) | code_of_techniques,
        files=inputs.digests(build, read) | _teachers(build, plan.get("teachers", [])),
        machine=inputs.machine(build),
    )


def _teachers(build: Path, variants: Sequence[str]) -> dict[str, str]:
    """Return the digest of each teacher's manifest by its path, which stands for the teacher's run.

    Equal inputs and seeds give equal runs. So a variant trains again where a teacher does, and DVC need not train the
    teachers to know it.
    """
    paths = {variant: layout.manifest(build, variant).relative_to(build).as_posix() for variant in variants}
    return {path: of_now(build, variant).identity for variant, path in paths.items()}


def encoder_files(build: Path, name: str = "base") -> list[Path]:
    """Return the files of starting weights."""
    encoder = layout.encoder(build, name)
    mlm_head = encoder / layout.MLM_HEAD
    required = [encoder / file for file in ENCODER_FILES]
    return [*required, mlm_head] if mlm_head.is_file() else required


def _data_files(settings: dict[str, Any], build: Path) -> list[Path]:
    """Return the files of examples that are there: all splits of own tasks, train alone of those that serve them."""
    trained = {task for phase in settings["phases"] for task in phase["tasks"]}
    others = sorted(trained - {*settings["tasks"]})
    of_others = [layout.examples(layout.data(build), task, "train") for task in others]
    return [*examples_of(build, settings["tasks"]), *filter(Path.exists, of_others)]


def examples_of(build: Path, tasks: Iterable[str]) -> list[Path]:
    """Return the files of these tasks' examples that are there, of all splits."""
    examples = [layout.examples(layout.data(build), task, split) for task in tasks for split in SPLITS]
    return [file for file in examples if file.exists()]


def read(build: Path, variant: str) -> Inputs:
    """Read the manifest of a variant; DataError where it is missing or damaged."""
    file = layout.manifest(build, variant)
    manifest = files.read_as(Inputs, file, "dvc repro manifest")
    if not manifest.files:
        raise DataError(f"{file} is damaged: it names no file; `dvc repro manifest` makes it again")
    return manifest


def up_to_date(build: Path, variant: str) -> Inputs:
    """Return a variant's manifest with its plan and its examples as they lie there now; DataError as for `read`.

    `dvc repro plan preprocess` changes both, and leaves the manifest as it was.
    """
    manifest = read(build, variant)
    if layout.plan(build, variant).is_file():
        plan = layout.read_plan(layout.plan(build, variant), "tasks", "phases", "sources")
        del plan["sources"]
        manifest = manifest.model_copy(update={"settings": plan})
    if not layout.data_report(layout.data(build)).is_file():
        return manifest
    others = {name: digest for name, digest in manifest.files.items() if not inputs.is_of_data(name)}
    digests = others | inputs.digests(build, _data_files(manifest.settings, build))
    return manifest.model_copy(update={"files": digests})


def of_training(build: Path, variant: str, seed: int) -> Inputs:
    """Return what a training is made from by its variant's manifest; DataError as for `read`."""
    return Inputs(**{**read(build, variant).model_dump(), "seed": seed})


def check(build: Path, variant: str) -> None:
    """Compare what a training would read with its variant's manifest, so that nothing altered is trained on.

    Raises:
        DataError: the manifest is missing or damaged, or the plan or a file that it names is missing or altered.
    """
    manifest, file = read(build, variant), layout.manifest(build, variant)
    for path, expected in manifest.files.items():
        if not (build / path).is_file() or files.sha256(build / path) != expected:
            raise DataError(
                f"{build / path} is missing, or not the file of {file}, whose SHA-256 is {expected}; "
                f"`dvc repro {layout.stage_of_input(build, path)} manifest` makes both again"
            )
    plan = layout.read_plan(layout.plan(build, variant), "sources")
    del plan["sources"]
    if json.dumps(plan, sort_keys=True) != json.dumps(manifest.settings, sort_keys=True):
        raise DataError(
            f"{layout.plan(build, variant)} has other settings than {file}; `dvc repro plan manifest` makes both again"
        )


def is_finished(run: Path, build: Path) -> bool:
    """Return whether a run is there, whole, and was made from what lies in `build`; DataError as for `read`."""
    return inputs.is_finished(run, of_training(build, run.parent.name, int(run.name)))
