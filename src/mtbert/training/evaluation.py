"""A model's predictions on a whole split, and its scores."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from mtbert.data.batches import Examples
from mtbert.errors import DataError
from mtbert.models.heads.base import Head
from mtbert.models.multitask import MultitaskModel
from mtbert.scores import predictions, sets, thresholds
from mtbert.tasks import Task, Tasks

if TYPE_CHECKING:
    import pandas as pd

# Of 250 rows, sorted by length, a batch of 128 is half padding, and a larger one is 6 % faster a token on a CPU. A GPU
# takes as long for 256 rows as for 32.
BATCH, GPU_BATCH = 32, 256


def batch_size(device: torch.device) -> int:
    """Return the number of examples of a batch in evaluation."""
    return GPU_BATCH if device.type == "cuda" else BATCH


def predict(
    model: MultitaskModel, examples: Examples, device: torch.device, fits_thresholds: bool = False
) -> "pd.DataFrame":
    """Return the prediction table of the examples, as in `mtbert.scores.predictions`.

    With `fits_thresholds` the head of a task with sets of labels is first given the thresholds that suit these examples
    best: held-out training rows.
    """
    import pandas as pd

    rows = {"id": examples.ids, "label": examples.labels}
    predicted = columns(model, examples, device, fits_thresholds)
    return pd.DataFrame(rows | predicted | {"scored": examples.scored})


@torch.no_grad()
def columns(
    model: MultitaskModel, examples: Examples, device: torch.device, fits_thresholds: bool = False
) -> dict[str, np.ndarray]:
    """Return `prediction` and, for classes, probabilities, float64 [examples]; leave the model in evaluation mode."""
    head, from_head = model.head(examples.task.name), outputs(model, examples, device)
    if fits_thresholds and head.thresholds is not None:
        members = sets.members_of(examples.labels, examples.task.classes)
        head.thresholds.copy_(torch.from_numpy(thresholds.choose(members, _probabilities(head, from_head))))
    return _columns(examples.task, head, from_head)


@torch.no_grad()
def outputs(model: MultitaskModel, examples: Examples, device: torch.device) -> torch.Tensor:
    """Return what the head makes of the examples, fp32 [examples, outputs]; leave the model in evaluation mode."""
    model.eval()
    outputs = torch.zeros(len(examples), model.head(examples.task.name).outputs, device=device)
    for picks, batch in examples.in_order(batch_size(device)):
        outputs[picks] = model(batch.to(device)).float()
    return outputs


@torch.no_grad()
def columns_of(
    tasks: Sequence[Task], model: MultitaskModel, examples: Examples, device: torch.device
) -> dict[str, dict[str, np.ndarray]]:
    """Return `columns` of each task, for tasks that have these examples as sequences of one form.

    The encoder computes once what the tasks share.
    """
    model.eval()
    outputs = {task.name: torch.zeros(len(examples), model.head(task.name).outputs, device=device) for task in tasks}
    for picks, batch in examples.in_order(batch_size(device)):
        for name, of_task in model.outputs_of([*outputs], batch.to(device)).items():
            outputs[name][picks] = of_task.float()
    return {task.name: _columns(task, model.head(task.name), outputs[task.name]) for task in tasks}


def _columns(task: Task, head: Head, outputs: torch.Tensor) -> dict[str, np.ndarray]:
    if task.kind == "score":
        return {"prediction": head.scores(outputs.cpu()).double().numpy()}
    probabilities = _probabilities(head, outputs)
    least = None if head.thresholds is None else head.thresholds.double().cpu().numpy()
    return predictions.columns(task, probabilities, least)


def _probabilities(head: Head, outputs: torch.Tensor) -> np.ndarray:
    """Return the probability of each class, or label, float64 [examples, classes]; a score has none."""
    probabilities = head.log_probabilities(outputs.cpu() / head.temperature).exp().double().numpy()
    return probabilities[..., 1] if head.task.several else probabilities


@torch.no_grad()
def embed(model: MultitaskModel, examples: Examples, device: torch.device, count: int | None = None) -> np.ndarray:
    """Return embeddings of all examples, or of `count` that are drawn, in order: float32 [rows, sentences, width].

    A pair that is encoded apart has two sentences, all else one. The model is left in evaluation mode.
    """
    model.eval()
    examples = examples.drawn(count)
    embedded = np.zeros((len(examples), len(examples.rows[0]), model.encoder.width), np.float32)
    for picks, batch in examples.in_order(batch_size(device)):
        embedded[picks] = torch.stack(model.embeddings(batch.to(device)), dim=1).float().cpu().numpy()
    return embedded


def mean_score(values: Mapping[str, float], tasks: Collection[str]) -> float:
    """Return the mean of the tasks' own scores, by which epochs are compared; DataError where one has none."""
    if unlabelled := [task for task in tasks if task not in values]:
        raise DataError(
            f"dev of {', '.join(unlabelled)} has no labels to compare epochs by; run.keep in params.yaml "
            "is best, or the schedule watches dev; allowed without labels: last, and a schedule that does not watch dev"
        )
    return float(np.mean([values[task] for task in tasks]))


def error_of_mean(tables: Mapping[str, "pd.DataFrame"], described: Tasks, tasks: Collection[str]) -> float:
    """Return the standard error of `mean_score` over other rows such as these, which are independent of each other.

    Args:
        tables: of predictions, by task.
        described: the tasks.
        tasks: those of the mean.
    """
    from mtbert.stats import influence

    variance = 0.0
    for name in tasks:
        table = tables[name]
        predicted = np.asarray(table["prediction"])[:, None]
        side = influence.task_side(described[name], np.asarray(table["label"]), predicted, np.arange(len(table)))
        variance += float((side.moves**2).sum())
    return variance**0.5 / len(tasks)
