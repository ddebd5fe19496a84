"""Groups of dev rows on which a way is worse: made rows of one task."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from mtbert.judge import groups
from mtbert.judge.groups import Group, Grouping
from mtbert.tasks import Task

TOPIC = Task("topic", 2, ("text",), "topic", "macro_f1", labels={"bug": 0, "praise": 1})
SAME = Task("same", 1, ("a", "b"), "same", "pearson", highest=5.0)


def results(task: Task, labels: np.ndarray, *by_seed: np.ndarray) -> SimpleNamespace:
    rows = [
        pd.DataFrame({"label": labels, "prediction": predicted, "cluster": range(len(labels))})
        .rename_axis("row").reset_index().assign(variant="a", seed=seed)
        for seed, predicted in enumerate(by_seed)
    ]  # fmt: skip
    return SimpleNamespace(tasks={task.name: task}, scored=lambda _: pd.concat(rows))


def worse(judged: list[Group]) -> list[Group]:
    return [group for group in judged if group.is_worse]


def test_a_class_that_is_mostly_wrong_is_named():
    labels = np.arange(200.0) % 2
    predicted = np.where((labels == 1) & (np.arange(200) % 3 > 0), 0.0, labels)
    predicted[0] = 1.0
    found = groups.compare(results(TOPIC, labels, predicted, predicted), ["a"], {})
    assert {group.by for group in found} == {Grouping.CLASS}
    (group,) = worse(found)
    assert (group.name, group.rows, group.outside) == ("praise", 100, 0.99)
    assert 0.3 < group.inside < 0.4
    assert group.p < 1e-10


def test_a_group_that_is_no_worse_is_not_named_and_p_are_corrected_together():
    labels, rows = np.zeros(400), np.arange(400)
    predicted = np.where(rows < 60, rows % 2, rows % 10 < 3).astype(float)  # half of 60 wrong, of others 0.3: p 0.003
    names = ["first" if row < 60 else f"other {row // 10 % 5}" for row in rows]
    alone = groups.compare(results(TOPIC, labels, predicted), ["a"], {"topic": {(Grouping.LENGTH, ""): names}})
    assert [group.name for group in worse(alone)] == ["first"]
    columns = {(Grouping.COLUMN, f"column {number}"): [str(row % 7) for row in rows] for number in range(9)}
    many = groups.compare(
        results(TOPIC, labels, predicted), ["a"], {"topic": {(Grouping.LENGTH, ""): names, **columns}}
    )
    assert worse(many) == []


def test_a_group_is_proved_worse_at_the_one_sided_level_of_all_verdicts():
    rows = np.arange(200)
    names = ["first" if row < 60 else "" for row in rows]
    wrong_of_others = (rows >= 60) & (rows < 100)

    def found(wrong_of_first: int) -> list[str]:
        predicted = (wrong_of_others | (rows < wrong_of_first)).astype(float)
        grouped = {"topic": {(Grouping.LENGTH, ""): names}}
        return [group.name for group in worse(groups.compare(results(TOPIC, np.zeros(200), predicted), ["a"], grouped))]

    assert found(25) == []  # p 0.040
    assert found(27) == ["first"]  # p 0.016


def test_groups_of_few_rows_are_not_tested():
    labels = np.arange(60.0) % 2
    names = ["rare" if row < 19 else "" for row in range(60)]
    found = groups.compare(results(TOPIC, labels, 1 - labels), ["a"], {"topic": {(Grouping.SCRIPT, ""): names}})
    assert {group.by for group in found} == {Grouping.CLASS}


def test_a_score_counts_with_its_distance_from_the_label():
    labels = np.tile([1.0, 4.0], 50)
    predicted = labels + np.where(np.arange(100) < 50, 2.0, 0.5) * np.where(np.arange(100) % 3 > 0, 1, -0.9)
    names = ["long" if row < 50 else "short" for row in range(100)]
    found = groups.compare(results(SAME, labels, predicted), ["a"], {"same": {(Grouping.LENGTH, ""): names}})
    (group,) = worse(found)
    assert (group.name, round(group.inside, 1), round(group.outside, 1)) == ("long", 1.9, 0.5)


def test_without_rows_of_the_way_nothing_is_looked_at():
    assert groups.compare(results(TOPIC, np.zeros(50), np.zeros(50)), ["b"], {}) == []
