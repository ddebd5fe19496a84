"""Stage `ensemble`: the vote of every selected ensemble and seed."""

from pathlib import Path

from mtbert import command, ensembling


def main(catalog: Path, runs: Path, out: Path) -> None:
    """Vote, and print each ensemble's scores."""
    print("\n".join(ensembling.vote_all(catalog, runs, out)))


if __name__ == "__main__":
    command.run(main)
