"""Trained models in MLflow: a folder that serves, with the scores of its run, and a name for each variant."""

import json
import os
import re
import shutil
import tempfile
import warnings
from collections import defaultdict
from contextlib import redirect_stderr, suppress
from importlib import metadata
from io import StringIO
from pathlib import Path
from urllib.parse import unquote, urlparse

import mlflow
from mlflow.artifacts import download_artifacts
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema

import mtbert
from mtbert import files
from mtbert.tasks import TASKS
from mtbert.tracking import store
from mtbert.tracking.record import Record
from mtbert.tracking.store import RUN_KEY, Store

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
    tracking, name = store.tracking_uri(), uri.partition(":/")[2]
    try:
        with warnings.catch_warnings(action="ignore"):  # MLflow's own, about SQLAlchemy
            Store(tracking)
            fetched = download_artifacts(artifact_uri=uri)
    except MlflowException as error:
        raise store.TrackingError(f"MLflow has no model {name} ({store.reason(error, tracking)})") from None
    if not (run := Path(fetched) / "artifacts" / RUN).is_dir():
        raise store.TrackingError(f"{name} is not a model of mtbert's")
    return run


def bring(there: Store, records: list[Record]) -> None:
    """Make and register a model of each finished run of a variant; alias the one with the best choosing score."""
    name = re.sub(r"[^\w.-]", "_", f"{records[0].experiment}-{records[0].tags['variant']}")
    versions = {one.source: int(one.version) for one in there.client.search_model_versions(f"name='{name}'")}
    scored = []
    for wanted in records:
        experiment = there.experiment(wanted.experiment)
        found = there.client.search_logged_models([experiment], f"tags.{RUN_KEY} = '{wanted.run_key}'")
        whole = [source for one in found if one.status == "READY" and (source := f"models:/{one.model_id}") in versions]
        if whole:
            version = versions[whole[0]]
        else:
            for one in found:  # broken off
                there.client.delete_logged_model(one.model_id)
            version = _log(there, wanted, name)
        if (score := choosing(wanted)) is not None:
            scored.append((score, -version))
    if scored:
        there.client.set_registered_model_alias(name, BEST, str(-max(scored)[1]))


def choosing(wanted: Record) -> float | None:
    """Return the mean task score by which the run's epoch was chosen; None where dev was not scored in training."""
    steps: defaultdict[int, list[float]] = defaultdict(list)
    for name, step, value in wanted.points:
        if name.startswith("dev/") and name.removeprefix("dev/") in TASKS:
            steps[step].append(value)
    means = [sum(steps[step]) / len(steps[step]) for step in sorted(steps)]
    best = max if wanted.params.get("run.keep") == "best" else list.pop
    return best(means) if means else None


def _log(there: Store, wanted: Record, name: str) -> int:
    """Make MLflow's model of a finished run, and register it by that name; return its version."""
    columns = [ColSpec("string", "text"), ColSpec("string", "text_pair", required=False)]
    task = ParamSchema([ParamSpec("task", "string", json.loads(wanted.params["tasks"])[0])])  # type: ignore[arg-type]
    with (
        tempfile.TemporaryDirectory() as scratch,
        warnings.catch_warnings(action="ignore"),  # as in `folder`
        redirect_stderr(StringIO()),  # MLflow tells of each
    ):
        run = Path(scratch) / RUN  # MLflow keeps the folder's name
        _collect(wanted.directory, wanted.params.get("model.encoder", "base"), run)
        made = Model.log(
            artifact_path=None,
            flavor=mlflow.pyfunc,
            registered_model_name=name,
            await_registration_for=0,
            run_id=there.find(wanted)[0][0].info.run_id,
            name=wanted.tags["variant"],
            tags={RUN_KEY: wanted.run_key, "choosing": str(choosing(wanted))},
            step=wanted.points[-1][1],  # MLflow gives the model the scores of that step
            python_model=str(SERVED),
            artifacts={RUN: str(run)},
            signature=ModelSignature(Schema(columns), params=task),  # type: ignore[arg-type]
            pip_requirements=[f"{one}=={metadata.version(one).partition('+')[0]}" for one in NEEDED],
        )
    _share(wanted.directory, str(there.client.get_logged_model(made.model_id).artifact_location))
    return int(str(made.registered_model_version))


def _collect(directory: Path, encoder: str, folder: Path) -> None:
    """Copy the files of a model, since MLflow refuses links; DataError where the weights have been altered."""
    files.sealed(directory, WEIGHTS, f"dvc repro train@{directory.parent.name}-{directory.name}")
    (folder / "encoder").mkdir(parents=True)
    for name in OF_RUN:
        shutil.copyfile(directory / name, folder / name)
    for name in OF_ENCODER:
        shutil.copyfile(directory.parents[2] / "encoders" / encoder / name, folder / "encoder" / name)


def _share(directory: Path, address: str) -> None:
    """Put a second name of the weights' file in the place of its copy, where both lie in one file system."""
    location = urlparse(address)
    copy = Path(unquote(location.path)) / "artifacts" / RUN / WEIGHTS
    if location.scheme == "file":
        with suppress(OSError), files.new_file(copy) as partial:
            os.link((directory / WEIGHTS).resolve(), partial)
