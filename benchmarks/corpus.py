"""Made-up corpora whose sequences are as long as real ones, and how trainers put them into batches.

Every contestant trains on the same examples. Each groups them by its own rule, as it would a real corpus, and of these
batches a few are timed that stand for all: their mean length is that of all, so that few steps tell the mean step.

A step is {task: numbers of its examples}; a plan is the steps of one pass, twice: the first time warms up, until the
memory that they need is there, as it is in all but the first steps of a real training.
"""

import itertools
import json
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from lengths import FILE, TASKS
from transformers.trainer_pt_utils import get_length_grouped_indices

from mtbert.data.batches import batches_by_length

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PAD, CLS, SEP = 0, 2, 3
PAIRS = ("qqp", "sts")
BATCHES = 50  # in a corpus: as many as the project sorts together, so that its batches are those of a real run
Step = dict[str, list[int]]
Plan = list[Step]
Rule = Callable[[np.ndarray, int, np.random.Generator], list[list[int]]]  # (lengths, size, generator) -> batches


@dataclass(frozen=True)
class Corpus:
    """One task's examples: word-piece ids of the sentences, without special tokens; labels 0 or 1, right for any task.

    Attributes:
        sequences: tokens of each example's sequence, or of its two where pairs are encoded apart.
    """

    task: str
    first: list[list[int]]
    second: list[list[int]] | None
    labels: list[int]
    sequences: list[tuple[int, ...]]

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each example's longest sequence: [examples]."""
        return np.array([max(tokens) for tokens in self.sequences])

    def joined(self, pick: int) -> tuple[list[int], list[int]]:
        """[CLS] first [SEP] second [SEP] and its token types."""
        first_part = [CLS, *self.first[pick], SEP]
        second_part = [*self.second[pick], SEP] if self.second else []
        return first_part + second_part, [0] * len(first_part) + [1] * len(second_part)


def vocabulary(size: int) -> list[str]:
    """The special tokens, then five-letter words: every word is one piece, the kindest to a slow tokenizer."""
    letters = itertools.islice(itertools.product(string.ascii_lowercase, repeat=5), size)
    words = ["".join(reversed(word)) for word in letters]
    return [*SPECIAL, *words][:size]


def corpora(size: int, pieces: int, encoding: Literal["cross", "bi"] = "cross", seed: int = 1) -> dict[str, Corpus]:
    """A corpus for each task: BATCHES batches of `size` examples, their lengths at even quantiles of the real ones."""
    counts = json.loads(FILE.read_text(encoding="utf-8"))[encoding]
    generator = np.random.default_rng(seed)
    return {task: _corpus(task, counts[task], BATCHES * size, pieces, encoding, generator) for task in TASKS}


def uniform(tokens: int, count: int, pieces: int, seed: int = 1) -> Corpus:
    """`count` single sentences of exactly `tokens` tokens."""
    generator = np.random.default_rng(seed)
    first = [_words(tokens - 2, pieces, generator) for _ in range(count)]
    return Corpus("sst", first, None, [number % 2 for number in range(count)], [(tokens,)] * count)


def _corpus(
    task: str, counts: Sequence[int], count: int, pieces: int, encoding: str, generator: np.random.Generator
) -> Corpus:
    lengths = quantiles(counts, count).tolist()
    labels = generator.integers(0, 2, count).tolist()
    if task not in PAIRS:
        sentences = [_words(length - 2, pieces, generator) for length in lengths]
        return Corpus(task, sentences, None, labels, [(length,) for length in lengths])
    if encoding == "cross":
        sequences = [(length,) for length in lengths]
        first_words = [(length - 3) // 2 for length in lengths]
        second_words = [length - 3 - words for length, words in zip(lengths, first_words, strict=True)]
    else:
        others = generator.permutation(lengths).tolist()
        sequences = list(zip(lengths, others, strict=True))
        first_words = [length - 2 for length in lengths]
        second_words = [length - 2 for length in others]
    first = [_words(words, pieces, generator) for words in first_words]
    second = [_words(words, pieces, generator) for words in second_words]
    return Corpus(task, first, second, labels, sequences)


def _words(count: int, pieces: int, generator: np.random.Generator) -> list[int]:
    return generator.integers(len(SPECIAL), pieces, size=count).tolist()


def quantiles(counts: Sequence[int], count: int) -> np.ndarray:
    """`count` lengths at even quantiles of a histogram, shortest first: `[0, 2, 2]` and 2 give `[1, 2]`."""
    edges = np.cumsum(counts)
    return np.searchsorted(edges, (np.arange(count) + 0.5) / count * edges[-1], side="right")


def at_random(lengths: np.ndarray, size: int, generator: np.random.Generator) -> list[list[int]]:
    """Batches in random order, as a plain DataLoader shuffles."""
    return _cut(generator.permutation(len(lengths)).tolist(), size)


def grouped(lengths: np.ndarray, size: int, generator: np.random.Generator) -> list[list[int]]:
    """Batches of like lengths by Hugging Face's rule, `train_sampling_strategy="group_by_length"`."""
    return _cut(get_length_grouped_indices(lengths.tolist(), size, mega_batch_mult=BATCHES), size)


by_length: Rule = batches_by_length  # the project's own rule


def _cut(order: list[int], size: int) -> list[list[int]]:
    return [order[start : start + size] for start in range(0, len(order), size)]


def chosen(batches: Sequence[list[int]], lengths: np.ndarray, count: int) -> list[list[int]]:
    """`count` batches that stand for all: of each `count`-th part by length, the one nearest to its part's mean."""
    longest = np.array([lengths[batch].max() for batch in batches])
    typical = []
    for part in np.array_split(np.argsort(longest, kind="stable"), count):
        distances = abs(longest[part] - longest[part].mean())
        typical.append(batches[part[np.argmin(distances)]])
    return typical


def plan(
    corpora: Mapping[str, Corpus], rule: Rule, size: int, steps: int, together: bool = False, seed: int = 1
) -> Plan:
    """`steps` steps of each task, twice: one task a step, task after task, or all `together`."""
    generator = np.random.default_rng(seed)
    batches_of: dict[str, list[list[int]]] = {}
    for task, corpus in corpora.items():
        batches_of[task] = chosen(rule(corpus.lengths, size, generator), corpus.lengths, steps)
    if together:
        one_pass = [dict(zip(batches_of, batches, strict=True)) for batches in zip(*batches_of.values(), strict=True)]
    else:
        one_pass = [{task: batch} for task, batches in batches_of.items() for batch in batches]
    return 2 * one_pass
