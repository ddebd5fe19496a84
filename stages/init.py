"""Stage `init`: write the inputs of each selected variant, by digest."""

from pathlib import Path

from mtbert import command, inputs


def main(build: Path, out: Path) -> None:
    """Write a file for each variant."""
    inputs.write(build / "plan", build, out)


if __name__ == "__main__":
    command.run(main)
