"""Corpus files to tokens: `python stages/preprocess.py DATA_DIR ENCODER_DIR OUT NEEDS`.

NEEDS is a YAML list of [task, split] pairs: the files that must be there, as `plan` found. Rows that are refused are
told, if any are.
"""

from pathlib import Path

from mtbert.data.preprocess import preprocess, refusals
from mtbert.data.tokens import wordpieces
from mtbert.errors import arguments, shown_plainly
from mtbert.files import read_plan
from mtbert.settings import checked
from mtbert.tasks import Split


def main(data_dir: Path, encoder_dir: Path, out: Path, needs: Path) -> None:
    """Read, check and tokenize every corpus file below `data_dir` into `out`."""
    required = checked(set[tuple[str, Split]], read_plan(needs), needs)
    if told := refusals(preprocess(data_dir, out, wordpieces(encoder_dir), required), out):
        print(told)


if __name__ == "__main__":
    with shown_plainly():
        main(*arguments("DATA_DIR", "ENCODER_DIR", "OUT", "NEEDS"))
