"""Word pieces and sequences, against Hugging Face's own tokenizer."""

import random
from pathlib import Path

import encoders
import pytest
from transformers import BertTokenizer

from mtbert import files
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
    assert BERT.single([CAT, SAT], limit=8) == ([START, CAT, SAT, END], 4)
    assert BERT.single([CAT, SAT, DOG, RAN], limit=5) == ([START, CAT, SAT, DOG, END], 5)
    assert BERT.crossed([CAT, SAT], [DOG], limit=8) == ([START, CAT, SAT, END, DOG, END], 4)
    assert BERT.crossed([CAT, SAT, DOG, RAN], [DOG], limit=6) == ([START, CAT, SAT, END, DOG, END], 4)


@pytest.mark.parametrize("limit", [8, 9, 128])
def test_single_sequences_are_hugging_faces(reference: BertTokenizer, limit: int):
    for length in (*range(12), 126, 127, 200):
        words = sentence(length, seed=length)
        expected = reference(text(words), truncation="longest_first", max_length=limit)
        ids, second = BERT.single(words, limit)
        assert ids == expected["input_ids"]
        assert types(ids, second) == expected["token_type_ids"]


@pytest.mark.parametrize("limit", [8, 9, 12, 13])
def test_crossed_sequences_are_hugging_faces_at_all_short_lengths(reference: BertTokenizer, limit: int):
    lengths = [(one, two) for one in range(13) for two in range(13)]
    pairs = [(sentence(one, seed=one), sentence(two, seed=-two)) for one, two in lengths]
    # as lists: alone, Hugging Face takes a pair with an empty second sentence for a single one
    firsts, seconds = ([text(pair[part]) for pair in pairs] for part in (0, 1))
    expected = reference(firsts, seconds, truncation="longest_first", max_length=limit)
    found = [BERT.crossed(first, second, limit) for first, second in pairs]
    assert [ids for ids, _ in found] == expected["input_ids"]
    assert [types(ids, second) for ids, second in found] == expected["token_type_ids"]


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encoder's directory with a byte-level tokenizer that cuts and pads, as published ones may."""
    folder, tokenizer = tmp_path_factory.mktemp("roberta"), encoders.byte_level(model_max_length=128)
    tokenizer(["cat", "dog"], padding="max_length", truncation=True, max_length=4)
    tokenizer.save_pretrained(folder)
    return folder


def texts(seed: int, count: int) -> list[str]:
    """Pieces of sentences, with capitals, spaces, accents and emoji, and empty ones."""
    words = [*" ".join(encoders.LINES).split(), "naïve", "😀", "  two", "<s", "\t", "don't"]
    draw = random.Random(seed)
    return [" ".join(draw.choices(words, k=draw.randrange(1, 14))) for _ in range(count)]


def test_the_special_tokens_are_those_of_the_tokenizers_files(encoder: Path, roberta: Path):
    assert tokens.special_tokens(encoder) == SpecialTokens(START, END, PADDING, between=1, typed=True, mask=MASK)
    assert tokens.special_tokens(roberta) == SpecialTokens(0, 2, 1, between=2, typed=False, mask=4)


def test_a_tokenizer_may_lack_a_mask_but_no_padding(roberta: Path, tmp_path: Path):
    names = files.read_json(roberta / "tokenizer_config.json")
    (tmp_path / "tokenizer.json").write_bytes((roberta / "tokenizer.json").read_bytes())
    files.write_json(tmp_path / "tokenizer_config.json", {**names, "mask_token": None, "pad_token": {"content": "a"}})
    found = tokens.special_tokens(tmp_path)
    assert (found.mask, found.padding) == (None, tokens.read(roberta).token_to_id("a"))
    files.write_json(tmp_path / "tokenizer_config.json", {**names, "pad_token": "[nowhere]"})
    with pytest.raises(EncoderError, match=r"tokenizer_config\.json names no pad_token that tokenizer\.json knows"):
        tokens.special_tokens(tmp_path)


@pytest.mark.parametrize("limit", [6, 7, 8, 16, 128])
def test_roberta_sentences_and_pairs_are_hugging_faces(roberta: Path, limit: int):
    theirs, special, encode = encoders.byte_level(), tokens.special_tokens(roberta), tokens.wordpieces(roberta)
    firsts, seconds = (texts(limit + part, 60) for part in (0, 1000))
    one, two = encode(firsts), encode(seconds)
    alone = theirs(firsts, truncation=True, max_length=limit)["input_ids"]
    assert [special.single(ids, limit)[0] for ids in one] == alone
    pairs = theirs(firsts, seconds, truncation="longest_first", max_length=limit)["input_ids"]
    found = [special.crossed(first, second, limit) for first, second in zip(one, two, strict=True)]
    assert [ids for ids, _ in found] == pairs
