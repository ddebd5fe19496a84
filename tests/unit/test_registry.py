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
    choice = {"name": "salt", "grains": 5}
    built = SPICES.build(choice, "soup", "stew")
    assert isinstance(built, Salt)
    assert (built.settings, built.dishes) == (SaltSettings(grains=5), ("soup", "stew"))
    assert choice == {"name": "salt", "grains": 5}
    assert SPICES.settings({"name": "salt"}).grains == 3


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(SettingsError, match=r"^unknown spice 'sallt'; did you mean salt\? known: salt, plain$"):
        SPICES.build({"name": "sallt"})


@pytest.mark.parametrize("options", [{"grain": 5}, {"grains": 1.0}])
def test_an_unknown_option_or_a_wrong_type_is_refused(options: dict):
    with pytest.raises(SettingsError, match=next(iter(options))):
        SPICES.build({"name": "salt"} | options)
