"""Stage `preprocess`: corpus files to tokens.

NEEDS is a YAML list of [task, split] pairs: the files that must be there, as `plan` found. Rows that are refused are
told, if any are.
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
    if told := refusals(preprocess(data_dir, out, wordpieces(encoder_dir), required), out):
        print(told)


if __name__ == "__main__":
    command.run(main)
