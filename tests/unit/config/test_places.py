"""Where a value is set."""

from unit.config.conftest import edited

from mtbert.config.places import merge_variant


def test_each_value_has_the_place_of_the_strongest_layer_that_sets_it() -> None:
    params = edited(
        ("training.epochs", 7),
        ("catalog.mine", {"uses": ["smart", "pals"], "phases": [{"epochs": 1}, {"epochs": None}]}),
    )
    settings = merge_variant(params, "mine")
    assert [phase["epochs"] for phase in settings.values["phases"]] == [1, 7]
    assert settings.place("phases", 0, "epochs") == ("catalog", "mine", "phases", 0, "epochs")
    assert settings.place("phases", 1, "epochs") == ("training", "epochs")
    rate = ("training", "learning_rate", "encoder")
    assert settings.place("phases", 1, *rate[1:]) == ("profiles", "sample", *rate)
    assert settings.place("model", "adapter") == ("catalog", "mine", "uses", 1)
    assert settings.place("phases", 1, "adapter_rate") == ("training", "adapter_rate")  # nobody sets it
