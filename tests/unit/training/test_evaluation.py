"""Embeddings of a dev set come back in its order, both sentences of a pair apart."""

import numpy as np
import pandas as pd
import torch
from models import build_adapter, small_bert

from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.models.connectors import CONNECTORS
from mtbert.models.encoder.bert import Encoder
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS
from mtbert.models.multitask import MultitaskModel
from mtbert.tasks import TASKS
from mtbert.training import evaluation

CPU = torch.device("cpu")


def pair_model() -> MultitaskModel:
    encoder = Encoder(small_bert())
    heads = {"sts": HEADS.build({"name": "linear"}, TASKS["sts"], 24, 2)}
    parts = (FEATURES.build({"name": "words"}, 24, ()), build_adapter({"name": "none"}, encoder, ["sts"]))
    return MultitaskModel(encoder, *parts, CONNECTORS.build({"name": "direct"}, 24, ["sts"]), heads, {"sts": "mean"})


def test_rows_are_in_the_files_order_although_they_were_batched_by_length():
    lengths = [2, 7, 1, 5]
    tokens = [list(range(5, 5 + length)) for length in lengths]
    table = pd.DataFrame({"id": list("abcd"), "label": [0.0] * 4, "tokens1": tokens, "tokens2": tokens[::-1]})
    examples, model = Examples(table, TASKS["sts"], "bi", SpecialTokens(1, 2, 0), 20), pair_model()
    found = evaluation.embed(model, examples, CPU, rows=3)
    assert (found.shape, found.dtype) == ((3, 2, 24), np.float32)
    with torch.no_grad():
        alone = [torch.cat(model.eval().embeddings(examples.batch([row]))) for row in range(3)]
    np.testing.assert_allclose(found, torch.stack(alone).numpy(), atol=1e-5)
