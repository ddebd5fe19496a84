"""Stage `collect`: the results of all runs, and of every vote, as three tables."""

from pathlib import Path

from mtbert import command, inputs
from mtbert.results import collect


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, write the tables, and print what was asked for and is not there."""
    inputs.check_stages(build, "plan", "data", "init")
    for name, seed in collect.write(build, out):
        print(f"{name}, seed {seed}: not there; `dvc repro train@{name}-{seed}`, or its members', makes it")


if __name__ == "__main__":
    command.run(main)
