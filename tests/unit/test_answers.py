"""How what a page shows is read, and compared with what is printed."""

import pytest
from pipeline.pages import Block, Typed, answers, typed

TABLE = ["| row   |   SST-5 |", "|:------|--------:|", "| PALs  |   0.564 |"]


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        (["3 of 8 steps"], ["3 of 8 steps"], True),
        (["3 of 8 steps"], ["3 of 9 steps"], False),  # a count is exact
        (["r is 0.50"], ["r is 0.58"], True),
        (["r is 0.50"], ["r is 0.61"], False),
        (["4.15 of 5"], ["4.50 of 5"], True),  # a tenth of itself
        (["+0.05"], ["\N{MINUS SIGN}0.04"], True),
        (["-0.5"], ["0.5"], False),
        (["good 0.6, bad 0.4"], ["bad 0.47, good 0.53"], True),  # classes stand by their probabilities
        (["good 0.6, bad 0.4"], ["good 0.6, poor 0.4"], False),
        (TABLE, ["| row       |   SST-5 |", "|:----------|--------:|", "| PALs      |   0.532 |"], True),
        (["...", "b"], ["x", "a", "b"], True),
        (["a", "..."], ["a"], True),
        (["a", "...", "c"], ["a", "b"], False),
        (["a"], ["a", "b"], False),
        ([], [], True),
    ],
)
def test_lines_are_those_of_a_page_where_words_and_counts_are_and_scores_are_near(
    shown: list[str], printed: list[str], same: bool
):
    assert answers(shown, printed, within=0.1) == same


def block(text: str) -> list[Typed]:
    return typed(Block("page.md", 1, "", text, before="", mark=""))


def test_commands_are_as_long_as_the_shell_reads_them():
    loop = "for n in 1 2; do\n  echo $n\ndone | sort"
    assert block(f"{loop}\ncp a \\\n  b\n") == [Typed("", loop), Typed("", "cp a \\\n  b")]


def test_a_prompt_begins_what_is_typed_and_the_rest_is_its_answer():
    text = "$ echo 'a\n  b'\na\n  b\n\n>>> 1 + 1\n2\n>>> x = 1\n"
    told = [Typed("$ ", "echo 'a\n  b'", ("a", "  b")), Typed(">>> ", "1 + 1", ("2",)), Typed(">>> ", "x = 1")]
    assert block(text) == told


def test_a_block_that_begins_with_an_answer_is_none():
    with pytest.raises(AssertionError, match=r"page\.md, line 1 begins with an answer"):
        block("a table\n$ make report\n")
