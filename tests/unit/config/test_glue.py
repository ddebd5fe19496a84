"""The PALs paper on GLUE: generated files of the hub's shape, read by its descriptions, resolved and trained."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import trained
from unit.config.conftest import PARAMS

from mtbert import files, tasks
from mtbert.config import planning
from mtbert.config.params import Params
from mtbert.data.preprocess import preprocess
from mtbert.data.tokens import wordpieces
from mtbert.pretrained import fetching
from mtbert.provenance import seals
from mtbert.tasks import Task
from mtbert.variants.settings import VariantSettings

GLUE = Path(__file__).parents[3] / "data/glue"
NAMES = ["cola", "sst2", "mrpc", "qqp", "stsb", "mnli", "qnli", "rte"]
SHARED = ["shared", "pals", "low-rank", "houlsby", "proportional", "square-root", "round-robin"]


def rows(task: Task, count: int) -> pd.DataFrame:
    """Rows with the columns and the types that the hub's files have."""
    random = np.random.default_rng(count)
    words = ["the", "film", "a", "dull", "moving", "long", "plot", "not", "was", "is", "good", "bad", "actor", "never"]
    texts = {name: [" ".join(random.choice(words, 6)) + f" {row}" for row in range(count)] for name in task.sentences}
    classes = random.integers(0, task.classes, count)
    labels = random.uniform(0, 5, count).astype(np.float32) if task.kind == "score" else classes
    return pd.DataFrame(texts | {"label": labels, "idx": np.arange(count, dtype=np.int32)})


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("glue")
    (folder / "tasks.yaml").write_text((GLUE / "tasks.yaml").read_text())
    for task in tasks.read_folder(folder).values():
        for split, file in task.files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            rows(task, 60 if split == "train" else 30).to_parquet(folder / file)
    return folder


@pytest.fixture(scope="module")
def params(tmp_path_factory, data: Path) -> Params:
    """params.yaml of that folder, with all of the paper's variants."""
    folder = tmp_path_factory.mktemp("settings")
    (folder / "papers").symlink_to(PARAMS.file.parent / "papers")
    own = PARAMS.own | {"data_dir": str(data), "profile": "paper"}
    files.write_yaml(folder / "params.yaml", own)
    found = Params(folder / "params.yaml")
    return found.put(("variants",), [name for name in found.get("catalog") if name.startswith("pals-")])


def test_its_tasks_have_the_metrics_that_its_authors_score_by(data: Path):
    assert [(name, task.metric, task.classes) for name, task in tasks.read_folder(data).items()] == [
        ("cola", "mcc", 2), ("sst2", "accuracy", 2), ("mrpc", "accuracy", 2), ("qqp", "accuracy", 2),
        ("stsb", "pearson", 1), ("mnli", "accuracy", 3), ("qnli", "accuracy", 2), ("rte", "accuracy", 2),
    ]  # fmt: skip


def test_every_row_of_the_paper_resolves_on_all_eight_tasks_with_the_settings_of_its_code(params: Params):
    plan = planning.plan(params)
    assert [name for name in plan if name.startswith("pals-")] == [
        *(f"pals-single-{name}" for name in NAMES), *(f"pals-{name}" for name in SHARED),
    ]  # fmt: skip
    settings = VariantSettings(**plan["pals-pals"])
    (phase,) = settings.phases
    assert (phase.epochs, phase.epoch_length.steps, phase.batch_size) == (25, 8 * 300, 32)
    assert (phase.learning_rate, phase.weight_decay, phase.clip) == (2e-5, 0.01, 1.0)
    assert settings.model.adapter.dump() == {
        "name": "pals", "dim": 204, "heads": 12, "activation": "gelu", "dropout": 0.1, "layers": "all",
    }  # fmt: skip
    assert settings.model.heads["cola"].dump() == {"name": "linear", "dropout": 0.1, "output_bias": "plain"}
    assert [*settings.model.heads] == NAMES


@pytest.fixture(scope="module")
def build(tmp_path_factory, data: Path) -> Path:
    """A build directory with an encoder and the rows of that folder."""
    folder = tmp_path_factory.mktemp("build")
    fetching.fetch(trained.ENCODER, data, folder / "encoders/base")
    seals.seal(folder / "encoders/base")
    preprocess(data, folder / "data", wordpieces(folder / "encoders/base"), set())
    return folder


@pytest.fixture(scope="module")
def small(params: Params) -> dict[str, VariantSettings]:
    """The paper's variants, of sizes that train in an instant."""
    changed = (
        params.put(("profile",), "sample").put(("training", "epochs"), 1).put(("training", "epoch_length"), "8 steps")
    )
    plan = planning.plan(changed.put(("pals", "dim"), 24).put(("low_rank", "dim"), 4))
    return {name: VariantSettings(**of) for name, of in plan.items() if name.startswith("pals-")}


@pytest.mark.parametrize("name", [*(f"pals-single-{name}" for name in NAMES), *(f"pals-{name}" for name in SHARED)])
def test_every_row_trains_on_generated_glue(small: dict[str, VariantSettings], build: Path, name: str):
    trained.train(build, small[name])
    metrics = files.read_json(build / f"runs/{name}/1/metrics.json")
    single = name.removeprefix("pals-single-")
    wanted = [single] if single in NAMES else [*NAMES, "overall_normalised", "overall_raw"]
    assert sorted(metrics["dev"]) == sorted(wanted)
    assert metrics["steps"] == 8
