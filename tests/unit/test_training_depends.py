"""What a training imports is what DVC trains it again for: shared, and known to `init`, or a technique by digest."""

import subprocess
import sys
from pathlib import Path

import yaml

from mtbert import inputs

ROOT = Path(__file__).parents[2]
TECHNIQUES = ("adapters", "connectors", "features", "gradients", "heads", "objectives", "samplers", "weightings")
# They refuse, write, log or look things up; no number goes through them.
NO_RESULT_DEPENDS_ON = {
    "credentials.py", "data/readers.py", "encoder/sources.py", "errors.py", "files.py", "inputs.py", "outputs.py",
    "registry.py",
    "tracking/live.py", "tracking/mirror.py", "tracking/place.py", "tracking/record.py",
}  # fmt: skip
IMPORTED = """
import sys
import mtbert.assembly, mtbert.inputs, mtbert.training.checkpoints, mtbert.training.run
print(*(module.__file__ for name, module in sys.modules.items() if name.startswith("mtbert.")), sep="\\n")
"""


def test_every_file_that_a_training_imports_is_a_dependency():
    done = subprocess.run([sys.executable, "-c", IMPORTED], cwd=ROOT, check=True, capture_output=True, text=True)
    package = ROOT / "src/mtbert"
    imported = {Path(file).resolve().relative_to(package.resolve()).as_posix() for file in done.stdout.split()}
    left = {
        name
        for name in imported
        if not name.endswith("__init__.py")
        and not any(name == entry or name.startswith(f"{entry}/") for entry in inputs.SHARED)
        and name.partition("/")[0] not in TECHNIQUES
    }
    assert left == NO_RESULT_DEPENDS_ON


def test_dvc_watches_all_that_is_shared():
    listed = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["init"]["deps"]
    assert {name.removeprefix("src/mtbert/") for name in listed if name.startswith("src/mtbert/")} == {
        "inputs.py",
        *inputs.SHARED,
    }
