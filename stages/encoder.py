"""Stage `encoder`: fetch or make the starting weights, and tell what they know."""

from pathlib import Path

from mtbert import layout, tasks
from mtbert.command import program
from mtbert.encoders import fetching, untrained
from mtbert.encoders.settings import EncoderSettings


def main(plan: Path, data_dir: Path, out: Path) -> None:
    """Read the settings, write the encoder's directory, print what they know."""
    settings = layout.read_planned(EncoderSettings, plan)
    fetching.fetch(settings, data_dir, out)
    found = untrained.write(out, data_dir)
    layout.seal(out)
    described = tasks.of_folder(data_dir)
    known = [f"{described[name].shown} {score:.3f}" for name, score in found.items()]
    print(f"{settings.shown}, untrained, by the cosine of embeddings on dev: {', '.join(known) or 'no data'}")


if __name__ == "__main__":
    program.run(main)
