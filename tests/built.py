"""A build folder with two runs that nobody trained, and an ensemble of them."""

from pathlib import Path

import made
import pandas as pd

from mtbert import files, layout
from mtbert.provenance import seals
from mtbert.scores import predictions
from mtbert.tasks import COURSE, dump_task

SIZES = {"encoder": 1000, "added": 10, "trained": 1010, "stored": 1010}


def run(build: Path, name: str, said: list[float]) -> Path:
    """A run of seed 1 that predicted these SST labels, of 0, 1 and 2."""
    place = build / "runs" / name / "1"
    for split in ("dev", "test"):
        rows = {"id": ["a", "b", "c"], "label": [0.0, 1.0, 2.0] if split == "dev" else [None] * 3, "prediction": said}
        table = pd.DataFrame(rows | {f"probability_{label}": 0.2 for label in range(5)} | {"scored": True})
        predictions.write(layout.predictions(place, "sst", split), table.astype({"label": float}))
    dev = {"sst": sum(map(float.__eq__, said, [0.0, 1.0, 2.0])) / 3}
    scores = {"dev": dev, "test": {}, "parameters": SIZES, "variant": name, "seed": 1, "steps": 20, "epoch": 1}
    of_older_runs = {"epochs": [1, 2]}
    files.write_json(place / "metrics.json", scores | {"examples": {"sst": 640}} | of_older_runs)
    files.write_yaml(
        place / "settings.yaml",
        {
            "variant": name,
            "paper": "pals-for-pals",
            "row": name,
            "tasks": ["sst"],
            "profile": "own",
            "code": "c0de",
        },
    )
    files.write_text(place / "history.csv", "phase,step,name,value\n1,10,loss/sst,1.5\n")
    files.write_json(place / "inputs.json", made.MANIFEST | {"settings": {"variant": name}, "seed": 1})
    seals.seal(place)
    return place


def trained_on(place: Path, digest: str, **described: object) -> None:
    """Have a model say that it was made from a train of SST with that digest, and from SST so described."""
    made_from = files.read_json(place / "inputs.json")
    made_from["files"] |= {"data/sst/train.parquet": digest}
    made_from["settings"] |= {"described": {"sst": dump_task(COURSE["sst"]) | described}}
    files.write_json(place / "inputs.json", made_from)
    seals.seal(place)


def baseline(build: Path, name: str, said: list[float]) -> Path:
    """A baseline that predicted these SST labels, of 0, 1 and 2; it has no probabilities, as the untrained encoder."""
    place = build / "baselines" / name / "0"
    rows = {"id": ["a", "b", "c"], "label": [0.0, 1.0, 2.0], "prediction": said, "scored": True}
    predictions.write(layout.predictions(place, "sst", "dev"), pd.DataFrame(rows))
    dev = {"sst": sum(map(float.__eq__, said, [0.0, 1.0, 2.0])) / 3}
    files.write_json(place / "metrics.json", {"variant": name, "seed": 0, "weights": 7, "dev": dev, "test": {}})
    files.write_yaml(place / "settings.yaml", {"variant": name, "seed": 0, "tasks": ["sst"]})
    seals.seal(place)
    return place


def build(folder: Path) -> Path:
    """Variants `one` and `two`, of which an ensemble `vote` is; nobody has voted yet."""
    run(folder, "one", [0.0, 1.0, 0.0])
    run(folder, "two", [0.0, 1.0, 1.0])
    entry = {"selected": True, "overrides": {"pals.dim": 8}}
    vote = {"selected": True, "paper": "pals-for-pals", "row": "vote", "members": ["one", "two"]}
    plan = {"profile": "own", "seeds": [1], "data_dir": "mine", "encoder": {"name": "tiny"}}
    variants = {"one": entry, "two": entry | {"overrides": {}}, "three": {"selected": False}}
    files.write_json(folder / "data/report.json", {"files": {}, "whose": "own"})
    files.write_yaml(folder / "plan/catalog.yaml", plan | {"variants": variants, "ensembles": {"vote": vote}})
    files.write_yaml(folder / "plan/code-ensemble.yaml", {"scores/vote.py": "c0de"})
    return folder
