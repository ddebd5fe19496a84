"""Small trainings that several tests share."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from models import small_bert

from mtbert.data.batches import Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.machine.hardware import Hardware
from mtbert.tasks import COURSE
from mtbert.training import assembly, run
from mtbert.training.checkpoints import Checkpoint
from mtbert.variants.settings import VariantSettings

TASKS_HERE = ("sst", "sts")


def settings(**changes) -> VariantSettings:
    phase = {
        "tasks": list(TASKS_HERE),
        "sampler": {"name": "proportional"},
        "gradients": {"name": "total"},
        "schedule": {"name": "constant"},
        "weighting": {"name": "equal"},
        "trainable": ["encoder", "adapters", "heads"],
        "batch_size": 4,
        "epochs": 2,
        "epoch_length": "3 steps",
        "learning_rate": 1e-3,
    }
    run_section = {"device": "cpu", "precision": "fp32", "threads": 1, "log_every": 2}
    return VariantSettings(
        variant="small",
        paper="none",
        row="none",
        profile="test",
        tasks=list(TASKS_HERE),
        model={
            "adapter": {"name": "pals", "dim": 8, "heads": 2},
            "features": {"name": "words"},
            "connector": {"name": "direct"},
            "pooling": dict.fromkeys(TASKS_HERE, "pooler"),
            "heads": {task: {"name": "linear"} for task in TASKS_HERE},
        },
        phases=[phase | changes.pop("phase", {})],
        run=run_section | changes.pop("run", {}),
        sources={},
    )


def examples(task: str, count: int, labelled: bool = True) -> Examples:
    random = np.random.default_rng(len(task) + count)
    tokens = [random.integers(5, 50, size=random.integers(2, 8)) for _ in range(count)]
    highest = 4 if task == "sst" else 5
    labels = random.integers(0, highest + 1, size=count).astype(float) if labelled else np.full(count, np.nan)
    ids = [f"{task}{n}" for n in range(count)]
    table = pd.DataFrame({"id": ids, "label": labels, "tokens1": tokens, "tokens2": tokens})
    return Examples(table, COURSE[task], "cross", SpecialTokens(1, 2, 0), 20)


def checkpoint(folder: Path) -> Checkpoint:
    return Checkpoint(folder / "checkpoints", "small")


def saved(folder: Path) -> dict:
    """What the checkpoint of a training in fp32 on a CPU holds."""
    state = run.on_the_same_hardware(checkpoint(folder), Hardware(torch.device("cpu"))).load()
    assert state is not None
    return state


def parts(settings: VariantSettings, seed: int) -> run.Parts:
    model = assembly.build_model(settings, small_bert(), seed)
    found = {split: {t: examples(t, count) for t in TASKS_HERE} for split, count in (("train", 12), ("dev", 7))}
    found["test"] = {t: examples(t, 5, labelled=False) for t in TASKS_HERE}
    steps, phases = assembly.steps(settings, found["train"]), assembly.phases(settings, seed, model, found["train"])
    choosing = assembly.choosing(settings, found)
    return run.Parts(settings, seed, model, phases, steps, found, choosing)
