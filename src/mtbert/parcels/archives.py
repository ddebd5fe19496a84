"""Tar files that hold plain files and nothing else: nothing in them can leave the folder, run or grow.

The first member is a list of contents, JSON, whose `files` tells the SHA-256 of every other member by name.
"""

import contextlib
import gzip
import io
import json
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from mtbert import files
from mtbert.errors import DataError
from mtbert.settings import Section

LONGEST_CONTENTS = 64 * 2**20  # bytes of the list of contents: a hundred for each file of half a million
EXPANSION = 100  # how many times its own size an archive may come to, beside ROOM; gzip's limit is a thousand
ROOM = 2**20  # bytes
Member = Path | bytes


class Contents(Section):
    """Base of lists of contents; `files` is SHA-256 by name."""

    files: dict[str, str]


Listed = TypeVar("Listed", bound=Contents)


def write(out: Path, top: str, contents: Contents, name: str, members: Mapping[str, Member]) -> None:
    """Write an archive whole or not at all; equal contents make equal bytes.

    Args:
        out: the archive.
        top: the folder that all members lie in.
        contents: their list; its `files` is made here.
        name: of the list.
        members: by name in `top`, a file or its bytes.
    """
    digests = {member: _digest(content) for member, content in sorted(members.items())}
    listed = contents.model_copy(update={"files": digests}).model_dump(mode="json")
    text = json.dumps(listed, indent=1, sort_keys=True) + "\n"
    with (
        files.new_file(out) as partial,
        partial.open("wb") as handle,
        gzip.GzipFile("", "wb", 6, handle, mtime=0) as pressed,  # which notes no name and no time
        tarfile.open(fileobj=pressed, mode="w") as tar,
    ):
        _add(tar, f"{top}/{name}", text.encode())
        for member in digests:
            _add(tar, f"{top}/{member}", members[member])


def _digest(content: Member) -> str:
    return files.sha256(content) if isinstance(content, Path) else files.sha256_of(content)


def _add(tar: tarfile.TarFile, name: str, content: Member) -> None:
    about = tarfile.TarInfo(name)
    about.mode = 0o644
    if isinstance(content, bytes):
        about.size = len(content)
        tar.addfile(about, io.BytesIO(content))
        return
    about.size = content.stat().st_size
    with content.open("rb") as handle:
        tar.addfile(about, handle)


@contextlib.contextmanager
def extracted(archive: Path, beside: Path) -> Iterator[Path]:
    """Yield a folder below `beside` with what an archive holds; it goes with the block. Raises as `extract` does."""
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=beside, prefix=".", suffix=files.PARTIAL) as folder:
        extract(archive, Path(folder))
        yield Path(folder)


def extract(archive: Path, folder: Path) -> None:
    """Put what an archive holds below an empty folder. Nothing of it is run, unpickled or written elsewhere.

    Raises:
        DataError: the archive is missing, cut off, no tar file, or holds what none of ours does: a link, a device, a
            folder, a name that leads out of the folder or comes twice, more bytes than the archive has.
    """
    if not archive.is_file():
        raise DataError(f"{archive} is missing")
    names = set[str]()
    try:
        with gzip.open(archive) as whole:
            source = _Bounded(whole, archive.stat().st_size * EXPANSION + ROOM)
            with tarfile.open(fileobj=source, mode="r|") as tar:
                for member in tar:
                    _refuse(archive, member, folder, names)
                    source.has_room(member.size)
                    names.add(member.name)
                    tar.extract(member, folder, set_attrs=False, filter="data")
    except (_TooLargeError, tarfile.FilterError) as error:
        raise _refused(archive, str(error)) from None
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, UnicodeError, ValueError) as error:
        raise DataError(f"{archive} is cut off or no archive of ours ({error}); copy it again") from None


class _TooLargeError(Exception):
    """An archive comes to more than it may."""


class _Bounded(io.RawIOBase):
    """A stream that ends in an error where more is read of it than it may hold."""

    def __init__(self, source: io.BufferedIOBase, left: int) -> None:
        self.source, self.left = source, left

    def read(self, size: int = -1) -> bytes:
        """Read, and count."""
        found = self.source.read(size)
        self.has_room(len(found))
        self.left -= len(found)
        return found

    def has_room(self, size: int) -> None:
        """Raise _TooLargeError where so many bytes more are too many."""
        if size > self.left:
            raise _TooLargeError(f"it comes to more than {EXPANSION} times its own size")


def _refuse(archive: Path, member: tarfile.TarInfo, folder: Path, names: set[str]) -> None:
    """Raise DataError where a member is none of ours."""
    tarfile.data_filter(member, str(folder))
    parts = member.name.split("/")
    if member.issparse() or not member.isreg():
        raise _refused(archive, f"{member.name!r} is not a plain file")
    if not set(parts).isdisjoint({"", ".", ".."}) or "\\" in member.name or ":" in member.name:
        raise _refused(archive, f"{member.name!r} is not a plain path")
    if member.name in names:
        raise _refused(archive, f"{member.name!r} comes twice")


def _refused(archive: Path, why: str) -> DataError:
    return DataError(f"{archive} was not written by mtbert, or was altered: {why}; nothing of it is used")


def read_contents(folder: Path, kind: type[Listed], name: str, remedy: str) -> Listed:
    """The list of contents of an extracted archive, once every file is compared with it.

    Raises:
        DataError: the list is missing or another's, or a file is altered, missing or not listed.
    """
    file = folder / name
    if file.is_file() and file.stat().st_size > LONGEST_CONTENTS:
        raise DataError(f"{file} is larger than any list of contents; {remedy} makes it again")
    contents = files.read_as(kind, file, remedy)
    check(folder, contents.files, remedy)
    return contents


def check(folder: Path, expected: Mapping[str, str], remedy: str) -> None:
    """Compare files below a folder with their digests; others may lie beside them."""
    for member, digest in expected.items():
        found = folder / member
        if not found.is_file():
            raise DataError(f"{folder.name} lacks {member}: it was cut off or altered; `{remedy}` makes it again")
        if files.sha256(found) != digest:
            raise DataError(f"{folder.name}: {member} is not as it was written; `{remedy}` makes it again")
