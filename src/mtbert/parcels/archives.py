"""Tar files that hold plain files and nothing else: nothing in them can leave the folder, run or grow.

The first member is a list of contents, JSON, whose `files` tells the SHA-256 of every other member by name.
"""

import contextlib
import json
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TypeVar

from mtbert import files
from mtbert.errors import DataError
from mtbert.settings import Section

LONGEST_CONTENTS = 64 * 2**20  # bytes of the list of contents: a hundred for each file of half a million
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
    with files.new_file(out) as partial, tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as tar:
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
        tar.addfile(about, BytesIO(content))
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
    left, names = archive.stat().st_size, set[str]()
    try:
        with tarfile.open(archive, "r:") as tar:  # not compressed: a small file cannot become a large one
            for member in tar:
                left -= member.size
                _refuse(archive, member, folder, left, names)
                names.add(member.name)
                tar.extract(member, folder, set_attrs=False, filter="data")
    except tarfile.FilterError as error:
        raise _refused(archive, str(error)) from None
    except (tarfile.TarError, EOFError, UnicodeError, ValueError) as error:
        raise DataError(f"{archive} is cut off or no tar file ({error}); copy it again") from None


def _refuse(archive: Path, member: tarfile.TarInfo, folder: Path, left: int, names: set[str]) -> None:
    """Raise DataError where a member is none of ours."""
    tarfile.data_filter(member, str(folder))
    parts = member.name.split("/")
    if member.issparse() or not member.isreg():
        raise _refused(archive, f"{member.name!r} is no plain file")
    if not set(parts).isdisjoint({"", ".", ".."}) or "\\" in member.name or ":" in member.name:
        raise _refused(archive, f"{member.name!r} is no plain path")
    if left < 0:
        raise _refused(archive, f"with {member.name!r} it says to hold more bytes than it has")
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
            raise DataError(f"{folder.name} lacks {member}, which its list of contents names; `{remedy}` makes it")
        if files.sha256(found) != digest:
            raise DataError(f"{folder.name}: {member} is not as it was written; `{remedy}` makes it again")
