"""The sentences of dev that a report may show: those of the sample, or of data whose owner wishes it.

No table of results holds a sentence, so a report of evidence shows none.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mtbert import files, layout
from mtbert.tasks import Task, main, read_build

Sentences = Mapping[str, Sequence[str]]  # by task, in the order of dev; a pair as one text
BETWEEN = " / "  # the two sentences of a pair


def of_build(build: Path) -> Sentences:
    """Return the sentences of a build directory's dev rows; none of a task whose sentences may not be shown."""
    tasks, is_sample = read_build(build), layout.data_kind(build) == "sample"
    texts: dict[str, list[str]] = {}
    for name in main(tasks):
        file = layout.examples(layout.data(build), name, "dev")
        may_be_shown = is_sample or tasks[name].show_text
        if may_be_shown and file.is_file():
            texts[name] = _texts(file, tasks[name])
    return texts


def _texts(file: Path, task: Task) -> list[str]:
    table = files.read_parquet(file, ["sentence1", "sentence2"][: len(task.sentences)])
    return [BETWEEN.join(sentences) for sentences in table.itertuples(index=False)]
