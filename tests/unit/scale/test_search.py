"""The search for learning rates and one further setting, but for its trainings."""

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.scale import search

PARAMS = Params(Path(__file__).parents[3] / "params.yaml")
LAPTOP = PARAMS.put(("profile",), "laptop").put(
    ("profiles", "laptop", "training", "learning_rates"),
    {},  # as before any search
)
RATES, KINDS = [1e-4, 3e-4, 1e-3], {"encoder": "pals", "heads": "frozen-bert"}
ONE = {
    "variant": "rival-fixed",
    "name": "fixed.weights",
    "values": [{"sst": 1.0, "qqp": 1.0}, {"sst": 1.5, "qqp": 0.5}],
}
ASKED = LAPTOP.put(("search", "setting"), ONE).put(("search", "kinds"), KINDS)
ASKED = ASKED.put(("profiles", "laptop", "search"), {"rates": RATES, "held_out": 9, "seed": 5})
SETTINGS = search.settings(ASKED)
OF_RATES, OF_SETTING = search.trials_of_rates(SETTINGS), search.trials_of_setting(SETTINGS)


def test_every_kind_is_tried_with_every_rate() -> None:
    assert [(trial.name, trial.kind, trial.variant, trial.value) for trial in OF_RATES] == [
        ("encoder-1", "encoder", "pals", 1e-4),
        ("encoder-2", "encoder", "pals", 3e-4),
        ("encoder-3", "encoder", "pals", 1e-3),
        ("heads-1", "heads", "frozen-bert", 1e-4),
        ("heads-2", "heads", "frozen-bert", 3e-4),
        ("heads-3", "heads", "frozen-bert", 1e-3),
    ]


@pytest.mark.parametrize(("profile", "count"), [("sample", 5), ("laptop", 7)])
def test_profiles_state_rates_a_factor_three_apart(profile: str, count: int) -> None:
    rates = search.settings(PARAMS.put(("profile",), profile)).rates
    steps = [after / before for before, after in itertools.pairwise(rates)]
    assert steps == [pytest.approx(3.2, abs=0.25)] * (count - 1)


def test_a_trial_is_its_variant_with_another_rate_and_nothing_else() -> None:
    params = ASKED.put(("training", "learning_rates"), {"encoder": 0.5, "heads": 0.5})
    planned = search.planned_of(params, OF_RATES)
    assert [planned[trial.name]["phases"][0]["learning_rate"] for trial in OF_RATES] == [1e-4, 3e-4, 1e-3] * 2
    shipped, _ = search.resolve.variant(ASKED, "pals")
    rate = {"learning_rate": 3e-4}
    assert planned["encoder-2"] == shipped | {"variant": "encoder-2", "phases": [shipped["phases"][0] | rate]}
    selected = [name for name, entry in planned["catalog"]["variants"].items() if entry["selected"]]
    assert selected == [trial.name for trial in OF_RATES]


def table(trials: list[search.Trial], *scores: dict[str, float]) -> pd.DataFrame:
    held = {"sst": 9, "qqp": 8, "sts": 8}
    return search.compared(
        trials, search.planned_of(ASKED, trials), 5, [{"dev": dev, "steps": 7} for dev in scores], held
    )


RESULT = table(
    OF_RATES,
    {"sst": 0.3, "sts": 0.5}, {"sst": 0.5, "sts": 0.5}, {"sst": 0.4, "sts": 0.5},
    {"sst": 0.25, "sts": 0.5}, {"sst": 0.5, "sts": 0.25}, {"sst": 0.1, "sts": 0.2},
)  # fmt: skip


def test_of_each_kind_the_highest_mean_is_chosen_and_of_equal_ones_the_smallest_rate() -> None:
    assert list(RESULT["chosen"]) == [False, True, False, True, False, False]
    assert RESULT.iloc[1].to_dict() == {
        "kind": "encoder", "variant": "pals", "rate": 3e-4, "seed": 5, "sst": 0.5, "sts": 0.5, "mean": 0.5,
        "chosen": True, "rows": 17, "steps": 7,
    }  # fmt: skip


def test_what_was_found_is_told_and_counts_from_then_on(capsys: pytest.CaptureFixture[str]) -> None:
    params = search.found(ASKED, OF_RATES, RESULT)
    assert params.get("profiles", "laptop", "training", "learning_rates") == {"encoder": 3e-4, "heads": 1e-4}
    assert capsys.readouterr().out == (
        "profiles.laptop.training.learning_rates.encoder: 0.0003\n"
        "profiles.laptop.training.learning_rates.heads: 0.0001\n"
        "The best rate of heads is at the end of the list: one beyond may be better.\n"
    )
    assert search.planned_of(params, OF_SETTING)["rival-fixed-1"]["phases"][0]["learning_rate"] == 3e-4


def plan(params: Params) -> None:
    """Plan both searches."""
    for trials in (search.trials_of_rates, search.trials_of_setting):
        search.planned_of(params, trials(search.settings(params)))


KIND, ONLY = ("search", "kinds"), ("search", "setting")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (KIND, {"heads": "pals"}, r"search.kinds.heads is pals, which is trained as encoder"),
        (KIND, {"encoder": "slap-base"}, r"is slap-base, which is trained as encoder_constant"),
        (KIND, {"encoder": "slap-individual"}, r"which is trained as adapters_constant and encoder_constant"),
        (KIND, {"encoder": "slap-rand"}, r"is slap-rand, which is trained as nothing"),
        (KIND, {"encoder": "palls"}, r"is palls, which catalog lacks"),
        (KIND, {"encoder": "mypal-more-data"}, r"draws on corpora beside its tasks'"),
        (("catalog", "pals", "phases"), [{"learning_rate": 0.5}], "whose phases state a learning_rate of their own"),
        (("search", "rates"), [1e-3, 1e-3], "each once"),
        (("profile",), "paper", r"search, for the profile paper: rates: Field required.*held_out"),
        (ONLY, None, r"search\.setting names no setting"),
        (ONLY, ONE | {"values": [1.0, 1.0]}, "each once"),
        (ONLY, ONE | {"values": [1.0]}, "at least 2"),
        (ONLY, ONE | {"variant": "rival-fixd"}, "search.setting.variant is rival-fixd, which catalog lacks"),
        (ONLY, ONE | {"variant": "pals"}, "the variant does not use fixed"),
        (ONLY, ONE | {"name": "fixed.weight"}, "weight"),
        (ONLY, ONE | {"values": [{"sst": -1.0}, {"sst": 1.0}]}, "greater than 0"),
    ],
)
def test_what_cannot_be_searched_is_refused(place: tuple[str, ...], value: object, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        plan(ASKED.put(place, value))


def test_the_setting_is_tried_as_often_as_a_kind_of_training() -> None:
    stated = search.settings(LAPTOP)
    weights = [sum(trial.value.values()) for trial in search.trials_of_setting(stated)]
    assert weights == [3.0] * len(stated.rates)  # so that no value is a larger learning rate in disguise


def test_a_trial_of_the_setting_is_its_variant_with_that_value_and_nothing_else() -> None:
    tried = search.planned_of(ASKED, OF_SETTING)["rival-fixed-2"]
    shipped, _ = search.resolve.variant(ASKED, "rival-fixed")
    weighting = {"name": "fixed", "weights": {"sst": 1.5, "qqp": 0.5, "sts": 0.5}}  # sts by the profile
    assert tried["phases"][0]["weighting"] == weighting
    assert shipped["phases"][0] | {"weighting": weighting} == tried["phases"][0]
    assert tried | {"variant": "rival-fixed", "phases": shipped["phases"]} == shipped


def test_of_the_values_the_one_with_the_highest_mean_is_chosen_and_of_equal_ones_the_first() -> None:
    found = table(OF_SETTING, {"sst": 0.4, "qqp": 0.6}, {"sst": 0.5, "qqp": 0.5})
    assert list(found["chosen"]) == [True, False]
    assert found.iloc[1].to_dict() == {
        "variant": "rival-fixed", "setting": "fixed.weights", "value": "sst 1.5, qqp 0.5", "rate": 1.5e-4, "seed": 5,
        "sst": 0.5, "qqp": 0.5, "mean": 0.5, "chosen": False, "rows": 17, "steps": 7,
    }  # fmt: skip
    params = search.found(ASKED, OF_SETTING, found)
    assert params.get("profiles", "laptop", "fixed", "weights") == {"sst": 1.0, "qqp": 1.0}


def chosen(file: Path) -> list[dict[str, Any]]:
    return pd.read_csv(file).query("chosen").to_dict("records") if file.is_file() else []


@pytest.mark.parametrize("profile", PARAMS.get("profiles"))
def test_a_profile_states_what_its_searches_have_found(profile: str) -> None:
    committed, stated = Path(__file__).parents[3] / search.SEARCHES, PARAMS.get("profiles", profile)
    for line in chosen(committed / f"{profile}.csv"):
        assert stated["training"]["learning_rates"][line["kind"]] == line["rate"]
    for line in chosen(committed / f"{profile}-setting.csv"):
        section, key = line["setting"].split(".")
        assert search.in_words(stated[section][key]) == line["value"]
