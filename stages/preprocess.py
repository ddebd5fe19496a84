"""Stage `preprocess`: make tokens from corpus files.

NEEDS is a YAML list of [task, split] pairs, as `plan` writes it: the files that must exist. Prints the refused rows, if
there are any.
"""

from pathlib import Path
from typing import Any

from mtbert import command
from mtbert.data.preprocess import preprocess, refusals
from mtbert.data.tokens import wordpieces
from mtbert.files import read_planned


def main(data_dir: Path, encoder_dir: Path, out: Path, needs: Path) -> None:
    """Read, check and tokenize every corpus file below `data_dir` into `out`."""
    required: Any = {(task, split) for task, split in read_planned(list[list[str]], needs)}
    if refused := refusals(preprocess(data_dir, out, wordpieces(encoder_dir), required), out):
        print(refused)


if __name__ == "__main__":
    command.run(main)
