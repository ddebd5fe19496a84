"""What a corpus holds twice, and what two corpora share: pure functions on the rows of `mtbert.data.readers`.

Sentences are compared in three forms: exactly, with case and spacing folded, and with punctuation dropped as well. A
pair equals another in either order.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd

Form = Callable[[str], str]
Key = tuple[str, ...]  # the sentences of a row in one form, in alphabetical order
NOT_WORDS = re.compile(r"[^\w\s]")


def exact(text: str) -> str:
    """The text as it is."""
    return text


def folded(text: str) -> str:
    """The text without regard to case and spacing: `"A  dog. "` is `"a dog."`."""
    return " ".join(text.casefold().split())


def bare(text: str) -> str:
    """The text without regard to case, spacing, punctuation and symbols: `"It 's  $5!"` is `"it s 5"`."""
    return folded(NOT_WORDS.sub("", text))


FORMS: dict[str, Form] = {"exact": exact, "folded": folded, "bare": bare}


def keys(rows: pd.DataFrame, form: Form) -> list[Key]:
    """One key a row; equal keys are equal sentences, in either order."""
    columns = [rows[name].map(form) for name in ("sentence1", "sentence2") if not rows[name].isna().to_numpy().any()]
    return [tuple(sorted(sentences)) for sentences in zip(*columns, strict=True)]


@dataclass(frozen=True)
class Index:
    """The rows of one corpus, ready to be compared: their keys in each form, and all their sentences (folded)."""

    keys: dict[str, list[Key]]
    found: dict[str, frozenset[Key]]
    sentences: frozenset[str]


def index(rows: pd.DataFrame) -> Index:
    """Make the index of a corpus once, to compare it with several others."""
    by_form = {name: keys(rows, form) for name, form in FORMS.items()}
    sentences = frozenset(sentence for key in by_form["folded"] for sentence in key)
    return Index(by_form, {name: frozenset(keys_) for name, keys_ in by_form.items()}, sentences)


def duplicates(rows: Index) -> dict[str, int]:
    """By form, the number of rows whose sentences an earlier row has already."""
    return {name: len(rows.keys[name]) - len(rows.found[name]) for name in FORMS}


def overlap(rows: Index, others: Index) -> dict[str, int]:
    """How many of `rows` are in `others` too.

    By form, the rows whose sentences are those of one row there; and as `sharing` the rows of which at least one
    sentence occurs anywhere there, case and spacing folded.
    """
    counts = {name: sum(key in others.found[name] for key in rows.keys[name]) for name in FORMS}
    sharing = sum(not others.sentences.isdisjoint(key) for key in rows.keys["folded"])
    return {"rows": len(rows.keys["exact"]), **counts, "sharing": sharing}


def conflicts(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows with the same sentences (case and spacing folded) and different labels: their lines and labels."""
    labelled = rows.dropna(subset=["label"])
    groups: dict[Key, list[tuple[int, float]]] = {}
    for key, line, label in zip(keys(labelled, folded), labelled["line"], labelled["label"], strict=True):
        groups.setdefault(key, []).append((line, label))
    return [
        {"lines": [line for line, _ in group], "labels": [label for _, label in group]}
        for group in groups.values()
        if len({label for _, label in group}) > 1
    ]
