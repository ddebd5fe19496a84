"""One training: its name, the files that it reads, and the check of a run against them."""

from pathlib import Path

from pydantic import Field

from mtbert import files, inputs
from mtbert.errors import DataError
from mtbert.schemas import RunLog
from mtbert.settings import Name, Section

BUILD, PACKAGE, SCRIPT = Path("build"), Path("src/mtbert"), Path("stages/train.py")
OUTPUT = BUILD / "grid"  # a log for each training


class Training(Section):
    """A variant and a seed."""

    variant: Name
    seed: int = Field(ge=0)

    @property
    def name(self) -> str:
        """Such as `pals-1`."""
        return f"{self.variant}-{self.seed}"

    @property
    def stage(self) -> str:
        """As DVC calls it, such as `train@pals-1`."""
        return f"train@{self.name}"

    @property
    def place(self) -> Path:
        """Folder of its run below `runs`, and of its logs below `logs`."""
        return Path(self.variant, str(self.seed))


class Log(RunLog):
    """run.json of a run's log; `identity` is the digest of what the run was made from."""

    identity: str


class Pack(Section):
    """pack.json of a pack: its trainings, and the SHA-256 of each file."""

    trainings: list[Training]
    files: dict[str, str]


class Returned(Section):
    """runs.json of an archive of runs: `done` are in it; `script` is the SHA-256 of stages/train.py."""

    script: str
    done: list[Training]
    failed: list[Training]
    missing: list[Training]


def threads(training: Training, build: Path = BUILD) -> int:
    """Return the number of threads that its plan sets."""
    return files.read_plan(build / "plan" / f"{training.variant}.yaml", "run")["run"]["threads"]


def needed(variant: str) -> list[Path]:
    """List the files that trainings of a variant read, without code."""
    init = BUILD / "init" / f"{variant}.json"
    named = [BUILD / path for path in inputs.named(init)]
    card = next(path for path in named if path.name == "config.json").with_name("encoder.json")
    return [BUILD / "plan" / f"{variant}.yaml", init, BUILD / inputs.MACHINE, card, *named]


def code() -> list[Path]:
    """List the files of the package and the script of a training."""
    found = (file for file in sorted(PACKAGE.rglob("*")) if file.is_file())
    return [SCRIPT, *(file for file in found if "__pycache__" not in file.parts and not file.name.startswith("."))]


def log_of(training: Training, root: Path) -> tuple[Path, Log]:
    """Return the log's folder of a run below `root`, and what run.json says; DataError where there is none."""
    folder = files.log_directory(root, root / "runs" / training.place)
    return folder, files.read_as(Log, folder / "run.json", f"dvc repro {training.stage}")


def check_run(training: Training, root: Path, build: Path = BUILD) -> None:
    """Check that a run below `root` is whole and was made from what lies in `build`; DataError where it is not."""
    run, (_, log) = root / "runs" / training.place, log_of(training, root)
    files.check_sealed(run, f"dvc repro {training.stage}")
    if log.identity != inputs.identity(build, training.variant, training.seed, log.versions.get("torch", "")):
        raise DataError(f"{run} was made from other settings, data, weights or code than lie in {build}")


def is_finished(training: Training, build: Path) -> bool:
    """Return whether a whole run of what lies in `build` is there."""
    try:
        check_run(training, build, build)
    except DataError:
        return False
    return True


def say(text: str) -> None:
    """Print a whole line at once, wherever the output goes, and whatever other threads print."""
    print(f"{text}\n", end="", flush=True)
