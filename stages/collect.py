"""Stage `collect`: the results of all runs, and of every vote, as three tables."""

from pathlib import Path

from mtbert import command, inputs
from mtbert.results import collect, tables


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, and write the tables."""
    inputs.check_stages(build, "plan", "data", "init")
    tables.write(collect.collect(build), out)


if __name__ == "__main__":
    command.run(main)
