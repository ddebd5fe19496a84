"""Stage `report`: every result beside the papers' numbers.

Where MTBERT_TABLES is `later`, whoever started this prints the tables.
"""

import os
from pathlib import Path

from mtbert import files
from mtbert.machine import program


def main(build: Path, report: Path, submissions: Path) -> None:
    """Write the report and the submissions; show the tables."""
    from mtbert import layout
    from mtbert.judge import plan_of
    from mtbert.replication import report as reports
    from mtbert.replication import submissions as submitted
    from mtbert.replication import tables as judged
    from mtbert.scores import tables

    results = tables.read(layout.results(build))
    replication = judged.read(layout.judged(build), results, plan_of(layout.read_catalog(build, "seeds")))
    text = reports.write(replication, report, build=build)
    submitted.write(results, submissions)
    files.explain_empty(submissions, "None of the tasks has a submission file: these are for the course's tasks.")
    print(f"{report} is written" if os.environ.get("MTBERT_TABLES") == "later" else text)


if __name__ == "__main__":
    program.run(main)
