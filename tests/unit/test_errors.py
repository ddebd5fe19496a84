"""Messages for people."""

import pytest

from mtbert.errors import SettingsError, UnknownNameError, first_of, shorten
from mtbert.models.heads import HEADS


def test_many_names_are_shortened():
    assert first_of(["a", "b"], 2) == "a, b"
    assert first_of(["a", "b", "c", "d"], 2) == "a, b and 2 more"


def test_an_unknown_technique_is_told_with_the_one_that_was_meant():
    with pytest.raises(SettingsError, match=r"^unknown head 'mlpp'; did you mean mlp\? known: "):
        HEADS.build(HEADS.choose({"name": "mlpp"}))


@pytest.mark.parametrize("stated", [5, [], {}, {"name": ["mlp"]}, {"width": 8}])
def test_what_names_no_technique_is_refused_in_words(stated):
    with pytest.raises(SettingsError, match=r"^head: allowed: a mapping with a name, and the technique's options$"):
        HEADS.choose(stated)


def test_an_option_that_is_no_text_is_an_unknown_key():
    with pytest.raises(SettingsError, match=r"^head mlp: 5: unknown key 5; known: width"):
        HEADS.choose({"name": "mlp", 5: 1})


def test_known_names_need_be_no_text():
    assert str(UnknownNameError("profile", "samplr", [None, "sample"])) == (
        "unknown profile 'samplr'; did you mean sample? known: None, sample"
    )


@pytest.mark.parametrize(
    ("cell", "text"), [(None, "missing"), ("yes", "'yes'"), ("a" * 100, f"'{'a' * 59}\N{HORIZONTAL ELLIPSIS}")]
)
def test_a_value_of_a_data_file_is_shortened_in_messages(cell: object, text: str):
    assert shorten(cell) == text
