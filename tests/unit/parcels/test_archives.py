"""Archives of parcels and runs: what is refused, and that nothing leaves its folder."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from mtbert.errors import DataError
from mtbert.parcels import archives
from mtbert.parcels.archives import Contents

EMPTY = Contents(files={})


def tar(file: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(file, "w:gz") as archive:
        for about, content in members:
            archive.addfile(about, io.BytesIO(content))
    return file


def member(name: str, content: bytes = b"text", kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.size, about.type, about.linkname = len(content), kind, link
    return about


def written(folder: Path) -> Path:
    (folder / "own").write_text("a file")
    members: dict[str, archives.Member] = {"runs/a/1/scores": folder / "own", "said.log": b"done"}
    archives.write(folder / "made.tar", "top", EMPTY, "contents.json", members)
    return folder / "made.tar"


def everything(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())


def test_what_is_written_comes_back_with_its_digests(tmp_path: Path):
    with archives.extracted(written(tmp_path), tmp_path / "there") as folder:
        assert everything(folder) == ["top/contents.json", "top/runs/a/1/scores", "top/said.log"]
        contents = archives.read_contents(folder / "top", Contents, "contents.json", "mtbert pack")
        assert list(contents.files) == ["runs/a/1/scores", "said.log"]
        assert (folder / "top/runs/a/1/scores").read_text() == "a file"
    assert everything(tmp_path / "there") == []


def test_equal_contents_make_equal_bytes(tmp_path: Path):
    first = written(tmp_path).read_bytes()
    os.utime(tmp_path / "own", (1, 1))
    assert written(tmp_path).read_bytes() == first


@pytest.mark.parametrize(
    ("about", "why"),
    [
        (member("../outside"), "outside the destination"),
        (member("top/../../outside"), "outside the destination"),
        (member("/outside"), "is not a plain path"),
        (member("top/./file"), "is not a plain path"),
        (member("top\\file"), "is not a plain path"),
        (member("c:file"), "is not a plain path"),
        (member("link", b"", tarfile.SYMTYPE, "/etc/passwd"), "is a link to an absolute path"),
        (member("link", b"", tarfile.SYMTYPE, "../outside"), "outside the destination"),
        (member("link", b"", tarfile.SYMTYPE, "inside"), "is not a plain file"),
        (member("link", b"", tarfile.LNKTYPE, "../outside"), "outside the destination"),
        (member("device", b"", tarfile.CHRTYPE), "is a special file"),
        (member("pipe", b"", tarfile.FIFOTYPE), "is a special file"),
        (member("folder", b"", tarfile.DIRTYPE), "is not a plain file"),
    ],
)
def test_what_is_no_plain_file_in_the_folder_is_refused(tmp_path: Path, about: tarfile.TarInfo, why: str):
    inside = tmp_path / "a/b"
    inside.mkdir(parents=True)
    archive = tar(tmp_path / "bad.tar", (member("good"), b"text"), (about, b"text"[: about.size]))
    with pytest.raises(DataError, match=rf"bad\.tar was not written by mtbert, or was altered: .*{why}"):
        archives.extract(archive, inside)
    assert everything(tmp_path) == ["a/b/good", "bad.tar"]


def test_a_name_that_comes_twice_is_refused(tmp_path: Path):
    archive = tar(tmp_path / "bad.tar", (member("one"), b"text"), (member("one"), b"text"))
    with pytest.raises(DataError, match="'one' comes twice"):
        archives.extract(archive, tmp_path / "there")


def test_more_bytes_than_an_archive_may_have_are_refused_before_they_are_written(tmp_path: Path):
    about = member("large")
    about.size = 10**15
    (tmp_path / "bad.tar").write_bytes(gzip.compress(about.tobuf() + b"\0" * 1024))
    with pytest.raises(DataError, match="it comes to more than 100 times its own size"):
        archives.extract(tmp_path / "bad.tar", tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_small_archive_cannot_become_many_files(tmp_path: Path):
    zeros = [(member(f"zeros{number}", bytes(10**5)), bytes(10**5)) for number in range(40)]
    archive = tar(tmp_path / "bad.tar", *zeros)
    with pytest.raises(DataError, match="it comes to more than 100 times its own size"):
        archives.extract(archive, tmp_path / "there")


def test_what_is_no_archive_is_told(tmp_path: Path):
    (tmp_path / "bad.tar").write_bytes(b"text")
    with pytest.raises(DataError, match=r"bad\.tar is cut off or no archive of ours \(Not a gzipped file"):
        archives.extract(tmp_path / "bad.tar", tmp_path / "there")
    with pytest.raises(DataError, match=r"none\.tar is missing"):
        archives.extract(tmp_path / "none.tar", tmp_path / "there")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_wherever_an_archive_is_cut_off_it_is_told(tmp_path: Path, share: float):
    archive = written(tmp_path)
    content = archive.read_bytes()
    archive.write_bytes(content[: int(len(content) * share)])
    with (
        pytest.raises(DataError, match=r"is cut off|is missing|lacks "),
        archives.extracted(archive, tmp_path / "there") as folder,
    ):
        archives.read_contents(folder / "top", Contents, "contents.json", "mtbert pack")


def test_a_file_that_was_altered_or_removed_is_named(tmp_path: Path):
    with archives.extracted(written(tmp_path), tmp_path / "there") as folder:
        (folder / "top/said.log").write_text("DONE")
        with pytest.raises(DataError, match=r"top: said\.log is not as it was written; `mtbert pack` makes it again"):
            archives.read_contents(folder / "top", Contents, "contents.json", "mtbert pack")
        (folder / "top/said.log").unlink()
        with pytest.raises(DataError, match=r"top lacks said\.log"):
            archives.read_contents(folder / "top", Contents, "contents.json", "mtbert pack")
