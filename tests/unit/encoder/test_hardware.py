"""Which device and precision are taken."""

import pytest
import torch

from mtbert.errors import SettingsError
from mtbert.models.encoder import hardware


def machine(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, cpu: dict[str, bool] | None = None) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: cpu or {})


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_device(monkeypatch: pytest.MonkeyPatch, cuda: bool, mps: bool, expected: str) -> None:
    machine(monkeypatch, cuda, mps)
    assert hardware.device("auto") == torch.device(expected)


def test_cpu_by_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=True, mps=False)
    assert hardware.device("cpu") == torch.device("cpu")


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=False, mps=True)
    with pytest.raises(SettingsError, match=r"device is cuda, but this machine has none .* it has: cpu, mps"):
        hardware.device("cuda")


def test_an_unknown_device() -> None:
    with pytest.raises(SettingsError, match="device is 'gpu'; allowed: auto, cpu, cuda, mps"):
        hardware.device("gpu")


@pytest.mark.parametrize(
    ("device", "capabilities", "expected"),
    [
        ("cpu", {}, "fp32"),
        ("cpu", {"avx512_bf16": False, "amx_bf16": False}, "fp32"),
        ("cpu", {"avx512_bf16": True}, "bf16"),
        ("cpu", {"amx_bf16": True}, "bf16"),
        ("cuda", {}, "bf16"),
        ("mps", {"avx512_bf16": True}, "fp32"),
    ],
)
def test_auto_precision(
    monkeypatch: pytest.MonkeyPatch, device: str, capabilities: dict[str, bool], expected: str
) -> None:
    machine(monkeypatch, cuda=True, mps=True, cpu=capabilities)
    assert hardware.precision("auto", torch.device(device)) == expected


def test_precision_by_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=False, mps=False, cpu={"avx512_bf16": True})
    assert hardware.precision("fp32", torch.device("cpu")) == "fp32"
    machine(monkeypatch, cuda=False, mps=False)
    assert hardware.precision("bf16", torch.device("cpu")) == "bf16"
