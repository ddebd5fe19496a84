"""Download corpora from their hosts, checked against their digests: to data/official, or to data/glue by its list."""

from pathlib import Path

from mtbert.data import official
from mtbert.machine import program


def main(out: Path, downloads: Path = official.LIST) -> None:
    """Write the data directory."""
    official.download(out, official.read_list(downloads))


if __name__ == "__main__":
    program.run(main)
