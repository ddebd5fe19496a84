"""The project's own settings, with some values replaced."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtbert.config import planning
from mtbert.config.params import Params
from mtbert.errors import SettingsError

PARAMS = Params(Path(__file__).parents[3] / "params.yaml")
Edited = Callable[..., Params]


def edited(*edits: tuple[str, Any]) -> Params:
    """params.yaml after edits such as ("pals.dim", 276)."""
    params = PARAMS
    for key, value in edits:
        params = params.put(tuple(key.split(".")), value)
    return params


@pytest.fixture
def planned() -> Callable[..., dict[str, Any]]:
    """What is planned after edits."""
    return lambda *edits: planning.plan(edited(*edits))


@pytest.fixture
def refused() -> Callable[..., list[str]]:
    """The faults that are told of edits, each with key and message."""

    def told(*edits: tuple[str, Any]) -> list[str]:
        with pytest.raises(SettingsError) as error:
            planning.plan(edited(*edits))
        return [line.split(": ", 1)[1] for line in str(error.value).splitlines()[1:]]

    return told
