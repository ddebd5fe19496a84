"""inputs.json of a model's folder: what the model was made from. Every other question of this kind asks that file.

Its SHA-256 is the identity of what a model is made from. A training goes on from a checkpoint of this identity alone, a
run, a merge or a vote of it is not made again, and MLflow and a model's log know a model by it. What a training would
be made from now is the variant's manifest, with a seed.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.provenance import seals
from mtbert.settings import Section


class Machine(Section):
    """build/machine.json: what a run's numbers depend on beside its inputs, as `training.logs.origin` returns it.

    Attributes:
        accelerator: its name; empty without one.
        torch: PyTorch's version.
        precision: the faster one of the processor; None in a folder that was begun before this was measured.
    """

    model_config = ConfigDict(extra="ignore")

    processor: str
    accelerator: str
    torch: str
    precision: Literal["bf16", "fp32"] | None = Field(default=None, exclude_if=lambda precision: precision is None)


class Inputs(Section):
    """What a model is made from; keys of earlier versions are ignored.

    Attributes:
        settings: of a training its file of the plan, without the digests of code; of an older log by the names of
            params.yaml.
        code: the SHA-256 of each file of code, by its name below src/mtbert.
        files: the SHA-256 of each file that is read, by its path below the build folder. A folder is
            listed by its seal. The seal of a member covers its inputs and its results.
        machine: where the build folder was begun; None of what no machine changes.
        seed: None in a manifest, which is of all seeds.
    """

    model_config = ConfigDict(extra="ignore")

    settings: dict[str, Any]
    code: dict[str, str]
    files: dict[str, str]
    machine: Machine | None = Field(default=None, exclude_if=lambda machine: machine is None)
    seed: int | None = Field(default=None, exclude_if=lambda seed: seed is None)

    def text(self) -> str:
        """Return the content of inputs.json."""
        return files.json_text(self.model_dump())

    @property
    def identity(self) -> str:
        """The SHA-256 of inputs.json."""
        return files.sha256_of(self.text().encode())


def machine(build: Path) -> Machine:
    """Return processor, accelerator and PyTorch's version where the build folder was begun: scores depend on them."""
    file = layout.machine(build)
    return files.read_as(Machine, file, f"rm -f {file} && dvc repro machine")


def digests(build: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of files by their paths below the build folder."""
    return {file.relative_to(build).as_posix(): files.sha256(file) for file in paths}


def is_of_data(path: str) -> bool:
    """Return whether a path below the build folder is that of examples."""
    return path.startswith("data/")


def file_of(model: Path) -> Path | None:
    """Return the file that says what a model was made from; None where it is unknown.

    A run of an earlier version, or one that was taken away, has it in its log alone.
    """
    own = model / layout.INPUTS
    if own.is_file():
        return own
    if not seals.is_sealed(model):
        return None
    logged = layout.log(model) / layout.INPUTS
    return logged if logged.is_file() else None


def of_model(model: Path) -> Inputs | None:
    """Return what a model was made from; None where it is unknown; DataError where the file is damaged."""
    file = file_of(model)
    return read(file) if file else None


def read(file: Path) -> Inputs:
    """Read an inputs.json, of a model or of a log; DataError where it is damaged."""
    return files.read_as(Inputs, file, f"rm {file}")


def identity(model: Path) -> str:
    """Return the SHA-256 of what a model was made from; of one that does not say it, that of its settings."""
    return files.sha256(file_of(model) or model / layout.SETTINGS)


def is_finished(model: Path, inputs: Inputs) -> bool:
    """Return whether a model is there, whole, and was made from these inputs: making it again would make the same."""
    own = model / layout.INPUTS
    if not seals.is_sealed(model) or not own.is_file() or files.sha256(own) != inputs.identity:
        return False
    try:
        seals.check(model)
    except DataError:
        return False
    return True


def check_encoder(model: Path, folder: Path, names: Collection[str]) -> None:
    """Compare files of an encoder's folder with its seal, and with those that a model was trained with.

    The latter are known where the model says what it was made from.

    Raises:
        DataError: a file is not as it was written, or not the one; the message says what brings it back.
    """
    seals.check(folder, names)
    made_from = of_model(model)
    trained_with = made_from.files if made_from else {}
    others = [name for name in names if _is_another(folder / name, trained_with.get(f"encoders/{folder.name}/{name}"))]
    if others:
        raise DataError(
            f"{model} was trained with other files than lie in {folder} now ({', '.join(others)}); "
            f"`{layout.remedy(model)}` trains it again with these, or `git checkout` and `dvc checkout` bring its own "
            "back"
        )


def _is_another(file: Path, digest: str | None) -> bool:
    """Return whether a file is not the one of a digest; False where that is unknown."""
    return digest is not None and files.sha256(file) != digest
