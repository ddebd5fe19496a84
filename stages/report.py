"""Stage `report`: every result beside the papers' numbers.

The report goes to a folder below REPORTS that `mtbert.files.report_directory` names; what DVC shows, to REPORTS itself.
Where MTBERT_TABLES is `later`, whoever started this prints the tables.
"""

import os
from pathlib import Path

from mtbert import command, files, starting


def main(build: Path, reports: Path, submissions: Path) -> None:
    """Write the report, what DVC shows, and the submissions; show the tables."""
    out = files.report_directory(build, reports)
    with starting.imports():
        from mtbert.report import submissions as submitted
        from mtbert.report import write
        from mtbert.results import tables
    results = tables.read(build / "results")
    shown = write.write(results, out)
    submitted.write(results, submissions)
    write.for_dvc(out, reports)
    print(f"{out} is written" if os.environ.get("MTBERT_TABLES") == "later" else shown)


if __name__ == "__main__":
    command.run(main)
