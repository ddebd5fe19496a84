"""Messages for people."""

from mtbert.errors import UnknownNameError, first_of


def test_many_names_are_shortened():
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_known_names_need_be_no_text():
    assert str(UnknownNameError("profile", "samplr", [None, "sample"])) == (
        "unknown profile 'samplr'; did you mean sample? known: None, sample"
    )
