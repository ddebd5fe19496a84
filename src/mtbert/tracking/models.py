"""Trained models in MLflow: a folder that serves, with the scores of its run, and a name for each variant."""

import os
import re
import shutil
import tempfile
import warnings
from collections import defaultdict
from contextlib import redirect_stderr, suppress
from io import StringIO
from pathlib import Path
from urllib.parse import unquote, urlparse

import mlflow
from mlflow.entities import LoggedModel
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

import mtbert
from mtbert import files, layout
from mtbert.layout import METRICS, SETTINGS, WEIGHTS
from mtbert.provenance import inputs, manifests, seals
from mtbert.scores.metrics import OVERALLS
from mtbert.tracking.record import FINAL_STEP, Record
from mtbert.tracking.store import RUN_KEY, Store

BEST = "best"  # alias of the version with the best score that chooses epochs, of those that `track` brought last
SERVED = Path(mtbert.__file__).parent / "inference" / "served.py"
RUN = "run"  # folder in a model's artifacts
RUN_FILES = (SETTINGS, METRICS, layout.INPUTS, layout.DIGESTS, WEIGHTS)


def bring(tracker: Store, records: list[Record]) -> bool:
    """Make and register a model of each run with weights; return False where the server is of MLflow 2, without any."""
    try:
        _bring(tracker, records)
    except MlflowException as error:
        if error.error_code != "ENDPOINT_NOT_FOUND":
            raise
        return False
    return True


def _bring(tracker: Store, records: list[Record]) -> None:
    """Alias each variant's model with the best choosing score, too; of equal ones the first."""
    best: dict[str, tuple[float, int]] = {}  # less the score that chose its epoch, and the version's number
    for record in records:
        if not (record.directory / WEIGHTS).is_file():
            continue
        name = re.sub(r"[^\w.-]", "_", f"{record.experiment}-{record.tags['variant']}")
        number = _version(tracker, name, f"models:/{_model(tracker, record).model_id}")
        score = choosing(record)
        if score is not None:
            best[name] = min(best.get(name, (-score, number)), (-score, number))
    for name, (_, number) in best.items():
        tracker.client.set_registered_model_alias(name, BEST, str(number))


def _version(tracker: Store, name: str, source: str) -> int:
    """Return the number of a model's registered version; register it if it is missing."""
    for version in tracker.client.search_model_versions(f"name='{name}'"):
        if version.source == source:
            return int(version.version)
    with redirect_stderr(StringIO()):  # MLflow prints a line for each
        return int(mlflow.register_model(source, name, await_registration_for=0).version)


def choosing(record: Record) -> float | None:
    """Return the score by which the run's epoch was chosen; None where dev was not scored in training.

    Where nothing chose, or the run's folder does not say it, it is the mean over dev's tasks in the last phase: of its
    last epoch, or of the best.
    """
    if record.chosen_by is not None:
        return record.chosen_by
    scores_at: defaultdict[int, list[float]] = defaultdict(list)  # by step
    last_phase = max((entry.phase for entry in record.entries), default=1)
    for entry in record.entries:
        group, _, name = entry.name.partition("/")
        if group == "dev" and name not in OVERALLS and entry.phase == last_phase:
            scores_at[entry.step].append(entry.value)
    if not scores_at:
        return None
    means = {step: sum(scores) / len(scores) for step, scores in scores_at.items()}
    return max(means.values()) if record.params.get("run.keep") == "best" else means[max(means)]


def _model(tracker: Store, record: Record) -> LoggedModel:
    """Return MLflow's model of a finished run; make it if it is missing or unfinished."""
    experiment = tracker.experiment(record)
    for model in tracker.client.search_logged_models([experiment], f"tags.{RUN_KEY} = '{record.run_key}'"):
        if model.status == "READY":
            return model
        tracker.client.delete_logged_model(model.model_id)
    (complete, *_), _ = tracker.find(record)
    tags = {RUN_KEY: record.run_key, "choosing": str(choosing(record))}
    new_model = tracker.client.create_logged_model(experiment, record.tags["variant"], complete.info.run_id, tags)
    columns = [ColSpec("string", "text"), *(ColSpec("string", name, required=False) for name in ("text_pair", "task"))]
    task = ParamSchema([ParamSpec("task", "string", "")])  # type: ignore[arg-type]  # of rows whose column names none
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(action="ignore"):  # of MLflow's own code
        run = Path(scratch) / RUN  # MLflow keeps the folder's name
        _collect(record.directory, record.params.get("model.encoder", "base"), run)
        Model.log(
            artifact_path=None,
            flavor=mlflow.pyfunc,
            run_id=complete.info.run_id,
            model_id=new_model.model_id,
            step=FINAL_STEP,  # MLflow gives the model the scores of that step
            python_model=str(SERVED),
            artifacts={RUN: str(run)},
            signature=ModelSignature(Schema(columns), params=task),  # type: ignore[arg-type]
            pip_requirements=[],  # it is served where mtbert is installed: docs/using.md
        )
    _share(record.directory, new_model)
    return new_model


def _collect(directory: Path, encoder: str, folder: Path) -> None:
    """Copy the files of a model, as MLflow refuses links; DataError where they or the encoder were altered."""
    seals.check(directory, only=[WEIGHTS])
    folder.mkdir(parents=True)
    for name in RUN_FILES:
        if (directory / name).is_file():  # a run of an earlier version lacks inputs.json
            shutil.copyfile(directory / name, folder / name)
    encoder_files = tuple(name for name in manifests.ENCODER_FILES if name != WEIGHTS)
    if (directory / layout.BASELINE).is_file():
        shutil.copyfile(directory / layout.BASELINE, folder / layout.BASELINE)
        reads_encoder = files.read_json(directory / layout.BASELINE)["encoder"] is not None
        encoder_files = (*manifests.ENCODER_FILES, layout.ENCODER_CARD) if reads_encoder else ()
    if encoder_files:
        (folder / "encoder").mkdir()
    start = layout.encoder(layout.build_of(directory), encoder)
    inputs.check_encoder(directory, start, encoder_files)
    for name in encoder_files:
        shutil.copyfile(start / name, folder / "encoder" / name)


def _share(directory: Path, model: LoggedModel) -> None:
    """Put a second name of the weights' file in the place of its copy, where both lie in one file system."""
    location = urlparse(str(model.artifact_location))
    copy = Path(unquote(location.path)) / "artifacts" / RUN / WEIGHTS
    if location.scheme == "file":
        with suppress(OSError), files.new_file(copy) as partial:
            os.link((directory / WEIGHTS).resolve(), partial)
