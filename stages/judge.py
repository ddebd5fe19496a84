"""Stage `judge`: rows with intervals, comparisons with verdicts."""

from pathlib import Path

from mtbert.machine import program


def main(build: Path, out: Path) -> None:
    """Judge the results, and write the tables."""
    from mtbert import layout
    from mtbert.judge import plan_of
    from mtbert.replication import replicate, tables
    from mtbert.scores import tables as results

    plan = plan_of(layout.read_catalog(build, "seeds"))
    tables.write(replicate(results.read(layout.results(build)), plan=plan), out)


if __name__ == "__main__":
    program.run(main)
