"""Small trained models, which no test alters."""

from pathlib import Path

import pytest
import trained


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained.of_inference(tmp_path_factory.mktemp("trained") / "build")
