"""Hosts of a page's walk on this machine: the model hub, as far as its client asks, and a host of the corpora."""

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "1" * 40


@contextlib.contextmanager
def serving(handler: object) -> Iterator[str]:
    """The address of a server that answers while the block runs."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)  # type: ignore[arg-type]
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Files(SimpleHTTPRequestHandler):
    """The files of a folder."""

    def log_message(self, *_: object) -> None:
        pass


def folder(path: Path) -> contextlib.AbstractContextManager[str]:
    """A host of the files of a folder."""
    return serving(partial(Files, directory=str(path)))


class Hub(BaseHTTPRequestHandler):
    """Repositories of models, each a folder; what is uploaded is written there."""

    def __init__(self, root: Path, *arguments: object) -> None:
        self.root = root
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Tell a repository's files, or send one."""
        owner, name, *rest = self.path.removeprefix("/api/models").strip("/").split("/")
        repository = self.root / owner / name
        if not repository.is_dir():
            self.send_error(404)
        elif "/tree/" in self.path:
            listed = [{"type": "file", "path": file.name, "size": 0, "oid": file.name} for file in repository.iterdir()]
            self._json(listed)
        elif self.path.startswith("/api/"):
            self._json({"id": f"{owner}/{name}", "sha": COMMIT})
        else:
            self._send(repository.joinpath(*rest[2:]).read_bytes())  # resolve/COMMIT/FILE

    do_HEAD = do_GET  # noqa: N815, the name that the library asks for

    def do_POST(self) -> None:
        """Take a commit, and what its client asks before."""
        given = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        match self.path.split("/")[-2:]:
            case ["preupload", "main"]:
                names = [file["path"] for file in json.loads(given)["files"]]
                self._json(
                    {"files": [{"path": name, "uploadMode": "regular", "shouldIgnore": False} for name in names]}
                )
            case ["commit", "main"]:
                name = "/".join(self.path.split("/")[3:5])
                for line in map(json.loads, given.splitlines()):
                    if line["key"] == "file":
                        (self.root / name).mkdir(parents=True, exist_ok=True)
                        content = base64.b64decode(line["value"]["content"])
                        (self.root / name / line["value"]["path"]).write_bytes(content)
                self._json({"commitUrl": f"{self._here}/{name}/commit/{COMMIT}", "commitOid": COMMIT})
            case _:
                asked = json.loads(given)
                self._json({"url": f"{self._here}/{asked.get('organization')}/{asked.get('name')}"})

    @property
    def _here(self) -> str:
        return f"http://{self.headers['Host']}"

    def _json(self, content: object) -> None:
        self._send(json.dumps(content).encode())

    def _send(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{len(content)}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def hub(root: Path) -> contextlib.AbstractContextManager[str]:
    """A hub of the repositories `root/OWNER/NAME`."""
    return serving(partial(Hub, root))
