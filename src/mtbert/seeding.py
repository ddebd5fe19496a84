"""Derive generators from the run's seed: one for each purpose, by its name.

Drawing more numbers for one purpose never shifts those of another: the noise of an objective does not change the order
of the examples. A purpose may have parts, such as an epoch or a task: `stream(7, "order", "sst", 3)`.
"""

import hashlib

import numpy as np


def derive(seed: int, *purpose: str | int) -> int:
    """Return a 63-bit seed for one purpose, from the run's seed."""
    text = "/".join(str(part) for part in (seed, *purpose))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def stream(seed: int, *purpose: str | int) -> np.random.Generator:
    """Return a NumPy generator for one purpose."""
    return np.random.default_rng(derive(seed, *purpose))
