"""Find where runs are tracked, and show that address without credentials."""

import importlib.util
import os
import re
from pathlib import Path

from mtbert import credentials
from mtbert.errors import MtbertError

URI = "MLFLOW_TRACKING_URI"
HOST = re.compile(r"(?:[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?")  # and port
AGAIN = "mtbert track"


class TrackingError(MtbertError):
    """MLflow cannot be reached, or refuses a request."""


def installed() -> bool:
    """Return whether MLflow can be imported, without importing it."""
    return importlib.util.find_spec("mlflow") is not None


def project_root() -> Path:
    """Return the repository: $DVC_ROOT (also under `dvc exp run --temp`), else the nearest above, else this folder."""
    if named := os.environ.get("DVC_ROOT"):
        return Path(named).resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "dvc.yaml").is_file()), here)


def is_server(uri: str) -> bool:
    """Return whether an address is not that of an SQLite file."""
    return not uri.startswith("sqlite")


def tracking_uri() -> str:
    """Return $MLFLOW_TRACKING_URI, else `mlflow.db` in the repository; relative SQLite files are below the repository.

    Raises:
        TrackingError: an address in which password and host cannot be distinguished.
    """
    uri = os.environ.get(URI) or "sqlite:///mlflow.db"
    if is_server(uri):
        if "@" in _authority_and_rest(uri)[1]:
            raise TrackingError(
                f"{URI} has an @ behind its host, as where a password holds / ? or #, and would be read wrongly; write "
                "%40 for an @ that belongs to no password, and within a password %2F for /, %3F for ?, %23 for #"
            )
        return uri
    from sqlalchemy.engine import URL  # comes with MLflow; escapes what a folder's name may hold

    # With the driver named, MLflow makes no folder of the escaped name. Wait 60 seconds for SQLite's lock.
    file = project_root() / (database(uri) or "")
    return URL.create("sqlite+pysqlite", database=str(file), query={"timeout": "60"}).render_as_string()


def database(uri: str) -> Path | None:
    """Return the file of an SQLite address; None for servers."""
    if is_server(uri):
        return None
    from sqlalchemy.engine import make_url

    return Path(make_url(uri).database or "mlflow.db")


def shown(uri: str) -> str:
    """Return an address for messages: the database's file, or scheme, host and port alone."""
    if file := database(uri):
        return str(file)
    scheme, separator, _ = uri.partition("://")
    authority, rest = _authority_and_rest(uri)
    host = authority.rpartition("@")[2]
    is_safe = HOST.fullmatch(host) and "@" not in rest
    return f"{scheme if separator else '***'}://{host if is_safe else '***'}"


def reason(error: BaseException, uri: str) -> str:
    """Return the first line of what an error goes back to, without credentials: `ConnectionRefusedError: [Errno 111]`.

    The errors of MLflow and requests around it hold the address, and perhaps a token in its path.
    """
    while is_server(uri) and (below := error.__cause__ or error.__context__):
        error = below
    lines = str(error).strip().splitlines() or [""]
    return credentials.masked(f"{type(error).__name__}: {lines[0]}".replace(uri, shown(uri)))[:300]


def _authority_and_rest(uri: str) -> tuple[str, str]:
    """Return what is between :// and the next / ? or #, and what follows."""
    body = uri.partition("://")[2]
    authority = re.split(r"[/?#]", body, maxsplit=1)[0]
    return authority, body.removeprefix(authority)
