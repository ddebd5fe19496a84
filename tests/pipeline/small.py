"""A copy of the project in a folder of its own, with settings so small that a training takes seconds."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from pipeline import preloaded

REPOSITORY = Path(__file__).parents[2]
COPIED = ("dvc.yaml", "params.yaml", ".dvcignore", ".gitignore", ".dvc/config", ".dvc/.gitignore")
FOLDERS = ("src", "stages", "models", "data/sample")
SMALL: dict[str, Any] = {
    "encoder": {"width": 24, "heads": 2, "feed_forward": 48},
    "pals": {"dim": 12, "heads": 2},
    "training": {"epochs": 1, "epoch_length": "2 steps", "batch_size": 4, "sampler": "round_robin"},
    "pretrain": {"sbert": {"max_pairs": 40, "epochs": 1}},
    "run": {"evaluation_rows": 10, "threads": 1},
    "mlp": {"width": 8},
}


def heed_ctrl_c() -> None:
    """Where the tests run in the background, their shell has told them to ignore Ctrl-C, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for(condition: Callable[[], object], seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.05)


class Project:
    """The copy, and the commands that a user would give in it."""

    preloaded = True  # whether its programs are forks of a `python` that has imported the packages

    def __init__(self, root: Path, **params: Any) -> None:
        self.root = root
        for name in COPIED:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPOSITORY / name, root / name)
        for name in FOLDERS:
            shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        self.edit(**params)
        self.write_papers()
        self.git("init", "-q")
        self.commit()

    def write_papers(self) -> None:
        """Write the papers without their variants and claims, whose presets set nothing, and one of the tests' own."""
        (self.root / "papers").mkdir()
        contents = {file.stem: yaml.safe_load(file.read_text()) for file in (REPOSITORY / "papers").glob("*.yaml")}
        contents["mine"] = {"title": "Mine", "order": 9, "presets": {"mine": {}}}
        for name, paper in contents.items():
            empty = {
                "presets": {key: {} for key in paper.get("presets", {})},
                "variants": {},
                "ensembles": {},
                "claims": {},
            }
            (self.root / f"papers/{name}.yaml").write_text(yaml.safe_dump(paper | empty, sort_keys=False))
        common = self.root / "src/mtbert/replication/questions.yaml"  # whose questions are of the papers' variants
        common.write_text(yaml.safe_dump(yaml.safe_load(common.read_text()) | {"questions": {}}))

    def edit(self, **params: Any) -> None:
        """Replace whole sections or keys of params.yaml; `sample` replaces what that profile does."""
        file = self.root / "params.yaml"
        values = yaml.safe_load(file.read_text(encoding="utf-8")) | params
        file.write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")

    def append(self, name: str, text: str) -> None:
        """Add lines to a file."""
        with (self.root / name).open("a", encoding="utf-8") as handle:
            handle.write(text)

    def git(self, *arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self) -> None:
        identity = ("-c", "user.name=test", "-c", "user.email=test@example.org")
        self.git("add", "-A")
        self.git(*identity, "commit", "-q", "--allow-empty", "-m", "state")

    def dvc(self, *arguments: str) -> list[str]:
        """Run DVC; the stages that it ran, in order. Fails with DVC's output."""
        done = self.run("-m", "dvc", *arguments)
        assert done.returncode == 0, done.stdout[-6000:]
        return re.findall(r"Running stage '([^']+)'", done.stdout)

    def trained(self, *arguments: str) -> list[str]:
        """All trainings, with settings by `dvc exp run`; those that ran."""
        ran = self.dvc(*(("exp", "run", *arguments) if arguments else ("repro",)), "train")
        return sorted(stage.removeprefix("train@") for stage in ran if stage.startswith("train@"))

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run Python as a user would after activating the environment; stderr comes with stdout."""
        with self.start(*arguments, **environment) as process:
            output, _ = process.communicate()
        return subprocess.CompletedProcess(arguments, process.returncode, output)

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """The same, without waiting for the end."""
        python = preloaded.python() if self.preloaded else sys.executable
        path = f"{Path(python).parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("DVC_ROOT", "MLFLOW_"))}
        variables = kept | {"PATH": path, "OMP_NUM_THREADS": "1", "DVC_NO_ANALYTICS": "true"} | environment
        return subprocess.Popen(
            [python, *arguments],
            cwd=self.root,
            env=variables,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=heed_ctrl_c,
        )


def small(catalog: dict[str, Any], **params: Any) -> dict[str, Any]:
    """Parameters for a project with this catalog alone, all of it selected."""
    values = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    profile = SMALL | {"encoder": {**SMALL["encoder"], "name": "tiny"}}
    left = {name: {**values[name], **dict.fromkeys(section)} for name, section in SMALL.items() if name != "pretrain"}
    return {
        **left,  # to the profile
        "profiles": {"sample": profile},
        "catalog": catalog,
        "variants": list(catalog),
        "ensembles": {},
        "seeds": [1],
        **params,
    }
