"""Word pieces, made once in preprocessing, and the sequences that are put together from them.

A sentence's word pieces do not depend on what stands beside it, so cross and bi encoding share one file.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mtbert.errors import EncoderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def wordpieces(encoder: Path) -> Callable[[list[str]], list[list[int]]]:
    """A function from sentences to word-piece ids, without special tokens, by the tokenizer in an encoder's folder."""
    tokenizer = read(encoder)
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def encode(sentences: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tokenizer.encode_batch_fast(sentences, add_special_tokens=False)]

    return encode


def read(encoder: Path) -> "Tokenizer":
    """The tokenizer in an encoder's folder; EncoderError where there is none."""
    from tokenizers import Tokenizer

    file = encoder / "tokenizer.json"
    if not file.exists():
        raise EncoderError(f"{encoder} holds no tokenizer.json; `dvc repro encoder` makes it")
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more special
        raise EncoderError(f"{file} is no tokenizer: {error}; `dvc repro encoder` makes it again") from None


def truncated(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of each sentence stay when both have to fit into `room`: the longer loses first.

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
    """[CLS] tokens [SEP], at most `limit` long, and where its second part starts (nowhere: its length)."""
    ids = [start, *tokens[: limit - 2], end]
    return ids, len(ids)


def crossed(first: Sequence[int], second: Sequence[int], start: int, end: int, limit: int) -> tuple[list[int], int]:
    """[CLS] first [SEP] second [SEP], at most `limit` long, and where its second part starts."""
    one, two = truncated(len(first), len(second), limit - 3)
    return [start, *first[:one], end, *second[:two], end], one + 2
