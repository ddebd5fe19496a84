"""Download the corpora from their hosts, check them against pinned digests, and lay them out as `mtbert.tasks` says.

The course's corpora are some 340 MB, without the larger form of Quora; GLUE is 115 MB. Files that passed their check
are kept beside the target until all are there, so that another try after a failure goes on where the last one ended.
"""

import hashlib
import logging
import shutil
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pooch
import requests
from huggingface_hub.utils.sha import git_hash

from mtbert import files
from mtbert.errors import DataError

TIMEOUT = 60  # seconds without a byte
SAMPLE = "300ba8a4b9ad5ac1d74ba6585b417e5ae4fbbfc2dda313b790f2cae424bf4193"  # of its files, as `data_kind` lists them


@dataclass(frozen=True)
class Download:
    """One file on a host, and where it goes in the data directory.

    Attributes:
        url: its address.
        sha256: of its content; empty where only `blob` is known.
        blob: git's id of its content: SHA-1 of `blob SIZE`, a zero byte and the content.
        path: its path below the data directory; empty for an archive.
        members: for an archive: maps the name of each wanted member to its path below the data directory.
    """

    url: str
    sha256: str = ""
    blob: str = ""
    path: str = ""
    members: dict[str, str] = field(default_factory=dict)


LIST = Path(__file__).with_name("downloads.yaml")


def read_list(file: Path) -> tuple[Download, ...]:
    """Return the downloads that a file lists; DataError where it is no such list."""
    content = files.read_as(list[dict[str, Any]], file, f"git checkout {file}")
    return tuple(Download(**entry) for entry in content)


DOWNLOADS = read_list(LIST)
COURSE = {item.path: item.sha256 for item in DOWNLOADS if item.path.endswith("-dev.csv") and item.sha256}


def data_kind(digests: Mapping[str, str]) -> Literal["sample", "course", "own"]:
    """Return the kind of data in a data directory, by the SHA-256 of each file: `sample`, `course` or `own`.

    For `sample` all files have to be the sample's. For `course` the dev sets have to be the course's, since results are
    compared with published ones on them; training sets may be parts, and files of SNLI and MNLI do not matter.
    """
    lines = "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))  # as sha256sum does
    if hashlib.sha256(lines.encode()).hexdigest() == SAMPLE:
        return "sample"
    dev = {path: digest for path, digest in digests.items() if path in COURSE}
    return "course" if dev and dev.items() <= COURSE.items() else "own"


def download(out: Path, downloads: Sequence[Download]) -> None:
    """Fetch every file and fill the data directory `out`, whole or not at all; descriptions that lie there stay.

    Raises:
        DataError: a file cannot be downloaded, or is not the expected one; names the file, its address and what came.
    """
    cache = out.with_name(f".{out.name}.downloads")
    paths = [_fetch(item, cache) for item in downloads]
    with files.new_directory(out) as partial:
        for description in out.glob("*.yaml"):
            shutil.copy(description, partial)
        for item, path in zip(downloads, paths, strict=True):
            _copy(item, path, partial)
    shutil.rmtree(cache)


def _fetch(item: Download, cache: Path) -> Path:
    """Return the file in the folder of downloads; download it if it is not there."""
    pooch.get_logger().setLevel(logging.WARNING)
    label = item.path or item.url.rsplit("/", 1)[-1]
    name = label.replace("/", "-")  # GLUE's files have one name in several folders
    print(label, file=sys.stderr)
    digest = f"sha256:{item.sha256}" if item.sha256 else None
    transfer = pooch.HTTPDownloader(progressbar=True, timeout=TIMEOUT)
    try:
        # pooch's own downloaders do not fit its type of a downloader
        path = pooch.retrieve(item.url, digest, name, cache, downloader=transfer)  # pyright: ignore[reportArgumentType]
        _check_blob(item, Path(path))
    except (requests.RequestException, ValueError) as error:  # pooch raises ValueError for other content
        if isinstance(error, requests.HTTPError) and error.response is not None:
            error.response.close()
        message = f"{label} could not be downloaded from {item.url}: {error}"
        raise DataError(f"{message}. Try again later, or use your own copies: docs/course.md") from error
    return Path(path)


def _check_blob(item: Download, path: Path) -> None:
    """Remove a file whose git blob id is another, with a ValueError; pooch does not check such ids."""
    if not item.blob:
        return
    blob = git_hash(path.read_bytes())
    if blob != item.blob:
        path.unlink()
        raise ValueError(f"its git blob id is {blob}, expected {item.blob}")


def _copy(item: Download, path: Path, data_dir: Path) -> None:
    """Copy a file, or the wanted members of an archive: an archive's own names never reach the file system."""
    if item.members:
        sources = {target: zipfile.Path(path, member) for member, target in item.members.items()}
    else:
        sources = {item.path: path}
    for target, source in sources.items():
        (data_dir / target).parent.mkdir(parents=True, exist_ok=True)
        with source.open("rb") as content, (data_dir / target).open("wb") as file:
            shutil.copyfileobj(content, file)
