"""The house stays small: no room grows beyond what pyproject.toml allows it."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AT_MOST = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mtbert"]["size"]


def size(place: Path) -> int:
    """Words of Markdown; lines of anything else, of a folder's Python files."""
    if place.is_dir():
        files = sorted(place.rglob("*.md" if place.name == "docs" else "*.py"))
        return sum(size(file) for file in files)
    text = place.read_text(encoding="utf-8")
    return len(text.split()) if place.suffix == ".md" else text.count("\n")


@pytest.mark.parametrize("place", AT_MOST)
def test_a_room_is_no_larger_than_allowed(place):
    assert size(ROOT / place) <= AT_MOST[place]


def test_every_room_has_a_size():
    rooms = {folder.name for folder in (ROOT / "src/mtbert").iterdir() if any(folder.glob("*.py"))}
    assert rooms == {Path(place).name for place in AT_MOST if place.startswith("src/mtbert/")}
