"""Word pieces and sequences, against Hugging Face's own tokenizer."""

import random
from pathlib import Path

import pytest
from transformers import BertTokenizer

from mtbert.data import tokens
from mtbert.data.tokens import SpecialTokens
from mtbert.errors import EncoderError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "##ed", "cat", "dog", "sat", "ran", "."]
PADDING, UNKNOWN, START, END, MASK, PLAY, ING, ED, CAT, DOG, SAT, RAN, STOP = range(13)
BERT = SpecialTokens(START, END, PADDING, mask=MASK)


@pytest.fixture(scope="module")
def reference() -> BertTokenizer:
    return BertTokenizer(vocab={word: number for number, word in enumerate(WORDS)}, model_max_length=512)


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
    with pytest.raises(EncoderError, match=r"tokenizer\.json is not a tokenizer"):
        tokens.wordpieces(tmp_path)


def test_sequences_are_framed_and_cut():
    assert BERT.frame([CAT, SAT], limit=8) == ([START, CAT, SAT, END], 4)
    assert BERT.frame([CAT, SAT, DOG, RAN], limit=5) == ([START, CAT, SAT, DOG, END], 5)
    assert BERT.frame_pair([CAT, SAT], [DOG], limit=8) == ([START, CAT, SAT, END, DOG, END], 4)
    assert BERT.frame_pair([CAT, SAT, DOG, RAN], [DOG], limit=6) == ([START, CAT, SAT, END, DOG, END], 4)


@pytest.mark.parametrize("limit", [8, 9, 128])
def test_single_sequences_are_hugging_faces(reference: BertTokenizer, limit: int):
    for length in (*range(12), 126, 127, 200):
        words = sentence(length, seed=length)
        expected = reference(text(words), truncation="longest_first", max_length=limit)
        ids, second = BERT.frame(words, limit)
        assert ids == expected["input_ids"]
        assert types(ids, second) == expected["token_type_ids"]


@pytest.mark.parametrize("limit", [8, 9, 12, 13])
def test_crossed_sequences_are_hugging_faces_at_all_short_lengths(reference: BertTokenizer, limit: int):
    lengths = [(one, two) for one in range(13) for two in range(13)]
    pairs = [(sentence(one, seed=one), sentence(two, seed=-two)) for one, two in lengths]
    # as lists: alone, Hugging Face takes a pair with an empty second sentence for a single one
    firsts, seconds = ([text(pair[part]) for pair in pairs] for part in (0, 1))
    expected = reference(firsts, seconds, truncation="longest_first", max_length=limit)
    found = [BERT.frame_pair(first, second, limit) for first, second in pairs]
    assert [ids for ids, _ in found] == expected["input_ids"]
    assert [types(ids, second) for ids, second in found] == expected["token_type_ids"]


def test_the_special_tokens_are_those_of_the_tokenizer(encoder: Path):
    assert tokens.special_tokens(encoder) == SpecialTokens(START, END, PADDING, mask=MASK)
