"""Stage `report`: every result beside the papers' numbers.

Where MTBERT_TABLES is `later`, whoever started this prints the tables.
"""

import os
from pathlib import Path

from mtbert.machine import program, starting


def main(build: Path, report: Path, submissions: Path) -> None:
    """Write the report and the submissions; show the tables."""
    with starting.quick_imports():
        from mtbert import layout
        from mtbert.judge import plan_of
        from mtbert.judge import tables as judged
        from mtbert.report import grouping, sentences, write
        from mtbert.report import submissions as submitted
        from mtbert.scores import nothing, tables
    results = tables.read(layout.results(build))
    judgement = judged.read(layout.judged(build), results, plan_of(layout.read_catalog(build, "seeds")))
    shown, grouped = sentences.of_build(build), grouping.of_build(build)
    text = write.write(judgement, report, sentences=shown, grouped=grouped)
    submitted.write(results, submissions)
    nothing.explain(submissions, "None of the tasks has a submission file: these are for the course's tasks.")
    print(f"{report} is written" if os.environ.get("MTBERT_TABLES") == "later" else text)


if __name__ == "__main__":
    program.run(main)
