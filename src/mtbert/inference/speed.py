"""How long a prediction takes with each model of a build folder, all measured one after the other on this machine."""

from pathlib import Path
from statistics import median
from typing import Any

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.inference import loading
from mtbert.inference.predicting import Model
from mtbert.inputs import manifests
from mtbert.results.schemas import Speed

SENTENCES = ["sentence1", "sentence2"]
ROWS = 20  # of dev, one at a time; the median counts
WARM = 3  # predictions before that


def measure(build: Path) -> Speed:
    """Return milliseconds a prediction of each selected model whose weights are here, and seconds of each training."""
    catalog = layout.read_catalog(build, "variants", "ensembles", "seeds")
    trained = [layout.runs(build) / name for name, of in catalog["variants"].items() if of["selected"]]
    merges = [name for name, of in catalog["ensembles"].items() if of["selected"] and of.get("merge")]
    milliseconds, seconds = dict[str, float](), dict[str, dict[str, float]]()
    for folder in [*trained, *(layout.merged(build) / name for name in merges)]:
        there = [run for seed in catalog["seeds"] if (run := folder / str(seed)).is_dir()]
        if folder in trained:
            seconds[folder.name] = {run.name: took for run in there if (took := _seconds(run)) is not None}
        if there and layout.WEIGHTS not in layout.left_elsewhere(there[0]):
            milliseconds[folder.name] = round(_of_model(loading.of_run(there[0]), build), 3)
    return Speed(machine=manifests.machine(build)["processor"], milliseconds=milliseconds, seconds=seconds)


def _seconds(run: Path) -> float | None:
    """Return how long a run took, of which its log tells."""
    try:
        return manifests.log(run).seconds
    except DataError:
        return None


def _of_model(model: Model, build: Path) -> float:
    """Return the mean over its tasks of the median milliseconds of a prediction, tokens made before."""
    taken = []
    for task in model.tasks:
        columns = SENTENCES[: len(model.task(task).sentences)]
        table = files.read_parquet(layout.examples(layout.data(build), task, "dev"), columns)
        rows: list[Any] = [tuple(row) for row in table.head(ROWS).to_numpy()]
        times = [model.timed(task, row) for row in [*rows[:WARM], *rows]][WARM:]
        taken.append(1000 * median(times))
    return sum(taken) / len(taken)
