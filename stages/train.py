"""Stage `train`: one variant, one seed."""

from pathlib import Path

from mtbert.machine import locking, program, starting


def main(variant: str, seed: int, build: Path = Path("build")) -> None:
    """Train, unless another process has just finished the same training; print the dev scores."""
    from mtbert import files, layout
    from mtbert.provenance import inputs, manifests
    from mtbert.tracking import LiveRun
    from mtbert.training import assembly, run
    from mtbert.training.checkpoints import Checkpoint
    from mtbert.variants.settings import VariantSettings

    out = layout.run(build, variant, seed)
    with locking.exclusive(layout.lock(build, variant, str(seed)), f"training {variant}, seed {seed}") as waited:
        manifests.check(build, variant)
        made_from = manifests.of_training(build, variant, seed)
        if waited and inputs.is_finished(out, made_from):
            metrics = files.read_json(out / layout.METRICS)
        else:
            settings = layout.read_planned(VariantSettings, layout.plan(build, variant))
            parts = assembly.assemble(settings, seed, build)
            parts.made_from = made_from
            starting.warn_about_memory(weight.numel() for weight in parts.model.parameters())
            print(f"{variant}, seed {seed}: {parts.steps} steps on {', '.join(settings.tasks)}")
            checkpoint = Checkpoint(layout.checkpoint(build, variant, seed), made_from.identity)
            live_run = LiveRun(settings.model_dump(), seed, made_from.identity, build)
            metrics = run.train(parts, out, layout.logs(build, variant, seed), checkpoint, live_run=live_run)
        print("dev: " + ", ".join(f"{name} {score:.3f}" for name, score in metrics["dev"].items()))


if __name__ == "__main__":
    program.run(main)
