"""What a training is assembled from."""

import pandas as pd
import pytest

from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.tasks import COURSE
from mtbert.training.assembly import balance


def test_classes_weigh_as_much_as_one_another_and_one_without_rows_nothing():
    table = pd.DataFrame({"id": list("abcd"), "label": [0.0, 0.0, 0.0, 1.0], "tokens1": [[7]] * 4})
    examples = Examples(table, COURSE["sst"], "cross", SpecialTokens(1, 2, 0), 8)
    assert balance(examples).tolist() == pytest.approx([4 / 15, 4 / 5, 0.0, 0.0, 0.0])
