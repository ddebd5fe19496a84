"""Small trained models, which no test alters, and how exports are loaded again."""

import sys
from pathlib import Path

import pytest
import trained
from pipeline import preloaded


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained.of_inference(tmp_path_factory.mktemp("trained") / "build")


@pytest.fixture
def checked_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process in which an export is loaded again has imported transformers before."""
    monkeypatch.setattr(sys, "executable", preloaded.python())
