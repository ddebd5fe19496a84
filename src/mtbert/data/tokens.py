"""Word pieces, made once in preprocessing, and the sequences that are built from them.

A sentence's word pieces do not depend on what stands beside it, so cross and bi encoding share one file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mtbert.errors import EncoderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TOKENIZER, NAMES = "tokenizer.json", "tokenizer_config.json"
GROUP = 2**14  # sentences at once: what the library returns takes far more memory than the ids
SPECIAL = {
    "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]", "unk_token": "[UNK]",
}  # fmt: skip


@dataclass(frozen=True)
class SpecialTokens:
    """What BERT's tokenizer puts around sentences: `start first end`, or `start first end second end`.

    Attributes:
        start, end, padding, mask: ids of these tokens.
    """

    start: int
    end: int
    padding: int
    mask: int | None = None

    def single(self, tokens: Sequence[int], limit: int) -> tuple[list[int], int]:
        """Return start, tokens, end, at most `limit` long, and its length, since it has no second part."""
        ids = [self.start, *tokens[: limit - 2], self.end]
        return ids, len(ids)

    def crossed(self, first: Sequence[int], second: Sequence[int], limit: int) -> tuple[list[int], int]:
        """Return both sentences in one sequence, at most `limit` long, and where its second part starts."""
        one, two = truncated(len(first), len(second), limit - 3)
        return [self.start, *first[:one], self.end, *second[:two], self.end], one + 2


def wordpieces(encoder: Path) -> Callable[[list[str]], list[list[int]]]:
    """Return a function from sentences to word-piece ids, without special tokens, by an encoder's tokenizer."""
    tokenizer = read(encoder)

    def encode(sentences: list[str]) -> list[list[int]]:
        groups = (sentences[start : start + GROUP] for start in range(0, len(sentences), GROUP))
        encoded = (tokenizer.encode_batch_fast(group, add_special_tokens=False) for group in groups)
        return [encoding.ids for group in encoded for encoding in group]

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
    """Return what an encoder's tokenizer puts around sentences; EncoderError where it does not do so as BERT's."""
    tokenizer = read(encoder)
    ids = tokenizer.get_vocab()
    start, end, padding, mask = (ids.get(name, -1) for name in ("[CLS]", "[SEP]", "[PAD]", "[MASK]"))
    inner, pair = tokenizer.encode("a", add_special_tokens=False).ids, tokenizer.encode("a", "a")
    types = [0] * (len(inner) + 2) + [1] * (len(inner) + 1)
    if -1 in (padding, mask) or pair.ids != [start, *inner, end, *inner, end] or pair.type_ids != types:
        raise EncoderError(
            f"the encoder's tokenizer makes {pair.tokens} of a pair, with types {pair.type_ids}; allowed: as BERT, "
            "[CLS] a [SEP] b [SEP], with type 1 from b on, and the pieces [PAD] and [MASK]"
        )
    return SpecialTokens(start, end, padding, mask)


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
