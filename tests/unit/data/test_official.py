"""Downloads, against a real local HTTP server."""

import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mtbert import files
from mtbert.data import official
from mtbert.data.official import Download
from mtbert.errors import DataError

SAMPLE = Path(__file__).parents[3] / "data/sample"
HELLO = b"hello\n"
HELLO_BLOB = "ce013625030ba8dba906f756967f9e9ca394464a"  # git hash-object of "hello\n"
HELLO_SHA256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


ARCHIVE = zipped({"snli_1.0/snli_1.0_dev.jsonl": b"{}\n", "snli_1.0/unused.txt": b"no", "../escape.txt": b"out"})


class Host(BaseHTTPRequestHandler):
    files = {"/hello.csv": HELLO, "/snli_1.0.zip": ARCHIVE, "/cut.csv": HELLO}
    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        content = self.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        missing = 94 if self.path == "/cut.csv" else 0  # promise more than comes, then close
        self.send_response(200)
        self.send_header("Content-Length", str(len(content) + missing))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    Host.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file())


def test_good_files_are_laid_out_and_nothing_else_is_left(host: str, tmp_path: Path) -> None:
    archive = {"snli_1.0/snli_1.0_dev.jsonl": "nli/snli_1.0_dev.jsonl"}
    official.download(
        tmp_path / "official",
        [
            Download(f"{host}/hello.csv", sha256=HELLO_SHA256, path="cs224n/by-sha256.csv"),
            Download(f"{host}/hello.csv", blob=HELLO_BLOB, path="cs224n/by-blob.csv"),
            Download(f"{host}/snli_1.0.zip", sha256=files.sha256_of(ARCHIVE), members=archive),
        ],
    )
    assert below(tmp_path) == [
        "official/cs224n/by-blob.csv",
        "official/cs224n/by-sha256.csv",
        "official/nli/snli_1.0_dev.jsonl",
    ]
    assert (tmp_path / "official/cs224n/by-blob.csv").read_bytes() == b"hello\n"
    assert (tmp_path / "official/nli/snli_1.0_dev.jsonl").read_bytes() == b"{}\n"


def test_glue_is_pinned_to_one_commit_and_its_descriptions_stay_beside_the_files(host: str, tmp_path: Path) -> None:
    glue = SAMPLE.parent / "glue"
    wanted = official.read_list(glue / "downloads.yaml")
    assert {item.url.rsplit("/", 3)[-3] for item in wanted} == {"bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"}
    described = {name for task in files.read_yaml(glue / "tasks.yaml").values() for name in task["files"].values()}
    assert {item.path for item in wanted} == described
    for name in ("tasks.yaml", "downloads.yaml"):
        files.write_text(tmp_path / "glue" / name, (glue / name).read_text())
    Host.files = Host.files | {f"/{item.path}": item.path.encode() for item in wanted}
    official.download(
        tmp_path / "glue",
        [Download(f"{host}/{item.path}", files.sha256_of(item.path.encode()), path=item.path) for item in wanted],
    )
    assert below(tmp_path / "glue") == sorted([*described, "downloads.yaml", "tasks.yaml"])
    assert (tmp_path / "glue/rte/train.parquet").read_bytes() == b"rte/train.parquet"


@pytest.mark.parametrize(
    ("name", "check", "said"),
    [
        ("hello.csv", {"sha256": "0" * 64}, HELLO_SHA256),
        ("hello.csv", {"blob": "0" * 40}, f"its git blob id is {HELLO_BLOB}, expected {'0' * 40}"),
        ("cut.csv", {"sha256": HELLO_SHA256}, "6 bytes read, 94 more expected"),
        ("cut.csv", {"blob": HELLO_BLOB}, "6 bytes read, 94 more expected"),
        ("nowhere.csv", {"sha256": HELLO_SHA256}, "404 Client Error"),
    ],
)
def test_what_is_not_the_known_file_is_refused(host: str, tmp_path: Path, name: str, check: dict, said: str) -> None:
    with pytest.raises(DataError) as caught:
        official.download(tmp_path / "official", [Download(f"{host}/{name}", path="a.csv", **check)])
    assert str(caught.value).startswith(f"a.csv could not be downloaded from {host}/{name}: ")
    assert said in str(caught.value)
    assert below(tmp_path) == []


def test_another_try_asks_only_for_what_is_missing(host: str, tmp_path: Path) -> None:
    good = Download(f"{host}/hello.csv", sha256=HELLO_SHA256, path="cs224n/hello.csv")
    with pytest.raises(DataError):
        official.download(tmp_path / "official", [good, Download(f"{host}/late.csv", blob=HELLO_BLOB, path="b.csv")])
    official.download(tmp_path / "official", [good])
    assert Host.asked == ["/hello.csv", "/late.csv"]
    assert below(tmp_path) == ["official/cs224n/hello.csv"]


LARGER = {f"cs224n/quora-larger-{split}.csv" for split in ("train", "dev", "test-student")}


def test_downloads_are_the_files_that_the_sample_has_and_each_is_pinned() -> None:
    targets = {target for item in official.DOWNLOADS for target in (item.path, *item.members.values()) if target}
    assert targets - LARGER == {file.relative_to(SAMPLE).as_posix() for file in SAMPLE.rglob("*.*")}
    assert [item.url for item in official.DOWNLOADS if bool(item.sha256) == bool(item.blob)] == []


def test_the_larger_quora_is_fetched_by_its_blob_ids_from_one_commit(host: str, tmp_path: Path) -> None:
    larger = [item for item in official.DOWNLOADS if item.path in LARGER]
    assert {item.path: item.blob for item in larger} == {
        "cs224n/quora-larger-train.csv": "1f2e73b884113e629e2786001fb9cc8ae4a696c1",
        "cs224n/quora-larger-dev.csv": "97f9430a53b7f5544f857ff27a236c40bb42b5c7",
        "cs224n/quora-larger-test-student.csv": "a1b1e5ba3ef282ba1e9b169c509eb80dbbc68666",
    }
    assert {item.url.rsplit("/", 3)[-3] for item in larger} == {"39c140c9260854b501af89a6c97642ae7d6c9dba"}
    there = [replace(item, url=f"{host}/hello.csv", blob=HELLO_BLOB) for item in larger]
    official.download(tmp_path / "official", there)
    assert below(tmp_path) == [f"official/{path}" for path in sorted(LARGER)]
    with pytest.raises(DataError, match=f"blob id is {HELLO_BLOB}, expected 1f2e73b8"):  # other content than the pinned
        official.download(tmp_path / "other", [replace(larger[0], url=f"{host}/hello.csv")])
    assert below(tmp_path / "other") == []


def digests(folder: Path) -> dict[str, str]:
    return {file.relative_to(folder).as_posix(): files.sha256(file) for file in folder.rglob("*") if file.is_file()}


def test_the_sample_is_the_sample_as_a_whole():
    found = digests(SAMPLE)
    assert len(found) == 17
    assert official.data_kind(found) == "sample"
    assert official.data_kind(found | {"nli/snli_1.0_dev.jsonl": "0"}) == "own"
    assert official.data_kind({name: found[name] for name in list(found)[1:]}) == "own"


def test_the_courses_corpora_are_told_by_their_dev_sets():
    sst, sts = "cs224n/ids-sst-dev.csv", "cs224n/sts-dev.csv"
    assert sorted(official.COURSE) == [f"cs224n/{name}-dev.csv" for name in ("ids-cfimdb", "ids-sst", "quora", "sts")]
    course = {sst: official.COURSE[sst], "cs224n/ids-sst-train.csv": "a part"}
    assert official.data_kind(course) == "course"
    assert official.data_kind(course | {sts: "another"}) == "own"
    assert official.data_kind({"cs224n/ids-sst-train.csv": "no dev set"}) == "own"
