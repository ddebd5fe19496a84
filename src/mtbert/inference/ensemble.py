"""An ensemble that votes: models of one seed, each of which predicts, and their vote, as a report has it for dev."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from mtbert.inference import answers
from mtbert.inference.answers import TextOrPair, task_name
from mtbert.inference.model import Model
from mtbert.scores import vote
from mtbert.tasks import Task


@dataclass
class Ensemble:
    """Models that vote.

    Attributes:
        name, seed: the ensemble's name, and the seed of all members.
        members: at least one.
        run: the folder of its vote; the report's stage `ensemble` makes it, and no prediction needs it.
        tasks: those that all members predict.
        longest: most word pieces of a sequence that no member cuts.
    """

    name: str
    seed: int
    members: Sequence[Model]
    run: Path

    def __post_init__(self) -> None:
        first, *others = self.members
        self.tasks = tuple(task for task in first.tasks if all(task in other.tasks for other in others))
        self.longest = min(member.longest for member in self.members)

    def task(self, name: str | None) -> Task:
        """Return one of its tasks; errors as for `Model.task`."""
        return self.members[0].task(task_name(self, name))

    def predict(self, rows: Sequence[TextOrPair], task: str | None = None) -> pd.DataFrame:
        """Return the vote on each row, with the members' mean probabilities or score; else as `Model.predict`.

        `cut` is whether any member cut the row.
        """
        return answers.predict(self, rows, task)

    def tables(self, tasks: Sequence[str], rows: Sequence[tuple[str, ...]]) -> dict[str, pd.DataFrame]:
        """Return the vote of each of some tasks, for rows whose texts were checked."""
        by_member = [member.tables(tasks, rows) for member in self.members]
        return {task: self._voted(self.task(task), [tables[task] for tables in by_member]) for task in tasks}

    def _voted(self, task: Task, tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
        if task.several:
            tables = [answers.with_numbers(task, table) for table in tables]
        voted = vote.combined(tables, task)
        if task.several:
            voted = answers.with_names(task, voted)
        if "class" in voted:
            voted["class"] = [task.class_names[int(number)] for number in voted["prediction"]]
        return voted.assign(cut=pd.concat([table["cut"] for table in tables], axis=1).any(axis=1))
