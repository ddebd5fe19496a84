"""Loss curves: few points, and no jumps from which task was drawn."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from sealing import seal

from mtbert import files
from mtbert.reporting import catalog, curves


def test_losses_are_averaged_in_bins_then_over_tasks() -> None:
    history = pd.DataFrame(
        [(1, "loss/sst", 4.0), (2, "loss/sst", 2.0), (2, "loss/sts", 9.0), (3, "loss/sst", 1.0), (6, "loss/sts", 5.0)],
        columns=pd.Index(["step", "name", "value"]),
    )
    # Bins end at 2, 4 and 6. sst: 3, 1 and none after; sts: 9, none (so 7, between its neighbours), 5.
    assert list(curves.binned(history, 2).items()) == [(2, 6.0), (4, 4.0), (6, 5.0)]


def test_a_short_last_bin_is_a_part_of_the_one_before_by_its_updates() -> None:
    columns = pd.Index(["step", "name", "value"])
    history = pd.DataFrame([(10, "loss/sst", 4.0), (20, "loss/sst", 2.0), (24, "loss/sst", 9.0)], columns=columns)
    assert list(curves.binned(history, 2).items()) == [(10, 4.0), (24, 4.0)]  # (10 * 2 + 4 * 9) / 14
    whole = pd.DataFrame([(10, "loss/sst", 4.0), (20, "loss/sst", 2.0), (30, "loss/sst", 9.0)], columns=columns)
    assert list(curves.binned(whole, 2).items()) == [(10, 4.0), (20, 2.0), (30, 9.0)]


def test_a_line_goes_as_far_as_every_seed_has_a_value(make_build: Callable[..., Path]) -> None:
    build = make_build(seeds=(1, 2))
    history = build / "runs" / "pals" / "2" / "history.csv"
    files.write_text(history, "phase,step,name,value\n0,1,loss/sst,4\n0,2,loss/sst,2\n0,4,loss/sts,1\n")
    seal(build)
    found = curves.by_task(build, catalog.read_completed(build))
    assert list(found["sst"]["pals"].items()) == [(1, 3.0), (2, 1.5)]  # seed 1: 2, 1, and 0.5 at step 4
    assert list(found["sts"]["pals"].items()) == [(4, 0.75)]


def test_one_column_a_variant_mean_over_seeds_and_other_losses_left_out(make_build: Callable[..., Path]) -> None:
    build = make_build(seeds=(1, 2))
    more = "0,1,loss/smart/sst,99\n0,1,learning_rate,99\n"
    history = build / "runs" / "pals" / "2" / "history.csv"
    files.write_text(history, f"phase,step,name,value\n0,1,loss/sst,4\n{more}")
    seal(build)
    table = curves.losses(build, catalog.read_completed(build))
    assert table["step"].tolist() == [1, 2, 4]
    assert table["pals"].tolist() == [3.0, 1.0, 0.5]
    assert list(table.columns) == ["step", "bert-qqp", "bert-sst", "bert-sts", "pals"]


def test_a_long_run_has_200_points(make_build: Callable[..., Path]) -> None:
    build = make_build()
    lines = "".join(f"0,{step},loss/sst,1.5\n" for step in range(10, 60_001, 10))
    files.write_text(build / "runs" / "pals" / "1" / "history.csv", f"phase,step,name,value\n{lines}")
    seal(build)
    table = curves.losses(build, catalog.read_completed(build))
    assert (len(table), table["step"].iloc[0], table["step"].iloc[-1]) == (200, 300, 60_000)


@pytest.mark.parametrize("kept", ["phase,step,name,value\n", "phase,step,name,value\n0,4,dev/sst,0.5\n"])
def test_runs_too_short_for_an_entry_make_an_empty_curve(make_build: Callable[..., Path], kept: str) -> None:
    build = make_build()
    for history in build.glob("runs/*/1/history.csv"):
        files.write_text(history, kept)
    seal(build)
    table = curves.losses(build, catalog.read_completed(build))
    assert table.to_csv(index=False) == "step,bert-qqp,bert-sst,bert-sts,pals\n"
