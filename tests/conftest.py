"""What all tests share."""

import copy
import functools
import os
from collections.abc import Iterator
from typing import Any

import pytest

from mtbert import files

os.environ.setdefault("MTBERT_LIVE", "off")  # tests of tracking turn it on where they mean it
os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session", autouse=True)
def disk() -> Iterator[None]:
    """Do not wait for the disk: no test cuts the power, and thousands of small files take minutes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def yaml() -> Iterator[None]:
    """Parse each text of YAML once: params.yaml and the papers, of which many tests have copies, take a second."""
    loaded = functools.cache(files._load)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "_load", lambda text, aliases: copy.deepcopy(loaded(text, aliases)))
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files come first, which a worker has as a whole, and pages last, so that no worker waits at the end for long.

    Two pages are the first of all: while workers train the two clones that pages copy, none waits for these.
    """
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.path.name != "test_pages.py":
        return 1
    return 0 if item.name.endswith(("[docs/course.md]", "[README.md]")) else 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files, since tests of a file share what takes long; but pages one by one.

    Pages take longest, and share one clone over all workers.
    """
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if "/test_pages.py::" in nodeid else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.option.dist == "loadfile" else None
