"""A dev that is drawn from train: the latest rows, or whole clusters, a fifth of each class; groups are on one side."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from mtbert.data import drawing, readers
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


def test_of_each_class_of_each_task_of_a_file_a_fifth_is_dev(tmp_path: Path) -> None:
    rows = [f"text {n},{4 if n < 10 else n % 4},{4 if n % 40 == 0 else n % 4}" for n in range(200)]
    (tmp_path / "a.csv").write_text("text,topic,urgent\n" + "\n".join(rows) + "\n")
    by_class = {
        task.name: Counter(int(row.label or 0) for row in read(tmp_path, task, "dev", other).examples)
        for task, other in ((TOPIC, URGENT), (URGENT, TOPIC))
    }
    assert by_class["topic"][4] == 2
    assert by_class["urgent"][4] == 1
    assert [count for task in by_class.values() for count in task.values()] == pytest.approx([9.5] * 10, abs=8.5)
    assert [task.total() for task in by_class.values()] == [40, 40]


@pytest.mark.parametrize(("rows", "in_dev"), [(1, 0), (2, 1), (5, 1), (12, 2), (13, 3)])
def test_a_class_of_several_rows_is_in_both_splits(tmp_path: Path, rows: int, in_dev: int) -> None:
    lines = [f"text {n},{int(n < rows)}" for n in range(200)]
    (tmp_path / "a.csv").write_text("text,topic\n" + "\n".join(lines) + "\n")
    assert sum(row.label == 1 for row in read(tmp_path, TOPIC, "dev").examples) == in_dev


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


BY_CUSTOMER = replace(TOPIC, left_out=(), group_on="customer")
BY_DATE = replace(TOPIC, left_out=(), time_on="sent")


def write_customers(folder: Path, name: str, customers: list[str], first: int = 0) -> None:
    rows = [f"text {n},{n % 2},{customer}" for n, customer in enumerate(customers, first)]
    (folder / name).write_text("text,topic,customer\n" + "\n".join(rows) + "\n")


def test_no_group_is_on_both_sides(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n // 8}" for n in range(80)])
    train, dev = ({row.group for row in read(tmp_path, BY_CUSTOMER, split).examples} for split in ("train", "dev"))
    assert (len(train), len(dev), train & dev) == (8, 2, set())


def test_no_group_of_another_task_s_dev_is_in_train(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n // 8}" for n in range(80)])
    write_customers(tmp_path, "b.csv", [f"c{9 - n // 8}" for n in range(80)], first=100)
    write_customers(tmp_path, "dev.csv", ["c0", "c77"], first=200)
    first = replace(BY_CUSTOMER, files={"train": "a.csv", "dev": "dev.csv"})
    second = replace(BY_CUSTOMER, name="second", files={"train": "b.csv"})
    splits = drawing.Splits(tmp_path, {"topic": first, "second": second})
    train = splits.read(second, "train")
    assert "customer c0" not in {row.group for row in train.examples}
    of_c0 = [refusal for refusal in train.refusals if refusal.line > 73]  # the last customer of the file
    in_dev = {row.line for row in splits.read(second, "dev").examples}
    assert [refusal.reason for refusal in of_c0] == (
        [] if 74 in in_dev else ["its customer is that of a row of dev or test of topic"] * 8
    )
    dev = {row.group for row in splits.read(second, "dev").examples}
    assert not dev & {row.group for row in splits.read(first, "train").examples}


def test_files_draw_the_same_groups_for_dev(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n // 8}" for n in range(80)])
    write_customers(tmp_path, "b.csv", [f"c{n // 2 % 10}" for n in range(80)], first=100)
    tasks = {name: replace(BY_CUSTOMER, name=name, files={"train": f"{name}.csv"}) for name in ("a", "b")}
    splits = drawing.Splits(tmp_path, tasks)
    first, second = ({row.group for row in splits.read(task, "dev").examples} for task in tasks.values())
    assert first == second
    assert len(first) == 2
    assert [splits.read(task, "train").refusals for task in tasks.values()] == [[], []]


def test_a_task_without_groups_loses_no_row_of_another_one(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n}" for n in range(40)])
    write_customers(tmp_path, "dev.csv", ["c0"], first=200)
    plain = replace(BY_CUSTOMER, name="plain", group_on="", files={"train": "a.csv", "dev": "dev.csv"})
    with_groups = replace(BY_CUSTOMER, files={"train": "a.csv", "dev": "dev.csv"})
    splits = drawing.Splits(tmp_path, {"plain": plain, "topic": with_groups})
    assert [len(splits.read(task, "train").examples) for task in (plain, with_groups)] == [40, 39]


def test_groups_that_share_a_text_stay_together(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n // 4}" for n in range(80)])
    with (tmp_path / "a.csv").open("a") as file:
        file.writelines(f"text {8 * n},0,c{2 * n + 1}\n" for n in range(10))  # the first customer's text again
    dev = {row.group for row in read(tmp_path, BY_CUSTOMER, "dev").examples}
    pairs = Counter(int(group.removeprefix("customer c")) // 2 for group in dev)
    assert {*pairs.values()} == {2}


@pytest.mark.parametrize("split", ["dev", "test"])
def test_rows_of_train_whose_group_a_file_of_dev_or_test_has_are_left_out(tmp_path: Path, split: Split) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n // 4}" for n in range(40)])
    write_customers(tmp_path, "b.csv", ["c3", "c99"], first=100)
    task = replace(BY_CUSTOMER, files={"train": "a.csv", split: "b.csv"})
    train = read(tmp_path, task, "train")
    groups = {row.group for row in train.examples}
    assert "customer c3" not in groups
    assert [(row.line, row.reason, row.is_faulty) for row in train.refusals] == [
        (line, "its customer is that of a row of dev or test", False)
        for line in (14, 15, 16, 17)
        if line in {row.line for row in train.refusals}
    ]
    in_dev = 0 if split == "dev" else len(read(tmp_path, task, "dev").examples)
    assert len(train.examples) + len(train.refusals) + in_dev == 40


def test_the_groups_of_the_latest_rows_are_left_out_of_train(tmp_path: Path) -> None:
    rows = [f"text {n},{n % 2},c{n % 9},2024-01-{n + 1:02}" for n in range(20)]
    (tmp_path / "a.csv").write_text("text,topic,customer,sent\n" + "\n".join(rows) + "\n")
    train, dev = (read(tmp_path, replace(BY_CUSTOMER, time_on="sent"), split) for split in ("train", "dev"))
    assert [row.line for row in dev.examples] == [18, 19, 20, 21]  # of the customers 7, 8, 0 and 1
    assert [row.line for row in train.refusals] == [2, 3, 9, 10, 11, 12]
    assert len(train.examples) == 10


def test_groups_are_compared_as_labels_are(tmp_path: Path) -> None:
    assert readers.group_of(BY_CUSTOMER, {"customer": 7.0}) == "customer 7"
    assert readers.group_of(BY_CUSTOMER, {"customer": "07"}) == "customer 07"
    assert readers.group_of(BY_CUSTOMER, {"customer": float("nan")}) == ""


@pytest.mark.parametrize(
    ("customers", "message"),
    [
        (["c1"] * 40, "a.csv: its customer is the same in all rows; allowed: several groups, some for dev"),
        ([""] * 40, "a.csv: it holds no row that can be used; line 2: customer is empty"),
        (["c1"] * 39 + ["c2"], "its 40 rows, which share sentences or a customer or are too few; name a file `dev` of"),
    ],
)
def test_groups_that_draw_nothing_are_refused(tmp_path: Path, customers: list[str], message: str) -> None:
    write_customers(tmp_path, "a.csv", customers)
    with pytest.raises(DataError) as error:
        read(tmp_path, BY_CUSTOMER, "train")
    assert message in str(error.value)


def test_a_file_without_the_column_is_refused_but_of_test(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n}" for n in range(40)])
    (tmp_path / "b.csv").write_text("text,topic\nanother,1\n")
    assert len(read(tmp_path, replace(BY_CUSTOMER, files={"train": "a.csv", "test": "b.csv"}), "test").examples) == 1
    for key in ("group_on", "time_on"):
        task = replace(BY_CUSTOMER, **{"group_on": "", key: "client"})
        with pytest.raises(DataError, match=r"a\.csv needs the columns text, topic, client; missing: client; it has"):
            read(tmp_path, task, "train")


def test_if_a_file_of_each_split_has_the_same_groups_nothing_is_left(tmp_path: Path) -> None:
    write_customers(tmp_path, "a.csv", [f"c{n % 4}" for n in range(40)])
    write_customers(tmp_path, "b.csv", [f"c{n % 4}" for n in range(40)], first=100)
    task = replace(BY_CUSTOMER, files={"train": "a.csv", "dev": "b.csv"})
    with pytest.raises(
        DataError, match=r"each row of train has a customer that dev or test has, too; leave `group_on`"
    ):
        read(tmp_path, task, "train")


def write_dates(folder: Path, dates: list[str]) -> None:
    rows = [f"text {n},{n % 2},{date}" for n, date in enumerate(dates)]
    (folder / "a.csv").write_text("text,topic,sent\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize(
    ("dates", "lines"),
    [
        ([f"2024-01-{n:02}" for n in (1, 9, 2, 8, 3, 7, 4, 6, 5, 10)], [3, 11]),
        (["2024-01-02"] * 3 + ["2024-01-01"] * 7, [2, 3, 4]),  # whole dates, as near to a fifth as can be
        (["2024-01-03", "2024-01-02", "2024-01-02", *["2024-01-01"] * 7], [2]),
        ([f"2024-01-01T{n:02}:00:00+0{9 - n}:00" for n in range(10)], [10, 11]),
    ],
)
def test_dev_is_the_latest_fifth_in_whole_dates(tmp_path: Path, dates: list[str], lines: list[int]) -> None:
    write_dates(tmp_path, dates)
    assert [row.line for row in read(tmp_path, BY_DATE, "dev").examples] == lines


def test_one_date_for_most_rows_draws_nothing(tmp_path: Path) -> None:
    write_dates(tmp_path, ["2024-01-01"] * 4 + ["2024-01-02"] * 6)
    with pytest.raises(DataError, match=r"a\.csv: 6 of its 10 rows have the latest sent, so that no fifth is later"):
        read(tmp_path, BY_DATE, "dev")


def test_of_several_labels_a_row_a_fifth_of_each_is_drawn(tmp_path: Path) -> None:
    task = Task(
        "moods", 2, ("text",), "moods", "micro_f1", labels={"joy": 0, "fear": 1}, several=True, separator=";",
        files={"train": "a.csv"},
    )  # fmt: skip
    lines = [f"joyful {n},joy" for n in range(20)] + [f"fearful {n},fear;joy" for n in range(10)]
    (tmp_path / "a.csv").write_text("text,moods\n" + "\n".join(lines) + "\n")
    drawn = Counter(row.sentence1.split()[0] for row in read(tmp_path, task, "dev").examples)
    assert drawn == {"joyful": 4, "fearful": 2}
