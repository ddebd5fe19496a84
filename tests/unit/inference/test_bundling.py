"""Code that stands by itself: what is needed of each module, and nothing else."""

import ast
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
    assert [node.name for node in ast.parse(found["mtbert_b.py"]).body if hasattr(node, "name")] == [
        "Base", "helper", "late"
    ]  # fmt: skip


def test_other_packages_are_refused(package: Path) -> None:
    (package / "d.py").write_text("def f():\n    import nltk\n    return nltk\n")
    with pytest.raises(MtbertError, match=r"mtbert.d needs the package nltk, which an export cannot bring"):
        bundling.bundle([("mtbert.d", "f")])
    (package / "e.py").write_text("from pydantic import BaseModel\n\n\nclass A(BaseModel):\n    pass\n")
    with pytest.raises(MtbertError, match="needs the package pydantic"):
        bundling.bundle([("mtbert.e", "A")])
    (package / "f.py").write_text("from mtbert import b\n\n\ndef f():\n    return b.helper\n")
    with pytest.raises(MtbertError, match=r"mtbert.f imports the whole module b"):
        bundling.bundle([("mtbert.f", "f")])


NEEDS_MORE = {"pos": "nltk"}  # features that are tagged by another library


@pytest.mark.parametrize(
    ("registry", "name"),
    [(registry, name) for registry in (FEATURES, ADAPTERS, CONNECTORS, HEADS) for name in registry],
    ids=lambda value: value if isinstance(value, str) else value.kind,
)
def test_every_technique_of_a_model_can_be_brought(registry, name: str) -> None:
    build = registry[name].build
    starts = [(build.__module__, build.__qualname__)]
    if name in NEEDS_MORE:
        with pytest.raises(MtbertError, match=f"needs the package {NEEDS_MORE[name]}"):
            bundling.bundle(starts)
        return
    for text in bundling.bundle(starts).values():
        compile(text, name, "exec")
        assert "import pydantic" not in text
        assert "mtbert." not in "".join(line for line in text.splitlines() if line.startswith(("from ", "import ")))
