"""Stage `ensemble`: let the members of each ensemble vote."""

from pathlib import Path

from mtbert import files
from mtbert.machine import program
from mtbert.provenance import seals


def main(build: Path, out: Path) -> None:
    """Check what the stages before it wrote, and write the votes."""
    from mtbert.scores import ensembles

    seals.check_build(build)
    for line in ensembles.vote_all(build, out):
        print(line)
    files.explain_empty(out, "params.yaml selects no ensemble that votes, or one of its members is not trained.")


if __name__ == "__main__":
    program.run(main)
