"""Stage `preprocess`: make tokens from corpus files.

NEEDS is a file of the plan: the splits that must exist, and the number of rows to hold out. Prints the refused rows.
"""

from pathlib import Path

from mtbert import command
from mtbert.data.preprocess import preprocess, refusals
from mtbert.data.tokens import wordpieces
from mtbert.files import read_plan


def main(data_dir: Path, encoder_dir: Path, out: Path, needs: Path) -> None:
    """Read, check and tokenize every corpus file below `data_dir` into `out`."""
    wanted = read_plan(needs, "splits", "held_out")
    required = {(task, split) for task, split in wanted["splits"]}
    if refused := refusals(preprocess(data_dir, out, wordpieces(encoder_dir), required, wanted["held_out"] or 0), out):
        print(refused)


if __name__ == "__main__":
    command.run(main)
