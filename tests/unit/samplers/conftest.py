"""What the random samplers are measured by."""

from collections import Counter
from collections.abc import Callable, Iterable

import pytest

from mtbert.training.samplers.base import Group

Shares = Callable[[Iterable[Group]], dict[str, float]]


@pytest.fixture
def shares() -> Shares:
    """How often each task came, of groups that hold one task each."""

    def count(groups: Iterable[Group]) -> dict[str, float]:
        counts = Counter(task for (task,) in groups)
        return {task: number / counts.total() for task, number in sorted(counts.items())}

    return count
