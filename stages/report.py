"""Stage `report`: every result beside the papers' numbers. Usage: report.py BUILD REPORT SUBMISSIONS"""

from mtbert import errors, starting

if __name__ == "__main__":
    with errors.shown_plainly():
        build, out, submissions = errors.arguments("BUILD", "REPORT", "SUBMISSIONS")
        with starting.imports():
            from mtbert.reporting import report
        print(report.write(build, out, submissions))
