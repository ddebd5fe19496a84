"""Stage `merge`: join the encoders of models of one task each, without training."""

from pathlib import Path

from mtbert.command import program, starting
from mtbert.inputs import manifests


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, and write the merged models."""
    with starting.quick_imports():
        from mtbert.merging import run
    manifests.check_stages(build, "plan", "data")
    for line in run.merge_all(build, out):
        print(line)


if __name__ == "__main__":
    program.run(main)
