"""Download the corpora from their own hosts, such as to data/official."""

from pathlib import Path

from mtbert import command
from mtbert.data import official


def main(out: Path) -> None:
    """Write the data directory."""
    official.download(out)


if __name__ == "__main__":
    command.run(main)
