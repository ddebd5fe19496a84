"""Special tokens that a user's text holds: ids, types and outputs are those of transformers' tokenizer and model."""

from pathlib import Path
from typing import Any

import architectures
import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import AutoTokenizer

from mtbert.data import tokens
from mtbert.data.batches import Batch, Examples
from mtbert.models.encoder.architectures import read
from mtbert.models.encoder.encoder import Encoder
from mtbert.tasks import COURSE

ROBERTAS = ("roberta", "xlm-roberta", "camembert")
NAMES = ("pad_token", "mask_token", "sep_token", "cls_token", "unk_token")


def batch_of(folder: Path, first: str, second: str) -> Batch:
    """A pair and, as padding shows at its end only, a longer one."""
    encode = tokens.wordpieces(folder)
    firsts, seconds = encode([first, "a man plays"]), encode([second, "a man plays a guitar . the cat sleeps here"])
    table = {"id": ["0", "1"], "label": np.zeros(2), "tokens1": firsts, "tokens2": seconds}
    return Examples(table, COURSE["qqp"], "cross", tokens.special_tokens(folder), 40).batch([0, 1])


def hidden_of(folder: Path, batch: Batch) -> Tensor:
    """The hidden states of the encoder here, [rows, tokens, width]."""
    encoder = Encoder(read(folder)).eval()
    with torch.no_grad():
        return encoder(encoder.words(batch.input_ids), batch.token_types, batch.mask)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", architectures.KINDS)
def test_a_special_token_in_a_text_is_computed_as_by_transformers(kind: str, name: str, tmp_path: Path):
    folder = architectures.folder(kind, tmp_path, masked=False)
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    token = getattr(tokenizer, name)
    first, second = f"a man {token} plays", f"{token} music{token}"
    batch = batch_of(folder, first, second)
    theirs = tokenizer(first, second, return_tensors="pt", return_token_type_ids=True)
    count = theirs["input_ids"].shape[1]
    assert batch.input_ids[0, :count].tolist() == theirs["input_ids"][0].tolist()
    assert batch.mask[0].tolist() == [1] * count + [0] * (batch.mask.shape[1] - count)
    given = {"input_ids": batch.input_ids[:1, :count]}
    if kind == "bert":
        assert batch.token_types[0, :count].tolist() == theirs["token_type_ids"][0].tolist()
        given["token_type_ids"] = theirs["token_type_ids"]
    if kind in ROBERTAS and name == "pad_token":
        # transformers gives the token padding's own position, and those behind it the one before: roberta.py says it
        given["position_ids"] = torch.arange(count)[None] + 1 + tokenizer.pad_token_id
    with torch.no_grad():
        expected = architectures.theirs(kind)(**given).last_hidden_state[0]
    torch.testing.assert_close(hidden_of(folder, batch)[0, :count], expected, atol=1e-5, rtol=0)
