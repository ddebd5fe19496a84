"""Stage `merge`: join the encoders of models of one task each, without training."""

from pathlib import Path

from mtbert import command, inputs, starting


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, and write the merged models."""
    with starting.imports():
        from mtbert.merging import run
    inputs.check_stages(build, "plan", "data")
    for line in run.merge_all(build, out):
        print(line)


if __name__ == "__main__":
    command.run(main)
