"""Put the rows of waiting requests together: up to a size and a time, longest with longest.

One batch computes at a time, in a thread of its own; the rows that come meanwhile are the next batches. A batch has
rows of the same graph and tasks. The oldest row is always in the next batch, so none waits for ever.
"""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mtbert.errors import MtbertError
from mtbert.serving.graphs import EncodedRow, Graphs
from mtbert.serving.metrics import Metrics
from mtbert.serving.options import Options

# Padded tokens of a batch: a processor computes larger ones no faster a token, and the memory grows with their length.
BATCH_TOKENS = 512
START_TOKENS = 12  # a batch of MiniLM takes as long to start as so many tokens to compute
CONSIDERED = 128  # most rows, the oldest, of which a batch is chosen
Outputs = dict[str, np.ndarray]  # by task: [rows, outputs]


class QueueFullError(MtbertError):
    """More rows wait than may wait."""


class Key(NamedTuple):
    """What the rows of a batch have in common."""

    graph: str
    tasks: tuple[str, ...]


@dataclass(eq=False)
class GraphRows:
    """The rows of one request that one graph answers.

    Attributes:
        key: graph and tasks.
        rows: what the graph reads.
        answer: the outputs of all rows, once each is computed.
    """

    key: Key
    rows: Sequence[EncodedRow]
    answer: asyncio.Future[Outputs]
    since: float = field(default_factory=time.monotonic)
    _outputs: dict[int, Outputs] = field(default_factory=dict)  # by the row's number

    def add(self, number: int, outputs: Outputs) -> None:
        """Take the outputs [outputs] of a row by task."""
        self._outputs[number] = outputs
        if len(self._outputs) == len(self.rows) and not self.answer.done():
            in_order = [self._outputs[number] for number in range(len(self.rows))]
            self.answer.set_result({task: np.stack([row[task] for row in in_order]) for task in self.key.tasks})

    def fail(self, error: BaseException) -> None:
        """Take the error of a batch that held one of the rows."""
        if not self.answer.done():
            self.answer.set_exception(error)


class _Waiting(NamedTuple):
    """A row that waits."""

    part: GraphRows
    number: int

    @property
    def row(self) -> EncodedRow:
        """What the graph reads."""
        return self.part.rows[self.number]


class Queue:
    """The rows that wait, and the loop that computes them; for one event loop."""

    def __init__(self, model: Graphs, options: Options, metrics: Metrics) -> None:
        self._model, self._options, self._metrics = model, options, metrics
        self._waiting: list[_Waiting] = []
        self._changed = asyncio.Event()
        self._had_company = False  # whether the last batch held rows of several requests
        self._thread = ThreadPoolExecutor(1, "batches")
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to compute."""
        self._loop = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End the loop, after the batch that computes; rows that wait are not computed."""
        if self._loop is not None:
            self._loop.cancel()
            with suppress(asyncio.CancelledError):
                await self._loop
        self._thread.shutdown()

    @property
    def works(self) -> bool:
        """Whether the loop computes what comes."""
        return self._loop is not None and not self._loop.done()

    async def outputs(self, parts: dict[Key, Sequence[EncodedRow]]) -> dict[Key, Outputs]:
        """Compute the rows of one request, and return their outputs by graph and tasks.

        If the caller is cancelled, its rows leave the queue.

        Raises:
            QueueFullError: there is no room for all of them; then none is computed.
        """
        self._admit(sum(map(len, parts.values())))
        loop = asyncio.get_running_loop()
        asked = [GraphRows(key, rows, loop.create_future()) for key, rows in parts.items()]
        for part in asked:
            self._waiting += [_Waiting(part, number) for number in range(len(part.rows))]
        self._note_change()
        try:
            answers = await asyncio.gather(*(part.answer for part in asked))
        except BaseException:  # a fault of a batch, or the caller was cancelled: the rows that still wait leave
            for part in asked:
                part.answer.cancel()
            self._drop_rows_of_ended_parts()
            raise
        return dict(zip(parts, answers, strict=True))

    def _admit(self, rows: int) -> None:
        waiting, most = len(self._waiting), self._options.waiting
        if waiting + rows > most:
            raise QueueFullError(f"{waiting} rows wait, and {rows} more would be above {most}")

    def _drop_rows_of_ended_parts(self) -> None:
        self._waiting = [each for each in self._waiting if not each.part.answer.done()]
        self._note_change()

    def _note_change(self) -> None:
        self._changed.set()
        self._metrics.waiting(len(self._waiting))

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._rows_or_time()
            batch = self._next()
            started = time.monotonic()
            key, rows = batch[0].part.key, [each.row for each in batch]
            try:
                outputs = await loop.run_in_executor(self._thread, self._model.run, key.graph, key.tasks, rows)
            except Exception as error:  # onnxruntime's errors have no common base; the requests answer them
                for each in batch:
                    each.part.fail(error)
                self._drop_rows_of_ended_parts()
                continue
            self._metrics.batch(len(batch), time.monotonic() - started)
            for place, each in enumerate(batch):
                each.part.add(each.number, {task: outputs[task][place] for task in key.tasks})

    async def _rows_or_time(self) -> None:
        """Wait for a row; then for more, if requests come together, until a batch is full or the time is up."""
        while True:
            self._changed.clear()
            count = len(self._waiting)
            seconds = self._waiting[0].part.since + self._options.seconds - time.monotonic() if count else None
            if count >= self._options.batch or (seconds is not None and (seconds <= 0 or not self._had_company)):
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._changed.wait()

    def _next(self) -> list[_Waiting]:
        """Take the next batch: of the groups of rows like the oldest, the one that holds the oldest."""
        oldest = self._waiting[0]
        alike = [each for each in self._waiting if each.part.key == oldest.part.key][:CONSIDERED]
        grouped = groups([each.row.length for each in alike], self._options.batch, BATCH_TOKENS)
        batch = [alike[number] for number in next(group for group in grouped if 0 in group)]
        numbers = {(id(each.part), each.number) for each in batch}
        self._waiting = [each for each in self._waiting if (id(each.part), each.number) not in numbers]
        self._had_company = len({id(each.part) for each in batch}) > 1
        self._metrics.waiting(len(self._waiting))
        return batch


def groups(lengths: Sequence[int], rows: int, tokens: int, start: int = START_TOKENS) -> list[list[int]]:
    """Return which rows make a batch each, longest with longest, so that all batches together take least time.

    A batch takes as long as its tokens with padding, and `start` tokens more. It has at most so many rows, and with
    padding at most so many tokens, or one row.
    """
    order = sorted(range(len(lengths)), key=lambda number: (-lengths[number], number))
    least = [0] * (len(order) + 1)  # tokens of the first rows in that order
    begins = [0] * (len(order) + 1)  # where the batch begins that ends there
    for end in range(1, len(order) + 1):
        costs: dict[int, int] = {}  # by the place where a batch would begin
        for begin in range(end - 1, max(-1, end - 1 - rows), -1):
            padded = (end - begin) * lengths[order[begin]]
            if padded <= tokens or begin == end - 1:
                costs[begin] = least[begin] + padded + start
        begins[end] = min(costs, key=costs.__getitem__)
        least[end] = costs[begins[end]]
    grouped: list[list[int]] = []
    end = len(order)
    while end:
        grouped.insert(0, order[begins[end] : end])
        end = begins[end]
    return grouped
