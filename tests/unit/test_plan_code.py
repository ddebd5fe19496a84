"""The plan names the code that results depend on: a stage's imports, and what is a technique's own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mtbert.heads import HEADS
from mtbert.plan import code

ROOT = Path(__file__).parents[2]
STAGES = code.of_stages(ROOT / "stages")
# Imports every file of a closure, and says which files of the package came in with them.
IMPORT_ALL = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    if name.endswith(".py"):
        importlib.import_module("mtbert." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                                if name != "__init__.py" else "mtbert")
print(json.dumps([m.__file__ for n, m in sys.modules.items() if n == "mtbert" or n.startswith("mtbert.")]))
"""


def imported_with(names: list[str]) -> set[str]:
    command = [sys.executable, "-c", IMPORT_ALL, json.dumps(names)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return {Path(file).resolve().relative_to(code.PACKAGE.resolve()).as_posix() for file in json.loads(done.stdout)}


LONG = [name for name in STAGES if name.startswith(("code-pretrain", "code-train"))]


@pytest.mark.parametrize("stage", [name for name in STAGES if name not in LONG])
def test_a_stage_knows_every_file_that_its_imports_bring_in(stage: str):
    assert imported_with(list(STAGES[stage])) <= set(STAGES[stage])


@pytest.mark.parametrize("stage", LONG)
def test_what_trains_knows_all_but_techniques_and_what_no_number_goes_through(stage: str):
    left = imported_with(list(STAGES[stage])) - set(STAGES[stage])
    kinds = tuple(name.removesuffix("__init__.py") for name in code.REGISTRATIONS)
    assert {name for name in left if not name.startswith((*kinds, "tracking/"))} <= set(code.WITHOUT_INFLUENCE)


def test_what_training_depends_on():
    shared = set(STAGES["code-train"])
    assert {"assembly.py", "model.py", "training/loop.py", "heads/base.py", "seeding.py", "tasks.py"} <= shared
    assert not shared & {"heads/mlp.py", "heads/__init__.py", "tracking/live.py", "report/beside.py", "errors.py"}


def test_a_technique_brings_its_own_files_and_those_that_they_name():
    assert list(code.of_technique(HEADS["mlp"].source)) == ["heads/mlp.py"]
    assert set(code.of_technique(code.PACKAGE / "features/pos.py")) == {"features/pos.py", "features/tagged.txt"}


def test_each_pretraining_has_code_of_its_own():
    sbert, mlm = STAGES["code-pretrain-sbert"], STAGES["code-pretrain-mlm"]
    assert "pretraining/sbert.py" in sbert
    assert "pretraining/sbert.py" not in mlm
    shared = {"data/tokens.py", "encoder/config.py", "encoder/hardware.py", "seeding.py", "settings.py", "tasks.py"}
    shared |= {"pretraining/loading.py", "pretraining/rounding.py"}
    assert set(sbert) == shared | {"pretraining/sbert.py", "metrics.py"}
    assert set(mlm) == shared | {"pretraining/mlm.py"}


def test_every_stage_of_the_pipeline_depends_on_its_code():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]
    depending = {
        name: [dep for dep in stage["deps"] if dep.startswith(("build/plan/code-", "src"))]
        for name, stage in stages.items()
    }
    assert depending == {
        "machine": [],  # kept as it is
        "plan": ["src/mtbert"],
        "encoder": ["build/plan/code-encoder.yaml"],
        "preprocess": ["build/plan/code-preprocess.yaml"],
        "pretrain": ["build/plan/code-pretrain-${item.name}.yaml"],
        "init": [],  # on all of build/plan
        "train": [],  # through init
        "ensemble": ["build/plan/code-ensemble.yaml"],
        "report": ["build/plan/code-report.yaml"],
        "track": [],  # on all of build/plan
    }
