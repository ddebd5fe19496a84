"""Stage `preprocess`: make tokens from corpus files.

NEEDS is a YAML list of [task, split] pairs, as `plan` writes it: the files that must exist. Prints the refused rows, if
there are any.
"""

from pathlib import Path

from mtbert import command
from mtbert.data.preprocess import preprocess, refusals
from mtbert.data.tokens import wordpieces
from mtbert.files import read_plan
from mtbert.settings import checked
from mtbert.tasks import Split


def main(data_dir: Path, encoder_dir: Path, out: Path, needs: Path) -> None:
    """Read, check and tokenize every corpus file below `data_dir` into `out`."""
    required = checked(set[tuple[str, Split]], read_plan(needs), needs)
    if refused := refusals(preprocess(data_dir, out, wordpieces(encoder_dir), required), out):
        print(refused)


if __name__ == "__main__":
    command.run(main)
