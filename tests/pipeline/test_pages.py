"""Every page is walked as a new user would: what it shows to type is typed, in order, and what it says is printed."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import desk
import encoders
import pytest
from filelock import FileLock
from pipeline import hosts, pages, tracked
from pipeline.pages import REPOSITORY
from pipeline.walking import Walk, clone, environment, replace

from mtbert import files

REAL, SMALL = ("sbert-pals", "pals"), ("pals", "frozen-pals")  # what is trained in the clones that pages start from


@dataclass(frozen=True)
class Page:
    """How a page is walked."""

    variants: tuple[str, ...] = ("pals",)  # in its clone's params.yaml
    real_until: str = ""  # before this command settings are the sample's; then a training takes a moment
    # A number with a point may be off by such a share of 1, or of itself where it is larger: scores of one training
    # on an AMD and on an Intel processor were 0.03 apart, probabilities 0.06, similarities of 0 to 5 0.14.
    within: float = 0.1
    elsewhere: tuple[str, ...] = ()  # commands that are not typed here, since another page has them, too
    planned: tuple[str, ...] = ()  # commands that make plan and manifest here, and train nothing: others show that
    before: Callable[[Walk], None] = lambda walk: None  # brings about what the page takes for granted
    after: Callable[[Walk], None] = lambda walk: None  # looks at what the page says has become


OTHER = ("quora-*", "sts-*", "ids-cfimdb-*", "*-test-*")


def select(root: Path, variants: tuple[str, ...]) -> None:
    """Set `variants` in params.yaml, and leave its other lines alone."""
    file = root / "params.yaml"
    listed = "".join(f"- {name}\n" for name in variants)
    file.write_text(re.sub(r"(?m)^variants:\n(- .*\n)+", f"variants:\n{listed}", file.read_text()))


def shrink(root: Path) -> None:
    """Let every profile train for a moment, `own` from the encoder `tiny`."""
    moment = "      epochs: 1\n      epoch_length: 32 examples of each task\n      #"
    for old, new in (
        ("      epochs: 4\n      epoch_length: 704 ", moment),
        ("      epochs: 4\n      epoch_length: 1728 ", moment),
        ("      epochs: 6\n      epoch_length: 15 ", "      epochs: 1\n      epoch_length: 3 steps\n      #"),
        ("    encoder: {name: minilm}\n", "    encoder: {name: tiny}\n"),
    ):
        replace(root / "params.yaml", old, new)


def commit(root: Path) -> None:
    """Commit what git does not ignore, but for dvc.lock: a page says when to commit that."""
    who = ("-c", "user.name=test", "-c", "user.email=test@example.org")
    subprocess.run(["git", "add", "-A", ".", ":!dvc.lock"], cwd=root, check=True)
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "state"], cwd=root, check=True)


def prediction_files(walk: Walk) -> None:
    """Files `ours.csv` and `theirs.csv` of 100 rows: 90 and 60 right."""
    for name, wrong in (("ours", range(10)), ("theirs", range(40))):
        rows = [f"{row},{row % 2},{row % 2 ^ (99 - row in wrong)}" for row in range(100)]
        (walk.root / f"{name}.csv").write_text("\n".join(["id,label,prediction", *rows]) + "\n")


def reduced(walk: Walk, folder: Path) -> Path:
    """Some rows of each file of the sample."""
    sample = walk.root / "data/sample"
    for file in sorted(sample.rglob("*.*")):
        (folder / file.relative_to(sample)).parent.mkdir(parents=True, exist_ok=True)
        (folder / file.relative_to(sample)).write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:40]))
    return folder


def official(walk: Walk) -> None:
    """Let `make official` fetch files from a host on this machine."""
    there = reduced(walk, walk.root.parent / "host")
    host = walk.end_with.enter_context(hosts.folder(there))
    names = sorted(file.relative_to(there).as_posix() for file in there.rglob("*.*"))
    downloads = [{"url": f"{host}/{name}", "sha256": files.sha256(there / name), "path": name} for name in names]
    files.write_yaml(walk.root / "src/mtbert/data/downloads.yaml", downloads)


def own_hub(walk: Walk, root: Path) -> None:
    """Let `hf` speak to a hub on this machine."""
    address = walk.end_with.enter_context(hosts.hub(root))
    client = {"HF_HOME": str(root.parent / "client"), "HF_HUB_OFFLINE": "0", "HF_TOKEN": "none"}
    walk.variables |= client | {"HF_ENDPOINT": address}


def using(walk: Walk) -> None:
    own_hub(walk, walk.root.parent / "hub")
    walk.done("mtbert track")


def uploaded(walk: Walk) -> None:
    there = walk.root.parent / "hub/you/pals"
    names = {file.name for file in (walk.root / "out/pals").iterdir()}
    assert {file.name for file in there.iterdir()} == names


def e5(walk: Walk) -> None:
    """A model on the hub; a small BERT stands for it."""
    own_hub(walk, walk.root.parent / "hub")
    reduced(walk, walk.root / "data/reduced")
    replace(walk.root / "params.yaml", "data_dir: data/sample ", "data_dir: data/reduced ")
    encoders.folder(walk.root.parent / "hub/intfloat/e5-base-v2", vocab_size=1000)
    (walk.root / "models").mkdir(exist_ok=True)


def course(walk: Walk) -> None:
    """A host of the corpora, and a folder of one's own data, with the sample's files of SST."""
    official(walk)
    walk.stands_for["/absolute/path/to"] = str(walk.root)
    left = shutil.ignore_patterns(*OTHER)
    shutil.copytree(walk.root / "data/sample/cs224n", walk.root / "reviews/cs224n", ignore=left)


def support_desk(walk: Walk) -> None:
    """Four tasks of a support desk."""
    walk.stands_for["/data/desk"] = str(walk.root.parent / "desk")
    desk.write(walk.root.parent / "desk")


def another_seed(walk: Walk) -> None:
    """Something to train."""
    replace(walk.root / "params.yaml", "seeds:\n- 1\n", "seeds:\n- 2\n")


def a_longer_training(walk: Walk) -> None:
    """A seed to train, so long that Ctrl-C comes between a checkpoint and the end."""
    another_seed(walk)
    params = walk.root / "params.yaml"
    replace(params, "  checkpoint_every: 100 ", "  checkpoint_every: 10 ")
    replace(params, "  epoch_length:           # (all)", "  epoch_length: 60 steps  #")


def went_on(walk: Walk) -> None:
    (log,) = walk.root.glob("build/logs/pals/2/*/run.json")
    assert files.read_json(log)["resumed"] > 0


def another_build(walk: Walk) -> None:
    """And a smaller evidence, from which the second report is made."""
    walk.stands_for["--evidence reports/laptop/"] = "--evidence reports/desk/"
    shutil.copytree(walk.root / "build", walk.root / "other/build")


def another_server(walk: Walk) -> None:
    """A server that the page calls https://mlflow.lab:5000."""
    (lab := walk.root.parent / "lab").mkdir()
    server = tracked.server(lab / "mlflow.db")
    walk.end_with.callback(server.kill)
    walk.stands_for["https://mlflow.lab:5000"] = f"http://127.0.0.1:{server.port}"


def on_both(walk: Walk) -> None:
    """Here and there the page's filter finds the run, and there are copies of what a model needs, no links."""
    page, lab = (REPOSITORY / "docs/tracking.md").read_text(), walk.root.parent / "lab"
    (asked,) = re.findall(r"`(params[^`]+)` in the field", page)
    for uri in (f"http://127.0.0.1:{walk.port}", walk.stands_for["https://mlflow.lab:5000"]):
        experiment = tracked.client(uri).get_experiment_by_name("mtbert-sample")
        (run,) = tracked.client(uri).search_runs([experiment.experiment_id], asked)
        assert run.info.run_name == "pals.dim=276 pals seed 1"
    assert {file.is_symlink() for file in lab.rglob("model.safetensors")} == {False}
    versions = tracked.rows(lab / "mlflow.db", "select name, version from model_versions")
    assert ("mtbert-sample-pals", 1) in versions


def from_copies(walk: Walk) -> None:
    """What was trained in a copy stands in the database of the working tree."""
    query = "SELECT name, status FROM runs WHERE lifecycle_stage = 'active' AND name LIKE 'pals.dim=60 %'"
    assert tracked.rows(walk.root / "mlflow.db", query) == [("pals.dim=60 frozen-pals seed 1", "FINISHED")]


def moods(walk: Walk) -> None:
    walk.stands_for["/tmp/moods"] = str(walk.root.parent / "moods")


def contributed(walk: Walk) -> None:
    """The paper's variants are as the page says, and the report has its table."""
    decays = [
        files.read_yaml(walk.root / f"build/plan/{name}.yaml")["phases"][0]["weight_decay"]
        for name in ("small-plain", "small-decayed")
    ]
    assert decays == [0.0, 0.01]
    report = (walk.root / "build/report/README.md").read_text()
    assert [text for text in ("A small study, table 1", "| Plain", "| Decayed") if text not in report] == []


EMPTY_DATABASE = """
from pathlib import Path
from mtbert.tracking import store
store.create(Path("empty.db").absolute())
"""  # of MLflow, to copy: creation takes seconds
END = "\0"
WIDER = "dvc exp run -S pals.dim=276"
SEEDS = "dvc exp run -S 'seeds=[1,2,3]'"
OFFICIAL = "dvc exp run -S profile=laptop -S data_dir=$PWD/data/official"
OTHERS = "dvc exp run -S 'variants=[pals,wide]'"
SMART = "dvc exp run -S pals.dim=null -S '+catalog.smart-pals.pals.dim=276'"
SEEDS_OF_TWO = "dvc exp run -S profile=sample -S 'variants=[pals,frozen-pals]' -S 'seeds=[1,2]'"
HELD_OUT = "-S 'training.learning_rate.encoder=1e-3,3e-3'"
CUT = "dvc exp run -S encoder.name=minilm-4"
E5 = "dvc exp run -S encoder.name=./models/e5"
QUEUE = "dvc queue start"
PAGES = {  # long and short ones in turn: a worker takes three at once
    "docs/course.md": Page(
        REAL, real_until="git add dvc.lock", elsewhere=(WIDER,), planned=(SEEDS, OFFICIAL), before=course
    ),
    "README.md": Page(before=prediction_files),
    "docs/pipeline.md": Page(("frozen-pals",), elsewhere=(WIDER,), after=from_copies),
    "docs/evidence.md": Page(before=another_build),
    "docs/encoders.md": Page(planned=(CUT, E5), before=e5),
    "CONTRIBUTING.md": Page(before=moods, after=contributed),
    "docs/machines.md": Page(("frozen-pals",), planned=("dvc repro",), before=another_seed),
    "docs/faults.md": Page(before=a_longer_training, after=went_on),
    "docs/settings.md": Page(elsewhere=(WIDER, QUEUE), planned=(OTHERS, SMART, SEEDS_OF_TWO, HELD_OUT)),
    "docs/tracking.md": Page(before=another_server, after=on_both),
    "docs/using.md": Page(REAL, real_until=END, before=using, after=uploaded),
    "docs/own.md": Page(before=support_desk),
    "docs/comparing.md": Page(within=0, before=prediction_files),
}
# Why a block is not typed, by the comment above it; and how many such blocks there are.
UNTYPED = {
    "needs a cluster": 2,
    "needs a GPU": 2,
    "needs a network and a GPU": 1,
    "downloads GLUE, and needs a GPU": 1,
    "files of your own": 1,
    "downloads the corpora": 1,
    "trains for hours": 1,
    "needs a notebook": 1,
    "needs Docker": 1,
    "needs MiniLM and a trained model": 1,
    "a setting of a study that is trained": 1,
    "installs PyTorch": 1,
    "the sample's dev is too small to prove it": 1,
    "a drawing": 1,
}


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Path]:
    """Makes a clone in which `make reproduce` has been given, once for all workers: small, or as the project is."""
    mine = tmp_path_factory.getbasetemp()
    shared = mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine

    def made(is_small: bool) -> Path:
        root = shared / ("small" if is_small else "real")
        with FileLock(f"{root}.lock"):
            if not (root / "empty.db").exists():
                clone(root)
                select(root, SMALL if is_small else REAL)
                if is_small:
                    shrink(root)
                commit(root)
                walk = Walk(root)
                walk.done("make reproduce")
                walk.done(f"python -c {quote(EMPTY_DATABASE)}")
        return root

    return made


def copied(trained: Path, root: Path, page: Page) -> Path:
    """A copy of such a clone, with the page's settings committed, and nothing in MLflow."""
    left = shutil.ignore_patterns(".venv", "mlflow.db*", "mlartifacts", "empty.db")
    shutil.copytree(trained, root, symlinks=True, ignore=left)
    shutil.copy(trained / "empty.db", root / "mlflow.db")
    environment(root)
    select(root, page.variants)
    commit(root)
    return root


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_right(name: str, trained: Callable[[bool], Path], tmp_path: Path):
    page = PAGES[name]
    walk = Walk(copied(trained(not page.real_until), tmp_path / "mtbert", page))
    try:
        page.before(walk)
        walk.stands_for |= dict.fromkeys(page.elsewhere, ":")
        for command in page.planned:
            walk.stands_for[command] = f"{command} manifest"
        for block in pages.blocks(name):
            if page.real_until and page.real_until in block.text:
                shrink(walk.root)
                select(walk.root, ("pals",))
                commit(walk.root)
            if not block.mark:
                walk.block(block, page.within)
        page.after(walk)
    finally:
        walk.end()


def test_every_page_is_walked_and_what_is_not_typed_says_why():
    every = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]
    every += [*REPOSITORY.glob("docs/**/*.md"), *REPOSITORY.glob("reports/**/*.md")]
    found = {str(page.relative_to(REPOSITORY)): pages.blocks(page.relative_to(REPOSITORY)) for page in every}
    assert {name for name, blocks in found.items() if not all(block.mark for block in blocks)} == {*PAGES}
    for command in {command for page in PAGES.values() for command in page.elsewhere}:
        walked = [name for name, page in PAGES.items() if command not in page.elsewhere]
        assert any(command in block.text for name in walked for block in found[name]), command
    assert Counter(block.mark for blocks in found.values() for block in blocks if block.mark) == UNTYPED
