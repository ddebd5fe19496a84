"""A dev that is drawn from train: a fifth, whole clusters, by the text alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from mtbert.data import drawing
from mtbert.errors import DataError
from mtbert.tasks import COURSE, Split, Task

TASK = replace(COURSE["qqp"], id="", files={"train": "a.csv"})
LINES = [f"question {n},question {n} again,{n % 2}" for n in range(40)]


def read(folder: Path, task: Task, split: Split, *others: Task) -> drawing.RowsOfSplit:
    """Read a split of a task in a folder that has others, too."""
    return drawing.Splits(folder, {each.name: each for each in (task, *others)}).read(task, split)


def write(folder: Path, lines: list[str]) -> None:
    (folder / "a.csv").write_text("sentence1,sentence2,is_duplicate\n" + "\n".join(lines) + "\n")


def dev(folder: Path, lines: list[str]) -> set[str]:
    write(folder, lines)
    return {row.sentence1 for row in read(folder, TASK, "dev")[0]}


def test_a_fifth_is_dev_and_the_rest_is_train(tmp_path: Path) -> None:
    first = dev(tmp_path, LINES)
    train = {row.sentence1 for row in read(tmp_path, TASK, "train")[0]}
    assert (len(first), len(train), first & train) == (8, 32, set())


def test_refused_rows_are_trains_and_both_splits_have_the_count_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, [*LINES, "x,y,9"])
    train, dev_rows = (read(tmp_path, TASK, split) for split in ("train", "dev"))
    assert [len(rows.refusals) for rows in (train, dev_rows)] == [1, 0]
    assert (train.in_file, dev_rows.in_file) == (41, 41)


def test_neither_the_order_of_the_rows_nor_case_and_spacing_changes_it(tmp_path: Path) -> None:
    folded = [line.replace("question", "Question ") for line in reversed(LINES)]
    assert {text.casefold().replace("  ", " ") for text in dev(tmp_path, folded)} == dev(tmp_path, LINES)


def test_rows_that_share_a_sentence_stay_together(tmp_path: Path) -> None:
    pairs = [f"question {n},question {(n + 1) % 4 + n // 4 * 4},0" for n in range(40)]  # rings of four
    drawn = {int(text.split()[1]) // 4 for text in dev(tmp_path, pairs)}
    assert len(drawn) == 2
    assert len(dev(tmp_path, pairs)) == 8


def test_where_all_rows_share_sentences_a_file_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, [f"question {n},question {n + 1},0" for n in range(40)])
    with pytest.raises(DataError, match=r"a\.csv: no dev can be drawn from its 40 rows.*name a file `dev` of qqp"):
        read(tmp_path, TASK, "dev")


def test_a_task_with_a_dev_file_has_that(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    (tmp_path / "b.csv").write_text("sentence1,sentence2,is_duplicate\nx,y,1\n")
    both = replace(TASK, files={"train": "a.csv", "dev": "b.csv"})
    assert [len(read(tmp_path, both, split)[0]) for split in ("train", "dev")] == [40, 1]


TICKETS = replace(COURSE["sst"], id="", sentences=("text",), files={"train": "a.csv"}, left_out=("",))
TOPIC, URGENT, TEAM = (replace(TICKETS, name=name, label=name) for name in ("topic", "urgent", "team"))


def write_tickets(folder: Path) -> None:
    """Each second row has a topic, each third an urgency, and a text comes twice."""
    rows = [f"text {n // 2},{n % 5 if n % 2 else ''},{n % 5 if n % 3 else ''},{n % 5}" for n in range(400)]
    (folder / "a.csv").write_text("text,topic,urgent,team\n" + "\n".join(rows) + "\n")


def test_tasks_of_one_file_have_the_same_texts_in_dev_and_an_empty_cell_is_no_row(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    devs, trains = set[str](), set[str]()
    for task in (TOPIC, URGENT, TEAM):
        others = [other for other in (TOPIC, URGENT, TEAM) if other is not task]
        train, dev = (read(tmp_path, task, split, *others) for split in ("train", "dev"))
        assert train.refusals == dev.refusals == []
        assert len(dev.examples) == pytest.approx(train.in_file / 5, abs=12)
        devs |= {row.sentence1 for row in dev.examples}
        trains |= {row.sentence1 for row in train.examples}
    assert devs.isdisjoint(trains)
    assert read(tmp_path, TOPIC, "dev").in_file == 200


def test_one_more_task_of_a_file_and_other_labels_draw_the_same_dev(tmp_path: Path) -> None:
    write_tickets(tmp_path)
    alone = read(tmp_path, TOPIC, "dev").examples
    assert read(tmp_path, TOPIC, "dev", URGENT, TEAM).examples == alone


def test_a_text_of_a_pair_is_in_dev_of_all_tasks_of_a_file_or_of_none(tmp_path: Path) -> None:
    rows = [f"text {n},text {(n + 1) % 4 + n // 4 * 4},1,1" for n in range(40)]  # rings of four
    (tmp_path / "a.csv").write_text("text,other,topic,same\n" + "\n".join(rows) + "\n")
    same = replace(TOPIC, name="same", label="same", sentences=("text", "other"))
    dev = {row.sentence1 for row in read(tmp_path, TOPIC, "dev", same).examples}
    assert len(dev) == 8
    assert len({int(text.split()[1]) // 4 for text in dev}) == 2
    assert {row.sentence1 for row in read(tmp_path, same, "dev", TOPIC).examples} == dev


@pytest.mark.parametrize("changes", [{"files": {"train": "a.csv", "dev": "b.csv"}}, {"serves": "urgent"}])
def test_a_task_that_draws_no_dev_does_not_train_on_that_of_another(tmp_path: Path, changes: dict) -> None:
    write_tickets(tmp_path)
    drawn = read(tmp_path, URGENT, "dev").examples
    train = read(tmp_path, replace(TEAM, **changes), "train", URGENT).examples
    assert {row.line for row in drawn}.isdisjoint(row.line for row in train)
    assert len(train) == 320
