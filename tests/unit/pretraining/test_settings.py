"""The table of encoders and its settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from mtbert.pretraining.settings import SOURCES, EncoderSettings

SOURCE = Path(__file__).parents[3] / "src"


def test_known_encoders_and_their_pins() -> None:
    assert list(SOURCES) == ["tiny", "minilm", "bert-base-uncased"]
    assert all(source.sha256 and source.revision for source in SOURCES.values() if source.repository)


def test_a_folder_is_told_by_how_it_begins() -> None:
    here, home = EncoderSettings(name="./intfloat/e5-base-v2"), EncoderSettings(name="~/e5/")
    assert (here.folder, here.shown, here.known_width) == (Path("intfloat/e5-base-v2"), "e5-base-v2", None)
    assert (home.folder, home.shown) == (Path.home() / "e5", "e5")
    minilm = EncoderSettings(name="minilm")
    assert (minilm.folder, minilm.shown, minilm.known_width) == (None, "minilm", 384)


@pytest.mark.parametrize(
    ("settings", "kept", "shown"),
    [
        ({"name": "minilm-4"}, 4, "minilm-4"),
        ({"name": "minilm", "layers": 4}, 4, "minilm-4"),
        ({"name": "minilm-4", "layers": 4}, 4, "minilm-4"),
        ({"name": "minilm-6"}, 6, "minilm"),
        ({"name": "bert-base-uncased-11"}, 11, "bert-base-uncased-11"),
        ({"name": "bert-base-uncased"}, None, "bert-base-uncased"),
        ({"name": "tiny", "layers": 3}, 3, "tiny"),
        ({"name": "tiny-3"}, 3, "tiny"),
        ({"name": "./e5-4"}, None, "e5-4"),
        ({"name": "./e5", "layers": 3}, 3, "e5-3"),
    ],
)
def test_an_encoder_is_cut_by_its_name_or_by_its_number_of_layers(
    settings: dict[str, object], kept: int | None, shown: str
) -> None:
    found = EncoderSettings.model_validate(settings)
    assert (found.layers, found.shown) == (kept, shown)


def test_a_cut_encoder_is_checked_as_the_whole_one_and_says_where_it_is_cut() -> None:
    cut, whole = EncoderSettings(name="minilm-4"), EncoderSettings(name="minilm")
    assert (cut.source, cut.known_width) == (whole.source, 384)
    assert cut.note == f"{whole.note} It is cut after layer 4 of 6."
    assert EncoderSettings(name="./e5", layers=3).note == "It is cut after layer 3."


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "minilm-0"}, "greater than 0"),
        ({"name": "minilm-4", "layers": 3}, "name is minilm-4, but layers is 3: set layers to null"),
        ({"name": "minilm-four"}, "unknown encoder 'minilm-four'"),
        (
            {"name": "bert"},
            "unknown encoder 'bert'; known: tiny, minilm, bert-base-uncased, a folder that begins with /, ",
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
    code = "import sys, mtbert.pretraining.settings; print({'torch', 'transformers'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
