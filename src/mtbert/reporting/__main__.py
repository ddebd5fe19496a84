"""Print the tables that have results, and what to do next."""

from pathlib import Path

from mtbert import command
from mtbert.reporting import catalog, published, report, results, tables


def main(build: Path) -> None:
    """Read what lies below `build`."""
    plan = catalog.there(catalog.read(build / "plan" / "catalog.yaml"), build)
    found = tables.compare(published.load(), plan, results.scores(build, plan), results.weights(build, plan))
    print(report.in_short(found, plan, build))


if __name__ == "__main__":
    command.run(main)
