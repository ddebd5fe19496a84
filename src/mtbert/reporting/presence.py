"""Which of the runs that were asked for are there: a report is made of those."""

from pathlib import Path

from mtbert.reporting.catalog import Catalog, Entry


def seeds(build: Path, catalog: Catalog, entry: Entry) -> list[int]:
    """The seeds of which a variant or ensemble has results."""
    return [seed for seed in catalog.seeds if entry.directory(build, seed).is_dir()]


def missing(build: Path, catalog: Catalog) -> list[tuple[Entry, int]]:
    """What was asked for and has no results yet, with the seed."""
    return [
        (entry, seed)
        for entry in catalog.selected
        for seed in catalog.seeds
        if seed not in seeds(build, catalog, entry)
    ]
