"""Heads alone on a frozen encoder, with and without memos of its embeddings: `python benchmarks/heads.py`.

Both train in one process on the same batches, fp32, one thread. The plain one trains one epoch, and each epoch takes
as long. The other fills its memo (of train and dev, which have equally many rows) and trains all epochs.
"""

import argparse
import contextlib
import io
import tempfile
import time
from pathlib import Path

import corpus
import ours
import record
import torch
from steps import SHAPES

from mtbert.machine.program import report_errors
from mtbert.training import assembly
from mtbert.training.checkpoints import Checkpoint
from mtbert.training.history import History
from mtbert.training.loop import Trainer
from mtbert.training.run import hardware_of
from mtbert.training.stopping import Stop
from mtbert.variants.settings import VariantSettings

SIZE = 32  # examples of a batch
TASK = "sst"


def settings(epochs: int) -> VariantSettings:
    """Return those of a head on the mean of hidden states, without dropout in the encoder."""
    phase = {
        "tasks": [TASK],
        "sampler": {"name": "round_robin"},
        "weighting": {"name": "equal"},
        "gradients": {"name": "total"},
        "schedule": {"name": "constant"},
        "trainable": ["heads"],
        "batch_size": SIZE,
        "epochs": epochs,
        "epoch_length": "all",
        "learning_rate": 1e-3,
        "clip": 1.0,
    }
    return VariantSettings(
        variant="heads",
        paper=None,
        row="",
        profile="benchmark",
        tasks=[TASK],
        model={
            "dropout": 0.0,
            "features": {"name": "words"},
            "adapter": {"name": "none"},
            "connector": {"name": "direct"},
            "pooling": {TASK: "mean"},
            "heads": {TASK: {"name": "linear"}},
        },  # type: ignore[arg-type]
        phases=[phase],  # type: ignore[list-item]
        run={
            "device": "cpu",
            "precision": "fp32",
            "keep": "last",
            "selection": "whole",
            "evaluations": 0,
            "checkpoint_every": 0,
        },  # type: ignore[arg-type]
        sources={},
    )


def seconds(build: Path, epochs: int, with_memo: bool) -> tuple[float, float]:
    """Train; return the seconds until the first step, and those of the steps."""
    of = settings(epochs)
    parts = assembly.assemble(of, ours.SEED, build)
    builds = parts.phases
    if not with_memo:
        builds = assembly.phases(of, ours.SEED, parts.model, parts.examples["train"])
    nowhere, history = Checkpoint(build / "checkpoints", "heads"), History(of.run.log_every, lambda *_: None)
    on = hardware_of(of)
    trainer = Trainer(parts.model, of.run, of.described, on, history, {}, ours.SEED, nowhere, Stop())
    with contextlib.redirect_stderr(io.StringIO()):  # its progress bars
        start = time.perf_counter()
        outcome = trainer.run(builds, parts.steps)
        whole = time.perf_counter() - start
    nowhere.clear()
    return whole - outcome.seconds, outcome.seconds


def main() -> None:
    """Measure, and print by how much a step and a whole training are shorter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shape", choices=SHAPES, default="minilm", help="of the encoder (minilm)")
    parser.add_argument("--epochs", type=int, default=20, help="of the training with a memo (20)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    shape = SHAPES[arguments.shape]
    with tempfile.TemporaryDirectory() as folder, report_errors():
        build = Path(folder)
        ours.write_build(build, shape.config(), {TASK: corpus.corpora(SIZE, shape.vocabulary)[TASK]})
        _, plain = seconds(build, 1, with_memo=False)
        filling, steps = seconds(build, arguments.epochs, with_memo=True)
    plain_step, step = plain / corpus.BATCHES, steps / corpus.BATCHES / arguments.epochs
    print(f"{corpus.BATCHES * SIZE} rows, {arguments.shape}, {record.machine()['processor']}, one thread")
    print(f"ms a step: plain {1000 * plain_step:.2f}, with a memo {1000 * step:.2f}: {plain_step / step:.0f} times")
    whole = plain * arguments.epochs / (filling + steps)
    print(f"{arguments.epochs} epochs: the memo is filled in {filling:.1f} s; {whole:.1f} times in all")


if __name__ == "__main__":
    main()
