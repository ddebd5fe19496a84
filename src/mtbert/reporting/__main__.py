"""Print the tables that have results, and what to do next; or make a report anew from its evidence alone.

python -m mtbert.reporting build                                  the tables of what lies below build
python -m mtbert.reporting --evidence reports/laptop/evidence     the whole report that the evidence lies in
"""

import argparse
from pathlib import Path

from mtbert import errors
from mtbert.reporting import published, report, tables
from mtbert.reporting.sections import SECTIONS
from mtbert.reporting.sections.base import Report


def main(build: Path | None, evidence: Path | None, out: Path | None) -> None:
    """Read what lies below `build`; or write the report of the evidence to `out`, the folder around it if not given."""
    if evidence is not None:
        print(report.anew(evidence, out or evidence.resolve().parent))
    elif build is not None:
        read = Report.read(build, SECTIONS)
        beside = tables.compare(published.load(), read.completed, read.scores, read.weights)
        print(report.in_short(beside, read.completed, build / "report" / "index.html"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m mtbert.reporting", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("build", type=Path, nargs="?", help="a build directory")
    source.add_argument("--evidence", type=Path, help="such as reports/laptop/evidence")
    parser.add_argument("--out", type=Path, help="where the report of the evidence is written; the folder around it")
    return parser


if __name__ == "__main__":
    with errors.shown_plainly():
        main(**vars(_parser().parse_args()))
