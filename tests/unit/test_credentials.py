"""Users, passwords and keys never reach a message."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtbert import credentials
from mtbert.command import plainly
from mtbert.errors import DataError

ROOT = Path(__file__).parents[2]
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
    assert credentials.masked(text) == told


@given(st.text(st.sampled_from("aZ9/@:?#[]%&=+~'\""), max_size=6), st.text(st.sampled_from("a9/@:?#"), max_size=6))
def test_no_password_of_an_address_is_told(before: str, after: str):
    told = credentials.masked(f"got https://ann:{before}s3cret{after}@host/x")
    assert told == "got https://***@host/x"


def test_no_error_of_a_stage_tells_them():
    with pytest.raises(SystemExit) as exit_, plainly():
        raise DataError("data_dir is https:/ann:s3cret@host/corpora, which is not a directory")
    assert exit_.value.code == "error: data_dir is https:/***@host/corpora, which is not a directory"


def test_data_dir_with_credentials_is_refused_and_not_repeated(tmp_path: Path):
    """It would stand in plan files, in dvc.lock and in the report's command."""
    text = (ROOT / "params.yaml").read_text().replace("data_dir: data/sample", "data_dir: https://ann:s3cret@host/x")
    (tmp_path / "params.yaml").write_text(text)
    command = [sys.executable, ROOT / "stages/plan.py", "params.yaml", "plan"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "error: data_dir in params.yaml is https://***@host/x, which holds a user and password; allowed: a path inside "
        "the repository, or an absolute one\n"
    )
    assert not (tmp_path / "plan").exists()
