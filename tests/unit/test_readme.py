"""README is short; CONTRIBUTING's table of packages names each once, from the top floor down, as imports run."""

import itertools
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_readme_has_at_most_700_words() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_one_line_says_what_the_project_is_for() -> None:
    described = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["description"]
    assert f"**{described}.**" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f'site_description: "{described}"' in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_table_has_every_package_in_the_order_of_imports() -> None:
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| package | what it is for |")[2]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    floors = [set(re.findall(r"`(\w+)`", cell)) for cell in cells]
    packages = {path.stem for path in (ROOT / "src/mtbert").iterdir() if not path.stem.startswith("__")}
    assert set.union(*floors) == packages
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(one["layers"] for one in contract["contracts"] if one["containers"] == ["mtbert"])
    height = {package: number for number, layer in enumerate(layers) for package in layer.split(" | ")}
    heights = [[height[package] for package in floor] for floor in floors]
    assert all(max(above) <= min(below) for above, below in itertools.pairwise(heights))
