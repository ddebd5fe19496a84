"""Messages for people."""

import pytest

from mtbert.errors import DataError, EncoderError, MtbertError, SettingsError, TrainingError, UnknownNameError, first_of


@pytest.mark.parametrize("kind", [SettingsError, DataError, EncoderError, TrainingError])
def test_every_error_for_people_is_an_mtbert_error(kind: type[Exception]):
    assert issubclass(kind, MtbertError)


def test_many_names_are_shortened():
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_known_names_need_be_no_text():
    assert str(UnknownNameError("profile", "samplr", [None, "sample"])) == (
        "unknown profile 'samplr'; did you mean sample? known: None, sample"
    )
