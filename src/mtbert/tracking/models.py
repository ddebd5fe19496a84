"""Trained models in MLflow: a folder that serves, with the scores of its run, and a name for each variant."""

import json
import os
import re
import shutil
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Iterable
from contextlib import redirect_stderr, suppress
from importlib import metadata
from io import StringIO
from pathlib import Path
from urllib.parse import unquote, urlparse

import mtbert
from mtbert import files
from mtbert.tasks import TASKS
from mtbert.tracking import place
from mtbert.tracking.record import Card, Record
from mtbert.tracking.store import RUN_KEY, MlflowException, Store

import mlflow  # isort: skip  # after its settings in `store`
from mlflow.artifacts import download_artifacts
from mlflow.entities import LoggedModel
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

BEST = "best"  # alias of the version with the best score that chooses epochs, of those that `track` brought last
SERVED = Path(mtbert.__file__).parent / "inference" / "served.py"
RUN = "run"  # folder in a model's artifacts
WEIGHTS = "model.safetensors"
OF_RUN = ("settings.yaml", "metrics.json", files.DIGESTS, WEIGHTS)
OF_ENCODER = ("tokenizer.json", "tokenizer_config.json", "config.json")
NEEDED = (
    "accelerate", "mlflow", "numpy", "pandas", "pyarrow", "pydantic", "ruamel.yaml", "safetensors", "tokenizers",
    "torch", "tqdm",
)  # fmt: skip


def folder(uri: str) -> Path:
    """Return the run's folder in the model of an address, fetched if needed; TrackingError where there is none."""
    tracking, name = place.tracking_uri(), uri.partition(":/")[2]
    _use(tracking)
    try:
        with warnings.catch_warnings(action="ignore"):  # MLflow's own, about SQLAlchemy
            fetched = download_artifacts(artifact_uri=uri)
    except MlflowException as error:
        raise place.TrackingError(f"MLflow has no model {name} ({place.reason(error, tracking)})") from None
    if not (run := Path(fetched) / "artifacts" / RUN).is_dir():
        raise place.TrackingError(f"{name} is not a model of mtbert's")
    return run


def bring(store: Store, wanted: Record) -> LoggedModel:
    """Return MLflow's model of a finished run; make it if it is missing or unfinished."""
    experiment = store.experiment(wanted.card.experiment)
    for model in store.client.search_logged_models([experiment], f"tags.{RUN_KEY} = '{wanted.run_key}'"):
        if model.status == "READY":
            return model
        store.client.delete_logged_model(model.model_id)
    run_id = store.find(wanted.card, wanted.run_key)[0][0].info.run_id
    about = {name: wanted.card.tags[name] for name in ("variant", "seed", "profile", "data")}
    tags = {RUN_KEY: wanted.run_key, "choosing": str(choosing(wanted))}
    made = store.client.create_logged_model(experiment, about["variant"], run_id, tags, about)
    _use(store.uri)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(action="ignore"):  # as in `folder`
        run = Path(scratch) / RUN  # MLflow keeps the folder's name
        _collect(wanted, run)
        Model.log(
            artifact_path=None,
            flavor=mlflow.pyfunc,
            run_id=run_id,
            model_id=made.model_id,
            step=wanted.points[-1].step,  # MLflow gives the model the scores of that step
            python_model=str(SERVED),
            artifacts={RUN: str(run)},
            signature=signature(json.loads(wanted.card.params["tasks"])[0]),
            pip_requirements=[f"{name}=={metadata.version(name).partition('+')[0]}" for name in NEEDED],
        )
    _share(wanted, made)
    return made


def _use(uri: str) -> None:
    """Set the address that functions of MLflow without a client read; what they read before may be another."""
    mlflow.set_tracking_uri(uri)
    mlflow.set_registry_uri(uri)


def _collect(wanted: Record, folder: Path) -> None:
    """Copy the files of a model, since MLflow refuses links; DataError where the weights have been altered."""
    if wanted.directory is None or wanted.encoder is None:
        raise ValueError(f"{wanted.card.name} has no weights")
    files.sealed(wanted.directory, WEIGHTS, f"dvc repro train@{wanted.directory.parent.name}-{wanted.directory.name}")
    (folder / "encoder").mkdir(parents=True)
    for name in OF_RUN:
        shutil.copyfile(wanted.directory / name, folder / name)
    for name in OF_ENCODER:
        shutil.copyfile(wanted.encoder / name, folder / "encoder" / name)


def _share(wanted: Record, model: LoggedModel) -> None:
    """Put a second name of the weights' file in the place of its copy, where both lie in one file system."""
    location = urlparse(str(model.artifact_location))
    copy = Path(unquote(location.path)) / "artifacts" / RUN / WEIGHTS
    if location.scheme == "file" and wanted.directory is not None:
        with suppress(OSError), files.new_file(copy) as partial:
            os.link((wanted.directory / WEIGHTS).resolve(), partial)


def signature(task: str) -> ModelSignature:
    """Return the signature of every model: a text, optionally a second one, and the task, with a default."""
    columns = [ColSpec("string", "text"), ColSpec("string", "text_pair", required=False)]
    return ModelSignature(Schema(columns), params=ParamSchema([ParamSpec("task", "string", task)]))  # type: ignore[arg-type]


def choosing(wanted: Record) -> float | None:
    """Return the mean task score by which the run's epoch was chosen; None where dev was not scored in training."""
    steps: defaultdict[int, list[float]] = defaultdict(list)
    for point in wanted.points:
        if point.name.startswith("dev/") and point.name.removeprefix("dev/") in TASKS:
            steps[point.step].append(point.value)
    means = [sum(steps[step]) / len(steps[step]) for step in sorted(steps)]
    best = max if wanted.card.params.get("run.keep") == "best" else list.pop
    return best(means) if means else None


def register(store: Store, card: Card, models: Iterable[LoggedModel]) -> None:
    """Register a version of each model of a variant; set the alias on the one with the best choosing score."""
    name = re.sub(r"[^\w.-]", "_", f"{card.experiment}-{card.tags['variant']}")
    _use(store.uri)
    versions = {one.source: one.version for one in store.client.search_model_versions(f"name='{name}'")}
    scored = []
    for model in models:
        source = f"models:/{model.model_id}"
        if source not in versions:
            with redirect_stderr(StringIO()):  # MLflow tells of each
                versions[source] = mlflow.register_model(source, name, await_registration_for=0).version
        if model.tags["choosing"] != "None":
            scored.append((float(model.tags["choosing"]), -int(versions[source])))
    if scored:
        store.client.set_registered_model_alias(name, BEST, str(-max(scored)[1]))
