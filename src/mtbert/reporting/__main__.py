"""Print the tables that have results, and what to do next: python -m mtbert.reporting BUILD."""

from mtbert import errors
from mtbert.reporting import catalog, published, report, results, tables

if __name__ == "__main__":
    with errors.shown_plainly():
        (build,) = errors.arguments("BUILD")
        plan = catalog.there(catalog.read(build / "plan" / "catalog.yaml"), build)
        found = tables.compare(published.load(), plan, results.scores(build, plan), results.weights(build, plan))
        print(report.in_short(found, plan, build))
