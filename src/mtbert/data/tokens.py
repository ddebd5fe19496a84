"""Word pieces, made once in preprocessing, and the sequences that are built from them.

A sentence's word pieces do not depend on what stands beside it, so cross and bi encoding share one file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mtbert.errors import EncoderError

if TYPE_CHECKING:
    import numpy as np
    from tokenizers import Tokenizer

Tokenize = Callable[[list[str]], list[list[int]]]  # from texts to the ids of their word pieces
TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"
GROUP = 2**14  # sentences at once: what the library returns takes far more memory than the ids
# What tokenizers call their special tokens: BERT's, ModernBERT's and DeBERTa's, and RoBERTa's.
SPECIAL_NAMES: tuple[dict[str, str], ...] = (
    {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]", "unk_token": "[UNK]"},
    {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>", "unk_token": "<unk>"},
)


class TokenSequence(NamedTuple):
    """A sequence as an encoder takes it: the ids of its tokens, [tokens], and where its second part starts."""

    ids: "list[int] | np.ndarray"
    second: int


@dataclass(frozen=True)
class SpecialTokens:
    """What a tokenizer puts around sentences: `start first end`, or `start first end second end`.

    Attributes:
        start, end, padding, mask: ids of these tokens.
        separators: how many `end` stand between two sentences: BERT's one, or RoBERTa's two.
    """

    start: int
    end: int
    padding: int
    mask: int | None = None
    separators: int = 1

    def count(self, pair: bool) -> int:
        """Return how many there are in a sequence of one sentence, or of two."""
        return 2 + self.separators if pair else 2

    def frame(self, tokens: Sequence[int], limit: int) -> TokenSequence:
        """Return one sentence as a sequence of at most `limit` tokens; a second part would start at its end."""
        ids = [self.start, *tokens[: limit - self.count(pair=False)], self.end]
        return TokenSequence(ids, len(ids))

    def frame_pair(self, first: Sequence[int], second: Sequence[int], limit: int) -> TokenSequence:
        """Return both sentences as one sequence of at most `limit` tokens."""
        first_count, second_count = _truncated(len(first), len(second), limit - self.count(pair=True))
        first_part = [self.start, *first[:first_count], self.end]
        second_part = [*[self.end] * (self.separators - 1), *second[:second_count], self.end]
        return TokenSequence(first_part + second_part, len(first_part))


def wordpieces(encoder: Path) -> Tokenize:
    """Return a function from sentences to word-piece ids, without special tokens, by an encoder's tokenizer."""
    tokenizer = read(encoder)

    def encode(sentences: list[str]) -> list[list[int]]:
        ids: list[list[int]] = []
        for start in range(0, len(sentences), GROUP):
            encodings = tokenizer.encode_batch_fast(sentences[start : start + GROUP], add_special_tokens=False)
            ids += [encoding.ids for encoding in encodings]
        return ids

    return encode


def once(tokenize: Tokenize) -> Tokenize:
    """Return `tokenize` as a function that remembers the ids of each text, and computes those of new texts alone."""
    ids_by_text: dict[str, list[int]] = {}

    def encode(sentences: list[str]) -> list[list[int]]:
        new = [*dict.fromkeys(sentence for sentence in sentences if sentence not in ids_by_text)]
        ids_by_text.update(zip(new, tokenize(new), strict=True))
        return [ids_by_text[sentence] for sentence in sentences]

    return encode


def read(encoder: Path) -> "Tokenizer":
    """Read the tokenizer of an encoder's folder, without padding and truncation; EncoderError where there is none."""
    from tokenizers import Tokenizer

    file = encoder / TOKENIZER
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more special
        raise EncoderError(f"{file} is not a tokenizer: {error}; `dvc repro encoder` makes it") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def vocabulary(encoder: Path) -> list[str]:
    """Return the pieces of an encoder's tokenizer, by id."""
    ids = read(encoder).get_vocab()
    return sorted(ids, key=ids.__getitem__)


def names_of_special(tokenizer: "Tokenizer") -> dict[str, str]:
    """Return what a tokenizer calls its special tokens; EncoderError where that is none of SPECIAL_NAMES."""
    vocabulary = tokenizer.get_vocab()
    for names in SPECIAL_NAMES:
        if vocabulary.keys() >= {*names.values()}:
            return names
    allowed = ", or ".join(" ".join(names.values()) for names in SPECIAL_NAMES)
    raise EncoderError(f"the encoder's tokenizer lacks special tokens; allowed: {allowed}")


def special_tokens(encoder: Path) -> SpecialTokens:
    """Return what an encoder's tokenizer puts around sentences; EncoderError where it frames a pair in another way."""
    tokenizer = read(encoder)
    names = names_of_special(tokenizer)
    ids = tokenizer.get_vocab()
    start, end, padding, mask = (ids[names[f"{name}_token"]] for name in ("cls", "sep", "pad", "mask"))
    word = tokenizer.encode("a", add_special_tokens=False).ids
    single, pair = tokenizer.encode("a"), tokenizer.encode("a", "a")
    for separators in (1, 2):
        first_part = [start, *word, end]
        second_part = [*[end] * (separators - 1), *word, end]
        untyped = [0] * len(first_part + second_part)
        typed = [0] * len(first_part) + [1] * len(second_part)
        if pair.ids == first_part + second_part and pair.type_ids in (typed, untyped):
            if single.ids != first_part or any(single.type_ids):
                raise EncoderError(
                    f"the encoder's tokenizer makes {pair.tokens} of a pair, but {single.tokens} of one sentence, with "
                    f"types {single.type_ids}; allowed: {names['cls_token']} a {names['sep_token']}, with types 0"
                )
            return SpecialTokens(start, end, padding, mask, separators)
    raise EncoderError(
        f"the encoder's tokenizer makes {pair.tokens} of a pair, with types {pair.type_ids}; allowed: as BERT, [CLS] a "
        "[SEP] b [SEP], with type 1 from b on or none, or as RoBERTa, <s> a </s></s> b </s>"
    )


def _truncated(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many tokens of each sentence are kept so that both fit into `room`: the longer loses first.

    The rule of Hugging Face's `longest_first`, so that sequences equal those of its tokenizers.
    """
    if first + second <= room:
        return first, second
    shorter = min(first, second)
    if 2 * shorter <= room:
        longer = room - shorter
    else:
        shorter = room // 2
        longer = room - shorter
    return (longer, shorter) if first > second else (shorter, longer)
