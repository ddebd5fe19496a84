"""Stage `merge`: join the encoders of models of one task each, without training."""

from pathlib import Path

from mtbert import files
from mtbert.machine import program
from mtbert.provenance import seals


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, and write the merged models."""
    from mtbert.merging import run

    seals.check_build(build)
    for line in run.merge_all(build, out):
        print(line)
    files.explain_empty(out, "params.yaml selects no ensemble that is merged, or its members have no weights here.")


if __name__ == "__main__":
    program.run(main)
