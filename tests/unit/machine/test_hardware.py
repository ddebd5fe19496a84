"""Which device and precision are taken."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mtbert import files
from mtbert.errors import SettingsError
from mtbert.machine import hardware


def machine(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, cpu: dict[str, bool] | None = None) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: cpu or {})


@pytest.mark.parametrize(
    ("setting", "cuda", "mps", "expected"),
    [
        ("auto", True, True, "cuda"),
        ("auto", False, True, "mps"),
        ("auto", False, False, "cpu"),
        ("cpu", True, False, "cpu"),
    ],
)
def test_device(monkeypatch: pytest.MonkeyPatch, setting: str, cuda: bool, mps: bool, expected: str) -> None:
    machine(monkeypatch, cuda, mps)
    assert hardware.device(setting) == torch.device(expected)


@pytest.mark.parametrize("visible", ["0", "GPU-8932f937"])
def test_where_a_gpu_is_named_a_training_takes_no_other_device(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    machine(monkeypatch, cuda=True, mps=False)
    assert hardware.training_device("auto") == torch.device("cuda")
    machine(monkeypatch, cuda=False, mps=True)
    assert hardware.training_device("cpu") == torch.device("cpu")  # as somebody chose
    assert hardware.device("auto") == torch.device("mps")  # of a prediction
    with pytest.raises(
        SettingsError,
        match=rf"CUDA_VISIBLE_DEVICES is {visible}, a GPU that .* run.device is auto; allowed without a GPU: cpu",
    ):
        hardware.training_device("auto")


@pytest.mark.parametrize("visible", ["", "-1", "NoDevFiles"])
def test_where_gpus_are_hidden_the_cpu_trains(monkeypatch: pytest.MonkeyPatch, visible: str) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    machine(monkeypatch, cuda=False, mps=False)
    assert hardware.training_device("auto") == torch.device("cpu")


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=False, mps=True)
    for name in ("cuda", "gpu"):
        with pytest.raises(SettingsError, match=f"device is {name}, which torch cannot .* allowed: auto, cpu, mps"):
            hardware.device(name)


@pytest.mark.parametrize(
    ("setting", "device", "of_cpu", "expected"),
    [
        ("auto", "cpu", "fp32", "fp32"),
        ("auto", "cpu", "bf16", "bf16"),
        ("auto", "cuda", "fp32", "bf16"),
        ("auto", "mps", "bf16", "fp32"),
        ("fp32", "cpu", "bf16", "fp32"),
        ("bf16", "cpu", "fp32", "bf16"),
    ],
)
def test_precision(monkeypatch: pytest.MonkeyPatch, setting, device: str, of_cpu, expected: str):
    machine(monkeypatch, cuda=True, mps=True)
    assert hardware.precision(setting, torch.device(device), of_cpu) == expected


@pytest.mark.parametrize(
    ("capabilities", "bf16", "expected"),
    [
        ({"avx512_bf16": True}, 200, "bf16"),
        ({"avx512_bf16": True}, 50, "fp32"),
        ({"amx_bf16": True}, 105, "fp32"),  # as good as alike: fp32, so that noise decides nothing
        ({"avx512_bf16": False}, 200, "fp32"),  # emulated: not measured
    ],
)
def test_the_faster_of_both_is_taken_where_the_processor_has_bf16(
    monkeypatch: pytest.MonkeyPatch, capabilities: dict[str, bool], bf16: float, expected: str
):
    machine(monkeypatch, cuda=False, mps=False, cpu=capabilities)
    monkeypatch.setattr(hardware, "products", lambda kind: bf16 if kind == torch.bfloat16 else 100)
    assert hardware.faster() == expected


def test_products_are_counted_on_one_thread_in_each_precision(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hardware, "SECONDS", 0.01)
    monkeypatch.setattr(hardware, "SIZE", 8)
    threads = torch.get_num_threads()
    assert min(hardware.products(torch.float32), hardware.products(torch.bfloat16)) > 100
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize(
    ("content", "expected"),
    [({"precision": "fp32"}, "fp32"), ({"precision": "bf16"}, "bf16"), ({"processor": "old"}, "bf16"), (None, "bf16")],
)
def test_a_build_folder_has_one_precision_which_is_measured_where_it_does_not_say_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: dict[str, str] | None, expected: str
):
    machine(monkeypatch, cuda=False, mps=False, cpu={"avx512_bf16": True})
    monkeypatch.setattr(hardware, "products", lambda kind: 200 if kind == torch.bfloat16 else 100)
    if content is not None:
        files.write_json(tmp_path / "machine.json", content)
    assert hardware.measured(tmp_path) == expected


def test_bf16_of_a_processor_of_that_name_is_not_taken_where_this_one_lacks_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """Where it is emulated, which takes up to two hundred times as long."""
    machine(monkeypatch, cuda=False, mps=False, cpu={"avx512_bf16": False})
    monkeypatch.setattr(hardware, "processor", lambda: "AMD EPYC")
    files.write_json(tmp_path / "machine.json", {"processor": "AMD EPYC", "precision": "bf16"})
    assert hardware.measured(tmp_path) == "fp32"


GIVES_BACK = """
import resource, torch
from pathlib import Path
from mtbert.machine import hardware

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20

hardware.keep_memory()
blocks = [torch.ones(2**20) for _ in range(100)]  # of 4 MiB
last = torch.ones(2**20)
del blocks
kept = resident_mb()
hardware.give_back_memory()
print(kept - resident_mb())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc keeps memory")
def test_memory_that_is_kept_and_not_used_is_given_back():
    """Even where a block that is used lies behind it."""
    done = subprocess.run([sys.executable, "-c", GIVES_BACK], capture_output=True, text=True, check=True)
    assert 390 <= int(done.stdout) <= 410


KEEPS_FEW_KERNELS = """
import resource, torch
from pathlib import Path
from mtbert.machine import hardware

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20

def multiply(lengths):
    for length in lengths:
        torch.mm(torch.ones(length, 384, dtype=torch.bfloat16), matrix)

matrix = torch.ones(384, 384, dtype=torch.bfloat16)
multiply(range(100, 200))
before = resident_mb()
multiply(range(200, 500))
print(resident_mb() - before)
"""


@pytest.mark.skipif(not torch.cpu.get_capabilities().get("avx512_bf16"), reason="emulated bf16 takes long")
def test_products_of_more_lengths_take_no_more_memory():
    """Where kernels of all lengths are kept, 300 products take 100 MiB and more."""
    done = subprocess.run([sys.executable, "-c", KEEPS_FEW_KERNELS], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 20
