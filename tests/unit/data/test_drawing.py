"""A dev that is drawn from train: a fifth, whole clusters, by the text alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from mtbert.data import drawing
from mtbert.errors import DataError
from mtbert.tasks import COURSE

TASK = replace(COURSE["qqp"], id="", files={"train": "a.csv"})
LINES = [f"question {n},question {n} again,{n % 2}" for n in range(40)]


def write(folder: Path, lines: list[str]) -> None:
    (folder / "a.csv").write_text("sentence1,sentence2,is_duplicate\n" + "\n".join(lines) + "\n")


def dev(folder: Path, lines: list[str]) -> set[str]:
    write(folder, lines)
    return {row.sentence1 for row in drawing.read(folder, TASK, "dev")[0]}


def test_a_fifth_is_dev_and_the_rest_is_train(tmp_path: Path) -> None:
    first = dev(tmp_path, LINES)
    train = {row.sentence1 for row in drawing.read(tmp_path, TASK, "train")[0]}
    assert (len(first), len(train), first & train) == (8, 32, set())


def test_refused_rows_are_trains_and_both_splits_have_the_count_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, [*LINES, "x,y,9"])
    train, dev_rows = (drawing.read(tmp_path, TASK, split) for split in ("train", "dev"))
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
        drawing.read(tmp_path, TASK, "dev")


def test_a_task_with_a_dev_file_has_that(tmp_path: Path) -> None:
    write(tmp_path, LINES)
    (tmp_path / "b.csv").write_text("sentence1,sentence2,is_duplicate\nx,y,1\n")
    both = replace(TASK, files={"train": "a.csv", "dev": "b.csv"})
    assert [len(drawing.read(tmp_path, both, split)[0]) for split in ("train", "dev")] == [40, 1]
