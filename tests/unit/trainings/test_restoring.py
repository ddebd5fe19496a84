"""What DVC does not document is told with the version that has it."""

import pytest

from mtbert.errors import MtbertError
from mtbert.trainings import restoring


def test_a_dvc_without_the_parts_that_are_used_is_told_with_the_one_that_has_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dvc.repo.Repo", None)
    monkeypatch.setattr(restoring.metadata, "version", {"dvc": "9.1"}.get)
    with pytest.raises(MtbertError) as error:
        restoring.restore(["train@pals-1"])
    assert str(error.value) == (
        "DVC 9.1 is installed, and runs cannot be restored with it ('NoneType' object is not callable); "
        "needed: DVC 3.67, which `make setup` installs; `dvc repro` works with either"
    )
