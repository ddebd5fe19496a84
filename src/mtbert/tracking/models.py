"""Trained models in MLflow: a folder that serves, the scores tied to it, a registered name for each variant.

The folder holds the files of a run that `mtbert.inference.loading` reads, with the weights as a link, so that they are
not stored twice. A model is complete once it is READY; an unfinished one is made again.
"""

import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import mtbert
from mtbert import files
from mtbert.tasks import TASKS
from mtbert.tracking import place
from mtbert.tracking.record import Card, Contents, Record, Trained
from mtbert.tracking.store import PORTION, Store, metric

os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")

import mlflow
import pandas as pd
from mlflow.artifacts import download_artifacts
from mlflow.entities import LoggedModel, LoggedModelStatus
from mlflow.exceptions import MlflowException
from mlflow.models import Model, ModelSignature
from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema, TensorSpec

BEST = "best"  # alias of a variant's version with the best choosing score
SERVED = Path(mtbert.__file__).parent / "inference" / "served.py"
RUN = "run"  # folder in a model's artifacts with the run's files
WEIGHTS = "model.safetensors"
OF_RUN = ("settings.yaml", "metrics.json", files.DIGESTS)
OF_ENCODER = ("tokenizer.json", "tokenizer_config.json", "config.json")
NEEDED = (
    "accelerate", "mlflow", "numpy", "pandas", "pyarrow", "pydantic", "pyyaml", "safetensors", "tokenizers", "torch",
    "tqdm",
)  # fmt: skip
EXAMPLE = {"text": ["A man plays a guitar."], "text_pair": ["Someone makes music."]}


def folder(uri: str) -> Path:
    """Return the run's folder in the model of an address, fetched if needed; TrackingError where there is none."""
    tracking = place.tracking_uri()
    try:
        with warnings.catch_warnings(action="ignore"):  # MLflow's own, about SQLAlchemy
            fetched = download_artifacts(artifact_uri=uri, tracking_uri=tracking, registry_uri=tracking)
    except MlflowException as error:
        named = uri.partition(":/")[2]  # after the scheme an @ would be read as that of a password
        raise place.TrackingError(f"MLflow has no model {named} ({place.reason(error, tracking)})") from None
    run = Path(fetched) / "artifacts" / RUN
    if not run.is_dir():
        raise place.TrackingError(f"{uri.partition(':/')[2]} is not a model of mtbert's")
    return run


def registered(card: Card) -> str:
    """Return the registered name of a run's variant, such as mtbert-sample-pals."""
    return f"{card.experiment}-{card.tags['variant']}"


class Models:
    """The models of a store. Every method may raise MlflowException."""

    def __init__(self, store: Store) -> None:
        self._store, self._client = store, store.client
        mlflow.set_tracking_uri(store.uri)  # the registry asks it for the model behind an address
        mlflow.set_registry_uri(store.uri)

    def bring(self, wanted: Record, trained: Trained) -> LoggedModel:
        """Return MLflow's model of a finished run; make it if it is missing."""
        models = self._store.models(wanted)
        complete = [model for model in models if model.status == LoggedModelStatus.READY]
        for model in models:
            if model not in complete[:1]:
                self._client.delete_logged_model(model.model_id)
        return complete[0] if complete else self._make(wanted, trained)

    def _make(self, wanted: Record, trained: Trained) -> LoggedModel:
        contents, experiment = wanted.read(), self._store.experiment(wanted.card.experiment)
        run_id = next(run.run_id for run in self._store.find(wanted.card) if run.run_key == wanted.run_key)
        tags = {"run_key": wanted.run_key, "choosing": str(choosing(contents, wanted.card))}
        about = {name: wanted.card.tags[name] for name in ("variant", "seed", "profile")}
        made = self._client.create_logged_model(experiment, about["variant"], run_id, tags, about)
        self._store.progress()
        self._write(trained, made)
        self._score(made, run_id, contents)
        return self._client.finalize_logged_model(made.model_id, "READY")

    def _write(self, trained: Trained, model: LoggedModel) -> None:
        location = str(model.artifact_location)
        if location.startswith("file:"):
            with files.new_directory(Path(unquote(urlparse(location).path))) as partial:
                save(trained, model.model_id, partial / "model")
                for file in (partial / "model").iterdir():
                    file.rename(partial / file.name)
                (partial / "model").rmdir()
            return
        with tempfile.TemporaryDirectory() as scratch:
            save(trained, model.model_id, Path(scratch) / "model")
            self._client.log_model_artifacts(model.model_id, str(Path(scratch) / "model"))

    def _score(self, model: LoggedModel, run_id: str, contents: Contents) -> None:
        """Log each score for the model, and for the data set of the score."""
        digests = {item.name: item.digest for item in contents.inputs}
        scores = [
            metric(point, run_id=run_id, model_id=model.model_id, dataset=_dataset(point.name, digests))
            for point in contents.points
            if point.name.startswith("score/")
        ]
        for start in range(0, len(scores), PORTION):
            self._client.log_batch(run_id, metrics=scores[start : start + PORTION])
            self._store.progress()

    def register(self, name: str, models: Iterable[LoggedModel]) -> None:
        """Register a version of each model under that name; set the alias on the one with the best choosing score."""
        entry = self._registered(name)
        versions = {version.source: version.version for version in self._client.search_model_versions(f"name='{name}'")}
        scored = []
        for model in models:
            source = f"models:/{model.model_id}"
            if source not in versions:
                made = self._client.create_model_version(
                    name, source, model.source_run_id, await_creation_for=0, model_id=model.model_id
                )
                versions[source] = made.version
            self._store.progress()
            scored.append((model.tags["choosing"], versions[source]))
        known = [(float(score), -int(version)) for score, version in scored if score != "None"]
        if known and entry.aliases.get(BEST) != (best := str(-max(known)[1])):
            self._client.set_registered_model_alias(name, BEST, best)

    def _registered(self, name: str) -> Any:
        try:
            return self._client.get_registered_model(name)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return self._client.create_registered_model(name, description=ABOUT)


ABOUT = f"""\
A version for each finished training of this variant. The alias `{BEST}` is on the one with the best scores on what \
chooses epochs (`choosing/...`), of those that `track` found the last time.
"""


def choosing(contents: Contents, card: Card) -> float | None:
    """Return the mean task score by which the run's epoch was chosen; None where dev was not scored in training."""
    steps: dict[int, list[float]] = {}
    for point in contents.points:
        if point.name.startswith("choosing/") and point.name.removeprefix("choosing/") in TASKS:
            steps.setdefault(point.step, []).append(point.value)
    means = [sum(steps[step]) / len(steps[step]) for step in sorted(steps)]
    if not means:
        return None
    return max(means) if card.params.get("run.keep") == "best" else means[-1]


def save(trained: Trained, model_id: str, out: Path) -> None:
    """Write the folder of a model, with links to large files; DataError where the weights have been altered."""
    weights, tasks = files.sealed(trained.directory, WEIGHTS, trained.remedy()), trained.tasks
    with tempfile.TemporaryDirectory() as scratch:
        run = Path(scratch) / RUN
        run.mkdir()
        for name in OF_RUN:
            shutil.copyfile(trained.directory / name, run / name)
        texts = {name: EXAMPLE[name] for name in list(EXAMPLE)[: len(TASKS[tasks[0]].sentences)]}
        mlflow.pyfunc.save_model(
            out,
            python_model=str(SERVED),
            artifacts={RUN: str(run)},
            signature=signature(tasks[0]),
            pip_requirements=[f"{name}=={metadata.version(name).partition('+')[0]}" for name in NEEDED],
            input_example=(pd.DataFrame(texts), {"task": tasks[0]}),
            mlflow_model=Model(model_id=model_id),
        )
    kept = out / "artifacts" / RUN
    (kept / "encoder").mkdir()
    link(weights, kept / WEIGHTS)
    for name in OF_ENCODER:
        link(trained.encoder / name, kept / "encoder" / name)


def signature(task: str) -> ModelSignature:
    """Return the signature of every model: a text, optionally a second one, and the task, with a default."""
    columns: list[ColSpec | TensorSpec] = [ColSpec("string", "text"), ColSpec("string", "text_pair", required=False)]
    return ModelSignature(Schema(columns), params=ParamSchema([ParamSpec("task", "string", task)]))


def link(file: Path, place: Path) -> None:
    """Link a file: by a hard link, which outlives the original, or by a symbolic one to another file system."""
    try:
        os.link(file, place)
    except OSError:
        place.symlink_to(file.resolve())


def _dataset(name: str, digests: dict[str, str]) -> tuple[str, str] | None:
    """Return name and digest of the data set of a score such as score/dev/sts."""
    _, split, task = name.split("/")
    dataset = f"{task}-{split}"
    return (dataset, digests[dataset]) if dataset in digests else None
