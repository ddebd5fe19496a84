"""Stage `init`: check what the stages before it wrote; write the inputs of each selected variant, by digest."""

from pathlib import Path

from mtbert import command, inputs, why


def main(build: Path, out: Path) -> None:
    """Write a file for each variant, and print why those train again that have been trained before."""
    inputs.check_stages(build, "plan", "data")
    inputs.write(build / "plan", build, out)
    for variant, causes in why.changed(build).items():
        print(why.line(variant, causes))


if __name__ == "__main__":
    command.run(main)
