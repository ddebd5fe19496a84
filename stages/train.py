"""Stage `train`: one variant, one seed, on one process or, by torchrun or accelerate launch, on several."""

import shutil
from pathlib import Path

from mtbert import command, locking, starting


def main(variant: str, seed: int, build: Path = Path("build")) -> None:
    """Train, unless another process has just finished the same training; print the dev scores."""
    with starting.imports():
        from mtbert import files, inputs
        from mtbert.data.batches import Share
        from mtbert.settings import VariantSettings
        from mtbert.tracking import LiveRun
        from mtbert.training import assembly, run
        from mtbert.training.checkpoints import Checkpoints
    place, rank = Path(variant, str(seed)), Share.here().rank
    with locking.alone(build / "locks" / place / f"{rank}.lock", f"training {variant}, seed {seed}") as waited:
        inputs.check(build / "init" / f"{variant}.json", build)
        if waited and inputs.is_finished(build / "runs" / place, build):
            metrics = files.read_json(build / "runs" / place / "metrics.json")
        else:
            settings = files.read_planned(VariantSettings, build / "plan" / f"{variant}.yaml")
            parts = assembly.assemble(settings, seed, build)
            parts.code = inputs.read(build / "init" / f"{variant}.json").code
            if rank == 0:
                print(f"{variant}, seed {seed}: {parts.steps} steps on {', '.join(settings.tasks)}")
            identity = inputs.identity(build, variant, seed)
            own = Checkpoints(build / "checkpoints" / place / str(rank), identity)  # each process has its own
            live = LiveRun(settings.model_dump(), seed, build) if rank == 0 else None
            metrics = run.train(parts, build / "runs" / place, build / "logs" / place, own, live_run=live)
            shutil.rmtree(build / "checkpoints" / place, ignore_errors=True)  # also those of another launch's processes
        if rank == 0:
            print("dev: " + ", ".join(f"{name} {score:.3f}" for name, score in metrics["dev"].items()))


if __name__ == "__main__":
    command.run(main)
