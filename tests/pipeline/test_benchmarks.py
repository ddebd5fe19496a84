"""The benchmarks run, on next to nothing, and keep what they found; their times are nobody's concern here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(autouse=True)
def _as_scripts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(FOLDER)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A folder to keep results in, whose page has a place for every table."""
    names = ("steps-tiny", "growth", "imports", "catalog")
    (tmp_path / "README.md").write_text("".join(f"<!-- {name} -->\nold\n<!-- /{name} -->\n" for name in names))
    return tmp_path


def measured(script: str, kept: Path, *arguments: str) -> dict:
    """What the script has put into results.json."""
    command = [sys.executable, FOLDER / script, *arguments, "--record", kept]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    (content,) = json.loads((kept / "results.json").read_text()).values()
    return content


def test_every_contestant_trains_and_is_compared(kept: Path):
    found = measured("steps.py", kept, "--shape", "tiny", "--batch", "4", "--passes", "1", "--device", "cpu")
    adapters = ["pals", "lora", "houlsby"]
    others = ["bert-n-pals", "minbert", "trainer", "trainer-best"]
    names = ["plain", *adapters, "smart", "interleaved", "pcgrad", *others]
    assert [row["contestant"] for row in found["contestants"]] == names
    assert all(row["s a step"] > 0 for row in found["contestants"])
    assert {("bert-n-pals", "pals"), ("pals", "plain")} <= {(row["step of"], row["over"]) for row in found["ratios"]}
    page = (kept / "README.md").read_text()
    assert "\ntrainer-best " in page
    assert page.count("old") == 3


def test_growth_of_rows_tokens_and_variants(kept: Path):
    sizes = ("--rows", "100", "200", "--tokens", "16", "--variants", "1")
    rows = measured("growth.py", kept, "--shape", "tiny", *sizes)["rows"]
    assert [(row["by"], row["size"]) for row in rows] == [
        *[("rows", "100"), ("rows", "200"), ("tokens", "16")],
        *[("variants", "1")] * 5,
    ]
    assert ["exponent" in row for row in rows] == [False, True, *[False] * 6]


def test_starts_name_the_slowest_imports(kept: Path):
    (row,) = measured("imports.py", kept, "--only", "preprocess", "--times", "1")["rows"]
    assert "pandas" in row["slowest imports, s"]


def test_a_variant_of_the_catalog_trains_at_berts_true_size(kept: Path):
    only = ("--csv", str(kept / "rows.csv"), "--only", "bert-sst", "slap-rand")
    trained, untrained = measured("catalog.py", kept, *only)["rows"]
    assert (trained["steps"], trained["trained weights"], trained["added weights"]) == (60_000, 109_680_389, 198_149)
    assert trained["PFLOP"] == pytest.approx(6 * 85e6 * 60_000 * 16 * 25 / 1e15, rel=0.05)  # 6 a weight and token
    assert 16 * 109_680_389 / 2**30 < trained["GiB"] < 3  # weights, gradients, two moments
    assert (untrained["steps"], untrained["GPU hours"]) == (0, 0.0)


def test_an_adapters_arithmetic_is_that_of_its_matrix_products():
    import steps

    shape = steps.SHAPES["base"]
    plain, pals, lora, houlsby = (shape.arithmetic([1], name) for name in ("plain", "pals", "lora", "houlsby"))
    assert pals - plain == 3 * 12 * (2 * (2 * 768 * 204 + 3 * 204**2) + 4 * 204)
    assert lora - plain == 3 * 2 * 294_912  # each of its weights once a token, times and plus
    assert houlsby - plain == 3 * 12 * 2 * 2 * (2 * 768 * 64)
    assert shape.adapter("plain") == {"name": "none"}
    assert shape.adapter("lora") == {"name": "lora", "rank": 8}


def test_a_ratio_is_held_against_its_aim():
    import steps

    found = steps.ratios({"plain": 2.0, "pals": 3.0, "bert-n-pals": 36.0}, pals_aim=1.3)
    assert found == [
        {"step of": "bert-n-pals", "over": "pals", "ratio": 12.0, "aim": ">= 10", "met": "yes"},
        {"step of": "pals", "over": "plain", "ratio": 1.5, "aim": "<= 1.3", "met": "no"},
    ]


def test_a_step_lies_between_two_updates():
    import clock
    import torch

    optimiser, now = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))]), iter([1.0, 2.0, 5.0]).__next__
    assert clock.steps(lambda: [optimiser.step() for _ in range(3)], torch.device("cpu"), now) == [1.0, 3.0]


def test_each_contestant_keeps_its_own_precision():
    import clock
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    try:
        AcceleratorState._reset_state(reset_partial_state=True)
        first, state = Accelerator(cpu=True, mixed_precision="bf16"), clock.OwnState()
        AcceleratorState._reset_state(reset_partial_state=True)
        second = Accelerator(cpu=True, mixed_precision="no")
        assert second.mixed_precision == "no"
        with state.restored():
            assert first.mixed_precision == "bf16"
    finally:
        AcceleratorState._reset_state(reset_partial_state=True)
