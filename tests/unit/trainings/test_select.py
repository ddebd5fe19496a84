"""Variants that a command sets in params.yaml."""

import shutil
from pathlib import Path

import pytest

from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.trainings import dvc

ROOT = Path(__file__).parents[3]


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "papers", "papers")
    return Path(shutil.copy(ROOT / "params.yaml", "params.yaml"))


def test_a_variant_that_is_named_twice_is_set_once(params: Path):
    dvc._select("pals smart-pals pals")
    assert Params(params).get("variants") == ["pals", "smart-pals"]


@pytest.mark.parametrize(("variants", "said"), [(" ", "--variants names no variant"), ("pasl", "did you mean pals")])
def test_where_no_variant_is_meant_the_settings_stay(params: Path, variants: str, said: str):
    before = params.read_bytes()
    with pytest.raises(SettingsError, match=said):
        dvc._select(variants)
    assert params.read_bytes() == before
