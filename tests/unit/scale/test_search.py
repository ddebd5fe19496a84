"""The search for learning rates, but for its trainings."""

from pathlib import Path

import pandas as pd
import pytest

from mtbert.config.params import Params
from mtbert.errors import SettingsError
from mtbert.scale import search

ROOT = Path(__file__).parents[3]
PARAMS = Params(ROOT / "params.yaml")
RATES, KINDS = [1e-4, 3e-4, 1e-3], {"encoder": "pals", "heads": "frozen-bert"}
ASKED = PARAMS.put(("profile",), "laptop").put(("search", "kinds"), KINDS)
ASKED = ASKED.put(("profiles", "laptop", "search"), {"rates": RATES, "held_out": 9, "seed": 5})
TRIALS = search.trials_of(search.settings(ASKED))


def test_every_kind_is_tried_with_every_rate() -> None:
    assert TRIALS == [
        ("encoder-1", "encoder", "pals", 1e-4),
        ("encoder-2", "encoder", "pals", 3e-4),
        ("encoder-3", "encoder", "pals", 1e-3),
        ("heads-1", "heads", "frozen-bert", 1e-4),
        ("heads-2", "heads", "frozen-bert", 3e-4),
        ("heads-3", "heads", "frozen-bert", 1e-3),
    ]


def test_a_trial_is_its_variant_with_another_rate_and_nothing_else() -> None:
    params = ASKED.put(("training", "learning_rates"), {"encoder": 0.5, "heads": 0.5})
    planned = search.planned_of(params, TRIALS)
    assert [planned[trial.name]["phases"][0]["learning_rate"] for trial in TRIALS] == [1e-4, 3e-4, 1e-3] * 2
    shipped, _ = search.resolve.variant(ASKED, "pals")
    rate = {"learning_rate": 3e-4}
    assert planned["encoder-2"] == shipped | {"variant": "encoder-2", "phases": [shipped["phases"][0] | rate]}
    selected = [name for name, entry in planned["catalog"]["variants"].items() if entry["selected"]]
    assert selected == [trial.name for trial in TRIALS]


def test_of_each_kind_the_highest_mean_is_chosen_and_of_equal_ones_the_smallest_rate() -> None:
    scores = [
        {"sst": 0.3, "sts": 0.5}, {"sst": 0.5, "sts": 0.5}, {"sst": 0.4, "sts": 0.5},
        {"sst": 0.25, "sts": 0.5}, {"sst": 0.5, "sts": 0.25}, {"sst": 0.1, "sts": 0.2},
    ]  # fmt: skip
    held = {"sst": 9, "qqp": 8, "sts": 8}
    table = search.compared(TRIALS, 5, [{"dev": dev, "steps": 7} for dev in scores], held)
    assert list(table["chosen"]) == [False, True, False, True, False, False]
    assert table.iloc[1].to_dict() == {
        "kind": "encoder", "variant": "pals", "rate": 3e-4, "seed": 5, "sst": 0.5, "sts": 0.5, "mean": 0.5,
        "chosen": True, "rows": 17, "steps": 7,
    }  # fmt: skip


KIND = ("search", "kinds")


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
    ],
)
def test_what_cannot_be_searched_is_refused(place: tuple[str, ...], value: object, said: str) -> None:
    params = ASKED.put(place, value)
    with pytest.raises(SettingsError, match=said):
        search.planned_of(params, search.trials_of(search.settings(params)))


def test_a_profile_states_what_its_search_has_found() -> None:
    table, stated = pd.read_csv(ROOT / search.SEARCHES / "laptop.csv"), PARAMS.get("profiles", "laptop", "training")
    found = table[table["chosen"]].set_index("kind")["rate"].to_dict()
    assert found == {kind: stated["learning_rates"][kind] for kind in ("encoder", "adapters", "heads")}
