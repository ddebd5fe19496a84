"""The adapter that CONTRIBUTING.md tells to write; that it, the task and the paper train is tested with the page."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from models import hidden_of, small_batch, small_bert
from ruamel.yaml import YAML

from mtbert.models.adapters.base import Shape
from mtbert.models.encoder.encoder import Encoder

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def values() -> list[dict[str, Any]]:
    """The blocks of YAML: a section, a variant with it, a task, a variant with that, then a paper."""
    return [YAML(typ="safe").load(block) for block in blocks("yaml")]


def test_the_adapter_is_as_its_docstring_section_and_registration_say_and_starts_as_nothing() -> None:
    parallel = ModuleType("parallel")
    exec(compile(blocks("python")[0], "CONTRIBUTING.md", "exec"), vars(parallel))
    registered = eval(f"{{{blocks('python')[1]}}}", {"parallel": parallel, "Technique": lambda *parts: parts})  # noqa: S307
    settings, built = registered["parallel"]
    assert values()[0] == {"parallel": settings().model_dump()}
    of_base = built(settings(), Shape(768, 12, 3072), ["sst", "qqp"])
    assert f"{sum(p.numel() for p in of_base.parameters()):,} for d 768" in parallel.__doc__
    encoder, batch = Encoder(small_bert(), 0.0).eval(), small_batch("sst")
    adapter = built(settings(size=4), Shape(24, 2, 48), ["sst"])
    plain = hidden_of(encoder, batch)
    assert torch.equal(hidden_of(encoder, batch, adapter), plain)
    for parameter in adapter.parameters():
        torch.nn.init.ones_(parameter)
    assert not torch.allclose(hidden_of(encoder, batch, adapter), plain)
