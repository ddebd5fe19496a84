"""Stage `encoder`: fetch or make the starting weights, and score them before any training."""

from pathlib import Path

from mtbert import layout, tasks
from mtbert.command import program
from mtbert.encoders import fetching, untrained
from mtbert.encoders.settings import EncoderSettings


def main(plan: Path, data_dir: Path, out: Path) -> None:
    """Read the settings, write the encoder's directory, print its scores."""
    settings = layout.read_planned(EncoderSettings, plan)
    fetching.fetch(settings, data_dir, out)
    scores = untrained.write(out, data_dir)
    layout.seal(out)
    described = tasks.of_folder(data_dir)
    shown = ", ".join(f"{described[name].shown} {score:.3f}" for name, score in scores.items())
    print(f"{settings.shown}, untrained, by the cosine of embeddings on dev: {shown or 'no data'}")


if __name__ == "__main__":
    program.run(main)
