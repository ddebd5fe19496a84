"""Download the corpora from their hosts, check them against pinned digests, and place them as `mtbert.tasks` says.

Some 340 MB are downloaded. Files that passed their check are kept beside the target until all are there, so that
another try after a failure goes on where the last one ended.
"""

import hashlib
import logging
import shutil
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pooch
import requests
from huggingface_hub.utils.sha import git_hash

from mtbert import files
from mtbert.errors import DataError

TIMEOUT = 60  # seconds without a byte
CHUNK = 1 << 16  # bytes
SAMPLE = "300ba8a4b9ad5ac1d74ba6585b417e5ae4fbbfc2dda313b790f2cae424bf4193"  # of its files, as `whose` lists them
INSTEAD = (
    "Try again later; or put your own copies into a directory, as cs224n/*.csv and nli/*.jsonl, "
    "and set data_dir to its absolute path"
)


@dataclass(frozen=True)
class Download:
    """One file on a host, and its place in the data directory.

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

    @property
    def name(self) -> str:
        """Last part of the address."""
        return self.url.rsplit("/", 1)[-1]


def _course(name: str, sha256: str = "", blob: str = "") -> Download:
    repository, commit = "gpoesia/minbert-default-final-project", "7ac8260577fc12a86c7aaf38918056c30054ef39"
    url = f"https://raw.githubusercontent.com/{repository}/{commit}/data/{name}"
    return Download(url, sha256=sha256, blob=blob, path=f"cs224n/{name}")


def _corpus(folder: str, stem: str, sha256: str, splits: Sequence[str]) -> Download:
    names = [f"{stem}_{split}.jsonl" for split in splits]
    return Download(f"{folder}/{stem}.zip", sha256=sha256, members={f"{stem}/{name}": f"nli/{name}" for name in names})


DOWNLOADS: tuple[Download, ...] = (
    _course("ids-sst-train.csv", "03b2b625c090f94a6afd59f114cde5282e2053aab0b101e87ed695d8a0c5b1df"),
    _course("ids-sst-dev.csv", "a186ce94577635fbe10beaaddd50f16cccf6c30973221cefdf90deed2a584bfe"),
    _course("ids-sst-test-student.csv", "bdd5a767faa0c26782117e37767ece154c30d5d04fb8727d09c71e3850a55c7b"),
    _course("ids-cfimdb-train.csv", "140fc513045a966109faed46a5c7a898767b96714d71bcb9c15f659129fadcea"),
    _course("ids-cfimdb-dev.csv", "3087f571b66860fe5d035b5a018d08202ad3fd3720e4821c04b2acf6c7ded559"),
    _course("ids-cfimdb-test-student.csv", "7ae611548c9eac879e9ebb406cc9f8ae68ff12f78090e4965af5cbdfa06240f4"),
    _course("sts-train.csv", "15d12efc2d656fffb1d61ac1f08ec4227f43925fd16f420c037cbd063699c21b"),
    _course("sts-dev.csv", "ce3cad6f16062586ac7ba462c28b010a9be10c530fd5074165860d7b7ab4e93d"),
    _course("sts-test-student.csv", "dee455745b72e9ca3ff74e7c056bd73e34bad5b8d5641045a2c1e7e131866f47"),
    _course("quora-train.csv", blob="a3b5546f6a0e65b60a328a5d294d1038f5bed1da"),
    _course("quora-dev.csv", "bfa3cc954a9ba300ae776a980141de65f622a3c1b97e3fd905d63245bc36d5ad"),
    _course("quora-test-student.csv", blob="f257ef00558555afb50819578a58205732b16354"),
    _corpus(
        "https://nlp.stanford.edu/projects/snli",
        "snli_1.0",
        "afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
        ("train", "dev", "test"),
    ),
    _corpus(
        "https://cims.nyu.edu/~sbowman/multinli",
        "multinli_1.0",
        "049f507b9e36b1fcb756cfd5aeb3b7a0cfcb84bf023793652987f7e7e0957822",
        ("train", "dev_matched"),
    ),
)
COURSE = {item.path: item.sha256 for item in DOWNLOADS if item.path.endswith("-dev.csv")}


def whose(digests: Mapping[str, str]) -> Literal["sample", "course", "own"]:
    """Determine whose corpora a data directory holds, by the SHA-256 of each file, by its path there.

    The sample is the sample as a whole. The course's corpora are told by their dev sets, on which results are compared
    with published ones: training sets may be parts, and files of SNLI and MNLI are beside the point.
    """
    listed = "".join(f"{digest}  {path}\n" for path, digest in sorted(digests.items()))  # as sha256sum does
    if hashlib.sha256(listed.encode()).hexdigest() == SAMPLE:
        return "sample"
    dev = {path: digest for path, digest in digests.items() if path in COURSE}
    return "course" if dev and dev.items() <= COURSE.items() else "own"


def download(out: Path, downloads: Sequence[Download] = DOWNLOADS) -> None:
    """Fetch every file and fill the data directory `out`, whole or not at all.

    Raises:
        DataError: a file cannot be downloaded, or is not the known one; names the file, its address and what came.
    """
    kept = out.with_name(f".{out.name}.downloads")
    fetched = [(item, _fetch(item, kept)) for item in downloads]
    with files.new_directory(out) as partial:
        for item, path in fetched:
            _place(item, path, partial)
    shutil.rmtree(kept)


def _fetch(item: Download, kept: Path) -> Path:
    """Return the file in the directory of kept downloads; download it if it is not there."""
    pooch.get_logger().setLevel(logging.WARNING)
    print(item.name, file=sys.stderr)
    known = f"sha256:{item.sha256}" if item.sha256 else None
    transfer = pooch.HTTPDownloader(progressbar=True, chunk_size=CHUNK, timeout=TIMEOUT)
    try:
        # pooch's own downloaders do not fit its type of a downloader
        path = pooch.retrieve(item.url, known, item.name, kept, downloader=transfer)  # pyright: ignore[reportArgumentType]
        if item.blob and (came := git_hash(Path(path).read_bytes())) != item.blob:  # pooch knows no such digest
            Path(path).unlink()
            raise ValueError(f"its git blob id is {came}, expected {item.blob}")
    except (requests.RequestException, ValueError) as error:  # pooch raises ValueError for other content
        if isinstance(error, requests.HTTPError) and error.response is not None:
            error.response.close()
        raise DataError(f"{item.name} could not be downloaded from {item.url}: {error}. {INSTEAD}") from error
    return Path(path)


def _place(item: Download, path: Path, data_dir: Path) -> None:
    """Copy a file, or the wanted members of an archive: an archive's own names never reach the file system."""
    for target in filter(None, (item.path, *item.members.values())):
        (data_dir / target).parent.mkdir(parents=True, exist_ok=True)
    if item.path:
        shutil.copyfile(path, data_dir / item.path)
    for member, target in item.members.items():
        with zipfile.ZipFile(path) as archive, archive.open(member) as source, (data_dir / target).open("wb") as file:
            shutil.copyfileobj(source, file)
