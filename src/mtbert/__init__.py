"""mtbert: a cached, reproducible bench for ways to make one BERT serve several sentence tasks."""

import importlib
from pathlib import Path
from typing import Any


def load(place: str | Path, seed: int | None = None, build: str | Path = "build", device: str = "auto") -> Any:
    """Load a trained `mtbert.inference.model.Model`, or an `Ensemble`: see `mtbert.inference.loading.load_any`.

    Its module is imported by name, so that `import mtbert` stays light and no stage of the pipeline depends on it.
    """
    return importlib.import_module("mtbert.inference.loading").load_any(place, seed, build, device)
