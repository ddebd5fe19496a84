"""The search for learning rates, but for its trainings."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from mtbert import search
from mtbert.errors import SettingsError
from mtbert.plan.params import Params
from mtbert.plan.rates import SearchSettings

PARAMS = Params(Path(__file__).parents[2] / "params.yaml")
SEARCH = SearchSettings(rates=[1e-4, 3e-4, 1e-3], kinds={"encoder": "pals", "heads": "frozen-bert"}, held_out=9, seed=5)


def test_every_kind_is_tried_with_every_rate() -> None:
    tried = [(trial.name, trial.kind, trial.variant, trial.rate) for trial in search.trials_of(SEARCH)]
    assert tried == [
        ("encoder-1", "encoder", "pals", 1e-4),
        ("encoder-2", "encoder", "pals", 3e-4),
        ("encoder-3", "encoder", "pals", 1e-3),
        ("heads-1", "heads", "frozen-bert", 1e-4),
        ("heads-2", "heads", "frozen-bert", 3e-4),
        ("heads-3", "heads", "frozen-bert", 1e-3),
    ]


@pytest.mark.parametrize("profile", ["sample", "laptop"])
def test_profiles_state_five_rates_a_factor_three_apart(profile: str) -> None:
    rates = search.settings(PARAMS.put(("profile",), profile)).rates
    steps = [after / before for before, after in itertools.pairwise(rates)]
    assert steps == [pytest.approx(3.2, abs=0.25)] * 4


def test_a_trial_is_its_variant_with_another_rate_and_nothing_else() -> None:
    params = PARAMS.put(("training", "learning_rates"), {"encoder": 0.5, "heads": 0.5})
    trials = search.trials_of(SEARCH)
    planned = search.planned_of(params, trials)
    assert [planned[trial.name]["phases"][0]["learning_rate"] for trial in trials] == [1e-4, 3e-4, 1e-3] * 2
    shipped, _ = search.resolve.variant(PARAMS, "pals")
    rest: dict[str, Any] = {"variant": "pals", "phases": [{**shipped["phases"][0]}]}
    assert planned["encoder-2"] | rest == shipped
    assert planned["encoder-2"]["phases"][0] | {"learning_rate": 3e-4} == shipped["phases"][0]
    selected = [name for name, entry in planned["catalog"]["variants"].items() if entry["selected"]]
    assert selected == [trial.name for trial in trials]


def found(*scores: dict[str, float]) -> dict[str, dict[str, Any]]:
    names = [trial.name for trial in search.trials_of(SEARCH)]
    return {name: {"dev": dev, "steps": 7} for name, dev in zip(names, scores, strict=True)}


RESULT = search.compared(
    search.trials_of(SEARCH),
    SEARCH,
    found(
        {"sst": 0.3, "sts": 0.5}, {"sst": 0.5, "sts": 0.5}, {"sst": 0.4, "sts": 0.5},
        {"sst": 0.25, "sts": 0.5}, {"sst": 0.5, "sts": 0.25}, {"sst": 0.1, "sts": 0.2},
    ),
    {"sst": 9, "sts": 8},
)  # fmt: skip


def test_of_each_kind_the_highest_mean_is_chosen_and_of_equal_ones_the_smallest_rate() -> None:
    assert list(RESULT["chosen"]) == [False, True, False, True, False, False]
    assert RESULT.iloc[1].to_dict() == {
        "kind": "encoder", "variant": "pals", "rate": 3e-4, "seed": 5, "sst": 0.5, "sts": 0.5, "mean": 0.5,
        "chosen": True, "rows": 17, "steps": 7,
    }  # fmt: skip


def test_the_lines_for_the_profile_come_with_what_should_be_looked_at() -> None:
    assert search.to_state("laptop", RESULT) == (
        "profiles:\n"
        "  laptop:\n"
        "    training:\n"
        "      learning_rates:\n"
        "        encoder: 3.0e-04\n"
        "        heads: 1.0e-04\n"
        "The best rate of heads is at the end of the list: one beyond may be better."
    )


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"heads": "pals"}, r"search.kinds.heads is pals, which is trained as encoder"),
        ({"encoder": "slap-individual"}, r"is slap-individual, which is trained as adapters and encoder"),
        ({"encoder": "slap-rand"}, r"is slap-rand, which is trained as nothing"),
        ({"encoder": "palls"}, r"is palls, which catalog lacks"),
        ({"encoder": "mypal-more-data"}, r"draws on corpora beside its tasks'"),
    ],
)
def test_a_variant_that_cannot_stand_for_its_kind_is_refused(kinds: dict[str, str], message: str) -> None:
    asked = SEARCH.model_copy(update={"kinds": kinds})
    with pytest.raises(SettingsError, match=message):
        search.planned_of(PARAMS, search.trials_of(asked))


def test_phases_with_a_rate_of_their_own_are_refused() -> None:
    params = PARAMS.put(("catalog", "pals", "phases"), [{"learning_rate": 0.5}])
    with pytest.raises(SettingsError, match="whose phases state a learning_rate of their own"):
        search.planned_of(params, search.trials_of(SEARCH))


def test_a_profile_without_a_search_is_told() -> None:
    with pytest.raises(SettingsError, match=r"search, for the profile paper: rates: Field required.*held_out"):
        search.settings(PARAMS.put(("profile",), "paper"))


@pytest.mark.parametrize(("rates", "said"), [([1e-3, 1e-4], "from small to large"), ([1e-3, 1e-3], "each once")])
def test_rates_go_from_small_to_large(rates: list[float], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        search.settings(PARAMS.put(("search", "rates"), rates))
