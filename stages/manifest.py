"""Stage `manifest`: check what the stages before it wrote; write the inputs of each selected variant, by digest."""

from pathlib import Path

from mtbert import layout
from mtbert.machine import program
from mtbert.pretrained import loading
from mtbert.provenance import manifests, seals, why


def main(build: Path, out: Path) -> None:
    """Write a file for each variant, and print why those train again that have been trained before.

    What an encoder does not allow is refused here, before anything trains.
    """
    seals.check_build(build)
    for variant in manifests.selected(build):
        model = layout.read_plan(layout.plan(build, variant), "model")["model"]
        loading.check_use(layout.encoder(build, model["encoder"]), model["pooling"], model["max_tokens"])
    manifests.write(build, out)
    for variant, changes in why.changed(build).items():
        print(why.line(variant, changes))


if __name__ == "__main__":
    program.run(main)
