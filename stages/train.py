"""Stage `train`: one variant, one seed, on one process or, by torchrun or accelerate launch, on several.

Usage: train.py VARIANT SEED [BUILD]
"""

import shutil
import sys
from pathlib import Path

from mtbert import errors, starting

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

        variant, seed = sys.argv[1], int(sys.argv[2])
        build = Path(sys.argv[3] if len(sys.argv) > 3 else "build")
        inputs.check(build / "init" / f"{variant}.json", build)
        settings = assembly.read_settings(build / "plan" / f"{variant}.yaml")
        parts = assembly.assemble(settings, seed, build)
        first = Share.here().rank == 0
        if first:
            print(f"{variant}, seed {seed}: {parts.steps} steps on {', '.join(settings.tasks)}")
        place = Path(variant, str(seed))
        saved = build / "checkpoints" / place
        own = Checkpoints(saved / str(Share.here().rank), inputs.identity(build, variant, seed))  # of each process
        metrics = run.train(parts, build / "runs" / place, build / "logs" / place, own)
        shutil.rmtree(saved, ignore_errors=True)  # of processes that another launch had, too
        if first:
            print("dev: " + ", ".join(f"{name} {score:.3f}" for name, score in metrics["dev"].items()))
