"""What a script comes to by its imports."""

import hashlib
from pathlib import Path

import pytest

from mtbert.closures import closure

FILES = {
    "house/__init__.py": "",
    "house/door.py": "from house.walls import wall\n",
    "house/walls/__init__.py": "",
    "house/walls/wall.py": "def later():\n    import house.walls.brick\n",
    "house/walls/brick.py": "import json\n",
    "house/walls/paint.py": "from ..roof import ROOF\nCOLOURS = 'colours.csv'\n",
    "house/walls/colours.csv": "red",
    "house/walls/unused.csv": "blue",
    "house/roof.py": "ROOF = 1\n",
    "house/kinds/__init__.py": "from house.kinds import one, two\n",
    "house/kinds/base.py": "",
    "house/kinds/one.py": "",
    "house/kinds/two.py": "",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "house"


def of(package: Path, script: str, *without: str) -> list[str]:
    (package.parent / "script.py").write_text(script)
    return list(closure([package.parent / "script.py"], package, without))


def test_nothing_of_the_package_is_imported(package: Path):
    assert of(package, "import json\nimport housekeeping\n") == []


def test_imports_are_followed_those_within_functions_too(package: Path):
    assert of(package, "from house import door\n") == [
        "__init__.py", "door.py", "walls/__init__.py", "walls/brick.py", "walls/wall.py",
    ]  # fmt: skip


def test_what_is_imported_may_be_a_name_within_a_module(package: Path):
    assert of(package, "from house.roof import ROOF\n") == ["__init__.py", "roof.py"]


def test_relative_imports_and_files_that_a_module_names_count(package: Path):
    assert of(package, "import house.walls.paint\n") == [
        "__init__.py", "roof.py", "walls/__init__.py", "walls/colours.csv", "walls/paint.py",
    ]  # fmt: skip


def test_a_package_leads_to_all_that_it_imports(package: Path):
    found = ["__init__.py", "kinds/__init__.py", "kinds/base.py", "kinds/one.py", "kinds/two.py"]
    assert of(package, "from house.kinds import KINDS\nimport house.kinds.base\n") == found


def test_what_is_left_out_is_not_followed(package: Path):
    script = "from house.kinds import KINDS\nimport house.kinds.base\nimport house.door\n"
    assert of(package, script, "kinds/__init__.py", "walls/") == ["__init__.py", "door.py", "kinds/base.py"]


def test_each_file_comes_with_the_digest_of_its_content(package: Path):
    found = closure([package / "roof.py"], package)
    assert found == {"roof.py": hashlib.sha256(b"ROOF = 1\n").hexdigest()}
