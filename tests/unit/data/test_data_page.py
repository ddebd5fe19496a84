"""docs/data.md against the code: file names, columns, rows that parse, and which variants need which files."""

import re
from pathlib import Path

import pytest

from mtbert.config import papers, planning
from mtbert.config.params import Params
from mtbert.data import readers
from mtbert.tasks import SPLITS, TASKS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/data.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^`([^`]+)`\n\n```\n(.*?)```\n", PAGE, re.MULTILINE | re.DOTALL))


def cells(line: str) -> list[str]:
    return [cell.strip().strip("`") for cell in line.strip("|").split("|")]


def test_files_and_columns_are_those_of_the_tasks():
    told = {cells(line)[0]: cells(line)[1:6] for line in PAGE.splitlines() if line.count("|") == 8}
    assert {*TASKS} & {*told} == {"sst", "qqp", "sts", "cfimdb", "snli", "mnli"}
    for name in told.keys() & TASKS:
        task = TASKS[name]
        files = [task.files.get(split, "none") for split in SPLITS]
        assert told[name] == [*files, "`, `".join(task.sentences), task.label]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_row_is_one_of_the_samples_and_is_read(tmp_path: Path, name: str):
    (task,) = [task for task in TASKS.values() if name in task.files.values()]
    assert set(EXAMPLES[name].splitlines()) <= set((ROOT / "data/sample" / name).read_text().splitlines())
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(EXAMPLES[name], encoding="utf-8")
    (row,) = readers.stream(tmp_path / name, task, "train")
    assert isinstance(row, readers.Example)
    assert row.label is not None


def test_the_variants_of_one_task_are_named_and_need_no_more():
    table = dict(re.findall(r"^\| (sst|qqp|sts|cfimdb) \| (`[^|]+`) \|$", PAGE, re.MULTILINE))
    variants = {name: one for paper in papers.load().values() for name, one in paper.variants.items()}
    for task, named in table.items():
        single = [name for name, variant in variants.items() if variant.get("tasks") == [task]]
        assert sorted(re.findall(r"`([^`]+)`", named)) == sorted(single)
    assert list(table) == ["sst", "qqp", "sts", "cfimdb"]


def test_the_variants_that_need_more_than_the_three_tasks_are_named():
    needs = {}
    params = Params(ROOT / "params.yaml")
    for name in ("pals", "sbert-pals", "mypal-more-data", "mypal-warmup", "mypal-relational"):
        planned = planning.plan(params.put(("variants",), [name]))
        needs[name] = {task for task, _ in planned.documents["needs"]}
    three = {"sst", "qqp", "sts"}
    more = three | {"cfimdb", "snli"}
    assert needs == {
        "pals": three,
        "sbert-pals": three | {"snli", "mnli"},
        "mypal-more-data": more,
        "mypal-warmup": more,
        "mypal-relational": more,
    }
