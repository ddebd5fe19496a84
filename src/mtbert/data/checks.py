"""Find duplicates in a corpus, and what two corpora share.

Sentences are compared in two forms: normalized (case, spacing and the coding of characters), and without
punctuation as well. A pair equals another in either order. Of each form only Python's hash of 8 bytes is kept, so that
large corpora can be compared, in one process. Two different rows share it with a probability of 2^-64.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mtbert.data.labels import visible
from mtbert.data.readers import Example

PUNCTUATION = re.compile(r"""[.,;:!?\u2026'"`\u00b4\u2018-\u201f\u00ab\u00bb\u2039\u203a()\[\]{}\u00a1\u00bf]""")
SENTENCES = ["sentence1", "sentence2"]
CONNECTING = [*SENTENCES, "group"]  # rows that have one of them in common are not independent
COLUMNS = {"line": "int64", "label": "float64"} | dict.fromkeys(["normalized", "unpunctuated", *CONNECTING], "int64")


def normalized(text: str) -> str:
    """Return what a reader sees of the text, in lower case, with single blanks: `"A  dog. "` is `"a dog."`."""
    return visible(text).casefold()


def unpunctuated(text: str) -> str:
    """Return the text normalized, without punctuation: `"It 's  $5!"` is `"it s $5"`. A text of nothing else stays."""
    return normalized(PUNCTUATION.sub("", text)) or normalized(text)


def digests(rows: Iterable[Example]) -> pd.DataFrame:
    """Return what is compared of each row, in 56 bytes.

    Returns:
        `line` and `label` of the row; the label is NaN where there is none. `normalized` and `unpunctuated`: hashes of
        its sentences in that form, in either order. `sentence1` and `sentence2`: hashes of each normalized sentence
        alone; the same where there is one. `group`: a hash of its group; that of `sentence1` where it has none.
    """
    return pd.DataFrame(map(_digest, rows), columns=[*COLUMNS]).astype(COLUMNS)


def _digest(row: Example) -> dict[str, Any]:
    texts = [text for text in (row.sentence1, row.sentence2) if text is not None]
    normalized_texts = [normalized(text) for text in texts]
    unpunctuated_texts = [unpunctuated(text) for text in texts]
    return {
        "line": row.line,
        "label": row.label,
        "normalized": hash(tuple(sorted(normalized_texts))),
        "unpunctuated": hash(tuple(sorted(unpunctuated_texts))),
        "sentence1": hash(normalized_texts[0]),
        "sentence2": hash(normalized_texts[-1]),
        "group": hash(("group", row.group)) if row.group else hash(normalized_texts[0]),
    }


def duplicates(rows: pd.DataFrame) -> int:
    """Count the rows whose sentences an earlier row has, normalized."""
    return int(rows["normalized"].duplicated().sum())


def clusters(rows: pd.DataFrame) -> np.ndarray:
    """Return cluster numbers, int64 [rows]: rows that share a sentence or group, directly or through others, have one.

    Texts are normalized. Rows of one cluster are not independent; those of different clusters share neither.
    """
    return connected(np.arange(len(rows)), rows)


def connected(row_numbers: np.ndarray, texts: pd.DataFrame) -> np.ndarray:
    """Return the cluster of each row, as `clusters` does, where a row may have several entries of digests.

    They are the connected parts of a graph whose nodes are first the rows, then the sentences and groups; an edge leads
    from a row to each of its own.

    Args:
        row_numbers: the number of the row that each entry is of, from 0 on, [entries].
        texts: digests, [entries].
    """
    rows = int(row_numbers.max(initial=-1)) + 1
    shared_numbers, _ = pd.factorize(texts[CONNECTING].to_numpy().ravel())
    row_ends = row_numbers.repeat(len(CONNECTING))
    shared_ends = rows + shared_numbers
    nodes = rows + len(shared_numbers)
    graph = coo_array((np.ones(len(row_ends), dtype=bool), (row_ends, shared_ends)), shape=(nodes, nodes))
    _, part_numbers = connected_components(graph, directed=False)
    return part_numbers[:rows].astype(np.int64)


def clusters_over_tasks(rows_by_task: Mapping[str, pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return by task the cluster of each row, as `clusters` does, where rows of all tasks may share."""
    if not rows_by_task:
        return {}
    cluster = clusters(pd.concat([*rows_by_task.values()], ignore_index=True))
    ends = np.cumsum([len(rows) for rows in rows_by_task.values()])
    return dict(zip(rows_by_task, np.split(cluster, ends[:-1]), strict=True))


def shared_clusters(rows_by_task: Mapping[str, pd.DataFrame]) -> dict[str, np.ndarray]:
    """Return by task the cluster over all tasks of each row; -1 where one task alone has rows of it."""
    over_tasks = clusters_over_tasks(rows_by_task)
    tasks_of_cluster = Counter(number for cluster in over_tasks.values() for number in np.unique(cluster).tolist())
    several = [number for number, tasks in tasks_of_cluster.items() if tasks > 1]
    return {task: np.where(np.isin(cluster, several), cluster, -1) for task, cluster in over_tasks.items()}


def conflicts(rows: pd.DataFrame) -> int:
    """Count the rows of one normalized text, whose rows have different labels: each text once."""
    different = rows.groupby("normalized")["label"].nunique().to_numpy() > 1
    return int(different.sum())
