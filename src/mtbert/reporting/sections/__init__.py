"""The sections of the report, in the order of its page. A new one is a file here, and its line below."""

from mtbert.reporting.sections import (
    claims,
    confusions,
    costs,
    data,
    distances,
    embeddings,
    leakage,
    losses,
    misses,
    pictures,
    runs,
    scores,
    summary,
    tables,
)
from mtbert.reporting.sections.base import Section

SECTIONS: tuple[Section, ...] = (
    summary.SECTION,
    scores.SECTION,
    claims.SECTION,
    tables.SECTION,
    losses.SECTION,
    costs.SECTION,
    confusions.SECTION,
    distances.SECTION,
    misses.SECTION,
    embeddings.SECTION,
    pictures.SECTION,
    leakage.SECTION,
    data.SECTION,
    runs.SECTION,
)
