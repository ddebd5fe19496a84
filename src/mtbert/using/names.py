"""What a task's classes are called where people read them; training knows them by number."""

from mtbert.tasks import Task

NAMES = {
    "sst": ("very negative", "negative", "neutral", "positive", "very positive"),
    "qqp": ("other question", "duplicate"),
    "cfimdb": ("negative", "positive"),
}


def classes(task: Task) -> tuple[str, ...]:
    """The name of each class by its number; none for a score.

    Those above; else the words that the corpus's labels are; else the numbers.
    """
    if task.kind == "score":
        return ()
    words = sorted(task.labels, key=task.labels.__getitem__) or map(str, range(task.classes))
    return NAMES.get(task.name, tuple(words))
