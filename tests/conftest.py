"""What all tests share."""

import os

import pytest

os.environ.setdefault("MTBERT_LIVE", "off")  # tests of tracking turn it on where they mean it
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The pipeline's tests, which take longest, come first, so that no worker waits for them at the end."""
    items.sort(key=lambda item: "pipeline" not in item.path.parts)
