"""Stage `machine`: describe the machine where this build folder was begun.

An existing file is kept: runs of another machine or of an earlier PyTorch stay valid. Remove the file to train
everything again on this machine.
"""

from pathlib import Path

from mtbert import command, files


def main(out: Path) -> None:
    """Write the file if it is missing."""
    if out.is_file():
        return
    from mtbert.training import logs  # its import takes seconds

    files.write_json(out, logs.origin())


if __name__ == "__main__":
    command.run(main)
