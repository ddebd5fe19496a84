"""Embeddings of a dev set come back in its order, both sentences of a pair apart."""

import numpy as np
import pandas as pd
import pytest
import torch
from models import small_model

from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.tasks import COURSE
from mtbert.training import evaluation


def test_rows_are_in_the_files_order_although_they_were_batched_by_length():
    lengths = [2, 7, 1, 5]
    tokens = [list(range(5, 5 + length)) for length in lengths]
    table = pd.DataFrame({"id": list("abcd"), "label": [0.0] * 4, "tokens1": tokens, "tokens2": tokens[::-1]})
    examples = Examples(table, COURSE["sts"], "bi", SpecialTokens(1, 2, 0), 20)
    model = small_model(tasks=["sts"], embeddings=2, pooling="mean")
    found = evaluation.embed(model, examples, torch.device("cpu"), count=3)
    assert (found.shape, found.dtype) == ((3, 2, 24), np.float32)
    with torch.no_grad():
        alone = [torch.cat(model.eval().embeddings(examples.batch([row]))) for row in range(3)]
    np.testing.assert_allclose(found, torch.stack(alone).numpy(), atol=1e-5)


def test_the_error_of_a_mean_is_that_of_its_tasks_scores():
    """Three of four right have the error sqrt(0.75 x 0.25 / 4); all right have none; the mean has half of it."""
    sst = pd.DataFrame({"label": [0.0, 1.0, 2.0, 3.0], "prediction": [0.0, 1.0, 2.0, 4.0]})
    qqp = pd.DataFrame({"label": [0.0, 1.0], "prediction": [0.0, 1.0]})
    error = evaluation.error_of_mean({"sst": sst, "qqp": qqp, "sts": sst}, COURSE, ["sst", "qqp"])
    assert error == pytest.approx(0.21651 / 2, abs=1e-5)
