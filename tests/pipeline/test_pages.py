"""Every page is walked as a new user would: what it shows to type is typed, in order, and what it says is printed."""

import contextlib
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from filelock import FileLock
from pipeline import pages
from pipeline.pages import REPOSITORY, Block
from pipeline.walking import Walk, clone, environment, replace

from mtbert import files

SEVERAL = ["sbert-pals", "pals", "frozen-pals"]


@dataclass(frozen=True)
class Page:
    """How a page is walked."""

    variants: tuple[str, ...] = ("pals",)  # in its clone's params.yaml
    small: bool = True  # whether a training there takes a moment, so that scores mean nothing
    # A number with a point may be off by such a share of 1, or of itself where it is larger: scores of one training
    # on an AMD and on an Intel processor were 0.03 apart, probabilities 0.06, similarities of 0 to 5 0.14.
    within: float = 0.1
    before: Callable[[Walk], None] = lambda walk: None  # brings about what the page takes for granted
    after: Callable[[Walk], None] = lambda walk: None  # looks at what the page says has become


def select(root: Path, variants: tuple[str, ...]) -> None:
    """Set `variants` in params.yaml, and leave its other lines alone."""
    file = root / "params.yaml"
    listed = "".join(f"- {name}\n" for name in variants)
    file.write_text(re.sub(r"(?m)^variants:\n(- .*\n)+", f"variants:\n{listed}", file.read_text()))


def shrink(root: Path) -> None:
    """Let the profiles `sample` and `laptop` train for a moment."""
    for old in ("      epochs: 4\n      examples_per_task: 704\n", "      epochs: 4\n      examples_per_task: 1728 "):
        replace(root / "params.yaml", old, "      epochs: 1\n      examples_per_task: 32\n      #")


def commit(root: Path) -> None:
    """Commit what git does not ignore, but for dvc.lock: a page says when to commit that."""
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(["git", "add", "-A", ".", ":!dvc.lock"], cwd=root, check=True)
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "state"], cwd=root, check=True)


def prediction_files(walk: Walk) -> None:
    """Files `ours.csv` and `theirs.csv` of 100 rows: 90 and 60 right."""
    for name, wrong in (("ours", range(10)), ("theirs", range(40))):
        rows = [f"{row},{row % 2},{row % 2 ^ (99 - row in wrong)}" for row in range(100)]
        (walk.root / f"{name}.csv").write_text("\n".join(["id,label,prediction", *rows]) + "\n")


PAGES = {
    "docs/comparing.md": Page(within=0, before=prediction_files),
    "docs/using.md": Page(("sbert-pals", "pals"), small=False, before=lambda walk: walk.done("mtbert track")),
    "docs/settings.md": Page(),
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone in which `make reproduce` has been given, once for all workers."""
    mine = tmp_path_factory.getbasetemp()
    shared = mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine
    with FileLock(shared / "trained.lock"):
        root = shared / "trained"
        if not (root / "printed").exists():
            clone(root)
            select(root, SEVERAL)
            commit(root)
            status, printed = Walk(root).run("make reproduce")
            assert status == 0, printed[-6000:]
            (root / "printed").write_text(printed)
    return root


def copied(trained: Path, root: Path, page: Page) -> Path:
    """A copy of that clone, with the page's settings committed and MLflow's files left out."""
    left = shutil.ignore_patterns(".venv", "mlflow.db*", "mlartifacts", "printed")
    shutil.copytree(trained, root, symlinks=True, ignore=left)
    environment(root)
    select(root, page.variants)
    if page.small:
        shrink(root)
    commit(root)
    return root


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_right(name: str, trained: Path, tmp_path: Path):
    page = PAGES[name]
    walk = Walk(copied(trained, tmp_path / "mtbert", page))
    page.before(walk)
    try:
        for block in pages.blocks(name):
            if not block.mark:
                walk.block(block, page.within)
        page.after(walk)
    finally:
        walk.end()
