"""What the project is built on: every package pinned, under a licence that is allowed, and audited."""

import csv
import os
import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = "".join(lock.read_text() for lock in sorted((ROOT / "requirements").glob("*.lock")))
verdict = runpy.run_path(str(ROOT / ".ci/audit.py"))["verdict"]


def name(text: str) -> str:
    """A package's name as all spellings of it come to (PEP 503)."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", text)[0]).lower()


def pinned() -> dict[str, str]:
    torch = re.search(r"^TORCH = (\S+)$", (ROOT / "Makefile").read_text(), re.M)[1]
    return {"torch": torch} | {name(package): version for package, version in re.findall(r"(?m)^(\S+)==(\S+)", LOCK)}


def listed() -> list[dict[str, str]]:
    with (ROOT / "licences.csv").open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_every_requirement_is_pinned():
    project = PROJECT["project"]
    asked = [
        *project["dependencies"],
        *(entry for extra in project["optional-dependencies"].values() for entry in extra),
    ]
    assert {name(entry) for entry in asked} - pinned().keys() == set()


def test_every_package_is_listed_with_its_licence():
    versions = {name(row["Name"]): row["Version"].partition("+")[0] for row in listed()}
    assert versions == pinned()  # else: `make licences`


def test_every_licence_is_allowed():
    allowed, read = PROJECT["tool"]["mtbert"]["licences"].values()
    told = {row["Name"]: read.get(row["Name"], row["License"]) for row in listed()}
    assert {package: licence for package, licence in told.items() if licence not in allowed} == {}


SAFE = {"name": "safe", "version": "1.0", "vulns": []}
FAULTY = {"name": "faulty", "version": "2.0", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}]}
UNKNOWN = {"name": "unknown", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "status", "text"),
    [
        ([SAFE, FAULTY], 1, "audit: 1 known faults in 2 packages\nfaulty 2.0: PYSEC-1, repaired in ['2.1']"),
        (
            [SAFE, UNKNOWN],
            0,
            "audit: 0 known faults in 1 packages\nthe audit for known faults was NOT made for 1 packages",
        ),
        ([UNKNOWN], 0, "the audit for known faults was NOT made: the package index has no advisories"),
    ],
)
def test_verdict_of_an_audit(packages: list[dict[str, Any]], status: int, text: str):
    assert verdict({"dependencies": packages}) == (status, text)


def test_a_source_archive_is_told_to_be_cloned(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    ended = subprocess.run(["make", "reproduce"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.stderr.splitlines()[0] == (
        "error: this folder has no .git, which DVC needs; clone the repository in place of a source archive, or run: "
        "git init"
    )
