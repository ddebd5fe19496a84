"""Small trainings as torchrun starts them, one after the other: worker.py FOLDER PHASES [STEP].

PHASES has each training's folder and its phase's changes as JSON; at STEP the second process kills itself. Without
dropout, unless a phase has one.
"""

import json
import sys
from pathlib import Path

import survivor
from accelerate import Accelerator
from runs import TASKS_HERE, checkpoints, parts, settings

from mtbert.data.batches import Share
from mtbert.training import run


def train(folder: Path, phase: dict) -> None:
    model = {
        "dropout": phase.pop("dropout", 0.0),
        "adapter": {"name": "pals", "dim": 8, "heads": 2, "dropout": 0.0},
        "features": {"name": "words"},
        "connector": {"name": "direct"},
        "pooling": dict.fromkeys(TASKS_HERE, "pooler"),
        "heads": {task: {"name": "linear", "dropout": 0.0} for task in TASKS_HERE},
    }
    chosen = settings(phase=phase, run={"log_every": 1, "checkpoint_every": 2})
    chosen = chosen.model_copy(update={"model": type(chosen.model)(**model)})
    own = checkpoints(folder / str(Share.here().rank))
    run.train(parts(chosen, 1), folder / "run", folder / "logs", own)


if __name__ == "__main__":
    if len(sys.argv) > 3 and Share.here().rank == 1:
        survivor.arm(survivor.at_work(), int(sys.argv[3]), "forward")
    Accelerator.end_training = Accelerator.wait_for_everyone  # the group of processes serves the next training, too
    for name, phase in json.loads(sys.argv[2]).items():
        train(Path(sys.argv[1]) / name, phase)
