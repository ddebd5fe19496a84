"""Stage `preprocess`: make tokens from corpus files.

PLAN is the stage's file of the plan: the splits that must exist, the number of rows to hold out, the share of a file's
rows that may be faulty, how long a sequence may be, and the corpora that pretraining reads. Prints what is wrong with
the files and does not end the stage.
"""

from pathlib import Path

from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import special_tokens, wordpieces
from mtbert.layout import read_plan
from mtbert.machine import program


def main(data_dir: Path, encoder_dir: Path, out: Path, plan: Path) -> None:
    """Read, check and tokenize every corpus file below `data_dir` into `out`."""
    settings = read_plan(plan, "splits", "held_out", "most_refused", "longest", "pretraining")
    report = preprocess(
        data_dir,
        out,
        wordpieces(encoder_dir),
        required={(task, split) for task, split in settings["splits"]},
        held_out_rows=settings["held_out"] or 0,
        most_refused=settings["most_refused"],
        longest=settings["longest"],
        special_tokens=special_tokens(encoder_dir),
        pretraining=settings["pretraining"],
    )
    for line in report["faults"]:
        print(line)


if __name__ == "__main__":
    program.run(main)
