"""Stage `encoder`: fetch or make the starting weights."""

from pathlib import Path

from mtbert import layout
from mtbert.machine import program
from mtbert.pretrained import fetching
from mtbert.pretrained.settings import EncoderSettings
from mtbert.provenance import seals


def main(plan: Path, data_dir: Path, out: Path) -> None:
    """Read the settings, write the encoder's directory."""
    settings = layout.read_planned(EncoderSettings, plan)
    fetching.fetch(settings, data_dir, out)
    seals.seal(out)


if __name__ == "__main__":
    program.run(main)
