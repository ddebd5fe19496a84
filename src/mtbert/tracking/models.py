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
from mtbert.results.metrics import OVERALLS
from mtbert.tracking.record import FINAL_STEP, Record
from mtbert.tracking.store import RUN_KEY, Store

BEST = "best"  # alias of the version with the best score that chooses epochs, of those that `track` brought last
SERVED = Path(mtbert.__file__).parent / "inference" / "served.py"
RUN = "run"  # folder in a model's artifacts
OF_RUN = (SETTINGS, METRICS, layout.DIGESTS, WEIGHTS)
OF_ENCODER = ("tokenizer.json", "tokenizer_config.json", "config.json")


def bring(there: Store, records: list[Record]) -> bool:
    """Make and register a model of each run with weights; return False where the server is of MLflow 2, without any."""
    try:
        _bring(there, records)
    except MlflowException as error:
        if error.error_code != "ENDPOINT_NOT_FOUND":
            raise
        return False
    return True


def _bring(there: Store, records: list[Record]) -> None:
    """Alias each variant's model with the best choosing score, too."""
    scored: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)
    for wanted in records:
        if not (wanted.directory / WEIGHTS).is_file():
            continue
        name = re.sub(r"[^\w.-]", "_", f"{wanted.experiment}-{wanted.tags['variant']}")
        version = _version(there, name, f"models:/{_model(there, wanted).model_id}")
        if (score := choosing(wanted)) is not None:
            scored[name].append((score, -version))
    for name, versions in scored.items():
        there.client.set_registered_model_alias(name, BEST, str(-max(versions)[1]))


def _version(there: Store, name: str, source: str) -> int:
    """Return the registered version of a model; register it if it is missing."""
    for version in there.client.search_model_versions(f"name='{name}'"):
        if version.source == source:
            return int(version.version)
    with redirect_stderr(StringIO()):  # MLflow tells of each
        return int(mlflow.register_model(source, name, await_registration_for=0).version)


def choosing(wanted: Record) -> float | None:
    """Return the mean task score by which the run's epoch was chosen; None where dev was not scored in training."""
    steps: defaultdict[int, list[float]] = defaultdict(list)
    for name, step, value in wanted.points:
        if name.startswith("dev/") and name.removeprefix("dev/") not in OVERALLS:
            steps[step].append(value)
    means = [sum(steps[step]) / len(steps[step]) for step in sorted(steps)]
    best = max if wanted.params.get("run.keep") == "best" else list.pop
    return best(means) if means else None


def _model(there: Store, wanted: Record) -> LoggedModel:
    """Return MLflow's model of a finished run; make it if it is missing or unfinished."""
    experiment = there.experiment(wanted)
    for model in there.client.search_logged_models([experiment], f"tags.{RUN_KEY} = '{wanted.run_key}'"):
        if model.status == "READY":
            return model
        there.client.delete_logged_model(model.model_id)
    run_id = there.find(wanted)[0][0].info.run_id
    tags = {RUN_KEY: wanted.run_key, "choosing": str(choosing(wanted))}
    new_model = there.client.create_logged_model(experiment, wanted.tags["variant"], run_id, tags)
    columns = [ColSpec("string", "text"), *(ColSpec("string", name, required=False) for name in ("text_pair", "task"))]
    task = ParamSchema([ParamSpec("task", "string", "")])  # type: ignore[arg-type]  # of rows whose column names none
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(action="ignore"):  # as in `folder`
        run = Path(scratch) / RUN  # MLflow keeps the folder's name
        _collect(wanted.directory, wanted.params.get("model.encoder", "base"), run)
        Model.log(
            artifact_path=None,
            flavor=mlflow.pyfunc,
            run_id=run_id,
            model_id=new_model.model_id,
            step=FINAL_STEP,  # MLflow gives the model the scores of that step
            python_model=str(SERVED),
            artifacts={RUN: str(run)},
            signature=ModelSignature(Schema(columns), params=task),  # type: ignore[arg-type]
            pip_requirements=[],  # it is served where mtbert is installed: docs/using.md
        )
    _share(wanted.directory, new_model)
    return new_model


def _collect(directory: Path, encoder: str, folder: Path) -> None:
    """Copy the files of a model, since MLflow refuses links; DataError where the weights have been altered."""
    layout.check_sealed(directory, only=[WEIGHTS])
    (folder / "encoder").mkdir(parents=True)
    for name in OF_RUN:
        shutil.copyfile(directory / name, folder / name)
    start = layout.encoder(layout.build_of(directory), encoder)
    for name in OF_ENCODER:
        shutil.copyfile(start / name, folder / "encoder" / name)


def _share(directory: Path, model: LoggedModel) -> None:
    """Put a second name of the weights' file in the place of its copy, where both lie in one file system."""
    location = urlparse(str(model.artifact_location))
    copy = Path(unquote(location.path)) / "artifacts" / RUN / WEIGHTS
    if location.scheme == "file":
        with suppress(OSError), files.new_file(copy) as partial:
            os.link((directory / WEIGHTS).resolve(), partial)
