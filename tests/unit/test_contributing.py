"""What CONTRIBUTING.md tells to write, written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from models import small_batch, small_bert
from ruamel.yaml import YAML

from mtbert import claims, files
from mtbert.config import papers, planning
from mtbert.config.params import Params
from mtbert.models.adapters.base import Shape
from mtbert.models.encoder.bert import Encoder
from mtbert.report import published

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PARAMS = Params(ROOT / "params.yaml")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def values() -> list[dict[str, Any]]:
    """The blocks of YAML: a section, a variant with it, a task, a variant with that, then a paper."""
    return [YAML(typ="safe").load(block) for block in blocks("yaml")]


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


def test_the_section_is_the_settings_defaults(parallel: Any) -> None:
    assert values()[0] == {"parallel": parallel.Settings().model_dump()}


def test_the_registration_names_what_the_file_has(parallel: Any) -> None:
    found = eval(f"{{{blocks('python')[1]}}}", {"parallel": parallel, "Technique": lambda *parts: parts})  # noqa: S307
    assert found == {"parallel": (parallel.Settings, parallel.Parallel)}


def with_variants(added: dict[str, Any], params: Params = PARAMS) -> dict[str, Any]:
    """The plan of these variants, added below `catalog` and selected."""
    for name, entry in added.items():
        params = params.put(("catalog", name), entry)
    return planning.plan(params.put(("variants",), [*added])).documents


def test_the_adapters_variant_trains_beside_the_encoder() -> None:
    known = {name: entry | {"uses": ["houlsby"]} for name, entry in values()[1].items()}
    assert with_variants(known)["bottleneck"]["phases"][0]["trainable"] == ["adapters", "heads"]
    assert [entry["uses"] for entry in values()[1].values()] == [["parallel"]]


def test_the_task_is_one_file_and_its_variant_trains_it(tmp_path: Path) -> None:
    package = shutil.copytree(ROOT / "src/mtbert", tmp_path / "mtbert", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "tasks/mood.yaml").write_text(blocks("yaml")[2], encoding="utf-8")
    for name in ("data", "papers"):
        (tmp_path / name).symlink_to(ROOT / name)
    params = (
        (ROOT / "params.yaml").read_text(encoding="utf-8").replace("catalog: {}\n", f"catalog:\n{blocks('yaml')[3]}")
    )
    (tmp_path / "params.yaml").write_text(
        re.sub(r"variants:\n(- .*\n)+", "variants: [moods]\n", params), encoding="utf-8"
    )
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    command = [sys.executable, "stages/plan.py", "params.yaml", "plan"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, check=True, timeout=300)
    made = files.read_yaml(tmp_path / "plan/moods.yaml")
    assert (made["tasks"], made["model"]["pooling"]["mood"]) == (["mood", "sst"], "cls")
    assert {"tasks/mood.yaml", "tasks/sst.yaml"} <= made["sources"].keys()
    assert ["mood", "train"] in files.read_yaml(tmp_path / "plan/needs.yaml")


def test_the_paper_is_one_file(tmp_path: Path) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "papers/small-study.yaml").write_text(blocks("yaml")[4], encoding="utf-8")
    made = with_variants({name: {} for name in ("small-plain", "small-decayed")}, Params(tmp_path / "params.yaml"))
    assert [made[name]["phases"][0]["weight_decay"] for name in ("small-plain", "small-decayed")] == [0.0, 0.01]
    rows = [row for row in published.load(papers.load(tmp_path / "papers")) if row.paper == "small-study"]
    assert [(row.row, row.values, row.note) for row in rows] == [
        ("Plain", {"sst": 0.51}, ""), ("Decayed", {"sst": 0.52}, "at 0.01"),
    ]  # fmt: skip
    every = claims.load(tmp_path / "papers")
    (part,) = every.claims["small-decay"].parts
    assert (part.ours, part.other, part.margin) == (("small-decayed",), ("small-plain",), 0.01)
