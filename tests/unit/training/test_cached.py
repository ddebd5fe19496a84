"""Heads that train on embeddings which a frozen encoder computed once, and where they may not."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import runs
import torch
from models import small_bert
from safetensors.torch import load_file

from mtbert.data.batches import Batch, Examples
from mtbert.data.tokens import SpecialTokens
from mtbert.machine.hardware import Hardware
from mtbert.models.multitask import MultitaskModel
from mtbert.tasks import COURSE, Split
from mtbert.training import assembly, cached, run
from mtbert.training.loop import Trainer
from mtbert.variants.settings import VariantSettings

ON = Hardware(torch.device("cpu"))
HEADS = {"trainable": ["heads"]}


def settings(phase: dict | None = None, **model: object) -> VariantSettings:
    """Of heads on an encoder without dropout and adapters; the heads have dropout of their own."""
    given = runs.settings(phase=HEADS | (phase or {}), run={"keep": "last", "evaluations": 1}).model_dump()
    changed = {"adapter": {"name": "none"}, "dropout": 0.0, **model}
    return VariantSettings(**given | {"model": given["model"] | changed})


def examples(task: str, split: str, encoding: str) -> Examples:
    random = np.random.default_rng(len(task + split))
    count = {"train": 9, "dev": 7}[split]
    tokens = [[random.integers(5, 50, size=random.integers(2, 9)) for _ in range(count)] for _ in range(2)]
    table = {"id": [f"{n}" for n in range(count)], "label": random.integers(0, 5, size=count).astype(float)}
    frame = pd.DataFrame(table | {"tokens1": tokens[0], "tokens2": tokens[1]})
    return Examples(frame, COURSE[task], encoding, SpecialTokens(1, 2, 0), 20)  # type: ignore[arg-type]


def parts(of: VariantSettings, with_memos: bool, seed: int = 1, store: Path | None = None) -> run.Parts:
    splits: tuple[Split, ...] = ("train", "dev")
    found: dict[Split, dict[str, Examples]] = {}
    for split in splits:
        found[split] = {t: examples(t, split, of.model.pair_encoding) for t in runs.TASKS_HERE}
    model = assembly.build_model(of, small_bert(), seed)
    phases = assembly.phases(of, seed, model, found["train"])
    choosing = assembly.choosing(of, found)
    if with_memos:
        scored = [*found["dev"].values(), *choosing.values()]
        phases = cached.with_memos(phases, model, scored, seed, ON, store)
    return run.Parts(of, seed, model, phases, assembly.steps(of, found["train"]), found, choosing)


def train(of: VariantSettings, folder: Path, with_memos: bool) -> dict:
    return run.train(parts(of, with_memos), folder / "run", folder / "logs", runs.checkpoint(folder))


def pooled(batch: Batch) -> list[list[float]]:
    """The embeddings that a batch brings."""
    assert batch.pooled is not None
    return batch.pooled.tolist()


def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each pass through the encoder from now on."""
    rows = list[int]()
    compute = MultitaskModel.pooled

    def counted(model: MultitaskModel, batch: Batch) -> torch.Tensor:
        rows.append(len(batch))
        return compute(model, batch)

    monkeypatch.setattr(MultitaskModel, "pooled", counted)
    return rows


@pytest.mark.parametrize("encoding", ["cross", "bi"])
@pytest.mark.parametrize("pooling", ["pooler", "cls", "mean"])
@pytest.mark.parametrize("connector", ["direct", "relational", "transformer_layer"])
def test_a_training_on_memos_ends_as_one_without(tmp_path: Path, encoding: str, pooling: str, connector: str):
    sections = {"transformer_layer": {"name": connector, "heads": 2}}
    model = {
        "pair_encoding": encoding,
        "pooling": dict.fromkeys(runs.TASKS_HERE, pooling),
        "connector": sections.get(connector, {"name": connector}),
    }
    of = settings({"trainable": ["connector", "heads"]}, **model)
    metrics = [train(of, tmp_path / str(with_memos), with_memos) for with_memos in (False, True)]
    plain, fast = (load_file(tmp_path / str(with_memos) / "run/model.safetensors") for with_memos in (False, True))
    for name, weights in plain.items():
        torch.testing.assert_close(fast[name], weights, atol=1e-5, rtol=0)
    before, now = (pd.read_csv(tmp_path / f"{with_memos}/run/history.csv") for with_memos in (False, True))
    pd.testing.assert_frame_equal(before, now, rtol=0, atol=1e-5)
    assert metrics[0]["dev"] == pytest.approx(metrics[1]["dev"], abs=1e-5)


def test_each_row_goes_through_the_encoder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    rows = passes(monkeypatch)
    train(settings({"epochs": 5, "epoch_length": "all"}), tmp_path, with_memos=True)
    probe, train_rows, dev_rows = 1, 2 * 9, 2 * 7
    assert sum(rows) == probe + train_rows + dev_rows


def test_a_phase_that_sees_a_row_once_fills_no_memo_of_it():
    made = parts(settings({"epochs": 1, "epoch_length": "all"}), with_memos=True)
    made.phases[0]()
    assert not made.examples["train"]["sst"].memo.filled.any()
    assert made.examples["dev"]["sst"].memo.filled.all()


@pytest.mark.parametrize(
    ("phase", "model"),
    [
        ({"trainable": ["encoder", "heads"]}, {}),
        ({"trainable": ["layer_2", "heads"]}, {}),
        ({"trainable": ["pooler", "heads"]}, {}),
        ({"trainable": ["adapters", "heads"]}, {"adapter": {"name": "pals", "dim": 8, "heads": 2, "dropout": 0.0}}),
        ({}, {"dropout": 0.1}),
        ({}, {"adapter": {"name": "pals", "dim": 8, "heads": 2, "dropout": 0.1}}),
        ({}, {"adapter": {"name": "lora", "dropout": 0.1}}),
        ({"objectives": [{"name": "smart"}]}, {}),
    ],
    ids=["encoder", "layer", "pooler", "adapters", "dropout", "attention dropout", "adapter dropout", "objective"],
)
def test_what_changes_or_draws_is_computed_anew(phase: dict, model: dict):
    made = parts(settings(phase, **model), with_memos=True)
    made.phases[0]()
    assert not any(examples.memo.filled.any() for by_task in made.examples.values() for examples in by_task.values())


def test_frozen_adapters_without_dropout_are_part_of_the_memo():
    of = settings(adapter={"name": "pals", "dim": 8, "heads": 2, "dropout": 0.0})
    made = parts(of, with_memos=True)
    made.phases[0]()
    assert made.examples["dev"]["sst"].memo.filled.all()


def test_a_phase_that_trains_the_encoder_forgets_what_the_one_before_it_kept():
    of = settings()
    phases = [of.phases[0], of.phases[0].model_copy(update={"trainable": ["encoder", "heads"]})]
    made = parts(of.model_copy(update={"phases": phases}), with_memos=True)
    made.phases[0]()
    assert made.examples["dev"]["sst"].batch([0]).pooled is not None
    made.phases[1]()
    assert made.examples["dev"]["sst"].batch([0]).pooled is None


def test_a_memo_that_would_be_too_large_is_left_out_with_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(cached, "LIMIT", 4 * 9 * 24)  # bytes of the nine training rows of one task
    made = parts(settings({"epochs": 9}), with_memos=True)
    made.phases[0]()
    assert made.examples["train"]["sst"].memo.filled.all()
    assert not made.examples["train"]["sts"].memo.filled.any()
    assert "sts: embeddings are computed in each epoch" in capsys.readouterr().out


def test_a_part_of_examples_reads_the_memo_of_all():
    every = examples("sst", "dev", "cross")
    part = every.drawn(3)
    every.memo.write(np.arange(7), torch.arange(14.0).reshape(7, 1, 2))
    assert pooled(part.batch([1])) == [[2.0 * part.numbers[1], 2.0 * part.numbers[1] + 1]]


def test_the_two_sentences_of_a_pair_stand_as_the_rows_of_a_batch():
    pairs = examples("sts", "dev", "bi")
    pairs.memo.write(np.arange(7), torch.arange(14.0).reshape(7, 2, 1))
    assert pooled(pairs.batch([0, 3])) == [[0.0], [6.0], [1.0], [7.0]]


def test_a_training_that_goes_on_from_a_checkpoint_ends_in_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    of = settings({"epochs": 4, "epoch_length": "5 steps"}, pair_encoding="bi")
    of = of.model_copy(update={"run": of.run.model_copy(update={"checkpoint_every": 1})})
    train(of, tmp_path / "whole", with_memos=True)
    step = Trainer._step

    def killed(trainer: Trainer, *arguments) -> None:
        if trainer.outcome.steps == 13:
            raise RuntimeError
        step(trainer, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_step", killed)
        with pytest.raises(RuntimeError):
            train(of, tmp_path / "killed", with_memos=True)
    assert train(of, tmp_path / "killed", with_memos=True)["steps"] == 20
    whole, again = (tmp_path / name / "run" for name in ("whole", "killed"))
    for file in ("model.safetensors", "history.csv", "embeddings.safetensors", "predictions/sts-dev.parquet"):
        assert (whole / file).read_bytes() == (again / file).read_bytes(), file


def test_a_kill_after_the_last_step_leaves_predictions_as_they_would_have_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    of = settings({"epochs": 2, "epoch_length": "all"})
    of = of.model_copy(update={"run": of.run.model_copy(update={"train_rows": 3})})

    def killed(*_: object) -> None:
        raise RuntimeError

    train(of, tmp_path / "whole", with_memos=True)
    with monkeypatch.context() as patched:
        patched.setattr(run, "predict_splits", killed)
        with pytest.raises(RuntimeError):
            train(of, tmp_path / "killed", with_memos=True)
    train(of, tmp_path / "killed", with_memos=True)
    whole, again = (tmp_path / name / "run/digests.json" for name in ("whole", "killed"))
    assert again.read_text() == whole.read_text()


def test_spared_training_rows_that_choose_an_epoch_are_computed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    of = settings({"epochs": 5, "epoch_length": "all", "spared": 0.3})
    of = of.model_copy(update={"run": of.run.model_copy(update={"selection": "spared"})})
    rows = passes(monkeypatch)
    train(of, tmp_path, with_memos=True)
    probe, train_rows, dev_rows = 1, 2 * 9, 2 * 7
    assert sum(rows) == probe + train_rows + dev_rows


def dev_pooled(made: run.Parts) -> torch.Tensor:
    made.phases[0]()
    memo = made.examples["dev"]["sst"].memo
    assert memo.pooled is not None
    return memo.pooled


def test_the_training_of_another_seed_reads_what_the_first_one_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    of = settings({"epochs": 5, "epoch_length": "all"})
    first = dev_pooled(parts(of, True, 1, tmp_path))
    rows = passes(monkeypatch)
    assert torch.equal(dev_pooled(parts(of, True, 2, tmp_path)), first)
    assert rows == [1]  # whether the pass draws random numbers


def test_a_damaged_file_of_embeddings_is_made_again(tmp_path: Path):
    first = dev_pooled(parts(settings(), True, 1, tmp_path))
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for file, content in before.items():
        file.write_bytes(content[:-9])
    assert torch.equal(dev_pooled(parts(settings(), True, 1, tmp_path)), first)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_embeddings_of_other_weights_rows_or_pooling_have_other_names(tmp_path: Path):
    made = parts(settings(), True)
    dev, model = made.examples["dev"]["sst"], made.model
    weights = cached._digest_of_weights(model)

    def key(of: Examples, **changes: object) -> str:
        return cached._key(of, model, ON, **({"weights": weights} | changes))  # type: ignore[arg-type]

    with torch.no_grad():
        model.encoder.layer_modules()[0].linears()["query"].bias[0] += 1e-6
    model.pooling["sts"] = "mean"
    keys = [key(dev), key(dev.drawn(6)), key(dev, weights=cached._digest_of_weights(model))]
    model.pooling["sst"] = "mean"
    keys.append(key(dev))
    assert len({*keys}) == 4


def test_embeddings_of_other_code_lie_in_another_folder(tmp_path: Path):
    assert cached.store(tmp_path, assembly.digest_of_code(tmp_path), {}) is None
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan/code-train.yaml").write_text("a: 1")
    before = assembly.digest_of_code(tmp_path)
    folders = [cached.store(tmp_path, before, {"models/adapters/pals.py": digest}) for digest in ("1a", "2b")]
    (tmp_path / "plan/code-train.yaml").write_text("a: 2")
    after = assembly.digest_of_code(tmp_path)
    assert len({*folders, cached.store(tmp_path, after, {"models/adapters/pals.py": "1a"})}) == 3
