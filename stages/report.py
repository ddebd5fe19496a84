"""Stage `report`: every result beside the papers' numbers. Usage: report.py BUILD REPORT SUBMISSIONS

Where MTBERT_TABLES is `later`, whoever started it prints the tables.
"""

import os

from mtbert import errors, starting

if __name__ == "__main__":
    with errors.shown_plainly():
        build, out, submissions = errors.arguments("BUILD", "REPORT", "SUBMISSIONS")
        with starting.imports():
            from mtbert.reporting import report
        shown = report.write(build, out, submissions)
        print(f"{out} is written" if os.environ.get("MTBERT_TABLES") == "later" else shown)
