"""Stage `speed`: how long a prediction takes with each model, measured one after the other on this machine."""

from pathlib import Path

from mtbert import files
from mtbert.machine import program


def main(build: Path, out: Path) -> None:
    """Measure, and write what it took."""
    from mtbert.inference import speed

    measured = speed.measure(build)
    with files.new_directory(out) as partial:
        files.write_json(partial / "speed.json", measured.model_dump(exclude_defaults=True))


if __name__ == "__main__":
    program.run(main)
