"""On which machine each run was made, in words such as `AMD EPYC, torch 2.13.0`.

A run that came from another machine than the one where its build directory was begun says so itself.
"""

from collections import Counter
from pathlib import Path

from mtbert import files
from mtbert.outputs import Elsewhere, Origin
from mtbert.reporting.catalog import Completed

UNKNOWN = "an unknown machine"


def here(build: Path) -> str:
    """The machine where the build directory was begun."""
    file = build / "machine.json"
    return _in_words(files.read_as(Origin, file, f"rm {file} && dvc repro machine")) if file.is_file() else UNKNOWN


def of_run(build: Path, run: Path) -> str:
    """The machine of the run that lies in `run`."""
    if not (run / files.ELSEWHERE).is_file():
        return here(build)
    file = files.sealed(run, files.ELSEWHERE, "mtbert unpack")
    return _in_words(files.read_as(Elsewhere, file, "mtbert unpack").machine)


def several(build: Path, completed: Completed) -> list[str]:
    """How many runs each machine made, as a note in Markdown; none where it is one machine."""
    trained = [entry.directory(build, seed) for entry, seed in completed.runs if not entry.members]
    made = Counter(of_run(build, run) for run in trained)
    if len(made) < 2:
        return []
    counts = "; ".join(f"{machine}: {count}" for machine, count in made.most_common())
    return [
        f"**{len(made)} machines.** Runs of each: {counts}. Machines round otherwise, so that a seed ends in other "
        "scores on each, as another seed would. A claim that compares runs of two machines says so, with its numbers."
    ]


def _in_words(machine: Origin) -> str:
    return ", ".join(filter(None, (machine.processor, machine.accelerator, f"torch {machine.torch}")))
