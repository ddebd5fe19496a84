"""Which models can be merged, and what comes of it."""

import shutil
from pathlib import Path

import made
import pytest
import runs
import torch
import trained
from models import small_bert
from safetensors.torch import load_file

from mtbert import files
from mtbert.errors import DataError, SettingsError
from mtbert.inference import loading, speed
from mtbert.merging import run, settings_of
from mtbert.pretrained import fetching
from mtbert.provenance import inputs, seals
from mtbert.training import assembly
from mtbert.variants import building
from mtbert.variants.settings import VariantSettings

PLAIN = {"adapter": {"name": "none"}}
LINEAR = {"name": "linear", "dropout": 0.3, "output_bias": "plain"}
SPARED = {"spared": 0.25}


def member(task: str, **changes) -> VariantSettings:
    """A model of one task that can be merged."""
    phase = SPARED | {"tasks": [task]} | changes.pop("phase", {})
    of_run = {"keep": "last"} | changes.pop("run", {})
    given = runs.settings(phase=phase, run=of_run).model_dump()
    model = given["model"] | PLAIN | changes.pop("model", {})
    by_task = {key: {task: model[key][task]} for key in ("heads", "pooling")}
    own = {"variant": f"of-{task}", "tasks": [task], "model": model | by_task}
    return VariantSettings(**given | own | changes)


def test_a_merged_model_has_the_tasks_heads_and_pooling_of_all_members_and_no_phase():
    sst, sts = member("sst", model={"pooling": {"sst": "cls"}}), member("sts")
    merged = settings_of("both", "ties", [sst, sts], paper="own", row="Merged")
    assert merged.model_dump() == sst.model_dump() | {
        "variant": "both", "paper": "own", "row": "Merged", "tasks": ["sst", "sts"], "phases": [],
        "members": ["of-sst", "of-sts"], "merge": "ties",
        "model": sst.model_dump()["model"]
        | {"heads": {"sst": LINEAR, "sts": LINEAR}, "pooling": {"sst": "cls", "sts": "pooler"}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (member("sst", variant="again"), "of-sst and again both learn sst; allowed: members of different tasks"),
        (member("sts", model={"adapter": {"name": "pals"}}), "model.adapter of of-sts is pals, whose weights no merge"),
        (member("sts", model={"max_tokens": 64}), "of-sst and of-sts differ in max_tokens; allowed: members that"),
        (member("sts", run={"keep": "best"}), "of-sst and of-sts differ in run"),
        (member("sts", phases=[]), "of-sts is not trained; allowed: members that are"),
        (member("sts", phase={"spared": 0.0}), "training.spared of of-sts is 0; allowed: above 0, and alike"),
        (member("sts", phase={"spared": 0.1}), "training.spared of of-sts is 0.1; allowed: above 0, and alike"),
    ],
)
def test_members_that_cannot_be_merged_are_refused(other: VariantSettings, told: str):
    with pytest.raises(SettingsError, match=told.replace(".", r"\.")):
        settings_of("both", "ties", [member("sst"), other])


def test_members_that_keep_the_best_epoch_on_dev_are_refused():
    best = [member(task, run={"keep": "best"}) for task in ("sst", "sts")]
    with pytest.raises(
        SettingsError,
        match=r"run\.keep of of-sst is best, which is chosen on dev; allowed: last, or run.selection: spared",
    ):
        settings_of("both", "mean", best)


def test_the_mean_chooses_nothing_and_needs_no_spared_rows():
    members = [member(task, phase={"spared": 0.0}) for task in ("sst", "sts")]
    assert settings_of("both", "mean", members).merge == "mean"


def test_the_mean_of_members_that_spare_other_rows_is_refused():
    members = [member(task, phase={"spared": spared}) for task, spared in (("sst", 0.2), ("sts", 0.1))]
    with pytest.raises(SettingsError, match=r"training\.spared of of-sts is 0\.1; allowed: alike in all members"):
        settings_of("both", "mean", members)


def test_the_scale_is_that_which_scores_best_and_the_model_has_its_weights_and_every_members_head():
    merged = settings_of("both", "task_arithmetic", [member("sst"), member("sts")])
    model = building.build_model(merged, small_bert(), 1)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    states = []
    for task in ("sst", "sts"):
        own = {name: value for name, value in start.items() if not name.startswith("heads.")}
        states.append({name: value + 1.0 for name, value in own.items()})
        states[-1] |= {f"heads.{task}.linear.weight": start[f"heads.{task}.linear.weight"] - 7,
                       f"heads.{task}.linear.bias": start[f"heads.{task}.linear.bias"] - 7}  # fmt: skip
    norm = "encoder.backbone.embeddings.LayerNorm.bias"
    tried = []  # how far the bias moved: scale * 2, since each member moved it by 1

    def score() -> float:
        tried.append(round(float(model.state_dict()[norm][0] - start[norm][0]), 3))
        return -abs(tried[-1] - 0.6)

    assert run.join(model, states, "task_arithmetic", score) == 0.3
    assert tried == [0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0]
    assert torch.equal(model.state_dict()[norm], start[norm] + 0.3 * 2)
    assert torch.equal(model.heads["sts"].linear.bias, start["heads.sts.linear.bias"] - 7)


def test_spared_rows_are_the_same_for_every_seed_and_no_phase_sees_them():
    settings, train = member("sst"), {"sst": runs.examples("sst", 12)}
    kept, spared = train["sst"].split(0.25)
    assert (len(kept), len(spared)) == (9, 3)
    assert {*kept.ids, *spared.ids} == {*train["sst"].ids}
    for seed in (1, 2):
        (build,) = assembly.phases(settings, seed, building.build_model(settings, small_bert(), 1), train)
        stream = build().streams["sst"]
        seen = {one for _ in range(2 * stream.batches_per_pass) for one in stream.next().ids}
        assert seen == {*kept.ids}


def test_of_one_row_none_is_spared():
    assert [len(part) for part in runs.examples("sst", 1).split(0.5)] == [1, 0]


@pytest.fixture(scope="module")
def build(tmp_path_factory) -> Path:
    """A build folder with two models of a task each, and a mean of both."""
    return made_build(tmp_path_factory.mktemp("build"))


def made_build(folder: Path, **of_run: str) -> Path:
    fetching.fetch(trained.ENCODER, trained.DATA, folder / "encoders" / "base")
    seals.seal(folder / "encoders" / "base")
    trained.preprocess(trained.DATA, folder / "data", trained.wordpieces(folder / "encoders" / "base"), set())
    for task in ("sst", "sts"):
        trained.train(folder, member(task, model={"max_tokens": 16}, phase=trained.STEPS, run=of_run))
    entry = {"selected": True, "paper": "own", "row": "Merged", "members": ["of-sst", "of-sts"], "merge": "mean"}
    vote = {"selected": True, "members": ["of-sst", "of-sts"]}
    files.write_yaml(folder / "plan/catalog.yaml", {"seeds": [1], "ensembles": {"both": entry, "vote": vote}})
    files.write_yaml(folder / "plan/code-merge.yaml", {"merging/run.py": "c0de"})
    files.write_json(folder / "machine.json", made.MANIFEST["machine"])
    return folder


def test_a_merged_model_is_written_once_and_predicts(build: Path):
    assert run.merge_all(build, build / "merged") == ["both, seed 1: merged"]
    assert run.merge_all(build, build / "merged") == []
    members = ("runs/of-sst/1/digests.json", "runs/of-sts/1/digests.json")
    made_from = inputs.of_model(build / "merged/both/1")
    assert made_from is not None
    assert made_from.code == {"merging/run.py": "c0de"}
    assert [made_from.files[member] for member in members] == [files.sha256(build / member) for member in members]
    assert made_from.files["encoders/base/config.json"] == files.sha256(build / "encoders/base/config.json")
    sst, sts, both = (load_file(build / place / "1/model.safetensors")
                      for place in ("runs/of-sst", "runs/of-sts", "merged/both"))  # fmt: skip
    norm, head = "encoder.backbone.embeddings.LayerNorm.bias", "heads.sts.linear.weight"
    assert not torch.equal(sst[norm], sts[norm])
    torch.testing.assert_close(both[norm], (sst[norm] + sts[norm]) / 2)
    assert torch.equal(both[head], sts[head])
    model = loading.load_any("both", build=build)
    assert model.tasks == ("sst", "sts")
    sizes = model.metrics.parameters
    assert sizes["stored"] == sizes["encoder"] + sizes["added"]
    assert len(model.predict(task="sts", rows=[("A cat.", "A dog.")])) == 1


def test_members_of_other_rows_are_not_merged(build: Path, tmp_path: Path):
    there = Path(shutil.copytree(build, tmp_path / "build"))
    shutil.copy(there / "manifest/of-sts.json", there / "runs/of-sts/1/inputs.json")
    files.write_text(there / "data/sts/test.parquet", "other")
    with pytest.raises(DataError, match=r"of-sts/1: made before these changed: data sts/test\.parquet changed; "):
        run.merge_all(there, tmp_path / "merged")


def test_where_members_held_rows_out_for_the_epoch_the_merge_has_temperatures_of_these_rows(tmp_path: Path):
    build = made_build(tmp_path, keep="best", selection="spared")
    run.merge_all(build, build / "merged")
    temperatures = loading.load_any("both", build=build).metrics.temperatures
    assert [*temperatures] == ["sst"]  # STS is a score
    assert temperatures["sst"] != 1.0


def test_a_scale_is_chosen_on_the_rows_that_no_member_has_seen(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chosen_on: dict[str, list[str]] = {}

    def score(model, unseen, described, device):
        chosen_on.update({task: [*rows.ids] for task, rows in unseen.items()})
        return 0.0

    there = Path(shutil.copytree(build, tmp_path / "build"))
    catalog = files.read_yaml(there / "plan/catalog.yaml")
    catalog["ensembles"]["both"]["merge"] = "task_arithmetic"
    files.write_yaml(there / "plan/catalog.yaml", catalog)
    monkeypatch.setattr(run, "_score", score)
    assert run.merge_all(there, there / "merged") == ["both, seed 1: merged"]
    for task in ("sst", "sts"):
        (stream,) = assembly.assemble(member(task, model={"max_tokens": 16}), 1, there).phases[0]().streams.values()
        seen = {one for _ in range(2 * stream.batches_per_pass) for one in stream.next().ids}
        assert chosen_on[task]
        assert seen.isdisjoint(chosen_on[task])


def test_where_members_held_no_rows_out_a_merge_fits_nothing(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(run, "_fit_thresholds", lambda *_: pytest.fail("fitted on rows that a member trained on"))
    assert run.merge_all(build, tmp_path) == ["both, seed 1: merged"]
    assert "temperatures" not in files.read_json(tmp_path / "both/1/metrics.json")


def test_every_model_is_timed_and_the_seconds_of_each_training_are_told(build: Path):
    run.merge_all(build, build / "merged")
    catalog = files.read_yaml(build / "plan/catalog.yaml")
    variants = {"of-sst": {"selected": True}, "of-sts": {"selected": True}, "other": {"selected": False}}
    files.write_yaml(build / "plan/catalog.yaml", catalog | {"variants": variants})
    found = speed.measure(build)
    assert found.machine == "i386"
    assert [*found.costs] == ["of-sst", "of-sts", "both"]
    for cost in found.costs.values():
        assert 0 < cost.batch_milliseconds < 10_000
        assert 0 < cost.milliseconds < 10_000
    files_of_both = (build / "merged/both/1/model.safetensors", build / "encoders/base/tokenizer.json")
    assert found.costs["both"].megabytes == round(sum(file.stat().st_size for file in files_of_both) / 1e6, 3)
    assert {name: [*of] for name, of in found.seconds.items()} == {"of-sst": ["1"], "of-sts": ["1"]}


@pytest.mark.parametrize("file", ["plan/code-merge.yaml", "merged/both/1/metrics.json"])
def test_it_is_merged_again_by_other_code_and_where_it_was_altered(build: Path, file: str):
    run.merge_all(build, build / "merged")
    with (build / file).open("a") as handle:
        handle.write("\n" if file.endswith(".json") else "training/run.py: c0de\n")
    assert run.merge_all(build, build / "merged") == ["both, seed 1: merged"]


def test_it_is_merged_again_after_another_training_and_removed_with_its_entry(build: Path):
    run.merge_all(build, build / "merged")
    trained.train(build, member("sts", model={"max_tokens": 16}, phase=trained.STEPS | {"learning_rate": 0.02}))
    assert run.merge_all(build, build / "merged") == ["both, seed 1: merged"]
    files.write_yaml(build / "plan/catalog.yaml", {"seeds": [1], "ensembles": {}})
    assert run.merge_all(build, build / "merged") == []
    assert [*(build / "merged").iterdir()] == []


def test_a_merge_whose_members_left_their_weights_on_another_machine_is_told_and_left_out(build: Path, tmp_path: Path):
    there = Path(shutil.copytree(build, tmp_path / "build"))
    member = there / "runs/of-sst/1"
    (member / "model.safetensors").unlink()
    files.write_text(member / "elsewhere.json", "{}")
    seals.seal(member)
    entry = {"selected": True, "members": ["of-sst", "of-sts"], "merge": "mean"}
    files.write_yaml(there / "plan/catalog.yaml", {"seeds": [1], "ensembles": {"both": entry}})
    told = f"both, seed 1: not merged, since {member} has no weights here"
    assert run.merge_all(there, tmp_path / "merged") == [told]


def test_a_merge_whose_members_are_not_there_is_told_and_left_out(build: Path):
    entry = {"selected": True, "members": ["of-sst", "of-sts"], "merge": "mean"}
    files.write_yaml(build / "plan/catalog.yaml", {"seeds": [2], "ensembles": {"both": entry}})
    told = f"both, seed 2: not merged, since {build / 'runs/of-sst/2'} has no weights here"
    assert run.merge_all(build, build / "merged") == [told]
