"""A file that was altered in DVC's cache, which DVC restores as if it were whole: it is found, and can be mended."""

import hashlib
import re
import shutil
from pathlib import Path

from pipeline.small import Project, small

COLLECT = ("stages/collect.py", "build", "build/results")


def test_an_altered_object_of_the_cache_is_refused_and_mended_by_what_the_message_says(tmp_path: Path):
    project = Project(tmp_path / "project", **small({"plain": {"paper": "mine", "row": "mine", "tasks": ["sst"]}}))
    assert "train@plain-1" in project.dvc("repro", "train")
    run = project.root / "build/runs/plain/1"
    whole = (run / "metrics.json").read_bytes()
    digest = hashlib.md5(whole, usedforsecurity=False).hexdigest()
    kept = project.root / ".dvc/cache/files/md5" / digest[:2] / digest[2:]
    kept.chmod(0o644)
    kept.write_bytes(whole.replace(b"0.", b"0.9", 1))
    kept.chmod(0o444)
    shutil.rmtree(run)
    assert project.dvc("repro", "train") == []  # nothing trains: DVC restores what it holds
    assert (run / "metrics.json").read_bytes() != whole
    refused = project.run(*COLLECT, PYTHONPATH="src")
    assert refused.returncode == 1
    (command,) = re.findall(
        r"error: build/runs/plain/1 is not as it was written \(altered: metrics.json\); `([^`]+)`", refused.stdout
    )
    assert command == "rm -r build/runs/plain/1 && chmod -R u+w .dvc/cache && dvc repro train@plain-1"
    mended = project.run("-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1], shell=True))", command)
    assert mended.returncode == 0, mended.stdout
    assert (run / "metrics.json").read_bytes() == whole
    assert project.run(*COLLECT, PYTHONPATH="src").returncode == 0
    shutil.rmtree(run)
    assert project.dvc("repro", "train") == []
    assert (run / "metrics.json").read_bytes() == whole  # the cache, too, is whole again
