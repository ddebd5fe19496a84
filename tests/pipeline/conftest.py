"""What tests of tracking start from."""

from pathlib import Path

import pytest
from pipeline.tracked import track, write_catalog


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that `track` has created, to copy: creation takes seconds."""
    root = tmp_path_factory.mktemp("empty")
    write_catalog(root, [])
    assert track(root).stdout == "0 new, 0 already there\n"
    return root / "mlflow.db"
