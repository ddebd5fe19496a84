"""Tar files of plain files alone: not compressed, so that none comes to more than its own size."""

import contextlib
import io
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from mtbert import files
from mtbert.errors import DataError

Member = Path | bytes


def write(out: Path, top: str, members: Mapping[str, Member]) -> None:
    """Write an archive whole or not at all; equal members make equal bytes.

    Args:
        out: the archive.
        top: the folder that all members lie in.
        members: by name in `top`, a file or its bytes.
    """
    with files.new_file(out) as partial, tarfile.open(partial, "w") as tar:
        for name, content in members.items():
            about = tarfile.TarInfo(f"{top}/{name}")
            about.size = len(content) if isinstance(content, bytes) else content.stat().st_size
            with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as handle:
                tar.addfile(about, handle)


@contextlib.contextmanager
def extracted(archive: Path, beside: Path) -> Iterator[Path]:
    """Yield a folder below `beside` with what an archive holds; remove it with the block. Raises as `extract` does."""
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=beside, prefix=".", suffix=files.PARTIAL) as folder:
        extract(archive, Path(folder))
        yield Path(folder)


def extract(archive: Path, folder: Path) -> None:
    """Put what an archive holds below an empty folder; nothing of it is run, unpickled or written elsewhere.

    Raises:
        DataError: the archive is missing, cut off or no tar file, or it holds a link, a device, a folder, or a name
            that leads out of the folder or comes twice.
    """
    names = set[str]()

    def plain(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
        parts = member.name.split("/")
        if not member.isreg() or member.issparse():
            raise _refused(archive, f"{member.name!r} is not a plain file")
        if not set(parts).isdisjoint({"", ".", ".."}) or "\\" in member.name or ":" in member.name:
            raise _refused(archive, f"{member.name!r} is not a plain path")
        if member.name in names:
            raise _refused(archive, f"{member.name!r} comes twice")
        names.add(member.name)
        return tarfile.data_filter(member, path)

    if not archive.is_file():
        raise DataError(f"{archive} is missing")
    try:
        with tarfile.open(archive, "r:") as tar:
            tar.extractall(folder, filter=plain)
    except tarfile.FilterError as error:
        raise _refused(archive, str(error)) from None
    except (tarfile.TarError, OSError, ValueError) as error:
        raise DataError(f"{archive} is cut off or no archive of ours ({error}); copy it again") from None


def _refused(archive: Path, why: str) -> DataError:
    return DataError(f"{archive} was not written by mtbert, or was altered: {why}; nothing of it is used")
