"""A small training as torchrun starts it: worker.py FOLDER PHASE [STEP].

PHASE is the phase's changes as JSON; at STEP the second process kills itself. Without dropout, unless PHASE has one.
"""

import json
import sys
from pathlib import Path

import survivor
from runs import TASKS_HERE, checkpoints, parts, settings

from mtbert.data.batches import Share
from mtbert.training import run

if __name__ == "__main__":
    folder, phase = Path(sys.argv[1]), json.loads(sys.argv[2])
    dropout, rank = phase.pop("dropout", 0.0), Share.here().rank
    if len(sys.argv) > 3 and rank == 1:
        survivor.arm(survivor.at_work(), int(sys.argv[3]), "forward")
    model = {
        "dropout": dropout,
        "adapter": {"name": "pals", "dim": 8, "heads": 2, "dropout": 0.0},
        "features": {"name": "words"},
        "connector": {"name": "direct"},
        "pooling": dict.fromkeys(TASKS_HERE, "pooler"),
        "heads": {task: {"name": "linear", "dropout": 0.0} for task in TASKS_HERE},
    }
    chosen = settings(phase=phase, run={"log_every": 1, "checkpoint_every": 2})
    chosen = chosen.model_copy(update={"model": type(chosen.model)(**model)})
    run.train(parts(chosen, 1), folder / "run", folder / "logs", checkpoints(folder / str(rank)))
