"""What /metrics shows, in Prometheus' format: requests, latency, queue and batches, of all workers together."""

import os
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess

from mtbert.serving.options import METRICS_FOLDER

SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
ROWS = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The numbers of this worker."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.requests = Counter("mtbert_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.seconds = Histogram(
            "mtbert_request_seconds", "From request to answer.", ["path"], buckets=SECONDS, registry=registry
        )
        self.rows = Counter("mtbert_rows", "Rows answered.", registry=registry)
        self.cut = Counter("mtbert_rows_cut", "Answered rows that were longer than the model reads.", registry=registry)
        self._queue = Gauge("mtbert_queue_rows", "Rows that wait.", registry=registry, multiprocess_mode="livesum")
        self._batch_rows = Histogram("mtbert_batch_rows", "Rows of a batch.", buckets=ROWS, registry=registry)
        self._batch_seconds = Histogram(
            "mtbert_batch_seconds", "Computation of a batch.", buckets=SECONDS, registry=registry
        )
        self.lost_lines = Gauge(
            "mtbert_log_lines_lost", "Log lines that could not be written.", registry=registry, multiprocess_mode="sum"
        )

    def batch(self, rows: int, seconds: float) -> None:
        """Count a batch."""
        self._batch_rows.observe(rows)
        self._batch_seconds.observe(seconds)

    def waiting(self, rows: int) -> None:
        """Set the number of rows that wait."""
        self._queue.set(rows)

    def text(self) -> bytes:
        """Return the page; of several workers the sums."""
        if METRICS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)
        return generate_latest(registry)


def running_workers() -> set[int]:
    """Return the processes of workers that run; the queues of those that ended leave the sums."""
    running: set[int] = set()
    for file in Path(os.environ[METRICS_FOLDER]).glob("gauge_live*.db"):
        pid = int(file.stem.rpartition("_")[2])
        if _is_alive(pid):
            running.add(pid)
        else:
            multiprocess.mark_process_dead(pid)
    return running


def _is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
