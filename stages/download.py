"""Download the corpora from their own hosts: python stages/download.py data/official."""

from pathlib import Path

from mtbert import errors
from mtbert.data import official


def main(out: Path) -> None:
    """Write the data directory."""
    official.download(out)


if __name__ == "__main__":
    with errors.shown_plainly():
        main(*errors.arguments("OUT"))
