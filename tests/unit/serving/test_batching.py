"""How waiting rows are put together, and what becomes of those that cannot be computed."""

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from mtbert.data.tokens import TokenSequence
from mtbert.serving.batching import GraphRows, Key, Outputs, Queue, QueueFullError, groups
from mtbert.serving.graphs import EncodedRow
from mtbert.serving.metrics import Metrics
from mtbert.serving.options import Options

TEXTS = Key("texts", ("tone",))
OPTIONS = Options(Path("export"))


@pytest.mark.parametrize(
    ("lengths", "rows", "tokens", "expected"),
    [
        ([3, 9, 4, 8], 2, 100, [[1, 3], [2, 0]]),  # longest with longest
        ([40, 10, 10, 12], 9, 100, [[0], [3, 1, 2]]),  # padding to 40 would take longer than another batch
        ([14, 10, 12], 9, 100, [[0, 2, 1]]),  # to 14 it does not
        ([10, 4, 5, 4], 9, 10, [[0], [2], [1, 3]]),  # with padding at most 10 tokens
        ([20, 20], 9, 10, [[0], [1]]),  # one row, also where it is longer
        ([], 9, 10, []),
    ],
)
def test_rows_make_the_batches_that_take_least_time(
    lengths: list[int], rows: int, tokens: int, expected: list[list[int]]
) -> None:
    assert groups(lengths, rows, tokens, start=10) == expected


class Model:
    """Outputs are lengths; each batch waits until it may compute."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.may = threading.Event()
        self.fault: Exception | None = None

    def run(self, graph: str, tasks: Sequence[str], rows: Sequence[EncodedRow]) -> Outputs:
        self.batches.append((graph, [row.length for row in rows]))
        self.may.wait(10)
        if self.fault:
            raise self.fault
        return {task: np.array([[row.length] for row in rows]) for task in tasks}


class Seen(Metrics):
    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []
        self.most = 0

    def batch(self, rows: int, seconds: float) -> None:
        self.batches.append(rows)

    def waiting(self, rows: int) -> None:
        self.most = max(self.most, rows)


def rows(*lengths: int) -> list[EncodedRow]:
    return [EncodedRow((TokenSequence([0] * length, length),), False) for length in lengths]


async def until(condition) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def test_what_comes_while_a_batch_computes_is_the_next_batch() -> None:
    async def main() -> None:
        model, seen = Model(), Seen()
        queue = Queue(model, OPTIONS._replace(batch=3, seconds=0.0), seen)
        queue.start()
        first = asyncio.create_task(queue.outputs({TEXTS: rows(5)}))
        await until(lambda: model.batches)
        others = [asyncio.create_task(queue.outputs({TEXTS: rows(*lengths)})) for lengths in ((4, 9), (8, 3))]
        await until(lambda: seen.most == 4)
        model.may.set()
        answers = await asyncio.gather(first, *others)
        assert [answer[TEXTS]["tone"].tolist() for answer in answers] == [[[5]], [[4], [9]], [[8], [3]]]
        assert model.batches == [("texts", [5]), ("texts", [4, 3]), ("texts", [9, 8])]
        assert seen.batches == [1, 2, 2]
        assert queue.works
        await queue.stop()
        assert not queue.works

    asyncio.run(main())


def test_rows_of_other_tasks_are_batches_of_their_own_and_the_oldest_goes_first() -> None:
    async def main() -> None:
        model, seen, pairs = Model(), Seen(), Key("pairs", ("same",))
        queue = Queue(model, OPTIONS._replace(batch=2, seconds=0.0), seen)
        asked = [asyncio.create_task(queue.outputs(parts)) for parts in ({pairs: rows(2)}, {TEXTS: rows(7, 8, 9)})]
        await until(lambda: seen.most == 4)
        model.may.set()
        queue.start()
        await asyncio.gather(*asked)
        assert model.batches == [("pairs", [2]), ("texts", [7]), ("texts", [9, 8])]
        await queue.stop()

    asyncio.run(main())


def test_outputs_of_a_request_that_has_ended_are_dropped() -> None:
    async def main() -> bool:
        part = GraphRows(TEXTS, rows(3), asyncio.get_running_loop().create_future())
        part.answer.cancel()
        part.add(0, {"tone": np.array([3])})
        return part.answer.cancelled()

    assert asyncio.run(main())


def test_a_full_queue_refuses_a_request_as_a_whole() -> None:
    async def main() -> None:
        model, seen = Model(), Seen()
        queue = Queue(model, OPTIONS._replace(waiting=3), seen)
        waiting = asyncio.create_task(queue.outputs({TEXTS: rows(1, 2)}))
        await until(lambda: seen.most == 2)
        with pytest.raises(QueueFullError, match=r"^2 rows wait, and 2 more would be above 3$"):
            await queue.outputs({TEXTS: rows(1), Key("pairs", ("same",)): rows(1)})
        assert seen.most == 2
        model.may.set()
        queue.start()
        await waiting
        await queue.stop()

    asyncio.run(main())


def test_who_leaves_takes_his_rows_along() -> None:
    async def main() -> None:
        model, seen = Model(), Seen()
        queue = Queue(model, OPTIONS._replace(seconds=0.0), seen)
        leaves = asyncio.create_task(queue.outputs({TEXTS: rows(1, 2)}))
        stays = asyncio.create_task(queue.outputs({TEXTS: rows(3)}))
        await until(lambda: seen.most == 3)
        leaves.cancel()
        await asyncio.wait([leaves])
        model.may.set()
        queue.start()
        assert (await stays)[TEXTS]["tone"].tolist() == [[3]]
        assert model.batches == [("texts", [3])]
        await queue.stop()

    asyncio.run(main())


def test_a_batch_that_fails_fails_its_requests_and_no_others() -> None:
    async def main() -> None:
        model, seen = Model(), Seen()
        model.fault = MemoryError("no room")
        model.may.set()
        queue = Queue(model, OPTIONS._replace(batch=1), seen)
        queue.start()
        with pytest.raises(MemoryError, match="no room"):
            await queue.outputs({TEXTS: rows(1, 2, 3)})
        model.fault = None
        assert (await queue.outputs({TEXTS: rows(4)}))[TEXTS]["tone"].tolist() == [[4]]
        assert model.batches == [("texts", [1]), ("texts", [4])]
        await queue.stop()

    asyncio.run(main())


def test_who_comes_alone_does_not_wait_for_company_and_who_had_some_does() -> None:
    async def main() -> None:
        model, seen = Model(), Seen()
        model.may.set()
        queue = Queue(model, OPTIONS._replace(batch=2, seconds=60.0), seen)
        queue.start()
        await queue.outputs({TEXTS: rows(1)})  # at once
        model.may.clear()
        busy = asyncio.create_task(queue.outputs({TEXTS: rows(2)}))
        await until(lambda: len(model.batches) == 2)
        both = [asyncio.create_task(queue.outputs({TEXTS: rows(3)})) for _ in range(2)]
        await until(lambda: seen.most == 2)
        model.may.set()
        await asyncio.gather(busy, *both)
        waits = asyncio.create_task(queue.outputs({TEXTS: rows(4)}))
        await asyncio.sleep(0.05)
        assert not waits.done()
        await asyncio.gather(waits, queue.outputs({TEXTS: rows(5)}))  # two rows are a full batch
        assert model.batches[-2:] == [("texts", [3, 3]), ("texts", [5, 4])]
        await queue.stop()

    asyncio.run(main())
