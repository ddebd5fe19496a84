"""Stage `init`: check what the stages before it wrote; write the inputs of each selected variant, by digest."""

from pathlib import Path

from mtbert import command, inputs


def main(build: Path, out: Path) -> None:
    """Write a file for each variant."""
    inputs.check_stages(build, "plan", "data")
    inputs.write(build / "plan", build, out)


if __name__ == "__main__":
    command.run(main)
