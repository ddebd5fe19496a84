"""The table of encoders and its settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from mtbert.pretraining.settings import SOURCES, EncoderSettings, SbertSettings

SOURCE = Path(__file__).parents[3] / "src"


def test_known_encoders_and_their_pins() -> None:
    assert list(SOURCES) == ["tiny", "minilm", "bert-base-uncased"]
    assert all(source.sha256 and source.revision for source in SOURCES.values() if source.repository)


def test_a_name_means_one_thing_by_how_it_begins() -> None:
    hub = EncoderSettings(name="intfloat/e5-base-v2", revision="a" * 40)
    assert (hub.folder, hub.shown, hub.source.repository) == (None, "intfloat/e5-base-v2", "intfloat/e5-base-v2")
    here = EncoderSettings(name="./intfloat/e5-base-v2", revision="a" * 64)
    assert (here.folder, here.shown, here.source.repository) == (Path("intfloat/e5-base-v2"), "e5-base-v2", "")
    home = EncoderSettings(name="~/e5/")
    assert (home.folder, home.shown) == (Path.home() / "e5", "e5")
    assert (hub.known_width, here.known_width, EncoderSettings(name="minilm").known_width) == (None, None, 384)


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
        ({"name": "some/bert-4", "layers": 3, "revision": "a" * 40}, 3, "some/bert-4-3"),
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
        ({"name": "minilm-7"}, "minilm cannot be cut after layer 7; allowed: 1 to 6"),
        ({"name": "minilm-0"}, "greater than 0"),
        ({"name": "minilm-4", "layers": 3}, "name is minilm-4, but layers is 3: set layers to null"),
        ({"name": "minilm-four"}, "unknown encoder 'minilm-four'"),
        (
            {"name": "bert"},
            "unknown encoder 'bert'; known: tiny, minilm, bert-base-uncased, owner/name on the model hub, ",
        ),
        (
            {"name": "some/bert"},
            "revision is None, but some/bert is a name on the model hub, where branches move; allow",
        ),
        ({"name": "some/bert", "revision": "main"}, r"hub.model_info\('some/bert'\)"),
        ({"name": "some/bert", "revision": "a" * 39}, "allowed: a commit of 40 hexadecimal digits"),
        ({"name": "some/bert", "revision": "A" * 40}, "allowed: a commit of 40 hexadecimal digits"),
        ({"name": "./some/bert", "revision": "a" * 40}, "allowed for a folder: its digest, 64 hexadecimal digits"),
        ({"name": "minilm", "revision": "a" * 40}, "minilm has its revision in the project: set revision to null"),
        (
            {"name": "some/bert", "revision": "a" * 40, "directory": "b"},
            "directory is for an encoder that is known by name",
        ),
        ({"width": 10, "heads": 3}, "width is 10 and heads 3, which does not divide it"),
        ({"name": "tiny", "directory": "weights"}, "known by name and not made here: set it to null"),
        ({"wdith": 384}, "unknown key"),
    ],
)
def test_wrong_encoder_settings(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        EncoderSettings.model_validate(wrong)


@pytest.mark.parametrize("wrong", [{"batch_size": 1}, {"corpora": ["qqp"]}, {"warmup": 1.0}, {"unknown": 1}])
def test_wrong_sbert_settings(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        SbertSettings.model_validate(wrong)


def test_the_table_needs_neither_torch_nor_transformers() -> None:
    code = "import sys, mtbert.pretraining.settings; print({'torch', 'transformers'} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
