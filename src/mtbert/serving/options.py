"""How a folder is served."""

from pathlib import Path
from typing import NamedTuple

# In the environment: where workers share their numbers. prometheus_client reads it when it is first imported.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Options(NamedTuple):
    """The folder, and how it is served.

    Attributes:
        folder: the export.
        threads: that compute a batch.
        batch: most rows of a batch.
        seconds: most time that a row waits for company.
        waiting: most rows that wait.
        most_bytes: of a request's body.
    """

    folder: Path
    threads: int = 1
    batch: int = 32
    seconds: float = 0.002
    waiting: int = 1024
    most_bytes: int = 2 * 2**20
