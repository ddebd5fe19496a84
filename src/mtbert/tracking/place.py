"""Find where runs are tracked, and show that address without credentials."""

import importlib.util
import os
import re
from pathlib import Path
from urllib.parse import unquote

from mtbert import credentials
from mtbert.errors import MtbertError

URI = "MLFLOW_TRACKING_URI"
SQLITE = "sqlite:///"
HOST = re.compile(r"(?:[\w.-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?")  # and port
AGAIN = "python stages/track.py build"


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


def tracking_uri() -> str:
    """Return $MLFLOW_TRACKING_URI, else `mlflow.db` in the repository; relative SQLite files are below the repository.

    Raises:
        TrackingError: an address in which password and host cannot be distinguished.
    """
    uri = os.environ.get(URI) or f"{SQLITE}mlflow.db"
    file = database(uri)
    if file is None and not _is_clear(uri):
        raise TrackingError(
            f"{URI} has an @ behind its host, as where a password holds / ? or #, and would be read wrongly; write "
            "%40 for an @ that belongs to no password, and within a password %2F for /, %3F for ?, %23 for #"
        )
    return uri if file is None else f"{SQLITE}{file}"


def database(uri: str) -> Path | None:
    """Return the file of an SQLite URI, absolute; None for servers and other databases."""
    name = uri.removeprefix(SQLITE)
    return None if name in (uri, "", ":memory:") else project_root() / name


def artifacts(file: Path) -> Path:
    """Return the folder of artifacts of an SQLite database: beside it."""
    return file.resolve().parent / "mlartifacts"


def shown(uri: str) -> str:
    """Return the address for messages: the database's file, or scheme, host and port alone."""
    if file := database(uri):
        return str(file)
    host = _authority(uri).rpartition("@")[2]
    return f"{_scheme(uri)}://{host if HOST.fullmatch(host) and _is_clear(uri) else '***'}"


def without_credentials(text: str, uri: str) -> str:
    """Replace with *** all of `uri` but scheme, host and port, and all that `credentials.masked` finds.

    `uri` is empty if it was refused.
    """
    if uri and database(uri) is None:
        text = text.replace(uri, shown(uri))
        for secret in _secrets(uri):
            text = text.replace(secret, "***")
        host = re.escape(_authority(uri).rpartition("@")[2])
        # Libraries print addresses; a path may be too short to be masked everywhere.
        text = re.sub(rf"(\burl: |://(?:[^\s/@]*@)?{host})/[^\s'\",)]*", r"\1***", text)
    return credentials.masked(text)


def _is_clear(uri: str) -> bool:
    """Return whether host and password can be distinguished: no @ follows the part that is read as host."""
    return "@" not in uri.partition("://")[2].removeprefix(_authority(uri))


def _secrets(uri: str) -> list[str]:
    """Return what an address holds beside scheme, host and port: whole and in parts, also decoded, longest first."""
    body = uri.partition("://")[2]
    user = body.rpartition("@")[0]  # the last @, since a password may hold any character
    rest = body.removeprefix(_authority(uri)).strip("/")
    parts = {part for ends in ("[/?#]", "[/?#&=]") for part in re.split(ends, rest)}
    long = {part for part in {rest, *parts} if len(part) >= credentials.SHORTEST}
    forms = {form for part in {user, *user.split(":", 1), *long} if part for form in (part, unquote(part))}
    return sorted(forms, key=len, reverse=True)


def _scheme(uri: str) -> str:
    scheme, separator, _ = uri.partition("://")
    return scheme if separator else "***"


def _authority(uri: str) -> str:
    """Return the part between :// and the next / ? or #."""
    return re.split(r"[/?#]", uri.partition("://")[2], maxsplit=1)[0]


def reason(error: BaseException, uri: str) -> str:
    """Return the error's first line, without credentials."""
    lines = str(error).strip().splitlines() or [""]
    return without_credentials(f"{type(error).__name__}: {lines[0]}", uri)[:300]
