"""Open MLflow's pages with the runs: python -m mtbert.tracking.ui [PORT]

Starts MLflow's server on the repository's database, and prints the pages with runs and scores. If MLFLOW_TRACKING_URI
is a server, shows its pages and starts none.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import webbrowser
from contextlib import closing
from pathlib import Path

from mtbert import errors
from mtbert.tracking import naming, place
from mtbert.tracking.place import TrackingError

HOST = "127.0.0.1"
PORT = 5000
PATIENCE = 300.0  # most seconds until the server answers
SETTINGS = {  # no reports to MLflow's makers, no jobs, no warnings about them
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    "PYTHONWARNINGS": "ignore",
}


def main() -> None:
    """Serve until Ctrl-C, at the port that the command line names."""
    with errors.shown_plainly():
        serve(sys.argv[1:])


def serve(arguments: list[str]) -> None:
    """Serve until Ctrl-C; `arguments` holds the port, or nothing.

    Raises:
        TrackingError: the port is invalid or taken, or MLflow is not installed, does not answer or does not start.
    """
    port = _port(arguments)
    if not place.installed():
        raise TrackingError("MLflow is not installed; `make setup` installs it")
    uri = place.tracking_uri()
    pages = _pages(uri, f"http://{HOST}:{port}")
    file = place.database(uri)
    if file is None:
        return _tell(pages, "")
    server = _start(file, port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _wait(server, port)
        _tell(pages, "Ctrl-C ends it.")
        if status := server.wait():
            raise TrackingError(f"MLflow's server ended with status {status}; its messages are above")
    except KeyboardInterrupt:
        print()
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def _port(arguments: list[str]) -> int:
    port = arguments[0] if arguments else str(PORT)
    if len(arguments) > 1 or not port.isdecimal() or not 0 < int(port) < 65536:
        raise TrackingError(f"the port came as {' '.join(arguments)}; allowed: a number of 1 to 65535")
    with closing(socket.socket()) as probe:
        if probe.connect_ex((HOST, int(port))) == 0:
            raise TrackingError(
                f"port {port} is taken, perhaps by `make mlflow` elsewhere; `make mlflow PORT=5001` takes another"
            )
    return int(port)


def _pages(uri: str, local: str) -> dict[str, str]:
    """Return the page of each of our experiments by name; create the SQLite database if it is missing."""
    from mtbert.tracking.store import Store, patiently

    root = local if place.database(uri) else place.shown(uri)
    try:
        experiments = patiently(lambda: Store(uri).experiments())
    except Exception as error:  # of MLflow, its database or the network: many types, with one message
        raise TrackingError(f"MLflow at {place.shown(uri)} does not answer ({place.reason(error, uri)})") from None
    return {
        name: naming.address(root, number)
        for name, number in experiments.items()
        if name.startswith(naming.EXPERIMENTS)
    }


def _start(file: Path, port: int) -> subprocess.Popen[bytes]:
    options = ["--backend-store-uri", f"{place.SQLITE}{file}", "--default-artifact-root", str(place.artifacts(file))]
    options += ["--host", HOST, "--port", str(port), "--workers", "1", "--uvicorn-opts", "--log-level warning"]
    command = [sys.executable, "-m", "mlflow", "ui", *options]
    # A session of its own, since MLflow leaves its workers running if only its main process is ended.
    return subprocess.Popen(command, env={**os.environ, **SETTINGS}, stdout=sys.stderr, start_new_session=True)


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and server.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.2)
    raise TrackingError("MLflow's server has not started; its messages are above")


def _tell(pages: dict[str, str], more: str) -> None:
    """Print the pages, and open the first, that of the latest runs, if there is a screen."""
    if not pages:
        print(f"MLflow holds no runs yet; `dvc repro` makes them, `{place.AGAIN}` brings in those in build. {more}")
        return
    print(
        "\nRuns and their scores:", *(f"  {name}: {page}" for name, page in pages.items()), more, sep="\n", flush=True
    )
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(next(iter(pages.values())))


if __name__ == "__main__":
    main()
