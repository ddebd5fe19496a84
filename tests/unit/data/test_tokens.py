"""Word pieces and sequences, against Hugging Face's own tokenizer."""

import random
from pathlib import Path

import pytest
from transformers import BertTokenizer

from mtbert.data import tokens
from mtbert.errors import EncoderError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "##ed", "cat", "dog", "sat", "ran", "."]
PADDING, UNKNOWN, START, END, MASK, PLAY, ING, ED, CAT, DOG, SAT, RAN, STOP = range(13)


@pytest.fixture(scope="module")
def reference() -> BertTokenizer:
    return BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)})


@pytest.fixture
def encoder(reference: BertTokenizer, tmp_path: Path) -> Path:
    """An encoder's directory whose tokenizer.json has padding and truncation switched on, as published ones may."""
    reference(["cat", "dog"], padding="max_length", truncation=True, max_length=4)
    reference.save_pretrained(tmp_path)
    assert '"max_length": 4' in (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    return tmp_path


def sentence(length: int, seed: int) -> list[int]:
    """Ids of whole words."""
    return random.Random(seed).choices([CAT, DOG, SAT, RAN, STOP], k=length)


def text(ids: list[int]) -> str:
    return " ".join(WORDS[number] for number in ids)


def types(ids: list[int], second: int) -> list[int]:
    """Token types by where the second part starts."""
    return [int(position >= second) for position in range(len(ids))]


def test_wordpieces_without_special_tokens_padding_or_truncation(encoder: Path):
    encode = tokens.wordpieces(encoder)
    assert encode(["The cat played.", "dog", "", "cat sat cat ran cat sat"]) == [
        [UNKNOWN, CAT, PLAY, ED, STOP],
        [DOG],
        [],
        [CAT, SAT, CAT, RAN, CAT, SAT],
    ]


def test_a_directory_without_tokenizer_is_refused(tmp_path: Path):
    with pytest.raises(EncoderError, match=r"holds no tokenizer\.json; `dvc repro encoder` makes it"):
        tokens.wordpieces(tmp_path)


@pytest.mark.parametrize(
    ("first", "second", "room", "expected"),
    [
        (3, 5, 8, (3, 5)),
        (10, 2, 8, (6, 2)),
        (2, 10, 8, (2, 6)),
        (10, 10, 8, (4, 4)),
        (10, 10, 9, (4, 5)),  # the odd token goes to the second
        (11, 10, 9, (5, 4)),  # unless the first is longer
        (0, 10, 8, (0, 8)),
        (10, 0, 8, (8, 0)),
    ],
)
def test_the_longer_sentence_loses_first(first: int, second: int, room: int, expected: tuple[int, int]):
    assert tokens.truncated(first, second, room) == expected


def test_a_single_sequence():
    assert tokens.single([CAT, SAT], START, END, limit=8) == ([START, CAT, SAT, END], 4)


def test_a_single_sequence_loses_its_end():
    assert tokens.single([CAT, SAT, DOG, RAN], START, END, limit=5) == ([START, CAT, SAT, DOG, END], 5)


def test_a_crossed_sequence_and_where_its_second_part_starts():
    assert tokens.crossed([CAT, SAT], [DOG], START, END, limit=8) == ([START, CAT, SAT, END, DOG, END], 4)


def test_a_crossed_sequence_loses_of_the_longer_sentence():
    ids, second = tokens.crossed([CAT, SAT, DOG, RAN], [DOG], START, END, limit=6)
    assert (ids, second) == ([START, CAT, SAT, END, DOG, END], 4)


@pytest.mark.parametrize("limit", [8, 9, 128])
def test_single_sequences_are_hugging_faces(reference: BertTokenizer, limit: int):
    for length in (*range(12), 126, 127, 200):
        words = sentence(length, seed=length)
        expected = reference(text(words), truncation="longest_first", max_length=limit)
        ids, second = tokens.single(words, START, END, limit)
        assert ids == expected["input_ids"]
        assert types(ids, second) == expected["token_type_ids"]


@pytest.mark.parametrize("limit", [8, 9, 12, 13])
def test_crossed_sequences_are_hugging_faces_at_all_short_lengths(reference: BertTokenizer, limit: int):
    lengths = [(one, two) for one in range(13) for two in range(13)]
    assert_equal_pairs(reference, [(sentence(one, seed=one), sentence(two, seed=-two)) for one, two in lengths], limit)


@pytest.mark.parametrize("limit", [64, 65, 127, 128])
def test_crossed_sequences_are_hugging_faces_at_long_lengths(reference: BertTokenizer, limit: int):
    lengths = random.Random(limit)
    pairs = [(sentence(lengths.randrange(200), n), sentence(lengths.randrange(200), -n)) for n in range(200)]
    assert_equal_pairs(reference, pairs, limit)


def assert_equal_pairs(reference: BertTokenizer, pairs: list[tuple[list[int], list[int]]], limit: int) -> None:
    """Pairs go in as lists: alone, Hugging Face takes a pair with an empty second sentence for a single one."""
    firsts, seconds = ([text(pair[part]) for pair in pairs] for part in (0, 1))
    expected = reference(firsts, seconds, truncation="longest_first", max_length=limit)
    found = [tokens.crossed(first, second, START, END, limit) for first, second in pairs]
    assert [ids for ids, _ in found] == expected["input_ids"]
    assert [types(ids, second) for ids, second in found] == expected["token_type_ids"]
