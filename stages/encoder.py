"""Fetch or make the starting weights: python stages/encoder.py build/plan/encoder.yaml DATA_DIR OUT."""

from pathlib import Path

from mtbert import errors, files
from mtbert.encoder import loading
from mtbert.encoder.sources import EncoderSettings
from mtbert.settings import checked


def main(plan: Path, data_dir: Path, out: Path) -> None:
    """Read the settings, write the encoder's directory."""
    loading.fetch(checked(EncoderSettings, files.read_plan(plan), plan), data_dir, out)


if __name__ == "__main__":
    with errors.shown_plainly():
        main(*errors.arguments("PLAN", "DATA_DIR", "OUT"))
