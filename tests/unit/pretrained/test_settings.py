"""The table of encoders and its settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from mtbert.pretrained.settings import SOURCES, EncoderSettings

SOURCE = Path(__file__).parents[3] / "src"


def test_known_encoders_and_their_pins() -> None:
    assert list(SOURCES) == [
        "tiny",
        "minilm",
        "bert-base-uncased",
        "roberta-base",
        "xlm-roberta-base",
        "modernbert-base",
    ]
    assert all(source.sha256 and source.revision for source in SOURCES.values() if source.repository)


def test_a_folder_is_told_by_how_it_begins() -> None:
    here, home = EncoderSettings(name="./intfloat/e5-base-v2"), EncoderSettings(name="~/e5/")
    assert (here.folder, here.display_name, here.known_width) == (Path("intfloat/e5-base-v2"), "e5-base-v2", None)
    assert (home.folder, home.display_name) == (Path.home() / "e5", "e5")
    minilm = EncoderSettings(name="minilm")
    assert (minilm.folder, minilm.display_name, minilm.known_width) == (None, "minilm", 384)


@pytest.mark.parametrize(
    ("name", "kept"), [("minilm-4", 4), ("bert-base-uncased-11", 11), ("bert-base-uncased", None), ("./e5-4", None)]
)
def test_an_encoder_is_cut_by_its_name(name: str, kept: int | None) -> None:
    assert EncoderSettings(name=name).layers == kept


def test_a_cut_encoder_is_checked_as_the_whole_one_and_says_what_was_done_to_it() -> None:
    cut, whole = EncoderSettings(name="minilm-4", weights="fp16"), EncoderSettings(name="minilm")
    assert (cut.source, cut.known_width, cut.display_name) == (whole.source, 384, "minilm-4")
    assert cut.note == f"{whole.note} It is cut after layer 4. Its weights are rounded to fp16."


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "minilm-0"}, "unknown encoder 'minilm-0'; did you mean minilm"),
        (
            {"name": "bert"},
            "unknown encoder 'bert'; known: tiny, minilm, bert-base-uncased, roberta-base, xlm-roberta-base, ",
        ),
        ({"name": "minilm", "revision": "a" * 40}, "minilm has its revision in the project: set revision to null"),
        ({"width": 10, "heads": 3}, "width is 10 and heads 3, which does not divide it"),
        ({"wdith": 384}, "unknown key"),
    ],
)
def test_wrong_encoder_settings(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EncoderSettings.model_validate(wrong)


def test_the_table_needs_neither_torch_nor_transformers() -> None:
    code = "import sys, mtbert.pretrained.settings; print({'torch', 'transformers'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
