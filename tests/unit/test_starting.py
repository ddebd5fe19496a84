"""How a process that imports large libraries starts and ends."""

import gc
from collections.abc import Iterator

import pytest

from mtbert import starting


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Other tests of the same process may have frozen something."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_the_collector_rests_while_importing_and_leaves_alone_what_was_imported() -> None:
    with starting.imports():
        resting, frozen = not gc.isenabled(), gc.get_freeze_count()
    assert (resting, frozen, gc.isenabled()) == (True, 0, True)
    assert gc.get_freeze_count() > 0


def test_the_collector_is_back_where_an_import_fails() -> None:
    with pytest.raises(ModuleNotFoundError), starting.imports():
        raise ModuleNotFoundError
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)
