"""Code as an input: what counts as changed where a file is."""

import subprocess
import sys
from pathlib import Path

import pytest

from mtbert import files
from mtbert.config.techniques import FILES_OF_ALL
from mtbert.models.adapters import ADAPTERS
from mtbert.provenance import code

ROOT = Path(__file__).parents[3]
FILES = {
    "__init__.py": "",
    "assembly.py": "from mtbert import loop\nfrom mtbert.adapters import ADAPTERS",
    "loop.py": '"""The loop."""\n\n\ndef run():\n    """Run."""\n    return 1  # step\n',
    "adapters/__init__.py": "from mtbert.adapters import pals, lora",
    "adapters/base.py": "",
    "adapters/pals.py": "from mtbert.adapters import base\nWIDTH = 1",
    "adapters/lora.py": "def rank():\n    import mtbert.words.tags\n",
    "words/tags.py": "FILE = 'tags.txt'",
    "words/tags.txt": "a",
    "report.py": "X = 1",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "mtbert"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(code, "PACKAGE", folder)
    monkeypatch.setattr(code, "TRAINING", (folder / "assembly.py",))
    return folder


def digests(package: Path) -> dict[str, dict[str, str]]:
    """Of all trainings, of two techniques, and of a stage."""
    for cached in (code.digest, code._imported, code.of_technique, code._parsed):
        cached.cache_clear()
    kinds = frozenset({package / "adapters/__init__.py"})
    found = {name: code.of_technique(package / f"adapters/{name}.py", kinds) for name in ("pals", "lora")}
    return found | {"train": code.digests(code.TRAINING, kinds), "report": code.digests([package / "report.py"])}


def test_a_technique_has_what_it_uses_besides_the_shared_code(package: Path) -> None:
    assert {name: sorted(found) for name, found in digests(package).items()} == {
        "pals": ["adapters/base.py", "adapters/pals.py"],
        "lora": ["adapters/lora.py", "words/tags.py", "words/tags.txt"],
        "train": ["__init__.py", "assembly.py", "loop.py"],
        "report": ["report.py"],
    }


@pytest.mark.parametrize(
    ("file", "before", "after", "changed"),
    [
        ("loop.py", "# step", "# another comment", set()),
        ("loop.py", "Run.", "Another docstring.", set()),
        ("loop.py", '"""The loop."""', "", set()),
        ("loop.py", "return 1", "return 2", {"train"}),
        ("loop.py", "return 1", "return '1'", {"train"}),
        ("adapters/pals.py", "WIDTH = 1", "WIDTH = 2", {"pals"}),
        ("adapters/base.py", "", "X = 1", {"pals"}),
        ("words/tags.txt", "a", "b", {"lora"}),
        ("report.py", "X = 1", "X = 2", {"report"}),
        ("adapters/__init__.py", "pals, lora", "pals", set()),
    ],
)
def test_what_has_changed(package: Path, file: str, before: str, after: str, changed: set[str]) -> None:
    first = digests(package)
    (package / file).write_text(FILES[file].replace(before, after, 1))
    second = digests(package)
    assert {name for name in first if first[name] != second[name]} == changed


def test_every_training_uses_model_data_and_loop_and_no_technique() -> None:
    shared = set(code.of_stages(ROOT / "stages", FILES_OF_ALL)["code-train"])
    assert {"models/multitask.py", "training/loop.py", "models/heads/base.py", "tasks/__init__.py"} <= shared
    assert {"models/adapters/pals.py", "tasks/sst.yaml", "report/write.py", "config/resolve.py"}.isdisjoint(shared)
    assert "models/adapters/pals.py" in code.of_technique(ADAPTERS["pals"].source, FILES_OF_ALL)


def test_the_plan_states_the_code_of_those_stages_alone_that_depend_on_it() -> None:
    dependencies = {name: stage.get("deps", []) for name, stage in files.read_yaml(ROOT / "dvc.yaml")["stages"].items()}
    readers = [name for name in dependencies if {"build/plan", f"build/plan/code-{name}.yaml"} & {*dependencies[name]}]
    assert sorted(code.of_stages(ROOT / "stages", FILES_OF_ALL)) == sorted(
        f"code-{name}" for name in [*readers, "train"]
    )


def test_the_lock_of_an_editor_is_no_stage(tmp_path: Path):
    (tmp_path / "speed.py").write_text("", encoding="utf-8")
    (tmp_path / ".#judge.py").symlink_to("anna@host.1")
    assert sorted(code.of_stages(tmp_path, frozenset())) == ["code-speed", "code-train"]


@pytest.mark.parametrize("stage", ["preprocess", "report"])
def test_a_stage_knows_every_file_that_its_imports_bring_in(stage: str) -> None:
    names = code.of_stages(ROOT / "stages", FILES_OF_ALL)[f"code-{stage}"]
    modules = [name[:-3].replace("/", ".").removesuffix(".__init__") for name in names if name.endswith(".py")]
    wanted = ["mtbert" if name == "__init__" else f"mtbert.{name}" for name in modules if not name.startswith("stages")]
    command = (
        f"import importlib, sys; [importlib.import_module(name) for name in {wanted}]\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'mtbert' and m.__file__))"
    )
    done = subprocess.run([sys.executable, "-c", command], cwd=ROOT, check=True, capture_output=True, text=True)
    came = {Path(file).resolve().relative_to(code.PACKAGE.resolve()).as_posix() for file in done.stdout.split()}
    assert came <= set(names)
