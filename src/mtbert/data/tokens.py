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
# What tokenizers call their special tokens: BERT's, ModernBERT's and DeBERTa's, and RoBERTa's.
NAMED: tuple[dict[str, str], ...] = (
    {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]", "unk_token": "[UNK]"},
    {"cls_token": "<s>", "sep_token": "</s>", "pad_token": "<pad>", "mask_token": "<mask>", "unk_token": "<unk>"},
)


@dataclass(frozen=True)
class SpecialTokens:
    """What a tokenizer puts around sentences: `start first end`, or `start first end [again] second end`.

    Attributes:
        start, end, padding, mask: ids of these tokens.
        again: what else stands before the second sentence: RoBERTa's `</s>`, of BERT's kind nothing.
    """

    start: int
    end: int
    padding: int
    mask: int | None = None
    again: tuple[int, ...] = ()

    def count(self, pair: bool) -> int:
        """Return how many there are in a sequence of one sentence, or of two."""
        return 3 + len(self.again) if pair else 2

    def single(self, tokens: Sequence[int], limit: int) -> tuple[list[int], int]:
        """Return start, tokens, end, at most `limit` long, and its length, since it has no second part."""
        ids = [self.start, *tokens[: limit - 2], self.end]
        return ids, len(ids)

    def crossed(self, first: Sequence[int], second: Sequence[int], limit: int) -> tuple[list[int], int]:
        """Return both sentences in one sequence, at most `limit` long, and where its second part starts."""
        first_count, second_count = truncated(len(first), len(second), limit - self.count(pair=True))
        first_part = [self.start, *first[:first_count], self.end]
        second_part = [*self.again, *second[:second_count], self.end]
        return first_part + second_part, len(first_part)


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


def named(tokenizer: "Tokenizer") -> dict[str, str]:
    """Return what a tokenizer calls its special tokens; EncoderError where it does so as none that is known."""
    vocabulary = tokenizer.get_vocab()
    kind = next((names for names in NAMED if vocabulary.keys() >= {*names.values()}), None)
    if kind is None:
        kinds = ", or ".join(" ".join(names.values()) for names in NAMED)
        raise EncoderError(f"the encoder's tokenizer lacks special tokens; allowed: {kinds}")
    return kind


def special_tokens(encoder: Path) -> SpecialTokens:
    """Return what an encoder's tokenizer puts around sentences; EncoderError where it is of no kind that is known."""
    tokenizer = read(encoder)
    names = named(tokenizer)
    ids = tokenizer.get_vocab()
    start, end, padding, mask = (ids[names[f"{name}_token"]] for name in ("cls", "sep", "pad", "mask"))
    inner, pair = tokenizer.encode("a", add_special_tokens=False).ids, tokenizer.encode("a", "a")
    later = len(inner) + 1
    for again in ((), (end,)):
        types = [0] * (later + 1) + [1] * (later + len(again))
        framed = pair.ids == [start, *inner, end, *again, *inner, end]
        if framed and pair.type_ids in (types, [0] * len(types)):
            return SpecialTokens(start, end, padding, mask, again)
    raise EncoderError(
        f"the encoder's tokenizer makes {pair.tokens} of a pair, with types {pair.type_ids}; allowed: as BERT, [CLS] a "
        "[SEP] b [SEP], with type 1 from b on or none, or as RoBERTa, <s> a </s></s> b </s>"
    )


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
