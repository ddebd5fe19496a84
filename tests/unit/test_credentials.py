"""Users, passwords and keys never reach a message."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbert import errors

KEYS = {
    "MLFLOW_TRACKING_PASSWORD": "pa55word",
    "MLFLOW_TRACKING_TOKEN": "pa55word-and-more",
    "AWS_ACCESS_KEY_ID": "AKIA-7",
    "AWS_SECRET_ACCESS_KEY": "aws+key",
    "AWS_SESSION_TOKEN": "se55ion",
    "HF_TOKEN": "hf_t0ken",
    "TOKENIZERS_PARALLELISM": "false",
    "LONE_TOKEN": "no",
}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        *((f"got {value}.", "got ***.") for value in [*KEYS.values()][:6]),
        ("false, not", "false, not"),
        ("https://ann:s3cret@host/x and s3:/key:s3cret@bucket", "https://***@host/x and s3:/***@bucket"),
        ("at https://ann:s3/cr#et?@host/x", "at https://***@host/x"),
        ("ann@example.org in sqlite:////home/a@b/mlflow.db", "ann@example.org in sqlite:////home/a@b/mlflow.db"),
    ],
)
def test_masked(text: str, told: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    assert errors.masked(text) == told


@given(st.text(st.sampled_from("aZ9/@:?#[]%&=+~'\""), max_size=6), st.text(st.sampled_from("a9/@:?#"), max_size=6))
def test_no_password_of_an_address_is_told(before: str, after: str):
    told = errors.masked(f"got https://ann:{before}s3cret{after}@host/x")
    assert told == "got https://***@host/x"
