"""Checkpoints of random weights, downloaded by the hub's own client from a server that answers as the hub does."""

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import architectures
import huggingface_hub
import pytest
from huggingface_hub import constants
from transformers import AutoModelForMaskedLM

from mtbert import files
from mtbert.errors import EncoderError
from mtbert.pretrained import fetching, folders
from mtbert.pretrained import settings as sources
from mtbert.pretrained.settings import EncoderSettings, Source

COMMIT = "f" * 40
WRITTEN = ("model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "mlm_head.safetensors")
BESIDE = {  # what a repository holds, too
    "roberta": ("README.md", "pytorch_model.bin", "tf_model.h5", "vocab.json", "merges.txt", "dict.txt"),
    "deberta-v2": ("README.md", "pytorch_model.bin", "pytorch_model.generator.bin", "spm.model"),
    "modernbert": ("README.md", "pytorch_model.bin", "onnx/model.onnx", "special_tokens_map.json"),
}
every = pytest.mark.parametrize("kind", BESIDE)


@dataclass
class Hub:
    """A server with the repositories `someone/<folder>` below a root, at one commit."""

    root: Path
    asked: list[str] = field(default_factory=list)  # the files, in order

    def repository(self, kind: str) -> Path:
        """Write one of an architecture, with what else lies there."""
        folder = architectures.folder(kind, self.root / kind)
        for name in BESIDE[kind]:
            files.write_text(folder / name, "not to be read")
        return folder

    def answer(self, path: str) -> tuple[bytes, str]:
        """The content and the type of what a path names; KeyError where the server has no such thing."""
        parts = path.partition("?")[0].strip("/").split("/")
        if parts[:2] == ["api", "models"] and parts[4:] == ["tree", COMMIT]:
            folder = self.root / parts[3]
            listed = [file for file in sorted(folder.rglob("*")) if file.is_file()]
            return json.dumps([entry(file, folder) for file in listed]).encode(), "application/json"
        if parts[2:4] == ["resolve", COMMIT]:
            name = "/".join(parts[4:])
            self.asked += [name] if name not in self.asked else []
            return (self.root / parts[1] / name).read_bytes(), "application/octet-stream"
        raise KeyError(path)


def entry(file: Path, folder: Path) -> dict[str, object]:
    oid = hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()
    return {"type": "file", "path": file.relative_to(folder).as_posix(), "size": file.stat().st_size, "oid": oid}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    served = Hub(tmp_path / "hub")

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                content, kind = served.answer(self.path)
            except KeyError:
                self.send_response(404)
                self.send_header("X-Error-Code", "RevisionNotFound")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{hashlib.sha1(content, usedforsecurity=False).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(content)

        do_HEAD = do_GET  # noqa: N815, the name that http.server calls

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    yield served
    server.shutdown()
    server.server_close()


def pin(monkeypatch: pytest.MonkeyPatch, folder: Path, revision: str = COMMIT) -> EncoderSettings:
    """Have the name `mine` stand for a repository, as the project knows encoders by name."""
    sha256 = files.sha256(folder / "model.safetensors")
    source = Source(repository=f"someone/{folder.name}", revision=revision, sha256=sha256)
    monkeypatch.setitem(sources.SOURCES, "mine", source)
    return EncoderSettings(name="mine")


def fetched(settings: EncoderSettings, out: Path) -> dict[str, bytes]:
    fetching.fetch(settings, Path("unused"), out)
    return {name: (out / name).read_bytes() for name in WRITTEN}


def of_folder(folder: Path, out: Path) -> dict[str, bytes]:
    return fetched(EncoderSettings(name=str(folder), revision=folders.digest(folder)), out)


@every
def test_of_a_known_encoders_repository_three_files_are_downloaded_and_read(
    kind: str, hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    folder = hub.repository(kind)
    found = fetched(pin(monkeypatch, folder), tmp_path / "out")
    assert sorted(hub.asked) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert found == of_folder(folder, tmp_path / "beside")


def test_another_commit_than_the_repository_has_is_told(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    settings = pin(monkeypatch, hub.repository("roberta"), revision="e" * 40)
    with pytest.raises(EncoderError, match="encoder mine could not be fetched from someone/roberta on the model hub"):
        fetched(settings, tmp_path / "out")
    assert hub.asked == []


@every
def test_shards_that_the_hubs_client_puts_into_a_folder_are_read_by_their_digest(kind: str, hub: Hub, tmp_path: Path):
    """As `hf download` does; its notes on what it downloaded lie beside, and do not count."""
    repository = hub.repository(kind)
    whole = of_folder(repository, tmp_path / "whole")
    model = AutoModelForMaskedLM.from_pretrained(repository)
    (repository / "model.safetensors").unlink()
    model.save_pretrained(repository, max_shard_size="20KB")
    folder = Path(huggingface_hub.snapshot_download(f"someone/{kind}", revision=COMMIT, local_dir=tmp_path / "mine"))
    assert len([*folder.glob("model-*-of-*.safetensors")]) > 1
    assert folders.digest(folder) == folders.digest(repository)
    assert of_folder(folder, tmp_path / "out") == whole
    with pytest.raises(EncoderError, match=r"but encoder\.revision is 0000"):
        fetched(EncoderSettings(name=str(folder), revision="0" * 64), tmp_path / "refused")


def test_a_repository_with_sentencepieces_file_alone_is_told_where_its_tokenizer_comes_from(hub: Hub, tmp_path: Path):
    """As DeBERTa-v3's."""
    (hub.repository("deberta-v2") / "tokenizer.json").unlink()
    folder = Path(huggingface_hub.snapshot_download("someone/deberta-v2", revision=COMMIT, local_dir=tmp_path / "mine"))
    with pytest.raises(EncoderError) as caught:
        fetched(EncoderSettings(name=str(folder)), tmp_path / "out")
    assert str(caught.value) == (
        f"the encoder's folder {folder} lacks tokenizer.json; docs/encoders.md says how one is made of spm.model"
    )
