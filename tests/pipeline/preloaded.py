"""A `python` for tests that has imported what takes long: a program that needs it starts in a moment.

A server imports the packages, once for all workers. The `python` that `install` writes hands a program to it with its
arguments, folder, environment and open files; the server forks, and the fork runs the program. Nothing of the project
is imported before. What is not `python FILE`, `-m MODULE` or `-c CODE` runs in the true `python`.
"""

import array
import atexit
import contextlib
import gc
import importlib
import json
import multiprocessing.spawn
import os
import random
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from functools import cache
from pathlib import Path

from filelock import FileLock

PACKAGES = (
    "accelerate", "datasets", "dvc.cli", "dvc.commands.experiments.run", "dvc.commands.repro", "dvc.repo", "jinja2",
    "matplotlib.pyplot", "mlflow", "nltk", "pandas", "pyarrow.parquet", "pydantic", "ruamel.yaml", "scipy.stats",
    "sentence_transformers", "sklearn", "tokenizers", "torch", "torch._dynamo", "transformers", "typer",
)  # fmt: skip
CLIENT = """#!{python} -IS
import array, json, os, signal, socket, sys
first = (sys.argv[1:] or ["-"])[0]
known = (first in ("-m", "-c") or not first.startswith("-")) and "pytest" not in sys.argv
server = socket.socket(socket.AF_UNIX)
if not known or server.connect_ex({address!r}):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
program = json.dumps([{shim!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
server.sendmsg([len(program).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
server.sendall(program)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, lambda number, _: server.send(bytes([number])))
status = int.from_bytes(server.recv(4), "big", signed=True)
if status < 0:
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


def python() -> str:
    """The path of a `python`, beside `dvc` and `mtbert`, whose programs this process's server runs."""
    return os.fspath(install(Path(tempfile.mkdtemp(dir=_server().parent))) / "python")


def install(folder: Path) -> Path:
    """Write `python` into a folder of programs, and let `dvc` and `mtbert` there start by it."""
    shim = folder / "python"
    written = {"python": CLIENT.format(python=sys.executable, address=os.fspath(_server()), shim=os.fspath(shim))}
    for name in ("dvc", "mtbert", "uvicorn"):
        _, _, rest = (Path(sys.executable).parent / name).read_text().partition("\n")
        written[name] = f"#!{shim}\n{rest}"
    for name, text in written.items():
        (folder / name).unlink(missing_ok=True)  # maybe a link to the true one
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return folder


@cache
def _server() -> Path:
    """The socket of the server, which the first worker starts, and which ends with the process that started workers."""
    if run := os.environ.get("PYTEST_XDIST_TESTRUNUID"):
        folder, tests = Path(tempfile.gettempdir(), f"preloaded-{run}"), os.getppid()
        folder.mkdir(exist_ok=True)
    else:
        folder, tests = Path(tempfile.mkdtemp()), os.getpid()
    with FileLock(folder / "lock"):
        if not (folder / "socket").exists():
            _start(folder / "socket", tests)
    return folder / "socket"


def _start(address: Path, tests: int) -> None:
    command = [sys.executable, __file__, os.fspath(address), str(tests)]
    null = subprocess.DEVNULL
    server = subprocess.Popen(command, stdin=null, stdout=subprocess.PIPE, start_new_session=True)
    assert server.stdout
    assert server.stdout.read(5) == b"ready", "the server of preloaded programs did not start"
    server.stdout.close()
    server.returncode = 0  # it outlives this process, which must not wait for it


def serve(address: str, tests: int) -> list[str]:
    """Fork for each program that comes; the fork returns its arguments. Ends with the process of the tests."""
    end = os.pidfd_open(tests)
    for package in PACKAGES:
        importlib.import_module(package)
    os.fsync = lambda file: None  # as in tests/conftest.py: no test cuts the power
    gc.freeze()  # what is not looked at stays shared
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    os.write(1, b"ready")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while end not in select.select([listening, end], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            os.close(end)
            return watch(connection)
        connection.close()
    shutil.rmtree(Path(address).parent)
    os._exit(0)


def watch(connection: socket.socket) -> list[str]:
    """Fork the program, send it the signals that come, and send back its status; killed where the client is."""
    connection.settimeout(None)
    size, handed, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(12))
    program = b""
    while len(program) < int.from_bytes(size, "big"):
        program += connection.recv(1 << 20)
    files = array.array("i", handed[0][2])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        connection.close()
        return become(json.loads(program), list(files))
    end = os.pidfd_open(child)
    while end not in select.select([end, connection], [], [])[0]:
        for number in connection.recv(1) or bytes([signal.SIGKILL]):
            send = os.killpg if number == signal.SIGINT else os.kill  # Ctrl-C reaches what a program has started
            send(child, number)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.send(status.to_bytes(4, "big", signed=True))
    os._exit(0)


def become(program: list, files: list[int]) -> list[str]:
    """Take over what the program was started with."""
    shim, arguments, folder, environment = program
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.executable, real = shim, sys.executable
    multiprocessing.spawn.set_executable(real)
    if "HF_MODULES_CACHE" in environment:  # which transformers read when the server imported it
        sys.modules["transformers.dynamic_module_utils"].HF_MODULES_CACHE = environment["HF_MODULES_CACHE"]  # type: ignore[attr-defined]
    random.seed()
    tempfile.tempdir = None
    return arguments


def run(arguments: list[str]) -> None:
    """Run it as the true `python` would."""
    kind = arguments[0]
    first = os.getcwd() if kind in ("-m", "-c") else os.path.dirname(os.path.abspath(kind))
    given = os.environ.get("PYTHONPATH", "")
    sys.path[0:1] = [first, *(os.path.abspath(path) for path in given.split(os.pathsep) if path)]
    if kind == "-m":
        sys.argv = ["", *arguments[2:]]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *arguments[2:]]
        exec(arguments[1], {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        sys.argv = arguments
        runpy.run_path(kind, run_name="__main__")


def leave(status: int) -> None:
    """End as an interpreter does, but without taking each imported module apart, which takes seconds."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(BrokenPipeError):
            stream.flush()
    os._exit(status)


if __name__ == "__main__":
    to_run, status = serve(sys.argv[1], int(sys.argv[2])), 0
    try:
        run(to_run)
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    leave(status)
