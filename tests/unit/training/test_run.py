"""A whole run on a few examples: what it leaves behind, and that a seed decides all of it."""

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import torch
from runs import checkpoint, parts, saved, settings
from safetensors.torch import load_file

from mtbert import files, layout
from mtbert.errors import DataError, TrainingError
from mtbert.machine.hardware import Hardware
from mtbert.provenance import seals
from mtbert.provenance.inputs import Inputs
from mtbert.scores.schemas import RunMetrics
from mtbert.training import assembly, logs, loop, run

HALF = np.array([True, False, True, False, True, False, True])


def train(folder: Path, seed: int = 1, **changes) -> dict:
    return train_made(parts(settings(**changes), seed), folder)


def train_made(made: run.Parts, folder: Path) -> dict:
    return run.train(made, folder / "run", folder / "logs", checkpoint(folder))


def with_halves() -> run.Parts:
    """Parts whose dev chooses an epoch on rows 0, 2, 4 and 6."""
    made = parts(settings(phase={"epochs": 1}), 1)
    for examples in made.examples["dev"].values():
        examples.halve(HALF)
    return dataclasses.replace(made, choosing=assembly.choosing(made.settings, made.examples))


def choose_by(monkeypatch: pytest.MonkeyPatch, *means: float) -> None:
    """Let the mean dev scores by which epochs are chosen be these."""
    told = iter(means)
    monkeypatch.setattr(run.evaluation, "mean_score", lambda *_: next(told))


def history_of(folder: Path, name: str) -> pd.DataFrame:
    history = pd.read_csv(folder / "run/history.csv")
    return history[history["name"] == name]


def test_what_a_run_leaves_behind(tmp_path):
    metrics = train(tmp_path, run={"keep": "last"})
    key = layout.log_key(tmp_path / "run")
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert found == [
        f"logs/{key}/run.json",
        "run/digests.json",
        "run/embeddings.safetensors",
        "run/history.csv",
        "run/metrics.json",
        "run/model.safetensors",
        "run/predictions/sst-dev.parquet",
        "run/predictions/sst-test.parquet",
        "run/predictions/sts-dev.parquet",
        "run/predictions/sts-test.parquet",
        "run/settings.yaml",
    ]
    assert json.loads((tmp_path / "run/metrics.json").read_text()) == metrics
    assert (metrics["steps"], metrics["epoch"]) == (6, 2)
    assert sorted(metrics["dev"]) == ["sst", "sts"]
    assert metrics["test"] == {}  # withheld labels give no score
    seals.check(tmp_path / "run", "dvc repro")


def test_a_run_and_its_log_say_what_it_was_made_from_and_the_log_which_encoder(tmp_path):
    made_from = Inputs(settings={"pals": {"dim": 8}}, code={"loop.py": "1f"}, files={"data/sst": "2b"}, seed=1)
    made = dataclasses.replace(parts(settings(phase={"epochs": 1}), 1), made_from=made_from, encoder_revision="0f1e")
    run.train(made, tmp_path / "run", tmp_path / "logs", checkpoint(tmp_path))
    log = tmp_path / "logs" / layout.log_key(tmp_path / "run")
    seals.check(tmp_path / "run")
    assert files.read_json(tmp_path / "run/inputs.json") == {
        "settings": {"pals": {"dim": 8}}, "code": {"loop.py": "1f"}, "files": {"data/sst": "2b"}, "seed": 1,
    }  # fmt: skip
    assert (log / "inputs.json").read_bytes() == (tmp_path / "run/inputs.json").read_bytes()
    assert files.read_json(log / "run.json")["encoder_revision"] == "0f1e"


def test_the_seconds_of_a_training_are_those_of_its_steps_until_their_numbers_are_read(tmp_path, monkeypatch):
    now = [0.0]

    def taking(seconds, function):
        def call(*arguments):
            now[0] += seconds
            return function(*arguments)

        return call

    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(loop.Hardware, "is_asynchronous", True)  # so that numbers are read at the end of an epoch
    monkeypatch.setattr(loop, "check_finite", taking(1.0, loop.check_finite))  # where numbers are read
    monkeypatch.setattr(loop.Trainer, "_compute", taking(10.0, loop.Trainer._compute))
    monkeypatch.setattr(loop.Trainer, "_predictions", taking(100.0, loop.Trainer._predictions))
    monkeypatch.setattr(loop.Checkpoint, "save", taking(1000.0, loop.Checkpoint.save))
    train(tmp_path, phase={"epochs": 2, "epoch_length": "3 steps"}, run={"log_every": 100, "checkpoint_every": 2})
    (log,) = (json.loads(file.read_text()) for file in tmp_path.glob("logs/*/run.json"))
    assert log["training_seconds"] == 6 * (10.0 + 1.0)


def test_memory_is_given_back_every_so_many_steps(tmp_path, monkeypatch):
    give_back = Mock()
    monkeypatch.setattr(loop, "GIVE_BACK_MEMORY_EVERY", 4)
    monkeypatch.setattr(loop.hardware, "give_back_memory", give_back)
    train(tmp_path, phase={"epochs": 3, "epoch_length": "3 steps"})
    assert give_back.call_count == 2


def test_a_checkpoint_of_another_precision_is_not_used(tmp_path, capsys):
    here, other = (
        run.on_the_same_hardware(checkpoint(tmp_path), Hardware(torch.device("cpu"), precision))
        for precision in ("fp32", "bf16")
    )
    here.save({"a": 1})
    assert here.load() == {"a": 1}
    assert other.load() is None
    assert "or of another device, precision or PyTorch: it is not used" in capsys.readouterr().err


def test_a_checkpoint_of_another_kind_of_gpu_is_not_used(tmp_path, monkeypatch):
    names = iter(["NVIDIA H100", "NVIDIA H100", "NVIDIA A100"])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: next(names))
    on = Hardware(torch.device("cuda"), "bf16", records=True)
    here, same, other = (run.on_the_same_hardware(checkpoint(tmp_path), on) for _ in range(3))
    here.save({"a": 1})
    assert same.load() == {"a": 1}
    assert other.load() is None


def test_a_checkpoint_of_another_pytorch_is_not_used(tmp_path, monkeypatch):
    on = Hardware(torch.device("cpu"))
    here = run.on_the_same_hardware(checkpoint(tmp_path), on)
    here.save({"a": 1})
    monkeypatch.setattr(torch, "__version__", "1.0")
    assert run.on_the_same_hardware(checkpoint(tmp_path), on).load() is None


def test_embeddings_are_of_dev_rows_drawn_from_the_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run, "EMBEDDED", 3)
    train(tmp_path, phase={"epochs": 1})
    kept = load_file(tmp_path / "run/embeddings.safetensors")
    assert {name: tuple(values.shape) for name, values in kept.items() if "rows" not in name} == {
        "sst": (1, 3, 24),
        "sts": (1, 3, 24),
    }
    assert [kept[f"{task}/rows"].tolist() for task in ("sst", "sts")] == [[2, 3, 4]] * 2


def test_the_number_of_threads_is_the_settings_whatever_it_was(tmp_path: Path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    train(tmp_path, run={"threads": 3}, phase={"epochs": 1})
    assert torch.get_num_threads() == 3
    torch.set_num_threads(before)


def test_scores_follow_from_the_prediction_files_and_the_history_tells_dev_scores_and_rates(tmp_path):
    metrics = train(tmp_path)
    sst = pd.read_parquet(tmp_path / "run/predictions/sst-dev.parquet")
    sts = pd.read_parquet(tmp_path / "run/predictions/sts-dev.parquet")
    assert list(sst["id"]) == [f"sst{n}" for n in range(7)]
    assert history_of(tmp_path, "learning_rate")["step"].tolist() == [2, 4, 6]
    assert history_of(tmp_path, "dev/sst")["step"].tolist() == [3, 6]
    assert metrics["dev"]["sst"] == (sst["label"] == sst["prediction"]).mean()
    assert metrics["dev"]["sts"] == pytest.approx(np.corrcoef(sts["label"], sts["prediction"])[0, 1])


def test_one_seed_one_result_and_another_seed_another(tmp_path):
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        train(tmp_path / folder, seed)
    same = ["run/model.safetensors", "run/history.csv", "run/metrics.json", "run/predictions/sst-dev.parquet"]
    for name in same:
        assert files.sha256(tmp_path / "a" / name) == files.sha256(tmp_path / "b" / name)
        assert files.sha256(tmp_path / "a" / name) != files.sha256(tmp_path / "c" / name)


def test_the_best_epochs_weights_are_those_of_that_epoch(tmp_path, monkeypatch):
    train(tmp_path / "short", phase={"epochs": 1})
    choose_by(monkeypatch, 0.9, 0.2)
    assert train(tmp_path / "best", run={"keep": "best"})["epoch"] == 1
    short, best = (load_file(tmp_path / f / "run/model.safetensors") for f in ("short", "best"))
    assert all(torch.equal(short[name], best[name]) for name in short)


def test_the_best_epoch_is_one_of_the_last_phase(tmp_path, monkeypatch):
    made = parts(settings(), 1)
    two = made.settings.model_copy(update={"phases": made.settings.phases * 2})
    phases = assembly.phases(two, 1, made.model, made.examples["train"])
    choose_by(monkeypatch, 0.9, 0.8, 0.2, 0.3)
    made = dataclasses.replace(made, settings=two, phases=phases, steps=12)
    assert train_made(made, tmp_path)["epoch"] == 4


def test_an_epoch_is_chosen_by_the_half_that_is_not_scored(tmp_path):
    made = with_halves()
    metrics = train_made(made, tmp_path)
    table = pd.read_parquet(tmp_path / "run/predictions/sst-dev.parquet")
    assert table["scored"].tolist() == (~HALF).tolist()
    right = table["label"] == table["prediction"]
    history = pd.read_csv(tmp_path / "run/history.csv").set_index("name")["value"]
    assert metrics["dev"]["sst"] == right[~HALF].mean()
    assert history["dev/sst"] == right[HALF].mean()


def test_an_epoch_is_chosen_on_spared_training_rows_and_all_of_dev_is_scored(tmp_path):
    made = parts(settings(phase={"epochs": 1, "spared": 0.25}, run={"selection": "spared"}), 1)
    spared = made.examples["train"]["sst"].split(0.25)[1]
    assert made.choosing["sst"].ids == spared.ids == ("sst4", "sst8", "sst11")
    train_made(made, tmp_path)
    assert history_of(tmp_path, "dev/sst").empty
    assert len(history_of(tmp_path, "spared/sst")) == 1
    assert pd.read_parquet(tmp_path / "run/predictions/sst-dev.parquet")["scored"].all()


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0.70, 0.69, 0.65], 2),  # within 0.02 of the best
        ([0.70, 0.67, 0.69], 3),
        ([0.70, 0.72, 0.695], 2),  # farther from the best than that
        ([0.70, 0.69, 0.675], 2),  # within 0.02 of the one that was kept, but not of the best
        ([0.70, 0.70, 0.60], 2),
    ],
)
def test_on_spared_rows_the_last_epoch_within_a_standard_error_of_the_best_is_kept(tmp_path, monkeypatch, scores, kept):
    choose_by(monkeypatch, *scores)
    monkeypatch.setattr(run.evaluation, "error_of_mean", lambda *_: 0.02)
    made = parts(settings(phase={"epochs": 3, "spared": 0.25}, run={"selection": "spared", "keep": "best"}), 1)
    metrics = train_made(made, tmp_path)
    assert metrics["epoch"] == kept
    assert metrics["chosen_by"] == [scores[kept - 1]]


@pytest.mark.parametrize(("patience", "epochs"), [(1, 3), (2, 6), (None, 6)])
def test_a_phase_ends_after_so_many_scores_that_do_not_exceed_the_best(tmp_path, monkeypatch, patience, epochs):
    choose_by(monkeypatch, 0.5, 0.6, 0.6, 0.7, 0.1, 0.2)
    metrics = train(tmp_path, phase={"epochs": 6}, run={"patience": patience})
    assert len(history_of(tmp_path, "dev/sst")) == epochs
    assert metrics["steps"] == 3 * epochs


def test_rows_that_choose_an_epoch_and_training_rows_that_are_scored_are_drawn_from_the_whole_file(
    tmp_path, monkeypatch
):
    seen = []
    predict = run.evaluation.predict

    def noted(model, examples, device, *_):
        if examples.task.name == "sst":
            seen.append(examples.ids)
        return predict(model, examples, device)

    monkeypatch.setattr(run.evaluation, "predict", noted)
    train(tmp_path, run={"evaluation_rows": 3, "train_rows": 4, "predict_test": False})
    assert seen[:2] == [("sst2", "sst3", "sst4")] * 2  # after each of two epochs
    table = pd.read_parquet(tmp_path / "run/predictions/sst-train.parquet")
    assert table["id"].tolist() == ["sst2", "sst4", "sst7", "sst9"]
    assert not (tmp_path / "run/predictions/sst-test.parquet").exists()


def test_training_rows_that_are_scored_are_among_those_that_were_trained_on(tmp_path):
    train(tmp_path / "drawn", phase={"rows": 2}, run={"train_rows": 4})
    assert scored_in_train(tmp_path / "drawn") == ["sst2", "sst9"]
    train(tmp_path / "spared", phase={"spared": 0.5}, run={"train_rows": 12})
    trained, _ = parts(settings(), 1).examples["train"]["sst"].split(0.5)
    assert scored_in_train(tmp_path / "spared") == [*trained.ids]


def scored_in_train(folder: Path) -> list[str]:
    return pd.read_parquet(folder / "run/predictions/sst-train.parquet")["id"].tolist()


def test_a_phase_trains_on_as_many_rows_as_it_may_in_training_mode_in_every_epoch(tmp_path, monkeypatch):
    seen, loss_of = set(), loop.loss_of
    monkeypatch.setattr(loop, "loss_of", lambda *given: seen.update(given[-1].ids) or loss_of(*given))
    modes, update = [], torch.optim.AdamW.step
    made = parts(settings(phase={"rows": 2}), 1)
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *given: modes.append(made.model.training) or update(*given))
    train_made(made, tmp_path)
    assert modes == [True] * 6  # although dev was scored between the epochs
    assert {name for name in seen if name.startswith("sst")} == {"sst2", "sst9"}


def test_memory_of_a_gpu_is_logged_apart_from_the_processors(tmp_path, monkeypatch):
    monkeypatch.setattr(logs.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(logs.torch.cuda, "max_memory_reserved", lambda: 3 * 2**20)
    monkeypatch.setattr(logs, "sys", SimpleNamespace(platform="linux"))
    usage = SimpleNamespace(ru_maxrss=5 * 1024)  # KiB
    monkeypatch.setattr(logs, "resource", SimpleNamespace(RUSAGE_SELF=0, getrusage=lambda _: usage))
    assert (logs.peak_memory_mb(), logs.peak_gpu_memory_mb()) == (5, 3)


def test_a_run_tells_what_it_saw_and_ran(tmp_path):
    made = dataclasses.replace(parts(settings(phase={"epochs": 1}), 1), code="1f")
    metrics = train_made(made, tmp_path)
    log = files.read_json(next((tmp_path / "logs").rglob("run.json")))
    assert RunMetrics(**metrics).examples == metrics["examples"]  # as the report reads it
    assert set(metrics["examples"]) <= {"sst", "sts"}
    assert sum(metrics["examples"].values()) == log["examples"] > 0
    assert files.read_yaml(tmp_path / "run/settings.yaml")["code"] == "1f"


def test_dev_without_labels_chooses_no_epoch():
    with pytest.raises(
        DataError, match=r"dev of sts has no labels .* run.keep in params.yaml is best, .*; allowed .*: last"
    ):
        run.evaluation.mean_score({"sst": 0.5}, ["sst", "sts"])


def test_a_loss_that_is_not_finite_stops_before_anything_is_written(tmp_path):
    made = parts(settings(), 1)
    with torch.no_grad():
        made.model.heads["sst"].linear.bias.fill_(float("nan"))
    with pytest.raises(TrainingError, match=r"the loss sst of step \d is not finite.*sst: sst\d+"):
        train_made(made, tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("place", [(loop, "loss_of"), (torch.optim.AdamW, "step")], ids=["loss", "update"])
def test_what_does_not_fit_into_the_memory_is_told_with_what_to_lower(tmp_path, monkeypatch, place):
    def short(*given):
        raise torch.OutOfMemoryError("CUDA out of memory. (in a test)")

    monkeypatch.setattr(*place, short)
    with pytest.raises(TrainingError, match=r"step 1 does not fit into the memory \(s.*: \[4, \d+\] tokens\); low"):
        train(tmp_path)


@pytest.mark.parametrize("clip", [0.01, 1e6])
def test_gradients_are_cut_to_the_norm_that_is_set(tmp_path, monkeypatch, clip):
    lengths, update = [], torch.optim.AdamW.step

    def watched(optimiser, *given):
        gradients = [p.grad for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
        lengths.append(torch.cat([gradient.flatten() for gradient in gradients]).norm().item())
        return update(optimiser, *given)

    monkeypatch.setattr(torch.optim.AdamW, "step", watched)
    train(tmp_path, phase={"clip": clip})
    assert len(lengths) == 6
    if clip == 0.01:
        assert lengths == pytest.approx([0.01] * 6, rel=1e-3)
    else:
        assert min(lengths) > 0.01


def test_a_loss_that_is_not_finite_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    made, loss_of = parts(settings(run={"checkpoint_every": 1}), 1), loop.loss_of
    calls = iter(range(1, 100))

    def third_is_broken(*given):
        found = loss_of(*given)
        return loop.Loss(found.total * (float("inf") if next(calls) == 3 else 1.0), found.terms)

    monkeypatch.setattr(loop, "loss_of", third_is_broken)
    with pytest.raises(TrainingError, match="the gradient of step 3 is not finite, so the weights were left"):
        train_made(made, tmp_path)
    state = saved(tmp_path)
    assert state["outcome"]["steps"] == 2
    assert all(torch.equal(state["model"][name], value) for name, value in made.model.state_dict().items())


def test_numbers_that_are_read_late_change_nothing(tmp_path, monkeypatch):
    train(tmp_path / "at once", run={"log_every": 2})
    monkeypatch.setattr(run.Hardware, "is_asynchronous", True)
    train(tmp_path / "late", run={"log_every": 2, "checkpoint_every": 5})
    for name in ("model.safetensors", "history.csv", "metrics.json"):
        assert files.sha256(tmp_path / "late/run" / name) == files.sha256(tmp_path / "at once/run" / name)


def test_a_number_that_is_not_finite_stops_all_updates_from_its_step_on_and_is_told_when_it_is_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(run.Hardware, "is_asynchronous", True)
    made, loss_of = parts(settings(run={"log_every": 100}), 1), loop.loss_of
    weights, calls = [], iter(range(1, 100))

    def second_is_broken(*given):
        weights.append(made.model.heads["sst"].linear.weight.detach().clone())
        found = loss_of(*given)
        return loop.Loss(found.total * (float("nan") if next(calls) == 2 else 1.0), found.terms)

    monkeypatch.setattr(loop, "loss_of", second_is_broken)
    with pytest.raises(TrainingError, match="the gradient of step 2 is not finite"):
        train_made(made, tmp_path)
    assert len(weights) == 3  # it was read at the end of the epoch
    assert torch.equal(weights[1], weights[2])
    assert torch.equal(weights[2], made.model.heads["sst"].linear.weight)


def test_a_rate_that_is_cut_after_an_epoch_holds_from_the_first_step_of_the_next(tmp_path, monkeypatch):
    choose_by(monkeypatch, 0.5, 0.4, 0.6)
    schedule = {"name": "reduce_on_plateau", "factor": 0.1, "patience": 0}
    train(tmp_path, phase={"schedule": schedule, "epochs": 3}, run={"log_every": 1, "keep": "last"})
    assert history_of(tmp_path, "learning_rate")["value"].tolist() == pytest.approx([1e-3] * 6 + [1e-4] * 3)


def test_an_epoch_is_chosen_by_the_phases_own_tasks(tmp_path, monkeypatch):
    made = parts(settings(phase={"tasks": ["sts"]}), 1)
    asked = []
    mean = run.evaluation.mean_score
    monkeypatch.setattr(run.evaluation, "mean_score", lambda values, of: asked.append(list(of)) or mean(values, of))
    train_made(made, tmp_path)
    assert asked == [["sts"], ["sts"]]


@pytest.mark.parametrize("function", ["predict_splits", "_metrics", "_write", "_write_embeddings", "_log"])
def test_a_kill_at_the_end_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str):
    def train_one(folder: Path) -> None:
        made = parts(settings(), 1)
        made.model.train_only([])  # as `assemble` leaves it
        train_made(made, folder)

    train_one(tmp_path / "whole")

    def killed(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(run, function, killed)
        with pytest.raises(RuntimeError):
            train_one(tmp_path / "killed")
    train_one(tmp_path / "killed")
    assert digests(tmp_path / "killed/run") == digests(tmp_path / "whole/run")


def digests(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): files.sha256(file) for file in folder.rglob("*") if file.is_file()}
