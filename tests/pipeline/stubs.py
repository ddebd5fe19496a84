"""The project's own dvc.yaml, its stages replaced by stubs that take no time.

What the stubs meet and do beyond writing outputs goes through the folder `told`, which DVC does not know.
"""

import contextlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import psutil
import yaml
from pipeline.small import Project, small

HEAD = {"paper": "mine", "row": "mine", "tasks": ["sst"]}
STUB = r"""
import json, os, re, signal, sys, time
from pathlib import Path
from mtbert import files, layout
from mtbert.provenance import manifests, seals
text = Path("params.yaml").read_text() if sys.argv[0].endswith("plan.py") else ""
threads = re.search("threads: ([0-9]+)", text)
listed = re.search("^variants:\n((?:- .*\n)*)", Path("params.yaml").read_text(), re.M)[1]
variants = [line[2:].strip("'\"") for line in listed.splitlines()]
stage, here = Path(sys.argv[0]).stem, Path.cwd()
told = next((folder / "told" for folder in (here, *here.parents) if (folder / "told").is_dir()), here / "told")
told.mkdir(exist_ok=True)
build = Path("build")

def digest(file):
    return files.sha256(Path(file))

def stop(*_):
    (told / f"{name}.interrupted").touch()
    sys.exit(130)

encoder = [f"build/encoders/base/{name}" for name in (
    "model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json")]
outs = {
    "machine": ["build/machine.json"],
    "plan": [f"build/plan/{name}.yaml" for name in (*variants,
        "encoder", "preprocess", "catalog", "pretrain", "code-encoder",
        "code-preprocess", "code-baselines", "code-pretrain", "code-train", "code-merge", "code-ensemble", "code-speed",
        "code-collect", "code-judge", "code-report")],
    "encoder": [*encoder, "build/encoders/base/encoder.json"],
    "preprocess": ["build/data/sst/train.parquet", "build/data/report.json", "build/data/pretraining.json"],
    "baselines": ["build/baselines/one"],
    "pretrain": ["build/encoders/sbert/weights"],
    "manifest": [f"build/manifest/{name}.json" for name in variants],
    "train": [],
    "merge": ["build/merged/one"],
    "ensemble": ["build/votes/one"],
    "speed": ["build/speed/speed.json"],
    "collect": ["build/results/runs.parquet"],
    "judge": ["build/judged/rows.parquet"],
    "report": ["build/submissions/file",
        "build/report/summary.json", "build/report/scores.csv"],
    "track": [],
}[stage]
(told / stage).write_text(chr(10).join(sys.argv))
if stage == "train":
    name = "-".join(sys.argv[1:3])
    (told / f"{name}.pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    while (told / f"{name}.hold").exists():
        time.sleep(0.05)
for out in map(Path, outs):
    out.parent.mkdir(parents=True, exist_ok=True)
    manifest = {
        "settings": {"plan": digest(f"build/plan/{out.stem}.yaml")},
        "files": {file.removeprefix("build/"): digest(file) for file in [*encoder, "build/data/sst/train.parquet"]},
        "code": {"code-train.yaml": digest("build/plan/code-train.yaml")},
        "machine": json.loads(Path("build/machine.json").read_text()),
    } if stage == "manifest" else {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"}
    out.write_text({
        ".json": json.dumps(manifest),
        ".yaml": f"run: {{threads: {threads and threads[1]}}}",
        ".csv": "step,a,b,c,bar,score" + chr(10) + "1,2,2,2,a,3",
    }.get(out.suffix, f"of {sys.argv}"))
if stage == "train":
    variant, seed = sys.argv[1:3]
    with files.new_directory(build / "runs" / variant / seed) as run:
        (run / "scores").write_text(f"of {sys.argv[:3]}")
        files.write_text(run / "inputs.json", manifests.of_training(build, variant, int(seed)).text())
        seals.seal(run)
    files.write_json(layout.log(build / "runs" / variant / seed) / "run.json", {
        "seconds": 1.0,
        "machine": {"processor": "Some CPU", "cores": 2, "memory_gb": 4, "accelerator": ""},
        "versions": {"torch": "2.13.0"}})
"""


# As a shell starts what is to run in the background: deaf to Ctrl-C, and so are its children by inheritance.
IN_BACKGROUND = """
import runpy, signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
runpy.run_module("mtbert", run_name="__main__")
"""


class Stubs(Project):
    """A project of three variants, or of those in `catalog`."""

    preloaded = False  # its tests know processes by their ids

    def __init__(self, root: Path, catalog: Iterable[str] = "abc", **params: Any) -> None:
        super().__init__(root, **small(dict.fromkeys(catalog, HEAD), **params))
        for script in (root / "stages").iterdir():
            script.write_text(STUB)
        (root / "told").mkdir()
        self.commit()

    def grid(self, *arguments: str, **environment: str) -> tuple[int, list[str]]:
        """Its exit status and what it told of trainings."""
        with self.start_grid(*arguments, **environment) as process:
            output, _ = process.communicate()
        return process.returncode, sorted(told(output))

    @contextlib.contextmanager
    def start_grid(self, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
        """The grid while it runs; stopped where the block fails."""
        variables = {"PYTHONPATH": "src", "CUDA_VISIBLE_DEVICES": ""} | environment
        with self.start("-c", IN_BACKGROUND, "grid", *arguments, **variables) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    process.terminate()

    def recorded(self) -> set[str]:
        lock = yaml.safe_load((self.root / "dvc.lock").read_text())
        return {stage.removeprefix("train@") for stage in lock["stages"] if stage.startswith("train@")}

    def cache(self) -> set[str]:
        return {str(file.relative_to(self.root)) for file in (self.root / ".dvc/cache").rglob("*") if file.is_file()}

    def forget(self, *stages: str) -> None:
        """Take trainings out of dvc.lock, the run cache and build/runs, as if they had never been."""
        file = self.root / "dvc.lock"
        lock = yaml.safe_load(file.read_text())
        lock["stages"] = {name: entry for name, entry in lock["stages"].items() if name not in stages}
        file.write_text(yaml.safe_dump(lock, sort_keys=False))
        runs = [stage.removeprefix("train@").rsplit("-", 1) for stage in stages]
        for variant, seed in runs:
            shutil.rmtree(self.root / "build/runs" / variant / seed, ignore_errors=True)
        commands = [f"stages/train.py '{variant}' '{seed}'" for variant, seed in runs]
        for run in (self.root / ".dvc/cache/runs").glob("*/*"):
            if any(command in entry.read_text() for entry in run.iterdir() for command in commands):
                shutil.rmtree(run)

    def hold(self, *names: str) -> None:
        """Let these trainings not end, and forget their process ids."""
        for name in names:
            (self.root / f"told/{name}.hold").touch()
            (self.root / f"told/{name}.pid").unlink(missing_ok=True)

    def go_on(self) -> None:
        for file in (self.root / "told").glob("*.hold"):
            file.unlink()

    def process(self, name: str) -> psutil.Process | None:
        """A training's own process, once it runs."""
        file = self.root / f"told/{name}.pid"
        return psutil.Process(int(text)) if file.exists() and (text := file.read_text()) else None


def told(output: str) -> list[str]:
    """Lines on trainings, without what Ray repeats of its nodes: `(plain-1 pid=7) ...`."""
    lines = [line for line in output.splitlines() if not line.startswith("(")]
    return [line for line in lines if line.split(": ")[-1] in ("trained", "restored", "failed")]
