"""Seals: what a stage writes ends with digests.json, the SHA-256 of each of the folder's other files.

So damage is found before it is passed on, also in what DVC restores without a check. The seal's own digest stands for
the whole folder: a merge and a vote know their members by it.
"""

from collections.abc import Collection
from pathlib import Path

from mtbert import files, layout
from mtbert.errors import DataError


def seal(folder: Path) -> None:
    """Write digests.json, the last file of what a stage writes: the SHA-256 of every other file by its name there."""
    files.write_json(folder / layout.DIGESTS, {name: files.sha256(folder / name) for name in _names(folder)})


def is_sealed(folder: Path) -> bool:
    """Return whether a folder is there to its last file."""
    return (folder / layout.DIGESTS).is_file()


def check(folder: Path, only: Collection[str] | None = None) -> None:
    """Compare the files of a folder with its seal.

    Args:
        folder: what a stage wrote, such as a run.
        only: the files that are compared, such as `metrics.json`; None for all.

    Raises:
        DataError: a file is altered, missing or surplus, or there is no seal; the message names them, and what makes
            the folder again.
    """
    again = layout.remedy(folder)
    expected, names = files.read_as(dict[str, str], folder / layout.DIGESTS, again), _names(folder)
    if layout.WEIGHTS in (only or ()) and lacks_weights(folder):
        raise DataError(
            f"{layout.WEIGHTS} of {folder} stayed on the machine that trained it; run.py --weights there and "
            f"`mtbert unpack` bring it here, or `{again} --force --single-item` trains here"
        )
    compared = sorted(expected.keys() | names if only is None else only)
    faulty = []
    for name in compared:
        if name in expected and name not in names:
            faulty.append(f"{name} (missing)")
        elif name in names and name not in expected:
            faulty.append(f"{name} (surplus)")
        elif name in names and files.sha256(folder / name) != expected[name]:
            faulty.append(name)
    if faulty:
        raise DataError(  # DVC trusts read-only files of its cache, and checks those that can be written
            f"{folder} is not as it was written (altered: {', '.join(faulty)}); "
            f"`rm -r {folder} && chmod -R u+w .dvc/cache && {again}` makes it again"
        )


def check_build(build: Path) -> None:
    """Compare plan, examples, manifests and encoders with their seals, so that no damage is passed on.

    A folder that is missing is left to its reader.

    Raises:
        DataError: a file was altered since, is missing, or is one too many; the message names it and what makes it.
    """
    folders = (build / name for name in ("plan", "data", "manifest"))
    for folder in (*folders, *sorted(build.glob("encoders/*"))):
        if folder.is_dir():
            check(folder)


def lacks_weights(model: Path) -> bool:
    """Return whether the weights of a run stayed on the machine that trained it."""
    is_from_elsewhere = (model / layout.ELSEWHERE).is_file()
    return is_from_elsewhere and layout.WEIGHTS not in files.read_as(
        dict[str, str], model / layout.DIGESTS, "mtbert unpack"
    )


def _names(folder: Path) -> set[str]:
    """Return every file below a folder but its seal, hidden ones too."""
    names = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if not file.is_dir()}
    return names - {layout.DIGESTS}
