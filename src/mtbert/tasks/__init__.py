"""The tasks of a data folder: its tasks.yaml describes them; the course's six, in this folder, are the default."""

from mtbert.tasks.reading import COURSE, FILE, OTHERS, are_the_courses, label_text, of_build, of_folder, read
from mtbert.tasks.task import (
    METRIC_NAMES,
    NAME,
    SPLITS,
    Kind,
    Metric,
    Split,
    Task,
    Tasks,
    main,
    of_a_model,
    of_run,
    restored,
    stated,
)

__all__ = [
    "COURSE",
    "FILE",
    "METRIC_NAMES",
    "NAME",
    "OTHERS",
    "SPLITS",
    "Kind",
    "Metric",
    "Split",
    "Task",
    "Tasks",
    "are_the_courses",
    "label_text",
    "main",
    "of_a_model",
    "of_build",
    "of_folder",
    "of_run",
    "read",
    "restored",
    "stated",
]  # fmt: skip
