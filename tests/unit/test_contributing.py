"""What CONTRIBUTING.md tells to write, written."""

import re
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from models import small_batch, small_bert
from ruamel.yaml import YAML

from mtbert.adapters.base import Shape
from mtbert.encoder.bert import Encoder
from mtbert.plan import layers, techniques
from mtbert.plan.departures import shipped
from mtbert.settings import Entry
from mtbert.tasks import Task

PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def parallel() -> Any:
    module = ModuleType("parallel")
    exec(compile(blocks("python")[0], "CONTRIBUTING.md", "exec"), vars(module))
    return module


def test_the_adapter_starts_as_nothing_and_then_does_something(parallel: Any) -> None:
    encoder, batch = Encoder(small_bert(), 0.0).eval(), small_batch("sst")
    adapter = parallel.Parallel(parallel.Settings(size=4), Shape(24, 2, 48), ["sst"])
    words = encoder.words(batch.input_ids)
    plain = encoder(words, batch.token_types, batch.mask)
    with_it = lambda: encoder(words, batch.token_types, batch.mask, lambda layer: adapter.slot("sst", layer))  # noqa: E731
    assert torch.equal(with_it(), plain)
    for parameter in adapter.parameters():
        torch.nn.init.ones_(parameter)
    assert not torch.allclose(with_it(), plain)


def test_the_adapter_has_as_many_weights_as_its_docstring_says(parallel: Any) -> None:
    adapter = parallel.Parallel(parallel.Settings(), Shape(768, 12, 3072), ["sst", "qqp"])
    assert sum(p.numel() for p in adapter.parameters()) == 894_528
    assert "894,528" in parallel.__doc__


def test_the_section_is_the_settings_defaults(parallel: Any) -> None:
    section, *_ = map(YAML(typ="safe").load, blocks("yaml"))
    assert section == {"parallel": parallel.Settings().model_dump()}


def test_the_registration_names_what_the_file_has(parallel: Any) -> None:
    found = eval(f"{{{blocks('python')[1]}}}", {"parallel": parallel, "Technique": lambda *parts: parts})  # noqa: S307
    assert found == {"parallel": (parallel.Settings, parallel.Parallel)}


def test_the_task_is_one() -> None:
    task = eval(blocks("python")[2], {"Task": Task})  # noqa: S307
    assert (task.name, task.kind, task.is_pair) == ("mood", "binary", False)


def test_the_update_takes_the_mean_over_inputs_out_of_a_matrix() -> None:
    names: dict[str, Any] = {"Phase": Any}
    exec(compile(blocks("python")[3], "CONTRIBUTING.md", "exec"), names)
    linear = torch.nn.Linear(3, 2)
    linear.weight.grad, linear.bias.grad = torch.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]]), torch.tensor([1.0, 2.0])
    names["centralise"](SimpleNamespace(settings=SimpleNamespace(centralise=True), parameters=[*linear.parameters()]))
    assert linear.weight.grad.tolist() == [[-2.0, -1.0, 3.0], [-1.0, -1.0, 2.0]]
    assert linear.bias.grad.tolist() == [1.0, 2.0]


def test_the_variants_are_entries_of_the_catalog() -> None:
    for block in blocks("yaml")[1:]:
        for entry in YAML(typ="safe").load(block).values():
            assert entry.keys() <= {*Entry.model_fields, *layers.COMMON, *techniques.NAMES}
            assert entry["paper"] in {known["paper"] for known in shipped().get("catalog").values()}
