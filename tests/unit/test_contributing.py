"""What CONTRIBUTING.md tells to write, written."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from models import hidden_of, small_batch, small_bert
from ruamel.yaml import YAML

from mtbert import claims, files
from mtbert.config import papers, planning
from mtbert.config.params import Params
from mtbert.models.adapters.base import Shape
from mtbert.models.encoder.bert import Encoder

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PARAMS = Params(ROOT / "params.yaml")


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


def with_variants(added: dict[str, Any], params: Params = PARAMS) -> dict[str, Any]:
    """The plan of these variants, added below `catalog` and selected."""
    for name, entry in added.items():
        params = params.put(("catalog", name), entry)
    return planning.plan(params.put(("variants",), [*added]))


def test_the_adapters_variant_trains_beside_the_encoder() -> None:
    known = {name: entry | {"uses": ["houlsby"]} for name, entry in values()[1].items()}
    assert with_variants(known)["bottleneck"]["phases"][0]["trainable"] == ["adapters", "heads"]
    assert [entry["uses"] for entry in values()[1].values()] == [["parallel"]]


def test_the_task_is_one_file_and_its_variant_trains_it(tmp_path: Path) -> None:
    package = shutil.copytree(ROOT / "src/mtbert", tmp_path / "mtbert", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "tasks/mood.yaml").write_text(blocks("yaml")[2], encoding="utf-8")
    for name in ("data", "papers", "stages"):
        (tmp_path / name).symlink_to(ROOT / name)
    params = (ROOT / "params.yaml").read_text("utf-8").replace("catalog: {}\n", f"catalog:\n{blocks('yaml')[3]}")
    (tmp_path / "params.yaml").write_text(re.sub(r"variants:\n(- .*\n)+", "variants: [moods]\n", params), "utf-8")
    command = [sys.executable, "stages/plan.py", "params.yaml", "plan"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, check=True, timeout=300)
    made = files.read_yaml(tmp_path / "plan/moods.yaml")
    assert (made["tasks"], made["model"]["pooling"]["mood"]) == (["mood", "sst"], "cls")
    assert {"tasks/mood.yaml", "tasks/sst.yaml"} <= made["sources"].keys()
    assert ["mood", "train"] in files.read_yaml(tmp_path / "plan/needs.yaml")["splits"]


def test_the_paper_is_one_file(tmp_path: Path) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "papers", tmp_path / "papers")
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "papers/small-study.yaml").write_text(blocks("yaml")[4], encoding="utf-8")
    made = with_variants({name: {} for name in ("small-plain", "small-decayed")}, Params(tmp_path / "params.yaml"))
    assert [made[name]["phases"][0]["weight_decay"] for name in ("small-plain", "small-decayed")] == [0.0, 0.01]
    rows = papers.load(tmp_path / "papers")["small-study"].tables["1"].rows
    assert (rows["Plain"].dev, rows["Decayed"].dev, rows["Decayed"].note) == ({"sst": 0.51}, {"sst": 0.52}, "at 0.01")
    every = claims.load(tmp_path / "papers")
    (part,) = every.claims["small-decay"].parts
    assert (part.ours, part.other, part.margin) == (("small-decayed",), ("small-plain",), 0.01)
