"""Names to techniques."""

import pytest

from mtbert.errors import SettingsError
from mtbert.registry import Registry, Technique
from mtbert.settings import NoOptions, Section


class SaltSettings(Section):
    grains: int = 3


class Salt:
    def __init__(self, settings: SaltSettings, *dishes: str) -> None:
        self.settings = settings
        self.dishes = dishes


class Plain:
    def __init__(self, settings: NoOptions) -> None:
        self.settings = settings


SPICES: Registry[..., Salt | Plain] = Registry(
    "spice", {"salt": Technique(SaltSettings, Salt), "plain": Technique(NoOptions, Plain)}
)


def test_a_choice_is_built_from_its_options_and_what_is_around_it():
    built = SPICES.build({"name": "salt", "grains": 5}, "soup", "stew")
    assert isinstance(built, Salt)
    assert built.settings == SaltSettings(grains=5)
    assert built.dishes == ("soup", "stew")


def test_options_that_are_not_named_have_their_defaults():
    built = SPICES.build({"name": "salt"})
    assert isinstance(built, Salt)
    assert built.settings.grains == 3


def test_the_choice_is_left_as_it_was():
    choice = {"name": "salt", "grains": 5}
    SPICES.build(choice)
    assert choice == {"name": "salt", "grains": 5}


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match=r"^unknown spice 'sallt'; did you mean salt\? known: salt, plain$"):
        SPICES.build({"name": "sallt"})


@pytest.mark.parametrize("options", [{"grain": 5}, {"grains": "5"}, {"grains": 1.0}])
def test_an_unknown_option_or_a_wrong_type_is_refused(options: dict):
    with pytest.raises(SettingsError, match=next(iter(options))):
        SPICES.build({"name": "salt"} | options)
