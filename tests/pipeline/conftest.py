"""What tests of tracking start from."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database without runs, to copy: creation takes seconds."""
    from mtbert.tracking import store

    file = tmp_path_factory.mktemp("empty") / "mlflow.db"
    store.create(file, f"sqlite:///{file}")
    return file
