"""What ran where, and pretraining."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from mtbert import files
from mtbert.reporting.sections import runs
from mtbert.reporting.sections.base import Report


def report(build: Path) -> Report:
    return Report.read(build, ())


def test_what_is_committed_of_a_run_is_the_same_in_two_runs_of_the_same_settings(
    make_build: Callable[..., Path],
) -> None:
    build = make_build()
    files.write_json(build / "machine.json", {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"})
    assert runs.run_table(report(build)).splitlines()[2:] == [
        "| run              |   steps |   examples |   of SST-5 |    device |   threads |",
        "|:-----------------|--------:|-----------:|-----------:|----------:|----------:|",
        "| bert-qqp, seed 1 |       4 |     12,000 |     12,000 | cpu, bf16 |         2 |",
        "| bert-sst, seed 1 |       4 |     12,000 |     12,000 | cpu, bf16 |         2 |",
        "| bert-sts, seed 1 |       4 |     12,000 |     12,000 | cpu, bf16 |         2 |",
        "| pals, seed 1     |       4 |     12,000 |     12,000 | cpu, bf16 |         2 |",
        "", "Machine: Some CPU, torch 2.13.0.",
    ]  # fmt: skip


def test_a_run_of_another_machine_is_told_with_that_machine(make_build: Callable[..., Path]) -> None:
    build = make_build()
    here = {"processor": "Some CPU", "accelerator": "", "torch": "2.13.0"}
    files.write_json(build / "machine.json", here)
    there = {"processor": "Xeon", "accelerator": "Tesla T4", "torch": "2.14.0"}
    for name, machine in (("pals", there), ("bert-sst", there), ("bert-qqp", here)):  # the last left its weights
        files.write_json(build / f"runs/{name}/1/elsewhere.json", {"machine": machine, "left": {}})
        files.seal(build / f"runs/{name}/1")
    assert runs.run_table(report(build)).splitlines()[-3:] == [
        "Machine: Some CPU, torch 2.13.0.",
        "",
        "On another machine, Xeon, Tesla T4, torch 2.14.0: seed 1: `bert-sst`, `pals`.",
    ]


def test_times_and_memory_are_told_of_the_runs_that_have_left_a_log(make_build: Callable[..., Path]) -> None:
    build = make_build()
    (files.log_directory(build, build / "runs/pals/1") / "run.json").unlink()
    lines = runs.timed(report(build).runs).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:8]]
    assert cells[0] == [
        "run", "steps", "examples", "wall time", "training", "examples / s", "memory, MB", "device",
    ]  # fmt: skip
    assert cells[2] == ["bert-qqp, seed 1", "4", "12,000", "2 min 05 s", "1 min 40 s", "120", "900", "cpu, bf16"]
    assert [line[0] for line in cells[2:5]] == ["bert-qqp, seed 1", "bert-sst, seed 1", "bert-sts, seed 1"]
    assert "pals, seed 1" not in "".join(lines)
    assert lines[-3:] == [
        "All trainings together: 6 min 16 s.", "", "- Some CPU, 2 cores, 23 GB; torch 2.13.0",
    ]  # fmt: skip


def test_a_training_that_was_stopped_counts_whole(make_build: Callable[..., Path]) -> None:
    first = report(make_build()).runs[0]
    stopped = dataclasses.replace(first, seconds=10.0, training_seconds=90.0)
    assert (
        "All trainings together: 1 min 30 s. A training that was stopped has the wall time since it went on, and the "
        "training time of all of it."
    ) in runs.timed([stopped]).splitlines()


def test_sbert_is_reported_where_it_was_needed(tmp_path: Path) -> None:
    assert runs.pretraining(tmp_path, "sbert") == ""
    numbers = {"sts_dev_pearson_before": 0.7124, "sts_dev_pearson_after": 0.8, "pairs": 10000, "steps": 313}
    files.write_json(tmp_path / "encoders" / "sbert" / "metrics.json", numbers)
    assert runs.pretraining(tmp_path, "sbert").splitlines()[-1] == (
        "Pearson's r between the cosine of two sentence embeddings and the label, on STS-B dev: 0.712 before, 0.800 "
        "after 313 steps over 10,000 entailment pairs."
    )
    files.write_yaml(tmp_path / "plan" / "pretrain-sbert.yaml", {"needed": False})
    assert runs.pretraining(tmp_path, "sbert") == ""


def test_durations() -> None:
    assert [runs.duration(seconds) for seconds in (0.4, 59.6, 3605, None)] == [
        "0 s",
        "1 min 00 s",
        "1 h 00 min",
        "\N{EN DASH}",
    ]
