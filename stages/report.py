"""Stage `report`: every result beside the papers' numbers. Usage: report.py BUILD REPORT SUBMISSIONS"""

import sys
from pathlib import Path

from mtbert import errors
from mtbert.reporting import report

if __name__ == "__main__":
    with errors.shown_plainly():
        build, out, submissions = map(Path, sys.argv[1:4])
        print(report.write(build, out, submissions))
