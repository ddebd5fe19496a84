"""Download the corpora from their hosts, check them against pinned digests, and place them as `mtbert.tasks` says.

Some 340 MB are downloaded. Files that passed their check are kept beside the target until all are there, so that
another try after a failure goes on where the last one ended.
"""

import logging
import shutil
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pooch
import requests
from huggingface_hub.utils.sha import git_hash

from mtbert import files
from mtbert.errors import DataError

TIMEOUT = 60  # seconds without a byte
CHUNK = 1 << 16  # bytes

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


_COURSE = "https://raw.githubusercontent.com/gpoesia/minbert-default-final-project"
_COMMIT = "7ac8260577fc12a86c7aaf38918056c30054ef39"


def _course(name: str, sha256: str = "", blob: str = "") -> Download:
    return Download(f"{_COURSE}/{_COMMIT}/data/{name}", sha256=sha256, blob=blob, path=f"cs224n/{name}")


def _corpus(url: str, sha256: str, splits: Sequence[str]) -> Download:
    stem = url.rsplit("/", 1)[-1].removesuffix(".zip")
    names = [f"{stem}_{split}.jsonl" for split in splits]
    return Download(url, sha256=sha256, members={f"{stem}/{name}": f"nli/{name}" for name in names})


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
        "https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
        "afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
        ("train", "dev", "test"),
    ),
    _corpus(
        "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip",
        "049f507b9e36b1fcb756cfd5aeb3b7a0cfcb84bf023793652987f7e7e0957822",
        ("train", "dev_matched"),
    ),
)


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
        return _checked(item, Path(path))
    except requests.HTTPError as error:
        if error.response is not None:
            error.response.close()
        raise _failure(item, f"the server answered {error}") from error
    except requests.RequestException as error:
        raise _failure(item, f"the connection failed or broke off ({error})") from error
    except ValueError as error:  # from pooch, and from below, for content that is not the known one
        raise _failure(item, f"what came is not the known file ({error})") from error


def _checked(item: Download, path: Path) -> Path:
    """Check the git blob id, which pooch cannot; remove a file that fails."""
    if item.blob and (came := git_hash(path.read_bytes())) != item.blob:
        path.unlink()
        raise ValueError(f"its git blob id is {came}, expected {item.blob}")
    return path


def _failure(item: Download, what: str) -> DataError:
    return DataError(f"{item.name} could not be downloaded from {item.url}: {what}. {INSTEAD}")


def _place(item: Download, path: Path, data_dir: Path) -> None:
    """Copy a file, or the wanted members of an archive: an archive's own names never reach the file system."""
    for target in filter(None, (item.path, *item.members.values())):
        (data_dir / target).parent.mkdir(parents=True, exist_ok=True)
    if item.path:
        shutil.copyfile(path, data_dir / item.path)
    for member, target in item.members.items():
        with zipfile.ZipFile(path) as archive, archive.open(member) as source, (data_dir / target).open("wb") as file:
            shutil.copyfileobj(source, file)
