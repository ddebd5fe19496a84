"""Stage `manifest`: check what the stages before it wrote; write the inputs of each selected variant, by digest."""

from pathlib import Path

from mtbert import layout
from mtbert.inputs import manifests, why
from mtbert.machine import program


def main(build: Path, out: Path) -> None:
    """Write a file for each variant, and print why those train again that have been trained before."""
    layout.check_inputs(build)
    manifests.write(build, out)
    for variant, causes in why.changed(build).items():
        print(why.line(variant, causes))


if __name__ == "__main__":
    program.run(main)
