"""A parcel: all that one training needs, by digest, and whether a run was made from it."""

import sys
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from mtbert import files, inputs
from mtbert.closures import closure
from mtbert.errors import DataError
from mtbert.outputs import Origin
from mtbert.parcels.archives import Contents
from mtbert.settings import Section

BUILD = Path("build")
TOP, CONTENTS = "mtbert-pack", "pack.json"  # the folder that a pack becomes, and the list of what it holds
PACKAGE = Path("src/mtbert")
SHOWN = 8  # names in a message
SCRIPT = Path("stages/train.py")
ALONE = PACKAGE / "parcels/alone.py"  # starts the trainings of a pack where there is nothing but the pack
WORDS = {"plan": "settings", "init": "data, starting weights or machine", "code": "code", "script": "stages/train.py"}
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$")]


class Parcel(Section):
    """One training, and the SHA-256 of all that its result depends on.

    Attributes:
        plan, init: of the variant's files of these names.
        code: of what every training goes through; a variant's techniques are in its plan.
        script: of the script that starts it.
    """

    variant: Name
    seed: int = Field(ge=0)
    plan: str
    init: str
    code: str
    script: str

    @property
    def name(self) -> str:
        """Such as `pals-1`."""
        return f"{self.variant}-{self.seed}"

    @property
    def stage(self) -> str:
        """As DVC calls it."""
        return f"train@{self.name}"

    @property
    def place(self) -> Path:
        """Where its run and its logs lie below `runs` and `logs`."""
        return Path(self.variant, str(self.seed))


class Pack(Contents):
    """What a pack holds: parcels, and the files that they share."""

    parcels: list[Parcel]


class Returned(Contents):
    """What came back: the parcels that were trained, and the names of the others."""

    parcels: list[Parcel]
    failed: list[str] = []
    missing: list[str] = []


def of(variant: str, seed: int, root: Path = Path()) -> Parcel:
    """The parcel of a training as its inputs lie below `root`; DataError where they do not."""
    plan, init = (root / BUILD / file for file in (f"plan/{variant}.yaml", f"init/{variant}.json"))
    code = inputs.code(init)
    if not plan.is_file():
        raise DataError(f"{plan} is missing; `dvc repro plan` makes it for the variants that params.yaml lists")
    digests = {"plan": files.sha256(plan), "init": files.sha256(init), "script": files.sha256(root / SCRIPT)}
    return Parcel(variant=variant, seed=seed, code=code, **digests)


def needed(variant: str) -> list[Path]:
    """The files that a training of the variant reads, whatever the seed, without its code."""
    init = BUILD / "init" / f"{variant}.json"
    named = [BUILD / path for path in inputs.named(init)]
    card = next(path for path in named if path.name == "config.json").with_name("encoder.json")
    return [BUILD / "plan" / f"{variant}.yaml", init, BUILD / inputs.MACHINE, card, *named]


def code(*besides: Path) -> list[Path]:
    """What a training and its start, and scripts besides, come to by their imports, techniques and all."""
    return [SCRIPT, *(PACKAGE / name for name in closure([SCRIPT, ALONE, *besides], PACKAGE))]


def differences(sent: Parcel, here: Parcel) -> list[str]:
    """In words, what is other in two parcels of one training."""
    return [WORDS[part] for part in WORDS if getattr(sent, part) != getattr(here, part)]


def check_run(parcel: Parcel, run: Path, build: Path) -> Path:
    """Make sure that a run is whole and was made from a parcel's inputs, which lie below `build`; its log's folder.

    Raises:
        DataError: it is missing, not as it was written, or was made from something else.
    """
    remedy = f"dvc repro {parcel.stage}"
    if not run.is_dir():
        raise DataError(f"{run} is missing; `{remedy}` makes it")
    files.check_sealed(run, remedy)
    log = files.log_directory(run.parents[2], run)
    about = files.read_as(dict[str, Any], log / "run.json", remedy)
    torch = about.get("versions", {}).get("torch", "")
    if about.get("identity") != inputs.identity(build, parcel.variant, parcel.seed, torch):
        raise DataError(f"{run} was made from other settings, data, weights or code than lie in {build}")
    return log


def origin(log: Path) -> Origin:
    """On what a run ran, as its log has it."""
    about = files.read_as(dict[str, Any], log / "run.json", "dvc repro")
    machine = about["machine"]
    return Origin(processor=machine["processor"], accelerator=machine["accelerator"], torch=about["versions"]["torch"])


def say(text: str) -> None:
    """Say something at once, wherever the output goes."""
    print(text, file=sys.stdout, flush=True)
