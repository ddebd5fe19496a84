"""Stage `train`: one variant, one seed."""

from pathlib import Path

from mtbert.machine import locking, program, starting


def main(variant: str, seed: int, build: Path = Path("build")) -> None:
    """Train, unless another process has just finished the same training; print the dev scores."""
    with starting.quick_imports():
        from mtbert import files, layout
        from mtbert.inputs import manifests, why
        from mtbert.tracking import LiveRun
        from mtbert.training import assembly, run
        from mtbert.training.checkpoints import Checkpoint
        from mtbert.variants.settings import VariantSettings
    out = layout.run(build, variant, seed)
    with locking.exclusive(layout.lock(build, variant, str(seed)), f"training {variant}, seed {seed}") as waited:
        manifests.check(layout.manifest(build, variant), build)
        if waited and manifests.is_finished(out, build):
            metrics = files.read_json(out / layout.METRICS)
        else:
            settings = layout.read_planned(VariantSettings, layout.plan(build, variant))
            parts = assembly.assemble(settings, seed, build)
            parts.code = manifests.read(layout.manifest(build, variant)).code
            parts.made_from = why.of_now(build, variant).model_dump()
            starting.warn_about_memory(weight.numel() for weight in parts.model.parameters())
            print(f"{variant}, seed {seed}: {parts.steps} steps on {', '.join(settings.tasks)}")
            checkpoint = Checkpoint(layout.checkpoint(build, variant, seed), manifests.identity(build, variant, seed))
            live_run = LiveRun(settings.model_dump(), seed, build)
            metrics = run.train(parts, out, layout.logs(build, variant, seed), checkpoint, live_run=live_run)
        print("dev: " + ", ".join(f"{name} {score:.3f}" for name, score in metrics["dev"].items()))


if __name__ == "__main__":
    program.run(main)
