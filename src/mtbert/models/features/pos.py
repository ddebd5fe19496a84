"""Part of speech: an embedding of each token's part of speech is added to its word embedding.

What it does: joins the word pieces of a sequence to words, tags them with NLTK's averaged perceptron, and gives every
piece its word's tag. The embedding of every tag starts at 0, so that training starts from the encoder as it is.

Formula: e = E_word + E_tag.

Source: "MinBERT and PALs", section 5.3, which tried NLTK's tagger and says no more; how the tags enter is ours.

Symbols: E_tag [tags + 1, width], learnt; row 0, which stays 0, is for [CLS], [SEP] and padding.

Settings: `tagger: shipped` is trained, when the model is made, on about sixty sentences in tagged.txt beside this file,
with universal tags. It needs no download, and is right on common words alone. `tagger: nltk` is NLTK's own English
tagger, with Penn's tags, from nltk_data.
"""

import functools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor, nn

from mtbert.errors import SettingsError
from mtbert.models.features.base import Features
from mtbert.settings import Section

if TYPE_CHECKING:
    from nltk.tag.perceptron import PerceptronTagger

TAGGED = Path(__file__).with_name("tagged.txt")
CONTINUED = "##"  # the start of a piece that continues the word of the piece before
SPECIAL = ("[CLS]", "[SEP]", "[PAD]", "[MASK]")
REMEMBERED = 200_000  # sequences whose tags are kept: tagging one takes a millisecond, and epochs see it again

Word = tuple[str, str]  # and its tag


class Settings(Section):
    """Section `pos`: which tagger."""

    tagger: Literal["shipped", "nltk"] = "nltk"


class PartOfSpeech(Features):
    """Adds an embedding of each token's part of speech."""

    def __init__(self, settings: Settings, width: int, vocabulary: Sequence[str]) -> None:
        super().__init__(settings, width, vocabulary)
        if not any(piece.startswith(CONTINUED) for piece in vocabulary):
            raise SettingsError(
                f"model.features is pos, which joins words from pieces that begin with {CONTINUED}; the "
                "encoder's tokenizer has none; allowed: words, or an encoder with WordPiece, such as BERT's"
            )
        self.vocabulary = tuple(vocabulary)
        self.tagger = trained(sentences(TAGGED)) if settings.tagger == "shipped" else _nltk()
        self.numbers = {tag: number for number, tag in enumerate(sorted(self.tagger.classes), start=1)}
        self.tags = nn.Embedding(len(self.numbers) + 1, width, padding_idx=0)
        nn.init.zeros_(self.tags.weight)
        self.remembered = functools.lru_cache(REMEMBERED)(self.tags_of)

    def forward(self, words: Tensor, input_ids: Tensor) -> Tensor:
        """Return word embeddings with those of their parts of speech added, [rows, tokens, width]."""
        tags = torch.tensor([self.remembered(tuple(row)) for row in input_ids.tolist()], device=words.device)
        return words + self.tags(tags)

    def tags_of(self, ids: tuple[int, ...]) -> list[int]:
        """Return the number of each token's tag; 0 for special tokens."""
        words: list[str] = []
        word_of: dict[int, int] = {}  # by the position of a token, the number of its word
        for position, token in enumerate(ids):
            piece = self.vocabulary[token]
            if piece.startswith(CONTINUED) and words:
                words[-1] += piece.removeprefix(CONTINUED)
            elif piece not in SPECIAL:
                words.append(piece)
            else:
                continue
            word_of[position] = len(words) - 1
        tags = [self.numbers[tag] for _, tag in self.tagger.tag(words)]
        return [tags[word_of[position]] if position in word_of else 0 for position in range(len(ids))]


def sentences(file: Path) -> list[list[Word]]:
    """Read sentences of words and tags from lines such as `dogs/NOUN bark/VERB ./.`; # begins a comment."""
    tagged = []
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            parts = [word.rpartition("/") for word in line.split()]
            tagged.append([(word, tag) for word, _, tag in parts])
    return tagged


def trained(tagged: list[list[Word]]) -> "PerceptronTagger":
    """Train NLTK's tagger on these sentences, with the same result each time."""
    from nltk.tag.perceptron import PerceptronTagger

    state = random.getstate()
    random.seed(0)  # NLTK shuffles the sentences with Python's own generator
    tagger = PerceptronTagger(load=False)
    tagger.train(tagged)
    random.setstate(state)
    return tagger


def _nltk() -> "PerceptronTagger":
    from nltk.tag.perceptron import PerceptronTagger

    try:
        return PerceptronTagger()
    except LookupError:
        raise SettingsError(
            "pos.tagger is nltk, whose data is not on this machine; allowed: shipped, or nltk after "
            "`python -m nltk.downloader averaged_perceptron_tagger_eng`"
        ) from None
