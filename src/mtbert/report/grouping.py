"""Groups of dev rows by their texts: thirds of the length, and the script. A report names groups, never a text."""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from mtbert import files, layout
from mtbert.judge.groups import Kind, Names
from mtbert.tasks import main
from mtbert.tasks import of_build as tasks_of_build


def of_build(build: Path) -> dict[str, Names]:
    """Return by task the groups of a build directory's dev rows."""
    tasks = tasks_of_build(build)
    grouped: dict[str, Names] = {}
    for name in main(tasks):
        file = layout.examples(layout.data(build), name, "dev")
        if file.is_file():
            table = files.read_parquet(file, ["sentence1", "sentence2"][: len(tasks[name].sentences)])
            grouped[name] = by_text([" ".join(texts) for texts in table.itertuples(index=False)])
    return grouped


def by_text(texts: Sequence[str]) -> Mapping[tuple[Kind, str], list[str]]:
    """Return the groups of texts, by kind."""
    return {(Kind.LENGTH, ""): lengths(texts), (Kind.SCRIPT, ""): [script(text) for text in texts]}


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
