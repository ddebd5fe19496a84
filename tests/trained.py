"""A build directory with small models that were trained on the sample: what uses models starts there."""

from pathlib import Path

import made
import pandas as pd
import runs

from mtbert import files
from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import wordpieces
from mtbert.pretrained import fetching
from mtbert.pretrained.settings import EncoderSettings
from mtbert.provenance import inputs, manifests, seals
from mtbert.training import assembly, run
from mtbert.variants.settings import VariantSettings

DATA = Path(__file__).parents[1] / "data" / "sample"
ENCODER = EncoderSettings(name="tiny", width=24, heads=2, feed_forward=48, vocabulary=1000, positions=32)
MODEL = {"crossed": {"pair_encoding": "cross"}, "apart": {"pair_encoding": "bi"}}
PRECISION = {"crossed": "fp32", "apart": "bf16"}
MATCHING = {"heads": {"sst": {"name": "linear"}, "sts": {"name": "matching"}}}  # so its pairs are encoded apart
RANKING = {"heads": {"sst": {"name": "linear"}, "sts": {"name": "mnr"}}}  # it has outputs beside the score
STEPS = {"epoch_length": "4 steps", "learning_rate": 0.03}


def build(folder: Path) -> Path:
    """Variants `crossed` and `apart` of SST and STS, seed 1."""
    start(folder)
    for name, changes in MODEL.items():
        train(folder, settings(name, **changes))
    return folder


def start(folder: Path) -> Path:
    """What trainings start from: a tiny encoder, and the sample's examples."""
    fetching.fetch(ENCODER, DATA, folder / "encoders" / "base")
    seals.seal(folder / "encoders" / "base")
    preprocess(DATA, folder / "data", wordpieces(folder / "encoders" / "base"), set())
    return folder


def of_inference(folder: Path) -> Path:
    """Train the models that tests of predictions and exports share, which none alters; return their build folder."""
    build(folder)
    train(folder, settings("apart-in-fp32", **MODEL["apart"] | RANKING))
    train(folder, settings("typed", **MODEL["crossed"], token_types="by_sentence"))
    train(folder, settings("matched", **MODEL["crossed"] | MATCHING))
    train(folder, settings("alone", tasks=("sst",), **MODEL["crossed"]))
    return folder


def settings(name: str, tasks: tuple[str, ...] = runs.TASKS_HERE, **model: object) -> VariantSettings:
    """Of a small variant with that model."""
    given = runs.settings(phase=STEPS, run={"precision": PRECISION.get(name, "fp32")}).model_dump()
    given["tasks"] = given["phases"][0]["tasks"] = [*tasks]
    for part in ("heads", "pooling"):
        given["model"][part] = {task: given["model"][part][task] for task in tasks}
    return VariantSettings(**given | {"variant": name, "model": given["model"] | {"max_tokens": 16} | model})


def train(folder: Path, plan: VariantSettings, seed: int = 1) -> None:
    """Train one and write its plan file."""
    name = plan.variant
    files.write_yaml(folder / "plan" / f"{name}.yaml", plan.model_dump())
    settings = plan.model_dump(exclude={"sources"})
    digests = inputs.digests(folder, manifests.examples_of(folder, plan.tasks))
    content = made.MANIFEST | {"settings": settings, "files": made.MANIFEST["files"] | digests}
    files.write_json(folder / "manifest" / f"{name}.json", content)
    parts = assembly.assemble(plan, seed, folder)
    run.train(parts, folder / "runs" / name / str(seed), folder / "logs" / name / str(seed), runs.checkpoint(folder))


def rows(build: Path, task: str, split: str) -> list[tuple[str, ...]]:
    """The texts of a split as preprocessing left them."""
    table = pd.read_parquet(build / "data" / task / f"{split}.parquet")
    columns = ["sentence1"] if task == "sst" else ["sentence1", "sentence2"]
    return list(table[columns].itertuples(index=False, name=None))
