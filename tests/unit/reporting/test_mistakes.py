"""What models get wrong, from predictions that are written out."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sealing import seal

from mtbert import predictions
from mtbert.reporting import mistakes
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.mistakes import Answers, Miss
from mtbert.tasks import TASKS

MINE = CompletedEntry("mine", "own", "mine", ("qqp", "sts"), True, seeds=(1, 2))
PLAN = Completed("sample", (1, 2), "last", "whole", "tiny", "", "", (MINE,))


def write(build: Path, seed: int, paraphrase: list[float], scores: list[float]) -> None:
    """Four rows of which the last does not count; of qqp the probabilities of a paraphrase, of sts the scores."""
    place, about = (
        build / f"runs/mine/{seed}",
        {"id": list("abcd"), "scored": [True, True, True, False], "overall": True},
    )
    chance = np.array(paraphrase)
    qqp = pd.DataFrame(about | {"label": [1.0, 0.0, 1.0, 0.0], "prediction": (chance > 0.5).astype(float)})
    qqp = qqp.assign(probability_0=1 - chance, probability_1=chance)
    sts = pd.DataFrame(about | {"label": [5.0, 0.0, 2.5, 0.0], "prediction": scores})
    for task, table in (("qqp", qqp), ("sts", sts)):
        columns = [name for name in table if name not in ("scored", "overall")]
        predictions.write(predictions.path(place, task, "dev"), table[[*columns, "scored", "overall"]], TASKS[task])
    seal(build)


@pytest.fixture
def said(tmp_path: Path) -> dict[str, dict[str, Answers]]:
    """Two seeds."""
    write(tmp_path, 1, [0.9, 0.8, 0.25, 1.0], [4.0, 1.0, 2.5, 5.0])
    write(tmp_path, 2, [0.7, 0.4, 0.25, 1.0], [2.0, 1.0, 2.5, 5.0])
    return mistakes.answers(tmp_path, PLAN)


def test_confusions_are_summed_over_seeds_and_hold_the_rows_that_count(said: dict[str, dict[str, Answers]]) -> None:
    qqp = said["qqp"]["mine"]
    assert (qqp.confusion.tolist(), qqp.seeds) == ([[1, 1], [2, 2]], 2)
    assert said["sts"]["mine"].confusion.size == 0


def test_the_surest_wrong_class_comes_first(said: dict[str, dict[str, Answers]]) -> None:
    assert mistakes.worst(said["qqp"]["mine"], TASKS["qqp"]) == [
        Miss("c", 1.0, 0.0, pytest.approx(0.75)), Miss("b", 0.0, 1.0, pytest.approx(0.6)),
    ]  # fmt: skip


def test_the_farthest_score_comes_first_and_one_that_is_right_is_no_miss(said: dict[str, dict[str, Answers]]) -> None:
    assert mistakes.worst(said["sts"]["mine"], TASKS["sts"]) == [Miss("a", 5.0, 3.0, 2.0), Miss("b", 0.0, 1.0, 1.0)]
    assert mistakes.worst(said["sts"]["mine"], TASKS["sts"], count=1) == [Miss("a", 5.0, 3.0, 2.0)]


def test_variants_together_are_their_mean_over_the_rows_that_all_have() -> None:
    def answers(scores: dict[str, float]) -> Answers:
        labels = pd.Series(0.0, index=list(scores))
        return Answers(labels, pd.DataFrame({"prediction": scores}), np.zeros((0, 0), dtype=int), 1)

    both = mistakes.together([answers({"a": 1.0, "b": 2.0, "c": 3.0}), answers({"b": 4.0, "c": 5.0, "d": 6.0})])
    assert both.values[0].to_dict() == {"b": 3.0, "c": 4.0}
    assert (both.labels.to_dict(), both.seeds) == ({"b": 0.0, "c": 0.0}, 2)


def test_distances_are_shares_of_all_rows() -> None:
    counts = np.array([[5, 1, 2], [0, 1, 0], [1, 0, 0]])
    assert mistakes.distances(counts).tolist() == [0.6, 0.1, 0.3]
