"""Read predictions of MLflow's runs: from a run's artifacts, or from the run's folder in a build directory."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mtbert import files, tracking
from mtbert.comparing import sources
from mtbert.comparing.rows import Row, Rows
from mtbert.errors import DataError
from mtbert.tracking import place

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


def read(
    source: str, columns: Mapping[str, str], metric: str, filtered: str | None, task: str | None, build: Path
) -> Rows:
    """Read the rows of runs as `sources.is_run` accepts them; rows without a seed get the run's tag `seed`.

    Raises:
        DataError: MLflow is not installed, has no such run or artifact, or the run has no predictions, or several.
    """
    if not tracking.installed():
        raise DataError(f"{source} is a run of MLflow, which is not installed: pip install 'mtbert[pipeline]'")
    parts = [_run(one, columns, metric, filtered, task, build) for one in source.split(",")]
    rows: list[Row] = [row for part in parts for row in part.rows]
    return Rows(source, rows, parts[0].of_scores)


def _run(
    source: str, columns: Mapping[str, str], metric: str, filtered: str | None, task: str | None, build: Path
) -> Rows:
    run_id, _, path = source.removeprefix("runs:/").partition("/")
    client, run = _client_and_run(run_id)
    tags = run.data.tags
    with tempfile.TemporaryDirectory() as folder:
        with _told(f"the artifacts of run {run_id} cannot be listed"):
            paths = [path] if path else _prediction_files(client, run_id, task)
        if len(paths) > 1:
            raise DataError(f"{source}: several artifacts hold predictions; name one, as runs:/{run_id}/{paths[0]}")
        local = _artifact(client, run_id, paths[0], folder) if paths else _ours(source, tags, task, build)
        rows = sources.read(str(local), columns, metric, filtered)
    seed = tags.get("seed", "")
    return Rows(source, [row if row.seed else row._replace(seed=seed) for row in rows.rows], rows.of_scores)


def _client_and_run(run_id: str) -> tuple[Any, Any]:
    from mtbert.tracking import store  # silences MLflow, and shortens its timeouts

    uri = tracking.tracking_uri()
    client = store.MlflowClient(uri)
    try:
        return client, client.get_run(run_id)
    except store.MlflowException as error:
        raise DataError(f"MLflow ({place.shown(uri)}) has no run {run_id}: {place.reason(error, uri)}") from None


def _artifact(client: Any, run_id: str, path: str, folder: str) -> Path:
    with _told(f"runs:/{run_id} has no artifact {path} that can be read"):
        return Path(client.download_artifacts(run_id, path, folder))


@contextmanager
def _told(fault: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of MLflow, its store of artifacts or the network: many types, with one message
        uri = tracking.tracking_uri()
        raise DataError(f"{fault} (MLflow at {place.shown(uri)}: {place.reason(error, uri)})") from None


def _prediction_files(client: Any, run_id: str, task: str | None, folder: str | None = None) -> list[str]:
    paths = []
    for one in client.list_artifacts(run_id, folder):
        if one.is_dir:
            paths += _prediction_files(client, run_id, task, one.path)
        elif one.path.endswith(ENDINGS) and (task is None or f"{task}-dev" in one.path):
            paths.append(one.path)
    return paths


def _ours(source: str, tags: Mapping[str, str], task: str | None, build: Path) -> Path:
    """Return the file of a run of this project, which logs no predictions, in the build directory with that run."""
    variant, seed = tags.get("variant"), tags.get("seed")
    directory = build / "runs" / str(variant) / str(seed)
    if task is None or variant is None or not directory.is_dir():
        raise DataError(
            f"{source}: its artifacts hold no file of predictions ({', '.join(ENDINGS)}), and {build} does not "
            "hold the run; a run of mtbert needs --task, and --build where its folder is not `build`"
        )
    from mtbert.tracking import record

    if record.of_run(directory, Path()).run_key != tags.get("run_key"):
        raise DataError(
            f"{source}: {directory} is another training of that variant and seed; `dvc repro` makes its own"
        )
    remedy = f"dvc repro train@{variant}-{seed}"
    return files.sealed(directory, f"predictions/{task}-dev.parquet", remedy)
