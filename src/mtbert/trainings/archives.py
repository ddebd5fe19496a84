"""Write files to a tar file, and read such a file of a stranger: nothing of it is run, or written elsewhere."""

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from mtbert import files
from mtbert.errors import DataError


def write(out: Path, top: str, members: Mapping[str, Path | bytes]) -> None:
    """Write files, or bytes, by their names in the folder `top`; equal members make equal bytes. None is compressed."""
    with files.out_file(out) as partial, tarfile.open(partial, "w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(f"{top}/{name}")
            if isinstance(content, bytes):
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            else:
                member.size = content.stat().st_size
                with content.open("rb") as handle:
                    tar.addfile(member, handle)


def extract(archive: Path, folder: Path) -> None:
    """Put what an archive holds below an empty folder; nothing of it is run, unpickled or written elsewhere.

    Raises:
        DataError: the archive is missing, cut off or no tar file, or holds what is no plain file below the folder.
    """
    if not archive.is_file():
        raise DataError(f"{archive} is missing")
    try:
        with tarfile.open(archive, "r:") as tar:  # not compressed, so that it comes to no more than its own size
            tar.extractall(folder, filter=_plain)
    except (tarfile.TarError, OSError, ValueError) as error:
        raise DataError(f"{archive} is cut off, altered or none of ours: {error}; nothing of it is used") from None


def _plain(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo:
    """Refuse what is no plain file, and what Python refuses of data: paths that leave the folder."""
    if not member.isreg() or member.issparse():
        raise tarfile.FilterError(f"{member.name!r} is not a plain file")
    return tarfile.data_filter(member, path)
