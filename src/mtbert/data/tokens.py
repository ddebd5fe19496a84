"""Word pieces, made once in preprocessing, and the sequences that are built from them.

A sentence's word pieces do not depend on what stands beside it, so cross and bi encoding share one file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
    if not file.exists():
        raise EncoderError(f"{encoder} holds no tokenizer.json; `dvc repro encoder` makes it")
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more special
        raise EncoderError(f"{file} is not a tokenizer: {error}; `dvc repro encoder` makes it again") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def vocabulary(encoder: Path) -> list[str]:
    """The pieces of an encoder's tokenizer, by id."""
    ids = read(encoder).get_vocab()
    return sorted(ids, key=ids.__getitem__)


def special_tokens(encoder: Path) -> SpecialTokens:
    """Return the special tokens of an encoder's tokenizer; EncoderError where it frames sentences in another way."""
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
    padding, mask = (_named(encoder, name) for name in ("pad_token", "mask_token"))
    if padding is None:
        raise EncoderError(f"the encoder's {NAMES} names no pad_token that {TOKENIZER} knows, which batches need")
    return SpecialTokens(start, end, padding, between, pair.type_ids == types[True], mask)


def _named(encoder: Path, name: str) -> int | None:
    """The id of a token that tokenizer_config.json names, such as its mask."""
    settings = files.read_json(encoder / NAMES)
    token = settings.get(name) if isinstance(settings, dict) else None
    content = token.get("content") if isinstance(token, dict) else token
    return read(encoder).token_to_id(content) if isinstance(content, str) else None


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


def single(tokens: Sequence[int], start: int, end: int, limit: int) -> tuple[list[int], int]:
    """Return start, tokens, end, at most `limit` long, and its length, since it has no second part."""
    ids = [start, *tokens[: limit - 2], end]
    return ids, len(ids)


def crossed(
    first: Sequence[int], second: Sequence[int], start: int, end: int, limit: int, between: int = 1
) -> tuple[list[int], int]:
    """Return start, first, end, ..., end, second, end, at most `limit` long, and where its second part starts.

    `between` end tokens stand between the sentences; the first of them ends the first part.
    """
    one, two = truncated(len(first), len(second), limit - 2 - between)
    return [start, *first[:one], *[end] * between, *second[:two], end], one + 2
