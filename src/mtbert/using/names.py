"""Names of a task's classes for people; trainings use numbers."""

from mtbert.tasks import Task

NAMES = {
    "sst": ("very negative", "negative", "neutral", "positive", "very positive"),
    "qqp": ("other question", "duplicate"),
    "cfimdb": ("negative", "positive"),
}


def classes(task: Task) -> tuple[str, ...]:
    """Return the name of each class by its number; none for a score.

    The names above; else the words that are the corpus's labels; else the numbers.
    """
    if task.kind == "score":
        return ()
    words = sorted(task.labels, key=task.labels.__getitem__) or map(str, range(task.classes))
    return NAMES.get(task.name, tuple(words))
