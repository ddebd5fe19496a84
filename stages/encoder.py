"""Stage `encoder`: fetch or make the starting weights, and tell what they know."""

from pathlib import Path

from mtbert import files
from mtbert.command import program
from mtbert.encoders import fetching, untrained
from mtbert.encoders.settings import EncoderSettings


def main(plan: Path, data_dir: Path, out: Path) -> None:
    """Read the settings, write the encoder's directory, print two scores."""
    settings = files.read_planned(EncoderSettings, plan)
    fetching.fetch(settings, data_dir, out)
    found = untrained.write(out, data_dir)
    files.seal(out)
    scores = {"r on STS-B": found.sts, "accuracy on QQP": found.qqp}
    known = [f"{name} {score:.3f}" for name, score in scores.items() if score is not None]
    print(f"{settings.shown}, untrained, by the cosine of embeddings on dev: {', '.join(known) or 'no data'}")


if __name__ == "__main__":
    program.run(main)
