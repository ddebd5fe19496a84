"""The worst misses, with sentences only where these may be handed on."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mtbert.reporting.catalog import Completed
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.sections import misses
from mtbert.reporting.sections.base import Report


def test_text_of_a_corpus_is_shown_as_it_is() -> None:
    assert misses.literal("a <b> | *c*\n_d_ & `e` [f](g)") == r"a &lt;b> \| \*c\* \_d\_ \& \`e\` \[f\](g)"


@pytest.mark.parametrize(
    ("whose", "row"),
    [
        ("sample", "| very dull / another |       5 |           2 |     3.00 |"),
        ("course", "| `a`   |       5 |           2 |     3.00 |"),
    ],
)
def test_worst_misses_hold_sentences_where_these_are_ours(tmp_path: Path, whose: str, row: str) -> None:
    (tmp_path / "data/sts").mkdir(parents=True)
    rows = pd.DataFrame({"id": ["a"], "sentence1": ["very  dull"], "sentence2": ["another"]})
    rows.to_parquet(tmp_path / "data/sts/dev.parquet")
    labels, none = pd.Series([5.0], ["a"]), np.zeros((0, 0), dtype=int)
    said = [Answers(labels, pd.DataFrame({"prediction": [score]}, ["a"]), none, 1) for score in (1.0, 3.0)]
    plan = Completed("sample", (1,), "last", "whole", "tiny", "", "any", (), whose=whose)
    report = Report(tmp_path, plan, ())
    report.answers = {"sts": {"one": said[0], "other": said[1]}}
    assert misses.render(report).splitlines()[-1] == row
    report.answers = {}
    assert misses.render(report) == ""
