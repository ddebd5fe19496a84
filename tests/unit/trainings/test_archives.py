"""Archives of trainings and runs: what is refused, and that nothing leaves its folder."""

import io
import tarfile
from pathlib import Path

import pytest
from elsewhere import snapshot

from mtbert.errors import DataError
from mtbert.trainings import archives


def member(name: str, content: bytes = b"text", kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.size, about.type, about.linkname = len(content), kind, link
    return about


def tar(file: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(file, "w") as archive:
        for about in members:
            archive.addfile(about, io.BytesIO(b"text"[: about.size]))
    return file


def test_what_is_written_comes_back(tmp_path: Path):
    (tmp_path / "own").write_text("a file")
    archives.write(tmp_path / "made.tar", "top", {"runs/a/1/scores": tmp_path / "own", "said.log": b"done"})
    archives.extract(tmp_path / "made.tar", tmp_path / "there")
    assert snapshot(tmp_path / "there") == {"top/runs/a/1/scores": b"a file", "top/said.log": b"done"}


@pytest.mark.parametrize(
    ("about", "why"),
    [
        (member("../outside"), "'../outside' would be extracted to .*, which is outside the destination"),
        (member("top/../../outside"), "is outside the destination"),
        (member("link", b"", tarfile.SYMTYPE, "/etc/passwd"), "is not a plain file"),
        (member("link", b"", tarfile.LNKTYPE, "../outside"), "is not a plain file"),
        (member("device", b"", tarfile.CHRTYPE), "is not a plain file"),
        (member("pipe", b"", tarfile.FIFOTYPE), "is not a plain file"),
        (member("sparse", b"", tarfile.GNUTYPE_SPARSE), "is not a plain file"),
    ],
)
def test_what_is_no_plain_file_in_the_folder_is_refused(tmp_path: Path, about: tarfile.TarInfo, why: str):
    inside = tmp_path / "a/b"
    inside.mkdir(parents=True)
    archive = tar(tmp_path / "bad.tar", member("good"), about)
    with pytest.raises(DataError, match=rf"bad\.tar .*{why}"):
        archives.extract(archive, inside)
    assert set(snapshot(tmp_path)) == {"a/b/good", "bad.tar"}


def test_an_absolute_path_stays_below_the_folder(tmp_path: Path):
    archives.extract(tar(tmp_path / "odd.tar", member(f"{tmp_path}/outside")), tmp_path / "there")
    assert not (tmp_path / "outside").exists()


def test_an_archive_that_says_it_holds_more_than_it_does_is_refused(tmp_path: Path):
    about = member("large")
    about.size = 10**15
    (tmp_path / "bad.tar").write_bytes(about.tobuf() + b"\0" * 1024)
    with pytest.raises(DataError, match=r"bad\.tar is cut off"):
        archives.extract(tmp_path / "bad.tar", tmp_path / "there")
    assert sum(map(len, snapshot(tmp_path / "there").values())) <= 1024


@pytest.mark.parametrize(("name", "said"), [("bad.tar", r"bad\.tar is cut off"), ("none.tar", r"none\.tar is missing")])
def test_what_is_no_archive_is_told(tmp_path: Path, name: str, said: str):
    (tmp_path / "bad.tar").write_bytes(b"text")
    with pytest.raises(DataError, match=said):
        archives.extract(tmp_path / name, tmp_path / "there")
