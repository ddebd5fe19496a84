"""Parts of speech, from word pieces."""

from pathlib import Path

import pytest
import torch

from mtbert.errors import SettingsError
from mtbert.models.features import FEATURES
from mtbert.models.features.pos import TAGGED, PartOfSpeech, Settings, sentences, trained

VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "the", "dog", "##s", "run", "not", "slow", "##ly", "."]
CLS, SEP, PAD = 1, 2, 0
TAGS = {"the": "DET", "dogs": "NOUN", "dog": "NOUN", "run": "VERB", "slowly": "ADV", ".": "."}


class Dictionary:
    """A tagger that is never wrong."""

    def tag(self, words: list[str]) -> list[tuple[str, str]]:
        return [(word, TAGS[word]) for word in words]


def pos() -> PartOfSpeech:
    features = PartOfSpeech(Settings(tagger="shipped"), 4, VOCABULARY)
    features.tagger = Dictionary()
    return features


def test_the_shipped_sentences_are_read_and_have_the_universal_tags(tmp_path: Path):
    file = tmp_path / "tagged.txt"
    file.write_text("# a comment\ndogs/NOUN bark/VERB 1/2/NUM ./.\n")
    assert sentences(file) == [[("dogs", "NOUN"), ("bark", "VERB"), ("1/2", "NUM"), (".", ".")]]
    tags = {tag for sentence in sentences(TAGGED) for _, tag in sentence}
    assert tags == {"NOUN", "VERB", "ADJ", "ADV", "PRON", "DET", "ADP", "NUM", "CONJ", "PRT", ".", "X"}


def test_every_piece_has_the_tag_of_its_word_and_marks_have_none():
    features = pos()
    names = {number: tag for tag, number in features.numbers.items()} | {0: "-"}
    found = [names[number] for number in features.tags_of((CLS, 3, 4, 5, 6, 8, 9, 10, SEP, PAD))]
    assert found == ["-", "DET", "NOUN", "NOUN", "VERB", "ADV", "ADV", ".", "-", "-"]


def test_a_tags_embedding_is_nothing_at_first_added_and_learnt():
    features, ids = pos(), torch.tensor([[CLS, 4, SEP]])
    assert not features(torch.zeros(1, 3, 4), ids).any()
    noun = features.numbers["NOUN"]
    features.tags.weight.data[noun] = torch.tensor([1.0, 2.0, 3.0, 4.0])
    found = features(torch.zeros(1, 3, 4), ids)
    assert found[0].tolist() == [[0.0] * 4, [1.0, 2.0, 3.0, 4.0], [0.0] * 4]
    found.sum().backward()
    assert features.tags.weight.grad[[noun, 0]].tolist() == [[1.0] * 4, [0.0] * 4]


def test_the_tagger_is_the_same_each_time_and_knows_what_it_saw():
    tagged = sentences(TAGGED)
    one, two = (trained(tagged) for _ in range(2))
    assert one.model.weights == two.model.weights
    assert one.accuracy(tagged) > 0.95


def test_nltks_own_tagger_has_to_be_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("nltk.data.path", [])
    with pytest.raises(SettingsError, match=r"pos\.tagger is nltk, whose data is not on this machine"):
        FEATURES.build(FEATURES.choose({"name": "pos", "tagger": "nltk"}), 4, VOCABULARY)


def test_pieces_that_do_not_tell_where_words_go_on_are_refused():
    with pytest.raises(SettingsError, match=r"begin with ##; the encoder's tokenizer has none; allowed: words, or"):
        FEATURES.build(FEATURES.choose({"name": "pos"}), 8, ["<s>", "the", "Ġdog", "s", "."])
