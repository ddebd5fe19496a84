"""Word pieces, made once in preprocessing, and the sequences that are built from them.

A sentence's word pieces do not depend on what stands beside it, so cross and bi encoding share one file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mtbert import files
from mtbert.errors import EncoderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER, NAMES = "tokenizer.json", "tokenizer_config.json"


@dataclass(frozen=True)
class SpecialTokens:
    """What a tokenizer puts around sentences: `start first end`, or `start first end ... end second end`.

    Attributes:
        start, end, padding, mask: ids of these tokens; a tokenizer may lack a mask.
        between: how many end tokens stand between two sentences: 1 for BERT, 2 for RoBERTa.
        typed: whether the tokens of the second sentence are of type 1, as BERT's are; else all are of type 0.
    """

    start: int
    end: int
    padding: int
    between: int = 1
    typed: bool = True
    mask: int | None = None

    def single(self, tokens: Sequence[int], limit: int) -> tuple[list[int], int]:
        """Return start, tokens, end, at most `limit` long, and its length, since it has no second part."""
        ids = [self.start, *tokens[: limit - 2], self.end]
        return ids, len(ids)

    def crossed(self, first: Sequence[int], second: Sequence[int], limit: int) -> tuple[list[int], int]:
        """Return both sentences in one sequence, at most `limit` long, and where its second part starts.

        The first of the end tokens between the sentences ends the first part.
        """
        one, two = truncated(len(first), len(second), limit - 2 - self.between)
        return [self.start, *first[:one], *[self.end] * self.between, *second[:two], self.end], one + 2


def wordpieces(encoder: Path) -> Callable[[list[str]], list[list[int]]]:
    """Return a function from sentences to word-piece ids, without special tokens, by an encoder's tokenizer."""
    tokenizer = read(encoder)

    def encode(sentences: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(sentences, add_special_tokens=False)]

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


def special_tokens(encoder: Path) -> SpecialTokens:
    """Return what an encoder's tokenizer puts around sentences; EncoderError where it does so in another way."""
    tokenizer = read(encoder)
    inner = tokenizer.encode("a", add_special_tokens=False).ids
    alone, pair = tokenizer.encode("a").ids, tokenizer.encode("a", "a")
    start, end, between = alone[0], alone[-1], len(pair.ids) - 2 * len(inner) - 2
    second = len(inner) + 2  # where its second part starts
    types = {False: [0] * len(pair.ids), True: [0] * second + [1] * (len(pair.ids) - second)}
    is_known = alone == [start, *inner, end] and pair.ids == [start, *inner, *[end] * between, *inner, end]
    if not (is_known and between >= 1 and pair.type_ids in types.values()):
        raise EncoderError(
            f"the encoder's tokenizer makes {pair.tokens} of a pair, with types {pair.type_ids}; allowed: as BERT, "
            "[CLS] a [SEP] b [SEP], or as RoBERTa, <s> a </s> </s> b </s>"
        )
    names = files.read_as(dict[str, Any], encoder / NAMES, "dvc repro encoder")
    named = [names.get("pad_token"), names.get("mask_token")]
    texts = [name.get("content") if isinstance(name, dict) else name for name in named]
    padding, mask = (tokenizer.token_to_id(text) if isinstance(text, str) else None for text in texts)
    if padding is None:
        raise EncoderError(f"the encoder's {NAMES} names no pad_token that {TOKENIZER} knows, which batches need")
    return SpecialTokens(start, end, padding, between, pair.type_ids == types[True], mask)


def truncated(first: int, second: int, room: int) -> tuple[int, int]:
    """Return how many tokens of each sentence are kept so that both fit into `room`: the longer loses first.

    The rule of Hugging Face's `longest_first`, so that sequences equal those of its tokenizers.
    """
    if first + second <= room:
        return first, second
    shorter, longer = sorted((first, second))
    longer = max(shorter, room - shorter)
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (longer, shorter) if first > second else (shorter, longer)
