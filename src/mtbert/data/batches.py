"""Batches from token files, by default sorted by length so that little of one is padding, in an order by a seed.

Legend: batch examples of a step; rows sequences (as many as examples, or twice as many where pairs are bi-encoded: all
first sentences, then all second ones); tokens the longest sequence of the batch.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from mtbert import files, seeding
from mtbert.data import parts
from mtbert.data.tokens import SpecialTokens, TokenSequence
from mtbert.errors import DataError
from mtbert.scores import sets
from mtbert.tasks import Task

POOL = 50  # batches among which examples are sorted by length: enough for little padding, few enough to stay random
# Tokens of a GPU's training batches, which have the next of these: few shapes, so that their steps can be repeated.
LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
ROW_TENSORS = ("input_ids", "mask", "token_types")  # the tensors of a batch that hold one line for each sequence


@dataclass(frozen=True)
class Batch:
    """Examples of one task.

    Shapes: input_ids, mask and token_types [rows, tokens] (int64), labels [batch] (float32; NaN where unlabelled), of
    sets [batch, labels] (0 or 1).

    Attributes:
        token_types: 0 in a sequence's first part, 1 in its second, also where the encoder does not distinguish them.
        sequences: of each example: two where pairs are bi-encoded, else one.
        padding: the id of the token behind a sequence's end.
        pooled: the encoder's embeddings [rows, width], where they were computed before: `Memo`.
        soft_labels: what another model predicts, float32, where one does: probabilities [batch, classes], of sets those
            of no and yes to each label [batch, labels, 2], or scores [batch].
    """

    task: str
    ids: tuple[str, ...]
    input_ids: Tensor
    mask: Tensor
    token_types: Tensor
    labels: Tensor
    sequences: int
    padding: int = 0
    pooled: Tensor | None = None
    soft_labels: Tensor | None = None

    def padded(self, tokens: int) -> "Batch":
        """Return the batch with padding up to so many tokens."""
        values = dict.fromkeys(ROW_TENSORS, 0) | {"input_ids": self.padding}
        more = (0, tokens - self.input_ids.shape[1])
        return replace(self, **{name: F.pad(getattr(self, name), more, value=value) for name, value in values.items()})

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on another device; a GPU fetches it from pinned memory while it computes."""
        tensors = {name: getattr(self, name) for name in (*ROW_TENSORS, "labels")}
        if self.pooled is not None:
            tensors["pooled"] = self.pooled
        if self.soft_labels is not None:
            tensors["soft_labels"] = self.soft_labels
        if device.type == "cuda":
            moved = {name: tensor.pin_memory().to(device, non_blocking=True) for name, tensor in tensors.items()}
        else:
            moved = {name: tensor.to(device) for name, tensor in tensors.items()}
        return replace(self, **moved)

    def __len__(self) -> int:
        return len(self.ids)


class Memo:
    """Embeddings of examples by their numbers in a file; all parts of these examples share it.

    Attributes:
        pooled: what the encoder makes of each example, [examples, sequences, width]; None before any is written.
        filled: which examples have been written, bool [examples].
    """

    def __init__(self, examples: int) -> None:
        self.examples = examples
        self.clear()

    def clear(self) -> None:
        """Forget all embeddings."""
        self.pooled: Tensor | None = None
        self.filled = np.zeros(self.examples, dtype=bool)

    def write(self, numbers: np.ndarray, pooled: Tensor) -> None:
        """Write embeddings [numbers, sequences, width]."""
        if self.pooled is None:
            self.pooled = torch.zeros(self.examples, *pooled.shape[1:], dtype=pooled.dtype)
        self.pooled[numbers] = pooled.cpu()
        self.filled[numbers] = True

    def read(self, numbers: np.ndarray) -> Tensor | None:
        """Return embeddings as a batch has them, [rows, width]; None where one has not been written."""
        if self.pooled is None or not self.filled[numbers].all():
            return None
        return self.pooled[numbers].transpose(0, 1).flatten(0, 1)


class Examples:
    """The examples of one task and split, as sequences of token ids.

    Attributes:
        rows: the sequences of each example, one or two.
        lengths: tokens of each example's longest sequence, [examples].
        labels: the number of each one's class or set, or its score, [examples]; NaN where unlabelled.
        scored: a mask [examples] of those that count in a score: all, until `halve` is called.
        numbers: of the examples in their file, [examples].
        clusters: the number of each one's cluster, [examples]; one each if the table has none.
        hashes: by which examples are spared, [examples]: those of one hash together; at random if the table has none.
        memo: their embeddings, where the encoder is frozen: training/cached.py.
        soft_labels: what another model predicts for each example of the file, as a batch has it: training/teaching.py.
    """

    def __init__(
        self, table: Any, task: Task, encoding: Literal["cross", "bi"], special: SpecialTokens, limit: int
    ) -> None:
        self.task = task
        self.ids = tuple(table["id"])
        self.labels = np.asarray(table["label"], dtype=np.float64)
        self.padding = special.padding
        self.limit = limit
        columns = [table["tokens1"], table["tokens2"]] if task.is_pair else [table["tokens1"]]
        self.rows: list[tuple[TokenSequence, ...]] = []
        for sentences in zip(*columns, strict=True):
            if len(sentences) == 2 and encoding == "cross":
                sequences = [special.frame_pair(*sentences, limit)]
            else:
                sequences = [special.frame(tokens, limit) for tokens in sentences]
            # arrays take a tenth of the memory of lists
            self.rows.append(tuple(TokenSequence(np.array(ids, np.int32), second) for ids, second in sequences))
        self.lengths = np.array([max(len(row.ids) for row in rows) for rows in self.rows])
        self.scored = np.ones(len(self.ids), dtype=bool)
        self.numbers = np.arange(len(self.ids))
        self.clusters = table["cluster"].to_numpy() if "cluster" in table else self.numbers
        at_random = np.argsort(np.random.default_rng(1).permutation(len(self.ids)))
        self.hashes = table["hash"].to_numpy() if "hash" in table else at_random
        self.memo = Memo(len(self.ids))
        self.soft_labels: Tensor | None = None

    def halve(self, chooses: np.ndarray) -> None:
        """Choose epochs on the examples in the mask `chooses` [examples], and score on the others alone.

        DataError where either half is empty.
        """
        if chooses.all() or not chooses.any():
            raise DataError(
                f"dev of {self.task.name} cannot be halved: its {len(self)} rows share sentences, or are too few; "
                "run.selection in params.yaml is half; allowed: whole or spared, or run.keep: last"
            )
        self.scored = ~chooses

    def choosing(self) -> "Examples":
        """Return the examples on which an epoch is chosen; all of them count in its score."""
        return self if self.scored.all() else self.part(np.flatnonzero(~self.scored))

    def draw(self, count: int | None) -> np.ndarray:
        """Return the numbers of `count` examples drawn at random, in order; all where it is None, or there are fewer.

        The draw is the same in every run. A file may be sorted: of SST-5's first 500 dev rows 76 % are positive, of all
        40 %.
        """
        return np.sort(np.random.default_rng(0).permutation(len(self))[:count])

    def drawn(self, count: int | None) -> "Examples":
        """Return the examples of `draw`."""
        return self if count is None else self.part(self.draw(count))

    def split(self, spared: float) -> tuple["Examples", "Examples"]:
        """Return the examples that are trained on and a share that is spared, the same in every run.

        Of two examples or more each part has at least one. Examples of one hash are in one part.

        Raises: DataError where all examples have one hash.
        """
        try:
            is_spared = parts.spared(self.hashes, spared)
        except ValueError:
            raise DataError(
                f"no training rows of {self.task.name} can be held out (training.spared: {spared:g}), since all of "
                "them are of one group or text; allowed: rows of several groups, or training.spared: 0"
            ) from None
        return self.part(np.flatnonzero(~is_spared)), self.part(np.flatnonzero(is_spared))

    def part(self, picks: np.ndarray) -> "Examples":
        """Return the examples with these numbers; epochs are chosen and scored on all of them."""
        part = copy.copy(self)
        part.ids = tuple(self.ids[pick] for pick in picks)
        part.rows = [self.rows[pick] for pick in picks]
        part.labels = self.labels[picks]
        part.lengths = self.lengths[picks]
        part.numbers = self.numbers[picks]
        part.clusters = self.clusters[picks]
        part.hashes = self.hashes[picks]
        part.scored = np.ones(len(picks), dtype=bool)
        return part

    def __len__(self) -> int:
        return len(self.ids)

    def batch(self, picks: Sequence[int], lengths: Sequence[int] = ()) -> Batch:
        """Build the batch of the examples with these numbers, in this order.

        Its tokens are those of its longest sequence, or the next of `lengths` where it has one within the limit.
        """
        sequences = len(self.rows[0])
        rows = [self.rows[pick][number] for number in range(sequences) for pick in picks]
        longest = max(len(row.ids) for row in rows)
        tokens = max(longest, min(_next_of(lengths, longest), self.limit))
        input_ids = pad_sequence([torch.as_tensor(row.ids) for row in rows], True, self.padding)
        input_ids = F.pad(input_ids, (0, tokens - longest), value=self.padding)
        positions = torch.arange(tokens)
        is_token = positions < torch.tensor([[len(row.ids)] for row in rows])  # [rows, tokens]
        is_second = positions >= torch.tensor([[row.second] for row in rows])
        return Batch(
            task=self.task.name,
            ids=tuple(self.ids[pick] for pick in picks),
            input_ids=input_ids.long(),
            mask=is_token.long(),
            token_types=(is_token & is_second).long(),
            labels=torch.from_numpy(self._targets(picks)),
            sequences=sequences,
            padding=self.padding,
            pooled=self.memo.read(self.numbers[list(picks)]),
            soft_labels=None if self.soft_labels is None else self.soft_labels[self.numbers[list(picks)]],
        )

    def _targets(self, picks: Sequence[int]) -> np.ndarray:
        """Return the labels of a batch, float32, as the losses of heads read them."""
        labels = self.labels[list(picks)]
        if not self.task.several:
            return labels.astype(np.float32)
        is_known = np.isfinite(labels)
        members = sets.members_of(np.where(is_known, labels, 0), self.task.classes)
        return np.where(is_known[:, None], members, np.nan).astype(np.float32)

    def in_order(self, size: int) -> Iterator[tuple[np.ndarray, Batch]]:
        """Yield all examples once for evaluation, the longest first.

        Each item holds the numbers of a batch's examples, and the batch.
        """
        longest_first = np.argsort(-self.lengths, kind="stable")
        for start in range(0, len(longest_first), size):
            picks = longest_first[start : start + size]
            yield picks, self.batch(picks.tolist())


def _next_of(lengths: Sequence[int], longest: int) -> int:
    """Return the smallest of `lengths` that is not below the longest sequence; else that."""
    return min((length for length in lengths if length >= longest), default=longest)


class Stream:
    """An endless stream of batches of one task: pass after pass over its examples, each in an order of its own.

    The batches of a pass depend on the seed, the name and the pass's number alone, so a resumed run draws the same
    ones. Every example comes once a pass. A pass may hold one smaller batch. `lengths` are those of `Examples.batch`.
    `name` is that of the corpus, where it is not the task's own.
    """

    def __init__(
        self,
        examples: Examples,
        size: int,
        seed: int,
        batching: Literal["by_length", "shuffled"] = "by_length",
        lengths: Sequence[int] = (),
        name: str = "",
    ) -> None:
        self.examples = examples
        self.name = name or examples.task.name
        self.lengths = lengths
        self.batching = batching
        self.size = size
        self.seed = seed
        self.drawn = 0
        self._pass = -1
        self._batches: list[list[int]] = []  # of that pass, the numbers of each one's examples

    @property
    def batches_per_pass(self) -> int:
        """Number of batches in which every example comes once."""
        return math.ceil(len(self.examples) / self.size)

    def next(self) -> Batch:
        """Return the next batch."""
        number, position = divmod(self.drawn, self.batches_per_pass)
        if self._pass != number:
            self._pass = number
            self._batches = self._batches_of(number)
        self.drawn += 1
        return self.examples.batch(self._batches[position], self.lengths)

    def _batches_of(self, number: int) -> list[list[int]]:
        """Return the numbers of the examples in each batch of a pass."""
        generator = seeding.stream(self.seed, "order", self.name, number)
        if self.batching == "by_length":
            return batches_by_length(self.examples.lengths, self.size, generator)
        order = generator.permutation(len(self.examples)).tolist()
        return [order[start : start + self.size] for start in range(0, len(order), self.size)]


def batches_by_length(lengths: np.ndarray, size: int, generator: np.random.Generator) -> list[list[int]]:
    """Return each batch's example numbers: random pools of 50 batches, sorted by length within, then shuffled.

    Every number from 0 to len(lengths) - 1 comes exactly once; at most one batch is smaller than `size`.
    """
    order = generator.permutation(len(lengths))
    batches: list[list[int]] = []
    for start in range(0, len(order), POOL * size):
        pool = order[start : start + POOL * size]
        by_length = pool[np.argsort(lengths[pool], kind="stable")].tolist()
        batches += [by_length[first : first + size] for first in range(0, len(by_length), size)]
    return [batches[number] for number in generator.permutation(len(batches))]


def load(
    file: Path,
    task: Task,
    encoding: Literal["cross", "bi"],
    special: SpecialTokens,
    limit: int,
) -> Examples:
    """Read the examples of a file that `preprocess` wrote; DataError where it holds none."""
    table = files.read_parquet(file, ["id", "label", "tokens1", "tokens2", "hash", "cluster"])
    if table.empty:
        raise DataError(f"{file} holds no examples")
    return Examples(table, task, encoding, special, limit)
