"""Stage `report`: every result beside the papers' numbers. Usage: report.py BUILD REPORTS SUBMISSIONS

The report goes to a folder below REPORTS that `mtbert.files.report_directory` names; what DVC shows, to REPORTS itself.
Where MTBERT_TABLES is `later`, whoever started this prints the tables.
"""

import os

from mtbert import errors, files, starting

if __name__ == "__main__":
    with errors.shown_plainly():
        build, reports, submissions = errors.arguments("BUILD", "REPORTS", "SUBMISSIONS")
        with starting.imports():
            from mtbert.reporting import report
        out = files.report_directory(build, reports)
        shown = report.write(build, out, submissions)
        report.for_dvc(out, reports)
        print(f"{out} is written" if os.environ.get("MTBERT_TABLES") == "later" else shown)
