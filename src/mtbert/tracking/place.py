"""Where runs are tracked, and how that place is named to people without its credentials."""

import importlib.util
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

from mtbert import credentials
from mtbert.errors import MtbertError

URI = "MLFLOW_TRACKING_URI"
SQLITE = "sqlite:///"
AGAIN = "python stages/track.py build"


class TrackingError(MtbertError):
    """MLflow cannot be reached, or refuses what it is given."""


def installed() -> bool:
    """Whether MLflow can be imported; does not import it."""
    return importlib.util.find_spec("mlflow") is not None


def project_root() -> Path:
    """The repository: $DVC_ROOT (under `dvc exp run --temp` too), else the nearest above, else here."""
    if named := os.environ.get("DVC_ROOT"):
        return Path(named).resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "dvc.yaml").is_file()), here)


def tracking_uri() -> str:
    """$MLFLOW_TRACKING_URI, else `mlflow.db` in the repository; a relative SQLite file counts from the repository."""
    uri = os.environ.get(URI) or f"{SQLITE}mlflow.db"
    file = database(uri)
    return uri if file is None else f"{SQLITE}{file}"


def database(uri: str) -> Path | None:
    """The file of an SQLite URI, absolute; None for servers and for other databases."""
    name = uri.removeprefix(SQLITE)
    return None if name in (uri, "", ":memory:") else project_root() / name


def shown(uri: str) -> str:
    """The place as a person may read it: the database's file, or scheme, host and port without user and password."""
    if file := database(uri):
        return str(file)
    parts = urlsplit(uri)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def without_credentials(text: str, uri: str) -> str:
    """`text` with *** for the credentials of `uri`, and for all that `credentials.masked` finds."""
    parts = urlsplit(uri)
    for secret in filter(None, [parts.netloc.rpartition("@")[0], parts.password, parts.query]):
        text = text.replace(secret, "***").replace(unquote(secret), "***")
    return credentials.masked(text)


def reason(error: BaseException, uri: str) -> str:
    """One line on what went wrong: the error's first line, without credentials."""
    lines = str(error).strip().splitlines() or [""]
    return without_credentials(f"{type(error).__name__}: {lines[0]}", uri)[:300]
