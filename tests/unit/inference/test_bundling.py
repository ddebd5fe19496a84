"""Code that stands by itself: what is needed of each module, and nothing else."""

from pathlib import Path

import pytest

from mtbert.errors import MtbertError
from mtbert.inference import bundling
from mtbert.models.adapters import ADAPTERS
from mtbert.models.connectors import CONNECTORS
from mtbert.models.features import FEATURES
from mtbert.models.heads import HEADS

MODULE = '''"""About a.

More.
"""

import math
from dataclasses import dataclass
from pydantic import BaseModel

from mtbert.b import Base, helper, unused
from mtbert.c import Settings

LEFT = math.e
KEPT: int = 2
Alias = tuple[Settings, int]


@dataclass
class Thing(Base):
    """A thing."""

    size: Settings

    def twice(self, other: Settings) -> Alias:
        """Twice."""
        from mtbert.b import late

        found: Alias = late(KEPT)
        return helper(found)


def other() -> BaseModel:
    """Not needed."""
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mtbert"
    folder.mkdir()
    (folder / "a.py").write_text(MODULE)
    (folder / "b.py").write_text(
        "class Base:\n    pass\n\n\n"
        "def helper(x):\n    return x\n\n\ndef late(x):\n    return x\n\n\ndef unused():\n    pass\n"
    )
    monkeypatch.setattr(bundling, "PACKAGE", folder)
    return folder


def test_what_is_needed_is_followed_and_annotations_are_not(package: Path) -> None:
    found = bundling.bundle([("mtbert.a", "Thing")])
    assert found.keys() == {"mtbert_a.py", "mtbert_b.py"}
    assert (
        found["mtbert_a.py"]
        == '''"""From mtbert.a of mtbert, whose licence is Apache-2.0."""
from __future__ import annotations
from dataclasses import dataclass
from .mtbert_b import Base
from .mtbert_b import helper
KEPT: int = 2

@dataclass
class Thing(Base):
    """A thing."""
    size: Settings

    def twice(self, other: Settings) -> Alias:
        """Twice."""
        from .mtbert_b import late
        found: Alias = late(KEPT)
        return helper(found)
'''
    )
    assert "def late" in found["mtbert_b.py"]
    assert "unused" not in found["mtbert_b.py"]


def test_other_packages_and_whole_modules_are_refused(package: Path) -> None:
    (package / "d.py").write_text("def f():\n    import nltk\n    return nltk\n")
    with pytest.raises(MtbertError, match=r"mtbert.d needs the package nltk, which an export cannot bring"):
        bundling.bundle([("mtbert.d", "f")])
    (package / "__init__.py").touch()
    (package / "f.py").write_text("from mtbert import b\n\n\ndef f():\n    return b.helper\n")
    with pytest.raises(MtbertError, match=r"mtbert defines no b, .* import names, not modules"):
        bundling.bundle([("mtbert.f", "f")])


@pytest.mark.parametrize(
    ("registry", "name"),
    [(registry, name) for registry in (FEATURES, ADAPTERS, CONNECTORS, HEADS) for name in registry if name != "pos"],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_every_technique_of_a_model_can_be_brought(registry, name: str) -> None:
    build = registry[name].build
    for text in bundling.bundle([(build.__module__, build.__qualname__)]).values():
        compile(text, name, "exec")
        assert "import pydantic" not in text
        assert "mtbert." not in "".join(line for line in text.splitlines() if line.startswith(("from ", "import ")))
