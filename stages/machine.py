"""Stage `machine`: on which machine this build folder was begun.

What is there stays: runs of another machine or of an earlier PyTorch are as good as they were. Remove the file to have
everything train again here.
"""

from pathlib import Path

from mtbert import command, files


def main(out: Path) -> None:
    """Write the file where there is none."""
    if out.is_file():
        return
    from mtbert.training import logs  # takes seconds

    files.write_json(out, logs.origin())


if __name__ == "__main__":
    command.run(main)
