"""How many runs each machine made."""

from pathlib import Path

from mtbert import files
from mtbert.reporting import machines
from mtbert.reporting.catalog import Completed, CompletedEntry


def catalog(*names: str) -> Completed:
    entries = [CompletedEntry(name, "slapbert", name, ("sst",), True, seeds=(1, 2)) for name in names]
    vote = CompletedEntry("vote", "slapbert", "vote", ("sst",), True, members=names, seeds=(1, 2))
    return Completed("sample", (1, 2), "last", "whole", "tiny", "", "", (*entries, vote))


def _left(run: Path, there: dict[str, object]) -> None:
    files.write_json(run / "elsewhere.json", there)
    files.seal(run)


def test_a_run_that_left_its_weights_here_is_of_this_machine(tmp_path: Path) -> None:
    here = {"accelerator": "H100", "processor": "EPYC", "torch": "2.13.0"}
    files.write_json(tmp_path / "machine.json", here)
    _left(tmp_path / "runs/a/1", {"machine": here, "left": {"model.safetensors": "ab"}})
    assert machines.of_run(tmp_path, tmp_path / "runs/a/1") == "EPYC, H100, torch 2.13.0"
    assert machines.several(tmp_path, catalog("a")) == []


def test_runs_are_counted_by_their_machine_and_votes_are_not(tmp_path: Path) -> None:
    files.write_json(tmp_path / "machine.json", {"processor": "EPYC", "accelerator": "", "torch": "2.13.0"})
    assert machines.several(tmp_path, catalog("a", "b")) == []
    there = {"machine": {"processor": "Xeon", "accelerator": "H100", "torch": "2.13.0"}, "left": {}}
    _left(tmp_path / "runs/b/2", there)
    assert machines.several(tmp_path, catalog("a", "b")) == [
        "**2 machines.** Runs of each: EPYC, torch 2.13.0: 3; Xeon, H100, torch 2.13.0: 1. Machines round otherwise, "
        "so that a seed ends in other scores on each, as another seed would. A claim that compares runs of two "
        "machines says so, with its numbers."
    ]
