"""Stage `collect`: the results of all runs, and of every vote, as tables."""

from pathlib import Path

from mtbert import files, layout
from mtbert.machine import program
from mtbert.provenance import seals
from mtbert.scores import collect, outdated, tables


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, and write the tables."""
    seals.check_build(build)
    # DVC takes away runs that params.yaml no longer lists, and leaves their folders.
    files.remove_empty(layout.runs(build))
    if left_out := outdated.after_dvc(outdated.of_build(build)):
        print(left_out)
    tables.write(collect.collect(build), out)


if __name__ == "__main__":
    program.run(main)
