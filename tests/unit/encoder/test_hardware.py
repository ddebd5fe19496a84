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


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    machine(monkeypatch, cuda=False, mps=True)
    for name in ("cuda", "gpu"):
        with pytest.raises(SettingsError, match=f"device is {name}, which torch cannot .* allowed: auto, cpu, mps"):
            hardware.device(name)


@pytest.mark.parametrize(
    ("setting", "device", "capabilities", "expected"),
    [
        ("auto", "cpu", {"avx512_bf16": False, "amx_bf16": False}, "fp32"),
        ("auto", "cpu", {"avx512_bf16": True}, "bf16"),
        ("auto", "cpu", {"amx_bf16": True}, "bf16"),
        ("auto", "cuda", {}, "bf16"),
        ("auto", "mps", {"avx512_bf16": True}, "fp32"),
        ("fp32", "cpu", {"avx512_bf16": True}, "fp32"),
        ("bf16", "cpu", {}, "bf16"),
    ],
)
def test_precision(monkeypatch: pytest.MonkeyPatch, setting, device: str, capabilities: dict[str, bool], expected: str):
    machine(monkeypatch, cuda=True, mps=True, cpu=capabilities)
    assert hardware.precision(setting, torch.device(device)) == expected
