"""What a request may hold; what is said of any other: row, fault and remedy."""

import json
from typing import Any

import pytest

from mtbert.serving import requests
from mtbert.serving.description import Description, ServedTask
from mtbert.serving.requests import RequestError

TEXT = ServedTask(graph="texts", form="text", kind="binary", labels=["no", "yes"], names=["no", "yes"])
PAIR = ServedTask(graph="pairs", form="pair", kind="score", lowest=0.0, highest=5.0)
ABOUT = Description(variant="made", seed=1, longest=8, tasks={"spam": TEXT, "tone": TEXT, "same": PAIR})
EMPTY = "leave the row out, or send a text with a visible character"
TWO = 'send a list of two texts: ["...", "..."]'


def read(content: Any, most: int = 4) -> tuple[list[list[str]], list[str]]:
    rows = requests.read(json.dumps(content).encode(), ABOUT, most)
    return rows.texts, [*rows.tasks]


@pytest.mark.parametrize(
    ("content", "rows", "tasks"),
    [
        ({"texts": "a"}, [["a"]], ["spam", "tone"]),
        ({"texts": ["a", "b"], "tasks": ["tone"]}, [["a"], ["b"]], ["tone"]),
        ({"pairs": ["a", "b"]}, [["a", "b"]], ["same"]),
        ({"pairs": [["a", "b"], ["c", "d"]], "tasks": ["same", "same"]}, [["a", "b"], ["c", "d"]], ["same"]),
    ],
)
def test_one_text_or_many_or_pairs_for_all_tasks_or_some(content: Any, rows: list, tasks: list) -> None:
    assert read(content) == (rows, tasks)


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        ([], [(None, "the request is a list", 'send an object, such as {"texts": ["..."]}')]),
        (
            {},
            [
                (
                    None,
                    "the request has neither of texts and pairs",
                    'send {"texts": ["..."]} or {"pairs": [["...", "..."]]}',
                )
            ],
        ),
        (
            {"text": "a"},
            [
                (
                    None,
                    "unknown key 'text'; did you mean texts? known: texts, pairs, tasks",
                    "rename the key, or leave it out",
                )
            ],
        ),
        (
            {"texts": ["a", "", None, "b\0", "\u200b", True]},
            [
                (2, "the text is empty", EMPTY),
                (3, "the text is null", "leave the row out, or send a text"),
                (4, "the text holds the character NUL", "remove it"),
                (5, "the text is empty", EMPTY),
                (6, "the text is a boolean", "send a text"),
            ],
        ),
        (
            {"texts": ["a" * 100_001]},
            [
                (
                    1,
                    "the text has 100,001 characters; allowed: 100,000",
                    "shorten it: the model reads its beginning alone",
                )
            ],
        ),
        ({"texts": []}, [(None, "the request has 0 rows; allowed: 1 to 4", "send at least one row")]),
        (
            {"texts": ["a"] * 5},
            [(None, "the request has 5 rows; allowed: 1 to 4", "split the request, or name fewer tasks")],
        ),
        ({"texts": 5}, [(None, "texts is a number", "send a list as `texts`")]),
        (
            {"pairs": [["a", ""], ["a"], "a", ["a", "b", "c"], [3, "a"]]},
            [
                (1, "the second text is empty", EMPTY),
                (2, "the pair has 1 texts", "send two texts"),
                (3, "the pair is a text", TWO),
                (4, "the pair has 3 texts", "send two texts"),
                (5, "the first text is a number", "send a text"),
            ],
        ),
        (
            {"pairs": ["a", "b"], "tasks": ["spam"]},
            [(None, "spam takes texts, and the request has pairs", "send `texts`")],
        ),
        (
            {"texts": "a", "tasks": ["tune", "same"]},
            [
                (None, "unknown task 'tune'; did you mean tone? known: spam, tone, same", "correct `tasks`"),
                (None, "same takes pairs, and the request has texts", "send `pairs`"),
            ],
        ),
        (
            {"texts": "a", "tasks": []},
            [(None, "tasks is empty", "spam takes texts, tone takes texts, same takes pairs")],
        ),
        ({"texts": "a", "tasks": [None]}, [(None, "task 1 is null", "name each task by its name, a text")]),
    ],
)
def test_other_requests_are_refused_with_row_fault_and_remedy(content: Any, faults: list) -> None:
    with pytest.raises(RequestError) as refused:
        read(content)
    refusal = refused.value.refusal
    assert [(fault.row, fault.fault, fault.remedy) for fault in refusal.faults] == faults
    assert refusal.more == 0


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "EOF while parsing a value"),
        (b"\xff", "expected value"),
        (b'{"texts": "\xff"}', "invalid unicode code point"),
        (b'{"texts": "\\ud800"}', "unexpected end of hex escape"),
        (b'{"texts": ' + b"[" * 100_000, "recursion limit exceeded"),
    ],
)
def test_what_is_not_json_is_refused(body: bytes, reason: str) -> None:
    with pytest.raises(RequestError) as refused:
        requests.read(body, ABOUT, 4)
    (fault,) = refused.value.refusal.faults
    assert fault.fault.startswith(f"the body is not JSON in UTF-8: {reason} at line 1 column ")


@pytest.mark.parametrize("body", [b'{"texts": "a", "texts": "b"}', b'{"texts": "a", "t\\u0065xts": "b"}'])
def test_a_key_that_comes_twice_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError) as refused:
        requests.read(body, ABOUT, 4)
    (fault,) = refused.value.refusal.faults
    assert (fault.row, fault.fault, fault.remedy) == (
        None,
        "in the request a key comes twice: texts",
        "send each key once",
    )


def test_the_first_ten_faults_are_listed_and_the_others_counted() -> None:
    with pytest.raises(RequestError) as refused:
        read({"texts": [""] * 12}, most=20)
    refusal = refused.value.refusal
    assert [fault.row for fault in refusal.faults] == [*range(1, 11)]
    assert refusal.more == 2


def test_a_model_without_such_tasks_says_what_it_takes() -> None:
    about = Description(variant="made", seed=1, longest=8, tasks={"spam": TEXT})
    with pytest.raises(RequestError) as refused:
        requests.read(b'{"pairs": ["a", "b"]}', about, 4)
    (fault,) = refused.value.refusal.faults
    assert (fault.fault, fault.remedy) == ("no task takes pairs", "spam takes texts")


def test_a_request_that_no_queue_could_hold_is_refused_at_once() -> None:
    apart = ServedTask(graph="pairs-apart", form="pair-apart", kind="score", lowest=0.0, highest=5.0)
    about = Description(variant="made", seed=1, longest=8, tasks={"same": PAIR, "near": apart})
    body = json.dumps({"pairs": [["a", "b"]] * 3}).encode()
    with pytest.raises(RequestError) as refused:
        requests.read(body, about, 4)  # both graphs compute each row
    assert refused.value.refusal.faults[0].fault == "the request has 3 rows; allowed: 1 to 2"
    assert len(requests.read(body, about, 6).texts) == 3
