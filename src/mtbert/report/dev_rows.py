"""What a report reads of a build directory's dev rows: the sentences that it may show, and groups.

Groups are by length, by script, and by the file's columns of few values, which may be the label of another task of the
file. No table of results holds a sentence, so a report of evidence has neither.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mtbert import files, layout
from mtbert.baselines.rows import text_columns
from mtbert.data import drawing, held_out, readers
from mtbert.errors import DataError
from mtbert.judge.groups import Grouping, Groups
from mtbert.tasks import Task, main, read_build

BETWEEN = " / "  # the two sentences of a pair
MOST_VALUES = 20  # of a column by which rows are grouped


def sentences(build: Path) -> dict[str, list[str]]:
    """Return by task the sentences of a build directory's dev rows, in the order of dev, a pair as one text.

    None of a task whose sentences may not be shown: only those of the sample, and of data whose owner wishes it, may.
    """
    tasks, is_sample = read_build(build), layout.data_kind(build) == "sample"
    texts: dict[str, list[str]] = {}
    for name in main(tasks):
        file = layout.examples(layout.data(build), name, "dev")
        may_be_shown = is_sample or tasks[name].show_text
        if may_be_shown and file.is_file():
            texts[name] = _texts(file, tasks[name])
    return texts


def _texts(file: Path, task: Task) -> list[str]:
    table = files.read_parquet(file, text_columns(task))
    return [BETWEEN.join(sentences) for sentences in table.itertuples(index=False)]


def groups(build: Path) -> dict[str, Groups]:
    """Return by task the groups of a build directory's dev rows; none unless the data are one's own.

    Raises:
        DataError: a data file has changed since dev's rows were read from it.
    """
    if layout.data_kind(build) != "own":
        return {}
    tasks, data_dir = read_build(build), Path(layout.read_catalog(build, "data_dir")["data_dir"])
    are_held_out = held_out.tasks_of(build)
    grouped: dict[str, Groups] = {}
    for name in main(tasks):
        file = layout.examples(layout.data(build), name, "dev")
        if file.is_file():
            table = files.read_parquet(file, ["line", *text_columns(tasks[name])])
            texts = [*table.drop(columns="line").itertuples(index=False, name=None)]
            source = "train" if name in are_held_out else drawing.source(tasks[name], "dev")
            file_of_dev = data_dir / tasks[name].files[source]
            by_line = dict(zip(table["line"].tolist(), texts, strict=True))
            grouped[name] = {**by_text([*map(" ".join, texts)]), **by_column(file_of_dev, tasks[name], by_line)}
    return grouped


def by_column(file: Path, task: Task, sentences: Mapping[int, tuple[str, ...]]) -> Groups:
    """Return the groups of dev's rows by column of their file; none where the file is there no more.

    Args:
        file: of the data folder, which has dev's rows.
        task: whose dev it is.
        sentences: of each row, by its line in the file.

    Raises:
        DataError: the file has other sentences on these lines.
    """
    if not file.is_file():
        return {}
    rows = {line: values for line, values in readers.rows_of(file, task.encoding, task.name) if line in sentences}
    for line, texts in sentences.items():
        if tuple(rows.get(line, {}).get(column) for column in task.sentences) != texts:
            raise DataError(
                f"{file}, line {line}: the row is another than when dev was read from this file; `dvc repro` reads it "
                "again"
            )
    lines = [*sentences]
    used = {*task.sentences, *task.label_columns, task.id}
    grouped: dict[tuple[Grouping, str], list[str]] = {}
    for column in dict.fromkeys(column for line in lines for column in rows.get(line, {})):
        names = ["" if (value := rows[line].get(column)) is None else str(value) for line in lines]
        if column not in used and 2 <= len({*names} - {""}) <= MOST_VALUES:
            grouped[Grouping.COLUMN, str(column)] = names
    return grouped


def by_text(texts: Sequence[str]) -> Groups:
    """Return the groups of texts, by what they are grouped by."""
    return {(Grouping.LENGTH, ""): lengths(texts), (Grouping.SCRIPT, ""): [script(text) for text in texts]}


def lengths(texts: Sequence[str]) -> list[str]:
    """Return which third of the lengths each text is in, such as `21 to 40 characters`."""
    counts = np.array([len(text) for text in texts])
    if not len(counts):
        return []
    first, second = (int(end) for end in np.quantile(counts, [1 / 3, 2 / 3], method="lower"))
    names = [f"at most {first} characters", f"{first + 1} to {second} characters", f"more than {second} characters"]
    return [names[int(count > first) + int(count > second)] for count in counts]


def script(text: str) -> str:
    """Return the script of most of a text's letters, as Unicode names it, such as `Latin` or `Cjk`; `none` without."""
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in text if letter.isalpha())
    return scripts.most_common(1)[0][0].capitalize() if scripts else "none"
