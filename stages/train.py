"""Stage `train`: one variant, one seed."""

from pathlib import Path

from mtbert.command import locking, program, starting


def main(variant: str, seed: int, build: Path = Path("build")) -> None:
    """Train, unless another process has just finished the same training; print the dev scores."""
    with starting.quick_imports():
        from mtbert import files
        from mtbert.inputs import manifests, why
        from mtbert.settings import VariantSettings
        from mtbert.tracking import LiveRun
        from mtbert.training import assembly, run
        from mtbert.training.checkpoints import Checkpoint
    place = Path(variant, str(seed))
    with locking.exclusive(build / "locks" / variant / f"{seed}.lock", f"training {variant}, seed {seed}") as waited:
        manifests.check(build / "manifest" / f"{variant}.json", build)
        if waited and manifests.is_finished(build / "runs" / place, build):
            metrics = files.read_json(build / "runs" / place / "metrics.json")
        else:
            settings = files.read_planned(VariantSettings, build / "plan" / f"{variant}.yaml")
            parts = assembly.assemble(settings, seed, build)
            parts.code = manifests.read(build / "manifest" / f"{variant}.json").code
            parts.made_from = why.of_now(build, variant).model_dump()
            starting.warn_about_memory(weight.numel() for weight in parts.model.parameters())
            print(f"{variant}, seed {seed}: {parts.steps} steps on {', '.join(settings.tasks)}")
            own = Checkpoint(build / "checkpoints" / place, manifests.identity(build, variant, seed))
            live = LiveRun(settings.model_dump(), seed, build)
            metrics = run.train(parts, build / "runs" / place, build / "logs" / place, own, live_run=live)
        print("dev: " + ", ".join(f"{name} {score:.3f}" for name, score in metrics["dev"].items()))


if __name__ == "__main__":
    program.run(main)
