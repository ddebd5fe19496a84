"""Stage `train`: one variant, one seed, on one process or, by torchrun or accelerate launch, on several.

Usage: train.py VARIANT SEED [BUILD]
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from mtbert import errors, locking, starting


def main(variant: str, seed: int, build: Path) -> None:
    """Train, unless another process that had begun the same training has just finished it."""
    place, share = Path(variant, str(seed)), Share.here()
    with locking.alone(build / "locks" / place / f"{share.rank}.lock", f"training {variant}, seed {seed}") as waited:
        inputs.check(build / "init" / f"{variant}.json", build)
        identity = inputs.identity(build, variant, seed)
        done = run.finished(build, build / "runs" / place, identity) if waited else None
        metrics = done or train(variant, seed, build, identity)
        if share.rank == 0:
            print("dev: " + ", ".join(f"{name} {score:.3f}" for name, score in metrics["dev"].items()))


def train(variant: str, seed: int, build: Path, identity: str) -> dict[str, Any]:
    """Train with the processes that were launched beside this one; metrics.json's content."""
    place, rank = Path(variant, str(seed)), Share.here().rank
    settings = assembly.read_settings(build / "plan" / f"{variant}.yaml")
    parts = assembly.assemble(settings, seed, build)
    parts.code = inputs.code(build / "init" / f"{variant}.json")
    if rank == 0:
        print(f"{variant}, seed {seed}: {parts.steps} steps on {', '.join(settings.tasks)}")
    saved = build / "checkpoints" / place
    own = Checkpoints(saved / str(rank), identity)  # of each process
    metrics = run.train(parts, build / "runs" / place, build / "logs" / place, own)
    shutil.rmtree(saved, ignore_errors=True)  # of processes that another launch had, too
    return metrics


if __name__ == "__main__":
    with errors.shown_plainly():
        if len(sys.argv) not in (3, 4) or not sys.argv[2].isdecimal():
            came = " ".join(sys.argv[1:]) or "nothing"
            raise errors.SettingsError(f"came {came}; allowed: VARIANT SEED [BUILD], such as pals 1")
        with starting.imports():
            from mtbert import assembly, inputs
            from mtbert.data.batches import Share
            from mtbert.training import run
            from mtbert.training.checkpoints import Checkpoints

        main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3] if len(sys.argv) > 3 else "build"))
