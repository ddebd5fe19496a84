"""Stage `machine`: describe the machine where this build folder was begun.

An existing file is kept: runs of another machine or of an earlier PyTorch stay valid. Remove the file to train
everything again on this machine. The copy of an experiment (`dvc exp run --temp`) takes the file of the repository that
it is a copy of, so that it trains nothing that is trained there.
"""

import os
from pathlib import Path

from mtbert import files
from mtbert.machine import program


def main(out: Path) -> None:
    """Write the file if it is missing."""
    if out.is_file():
        return
    repository_file = Path(os.environ.get("DVC_ROOT", ""), out)
    if repository_file.is_file():
        files.write_text(out, repository_file.read_text(encoding="utf-8"))
        return
    from mtbert.training import logs

    files.write_json(out, logs.origin())


if __name__ == "__main__":
    program.run(main)
