"""A repository of two planned trainings, and a script in the place of theirs that writes a run without training.

It fails where there is a file `<name>.fail` in a folder `told`.
"""

import os
from pathlib import Path

from mtbert import files
from mtbert.provenance import manifests

REPOSITORY = Path(__file__).parents[1]
MACHINE = {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"}
SCRIPT = """
import os, sys
import numpy as np, pandas as pd
from pathlib import Path
from safetensors.numpy import save_file
from mtbert import files, layout
from mtbert.provenance import manifests, seals
from mtbert.scores import predictions
variant, seed = sys.argv[1:3]
build, place, told = Path("build"), Path(variant, seed), Path("told")
name, torch = f"{variant}-{seed}", os.environ.get("TORCH", "2.13.0")
made_from = manifests.of_training(build, variant, int(seed)).text()
print("3 of 8 steps, 00:01 gone, 00:02 left, loss=0.7", flush=True)
if (told / f"{name}.fail").exists():
    sys.exit("error: the loss is not finite")
with files.new_directory(build / "runs" / place) as run:
    about = {"variant": variant, "seed": int(seed), "steps": 1, "epoch": 1, "dev": {"qqp": 0.5}, "test": {}}
    sizes = {"encoder": 1, "added": 0, "trained": 0, "stored": 1}
    files.write_json(run / "metrics.json", about | {"parameters": sizes})
    files.write_yaml(run / "settings.yaml", {"variant": variant, "tasks": ["qqp"]})
    files.write_text(run / "history.csv", "phase,step,name,value\\n")
    files.write_text(run / "inputs.json", made_from)
    save_file({"weights": np.ones(2)}, run / "model.safetensors")
    table = pd.DataFrame({"id": ["1", "2"], "label": [1.0, 0.0], "prediction": [1.0, 1.0],
        "probability_0": [0.2, 0.2], "probability_1": [0.8, 0.8], "scored": True})
    predictions.write(layout.predictions(run, "qqp", "dev"), table)
    seals.seal(run)
log = layout.log(build / "runs" / place)
machine = {"processor": "Some CPU", "cores": 2, "memory_gb": 4, "accelerator": ""}
about = {"seconds": 1.0, "machine": machine, "versions": {"torch": torch}}
files.write_json(log / "run.json", about)
with (told / "trained").open("a") as trained:
    print(name, file=trained)
"""


def repository(root: Path) -> Path:
    """What a training reads, as the stages before it leave it; the package itself is this one's."""
    build = root / "build"
    for name in (*manifests.ENCODER_FILES, "encoder.json"):
        files.write_text(build / "encoders/base" / name, name)
    for name in ("sst/train", "sst/dev"):
        files.write_text(build / f"data/{name}.parquet", name)
    files.write_json(build / "machine.json", MACHINE)
    files.write_yaml(build / "plan/code-train.yaml", {"model.py": "1"})
    files.write_yaml(build / "plan/encoder.yaml", {"name": "tiny", "revision": None})
    for name in ("a", "b"):
        settings = {"model": {"encoder": "base"}, "tasks": ["sst"], "phases": [{"tasks": ["sst"]}], "sources": {}}
        files.write_yaml(build / f"plan/{name}.yaml", settings | {"variant": name, "run": {"threads": 1}})
    variants = {"a": {"selected": True}, "b": {"selected": True}}
    catalog = {"profile": "sample", "data_dir": "data/sample", "seeds": [1], "variants": variants}
    catalog |= {"ensembles": {}, "encoder": {"name": "made", "note": ""}}
    files.write_json(build / "data/report.json", {"files": {}, "whose": "sample"})
    files.write_yaml(build / "plan/catalog.yaml", catalog)
    start_from(build)
    files.write_text(root / "stages/train.py", SCRIPT)
    files.write_yaml(root / "params.yaml", {"variants": ["a", "b"], "seeds": [1]})
    (root / "src").symlink_to(REPOSITORY / "src")
    return root


def start_from(build: Path) -> None:
    """Stage `manifest`, without looking into an encoder that holds names only."""
    for name in ("a", "b"):
        files.write_text(build / f"manifest/{name}.json", manifests.of_now(build, name).text())


def told(folder: Path, *names: str) -> None:
    """Tell the script something."""
    (folder / "told").mkdir(exist_ok=True)
    for name in names:
        (folder / "told" / name).touch()


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file below it."""
    return {os.fspath(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
