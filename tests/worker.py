"""A small training without dropout, as torchrun starts it: worker.py FOLDER PHASE, the phase's changes as JSON."""

import json
import sys
from pathlib import Path

from runs import TASKS_HERE, checkpoints, parts, settings

from mtbert.training import run

if __name__ == "__main__":
    folder, phase = Path(sys.argv[1]), json.loads(sys.argv[2])
    model = {
        "dropout": 0.0,
        "adapter": {"name": "pals", "dim": 8, "heads": 2, "dropout": 0.0},
        "features": {"name": "words"},
        "connector": {"name": "direct"},
        "pooling": dict.fromkeys(TASKS_HERE, "pooler"),
        "heads": {task: {"name": "linear", "dropout": 0.0} for task in TASKS_HERE},
    }
    chosen = settings(phase=phase, run={"log_every": 1})
    chosen = chosen.model_copy(update={"model": type(chosen.model)(**model)})
    run.train(parts(chosen, 1), folder / "run", folder / "logs", checkpoints(folder))
