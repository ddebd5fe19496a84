"""The notebook is run as a newcomer runs it: in a clone, from the folder that it lies in, cell after cell."""

import json
import re
from shlex import quote

import pytest
import yaml
from pipeline.pages import REPOSITORY
from pipeline.walking import Walk, clone, replace

from mtbert import files

NOTEBOOK = REPOSITORY / "examples/desk.ipynb"
RECIPE = ("    encoder: {name: minilm}\n    run:\n      selection: spared", "      epochs: 6\n      epoch_length: 15 ")
TINY = (
    "    encoder: {name: tiny, width: 24, heads: 2, feed_forward: 48}\n    run:\n      selection: spared",
    "      epochs: 1\n      epoch_length: 2 steps #",
)
DISPLAY = """
from pathlib import Path

Markdown = str

def Image(name):
    return f"a picture: {Path(name).is_file()}"
"""  # stands for IPython.display, which the tests do not install
KERNEL = """
import ast, json, re, subprocess, sys
names = {}
def shell(command):
    subprocess.run(command, shell=True, check=True, stderr=subprocess.STDOUT)
names["shell"] = shell
for cell in json.loads(sys.argv[1]):
    statements = ast.parse(re.sub(r"(?m)^!(.*)", lambda line: f"shell({line[1]!r})", cell)).body
    exec(compile(ast.Interactive(statements), "cell", "single"), names)
    print("\\0", end="", flush=True)
"""


def cells(kind: str) -> dict[str, str]:
    """The cells of a kind by their ids."""
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return {cell["id"]: "".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind}


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """A clone that trains two ways, each a tiny encoder for two steps."""
    folder = tmp_path_factory.mktemp("notebook")
    root = clone(folder / "mtbert")
    for old, new in zip(RECIPE, TINY, strict=True):
        replace(root / "params.yaml", old, new)
    ways = files.read_yaml(root / "papers/own.yaml", "restore it")
    kept = {name: ways["variants"][name] for name in ("own-single", "own-shared")}
    files.write_yaml(root / "papers/own.yaml", ways | {"variants": kept, "ensembles": {}})
    (folder / "kernel/IPython").mkdir(parents=True)
    (folder / "kernel/IPython/__init__.py").touch()
    (folder / "kernel/IPython/display.py").write_text(DISPLAY)
    walk = Walk(root)
    walk.variables["PYTHONPATH"] += f":{folder / 'kernel'}"
    walk.done("git add -A && git commit -qm state")
    return walk


@pytest.fixture(scope="module")
def outputs(walk: Walk) -> dict[str, str]:
    """What each code cell prints, by its id."""
    code = cells("code")
    printed = walk.done(f"(cd examples && python -c {quote(KERNEL)} {quote(json.dumps([*code.values()]))})")
    return dict(zip(code, printed.split("\0"), strict=False))


def test_the_answer_and_its_picture_are_shown(outputs: dict[str, str]) -> None:
    assert "# Results: 4 variants, 1 seed, on examples/desk" in outputs["answer-text"]
    assert "Keep *" in outputs["answer-text"]
    assert outputs["answer-picture"] == "'a picture: True'\n"


def test_three_texts_are_predicted_for_both_tasks(outputs: dict[str, str]) -> None:
    header, *rows = outputs["predict-texts"].splitlines()
    assert header.split() == ["topic", "topic_probability", "urgent", "urgent_probability", "cut"]
    assert len(rows) == 3


def test_two_ways_are_compared(outputs: dict[str, str]) -> None:
    assert re.search(r"own-shared against own-single-topic: .*\(margin 0\.01\)", outputs["compare-ways"])


def test_it_writes_what_it_says(walk: Walk, outputs: dict[str, str]) -> None:
    assert outputs
    assert walk.done("git status --short").splitlines() == [
        " M params.yaml",
        "?? dvc.lock",
        "?? examples/desk/tasks.yaml",
    ]
    before, after = (yaml.safe_load(walk.done(show)) for show in ("git show HEAD:params.yaml", "cat params.yaml"))
    assert [key for key in before if before[key] != after[key]] == ["profile", "data_dir", "variants"]
    assert after == before | {key: after[key] for key in ("profile", "data_dir", "variants")}


def test_it_is_committed_without_outputs() -> None:
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert [cell["outputs"] for cell in content["cells"] if cell["cell_type"] == "code"] == [[]] * len(cells("code"))
