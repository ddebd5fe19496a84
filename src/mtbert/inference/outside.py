"""Compute with a written export in a process that knows no mtbert, as its card says."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files
from mtbert.baselines.base import Columns
from mtbert.inference import cards
from mtbert.inference.compressing import ExportError
from mtbert.inference.model import Model

SCRIPT = Path(__file__).with_name("outside_script.py")


class ExportOutputs(NamedTuple):
    """What an export computes.

    Attributes:
        outputs: for each size of batches, by task, a row of numbers for each text or pair.
        megabytes: by which the process grew; None where the system does not say.
    """

    outputs: Sequence[Mapping[str, Sequence[Sequence[float]]]]
    megabytes: float | None


def outputs_of(
    model: Model, form: str, folder: Path, texts: Mapping[str, Columns], batches: Sequence[int]
) -> ExportOutputs:
    """Return what the folder computes of texts, in batches of each of these sizes (0: all rows).

    ExportError where it cannot be loaded.
    """
    return ExportOutputs(**_run(model, form, [folder], texts, batches))


def timed(
    model: Model, form: str, folders: Sequence[Path], texts: Mapping[str, Columns], batches: Sequence[int]
) -> list[list[float]]:
    """Return for each size of batches the milliseconds that a row takes in each of two exports, side by side."""
    return _run(model, form, folders, texts, batches)


def _run(model: Model, form: str, folders: Sequence[Path], texts: Mapping[str, Columns], batches: Sequence[int]) -> Any:
    with tempfile.TemporaryDirectory() as scratch:
        request, out = Path(scratch, "request.json"), Path(scratch, "out.json")
        entries = {task: (columns, cards.sequences(model, task) == 2) for task, columns in texts.items()}
        files.write_json(request, {"texts": entries, "batches": [*batches]})
        environment = os.environ | {"HF_MODULES_CACHE": scratch, "HF_HUB_OFFLINE": "1"}
        environment.pop("PYTHONPATH", None)
        process = subprocess.run(
            [sys.executable, str(SCRIPT), form, str(request), str(out), *map(str, folders)], env=environment,
            cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if process.returncode:
            why = "".join(process.stderr.strip().splitlines()[-1:])
            raise ExportError(f"{model.name}: the export cannot be loaded, and is not kept: {why}")
        return json.loads(out.read_text(encoding="utf-8"))
