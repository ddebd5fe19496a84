"""Print the tables that have results, and what to do next: python -m mtbert.reporting build."""

import sys
from pathlib import Path

from mtbert import errors
from mtbert.reporting import published, report, tables
from mtbert.reporting.sections import SECTIONS
from mtbert.reporting.sections.base import Report


def main(build: Path) -> None:
    """Read what lies below `build`."""
    read = Report.read(build, SECTIONS)
    beside = tables.compare(published.load(), read.completed, read.scores, read.weights)
    print(report.in_short(beside, read.completed, build / "report" / "index.html"))


if __name__ == "__main__":
    with errors.shown_plainly():
        if len(sys.argv) != 2:
            raise SystemExit(__doc__)
        main(Path(sys.argv[1]))
