"""Stage `encoder`: fetch or make the starting weights."""

from pathlib import Path

from mtbert import command, files
from mtbert.encoder import loading, rounding
from mtbert.encoder.sources import EncoderSettings
from mtbert.settings import checked


def main(plan: Path, data_dir: Path, out: Path) -> None:
    """Read the settings, write the encoder's directory."""
    settings = checked(EncoderSettings, files.read_plan(plan), plan)
    loading.fetch(settings, data_dir, out)
    if settings.weights == "fp16":
        rounding.to_fp16(out)


if __name__ == "__main__":
    command.run(main)
