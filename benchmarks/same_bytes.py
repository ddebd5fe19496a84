"""Whether a training ends in the same bytes again: `python benchmarks/same_bytes.py BUILD VARIANT [VARIANT ...]`.

A build folder holds what trainings read: `plan`, `data`, `encoders`, as in a pack. Each variant is trained three times,
the third time killed twice on the way, each time after a checkpoint; all of these trainings run side by side. Compared
are all files that trainings leave, but for settings.yaml; exit status 1 where one differs.
"""

import argparse
import contextlib
import hashlib
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

POLL = 0.05  # seconds
PATIENCE = 170.0  # seconds that all trainings may take
KILLS = 2


class Repetition(NamedTuple):
    """A training of a variant, which should end in the same bytes as the others of it.

    Attributes:
        folder: of its results, its log and its checkpoint.
        checkpoint_every: steps from one checkpoint to the next; 0 for none.
        kills: how often it is killed.
    """

    build: Path
    variant: str
    seed: int
    folder: Path
    checkpoint_every: int = 0
    kills: int = 0


def train(repetition: Repetition) -> None:
    """Train, or go on from the checkpoint."""
    from mtbert import layout
    from mtbert.training import assembly, run
    from mtbert.training.checkpoints import Checkpoint
    from mtbert.variants.settings import VariantSettings

    build, variant, folder = repetition.build, repetition.variant, repetition.folder
    settings = layout.read_planned(VariantSettings, layout.plan(build, variant))
    own_run = settings.run.model_copy(update={"checkpoint_every": repetition.checkpoint_every})
    parts = assembly.assemble(settings.model_copy(update={"run": own_run}), repetition.seed, build)
    folder.mkdir(parents=True, exist_ok=True)
    with (
        (folder / "output.txt").open("a", encoding="utf-8") as output,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(output),
    ):
        run.train(parts, folder / "run", folder / "logs", Checkpoint(folder / "checkpoint", variant))


def digest(run: Path) -> str:
    """Return one SHA-256 of the files that a training has left, but for its settings, which name checkpoints."""
    total = hashlib.sha256()
    for file in sorted(run.rglob("*")):
        if file.is_file() and file.name not in ("settings.yaml", "digests.json"):
            total.update(file.relative_to(run).as_posix().encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


class Watched:
    """A training in a process of its own, which is killed as often as it should be.

    Attributes:
        killed: how often it was.
        checkpoint: when the last checkpoint that was seen was written.
    """

    def __init__(self, repetition: Repetition) -> None:
        self.repetition = repetition
        self.killed = 0
        self.checkpoint = 0
        self.start()

    def start(self) -> None:
        """Start it, or have it go on."""
        context = multiprocessing.get_context("fork")  # what was imported is imported in all
        self.process: Any = context.Process(target=train, args=(self.repetition,), daemon=True)
        self.process.start()

    def kill_where_due(self) -> None:
        """Kill it where it has written another checkpoint, and have it go on."""
        if self.killed == self.repetition.kills or not self._has_new_checkpoint():
            return
        self.process.kill()
        self.process.join()
        self.killed += 1
        self.start()

    def _has_new_checkpoint(self) -> bool:
        before = self.checkpoint
        with contextlib.suppress(FileNotFoundError):
            self.checkpoint = (self.repetition.folder / "checkpoint/checkpoint.safetensors").stat().st_mtime_ns
        return self.checkpoint > before

    def fault(self) -> str:
        """Return what went wrong, with what it printed; nothing where all is well."""
        if self.process.exitcode == 0 and self.killed == self.repetition.kills:
            return ""
        how = "is not finished" if self.process.exitcode is None else f"ended with {self.process.exitcode}"
        file = self.repetition.folder / "output.txt"
        output = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        return f"{how}, killed {self.killed} times\n{output[-3000:]}"


def run_all(repetitions: Sequence[Repetition]) -> set[Path]:
    """Train all side by side; return the folders of those that ended well, and print what went wrong with others."""
    deadline = time.monotonic() + PATIENCE
    watched = [Watched(repetition) for repetition in repetitions]
    while any(one.process.is_alive() for one in watched) and time.monotonic() < deadline:
        time.sleep(POLL)
        for one in watched:
            one.kill_where_due()
    ended: set[Path] = set()
    for one in watched:
        folder = one.repetition.folder
        if fault := one.fault():
            print(f"{folder.parent.name}, {folder.name}: {fault}", flush=True)
        else:
            ended.add(folder)
        one.process.kill()
    return ended


def repetitions_of(
    build: Path, variants: Sequence[str], seed: int, checkpoint_every: int, scratch: Path
) -> dict[str, list[Repetition]]:
    """Return the three trainings of each variant."""
    repetitions: dict[str, list[Repetition]] = {}
    for variant in variants:
        undisturbed = [Repetition(build, variant, seed, scratch / variant / name) for name in ("first", "second")]
        killed = Repetition(build, variant, seed, scratch / variant / "killed", checkpoint_every, KILLS)
        repetitions[variant] = [*undisturbed, killed]
    return repetitions


def is_same(variant: str, repetitions: Sequence[Repetition], ended: set[Path]) -> bool:
    """Print a line on a variant, and return whether all of its trainings ended in the same bytes."""
    folders = [repetition.folder for repetition in repetitions]
    digests = {folder.name: digest(folder / "run") for folder in folders if folder in ended}
    same = len(digests) == len(folders) and len({*digests.values()}) == 1
    shown = ", ".join(f"{name} {value[:16]}" for name, value in digests.items())
    print(f"{variant}: {'the same' if same else 'different'}: {shown}", flush=True)
    return same


def main() -> int:
    """Read the arguments, train, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("variants", nargs="+")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint-every", type=int, default=50, help="steps, of the training that is killed")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
    os.environ["MTBERT_LIVE"] = "off"
    import mtbert.training.assembly  # noqa: F401  imported once, before the processes are made

    with tempfile.TemporaryDirectory() as scratch:
        repetitions = repetitions_of(
            arguments.build, arguments.variants, arguments.seed, arguments.checkpoint_every, Path(scratch)
        )
        ended = run_all([repetition for of_variant in repetitions.values() for repetition in of_variant])
        same = [is_same(variant, of_variant, ended) for variant, of_variant in repetitions.items()]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
