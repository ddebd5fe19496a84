"""Stage `collect`: the results of all runs, and of every vote, as three tables."""

from pathlib import Path

from mtbert import command
from mtbert.results import collect


def main(build: Path, out: Path, votes: Path) -> None:
    """Write the tables and the votes; print what was asked for and is not there."""
    for name, seed in collect.write(build, out, votes):
        print(f"{name}, seed {seed}: not there; `dvc repro train@{name}-{seed}`, or its members', makes it")


if __name__ == "__main__":
    command.run(main)
