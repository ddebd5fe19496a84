"""The untrained encoder and its vocabulary."""

import torch

from mtbert.pretrained import tiny
from mtbert.pretrained.settings import EncoderSettings

SENTENCES = ["The low, the lower, the lowest!", "A lower é?", "lowest 一"]
SMALL = EncoderSettings(name="tiny", width=12, heads=2, feed_forward=24, positions=16)
NUMBERED = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("##!", "##,", "##?", "##a", "##e", "##h", "##l", "##o", "##r", "##s", "##t", "##w", "##一"),
    *("!", ",", "?", "a", "e", "h", "l", "o", "r", "s", "t", "w", "一"),
]


def test_vocabulary_is_lower_case_without_accents_and_in_fixed_order() -> None:
    learnt = ["##ow", "low", "lowe", "##he", "the", "##st", "lower", "lowest"]
    assert tiny.vocabulary(SENTENCES, 1000) == [*NUMBERED, *learnt]


def test_vocabulary_ends_at_its_size() -> None:
    assert tiny.vocabulary(SENTENCES, 36) == [*NUMBERED, "##ow", "low", "lowe", "##he", "the"]


def test_vocabulary_knows_the_most_frequent_characters_only() -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"
    syllables = [chr(0xA000 + number) for number in range(tiny.ALPHABET)]  # Yi: 300 letters, each once, in one word
    pieces = tiny.vocabulary([letters, letters, "cat", "cat", "".join(syllables)], 2000)
    continued = [piece[2:] for piece in pieces if piece.startswith("##") and len(piece) == 3]
    assert continued == [*letters, *syllables[: tiny.ALPHABET - 26]]
    assert "cat" in pieces
    assert syllables[0] not in pieces  # its word cannot be spelled, and is left out


def test_weights_follow_from_the_projects_seed_alone_and_the_global_generator_is_left_as_it_was() -> None:
    first = tiny.model(SMALL, 50).state_dict()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    second = tiny.model(SMALL, 50).state_dict()
    assert torch.equal(torch.rand(3), expected)
    assert all(torch.equal(first[name], second[name]) for name in first)
