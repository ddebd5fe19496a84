"""Pin what is installed, one file for each group of packages: python .ci/lock.py requirements.

`run.lock` holds what the pipeline and `mtbert` need, `uv.lock` what installs it. Every other file holds what one extra
of pyproject.toml adds; `serve.lock` holds all that `mtbert serve` needs, which a container has alone.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

BUILDS = ["setuptools"]  # makes the editable installation
ALONE = {"serve"}  # extras that are installed without what the pipeline needs
ELSEWHERE = {"torch", "mtbert", "pip"}  # the Makefile installs these


def needed(asked: Iterable[str]) -> set[str]:
    """Return the names of the installed packages that requirements come to, with all that these need."""
    found: set[tuple[str, frozenset[str]]] = set()
    waiting = [Requirement(one) for one in asked]
    while waiting:
        one = waiting.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in found or name in ELSEWHERE:
            continue
        try:
            more = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:  # of another platform, or of an extra that is not installed
            continue
        found.add((name, extras))
        waiting += [r for r in more if r.marker is None or any(r.marker.evaluate({"extra": e}) for e in extras | {""})]
    return {name for name, _ in found}


def pinned(names: Iterable[str]) -> str:
    """Return a lock of these packages in their installed versions, with the digests of all their files."""
    pins = "\n".join(f"{name}=={version(name)}" for name in sorted(names))
    command = ["uv", "pip", "compile", "-q", "--no-deps", "--generate-hashes", "--no-annotate", "--no-header", "-"]
    return subprocess.run(command, input=pins, capture_output=True, text=True, check=True).stdout


def main(folder: Path) -> None:
    """Write the locks."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    torch = needed(requires("torch") or [])
    running = needed([*project["dependencies"], *extras.pop("train"), *extras.pop("minilm"), *BUILDS]) | torch
    (folder / "run.lock").write_text(pinned(running))
    (folder / "uv.lock").write_text(pinned(["uv"]))
    for name, asked in extras.items():
        there = set() if name in ALONE else running
        (folder / f"{name}.lock").write_text(pinned(needed(asked) - there))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
