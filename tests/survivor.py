"""A small training that kills itself where it is told to, for the tests of what is left of one."""

import contextlib
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from models import small_bert
from runs import TASKS_HERE, checkpoint, examples, settings

from mtbert.data.batches import Batch
from mtbert.data.tokens import SpecialTokens
from mtbert.training import assembly, evaluation, loop, run
from mtbert.training import checkpoints as saving
from mtbert.training.loop import Numbers, Trainer
from mtbert.training.phases import Phase
from mtbert.variants.settings import VariantSettings

FULL = {"name": "interleaved"}
THREE = [*TASKS_HERE, "cfimdb_as_sst"]  # of two, the order in which gradients are projected does not matter
PLATEAU = {"name": "reduce_on_plateau", "patience": 0, "threshold": 0.9}  # lowers it from epoch 2 on
SMART = {"name": "smart", "noise": 1e-2, "step_size": 1e-1, "radius": 1e-1}
TRAINED = {"trainable": ["adapters", "heads"]}
# Every technique with a state of its own; each phase is 2 epochs of 8 steps unless it says otherwise.
TECHNIQUES: dict[str, list[dict]] = {
    "best epochs of two halves": [{"sampler": {"name": "annealed"}, "schedule": {"name": "slanted_triangular"}}],
    "smart, simcse, masked language model, dynamic, lora": [
        {"objectives": [SMART, {"name": "simcse"}, {"name": "masked_language_model"}]}
        | {"weighting": {"name": "dynamic"}, **TRAINED}
    ],
    "simcse_linear, dynamic average, frozen, falling rate": [
        {"epochs": 4, "epoch_length": "4 steps", "objectives": [{"name": "simcse_linear"}], "frozen": ["layer_1"]}
        | {"weighting": {"name": "dynamic_average"}, "schedule": PLATEAU}
    ],
    "pcgrad, uncertainty": [
        {"tasks": THREE, "sampler": FULL, "gradients": {"name": "pcgrad"}, "weighting": {"name": "uncertainty"}}
    ],
    "gradnorm, random, biases": [
        {"sampler": FULL, "gradients": {"name": "gradnorm"}, "weighting": {"name": "random"}}
        | {"trainable": ["biases", "heads"]}
    ],
    "famo, mtl_lora": [{"sampler": FULL, "weighting": {"name": "famo"}, **TRAINED}],
    "distillation": [{"objectives": [{"name": "distillation"}]}],
    "several phases": [{"epochs": 1}, {"epochs": 1, "objectives": [SMART], "schedule": {"name": "reduce_on_plateau"}}],
}
FACTORS = {"rank": 2, "dropout": 0.1, "targets": ["query", "value"]}
ADAPTERS: dict[str, dict] = {
    "smart, simcse, masked language model, dynamic, lora": {"name": "lora", "per_task": True, **FACTORS},
    "gradnorm, random, biases": {"name": "none"},
    "famo, mtl_lora": {"name": "mtl_lora", **FACTORS},
}
# Where it dies, one after the other: the step (of 16, with a checkpoint after every second), and at what.
EVERYWHERE = "several phases"  # the others die once
DEATHS = [
    (1, "forward"),
    (3, "before the update"),
    (4, "after the update"),
    (4, "while it is written"),
    (6, "before it is renamed"),
    (8, "evaluation of sst"),
    (8, "evaluation of sts"),
    (9, "forward"),
    (11, "forward"),
    (13, "after the update"),
    (16, "before it is renamed"),
    (16, "results"),
]


def parts_of(technique: str) -> run.Parts:
    run_section = {"log_every": 1, "checkpoint_every": 2, "keep": "best" if "best" in technique else "last"}
    given = settings(run=run_section).model_dump()
    common = given["phases"][0] | {"epoch_length": "8 steps", "batch_size": 5}
    given["phases"] = [common | phase for phase in TECHNIQUES[technique]]
    given["model"]["adapter"] = ADAPTERS.get(technique, given["model"]["adapter"])
    chosen = VariantSettings(**given)
    model = assembly.build_model(chosen, small_bert(), 1, ["[MASK]"], SpecialTokens(1, 2, 3, mask=0))
    found = {split: {t: examples(t, count) for t in TASKS_HERE} for split, count in (("train", 12), ("dev", 7))}
    for dev in found["dev"].values() if "halves" in technique else ():
        dev.halve(np.arange(7) % 2 == 0)
    found["train"]["cfimdb_as_sst"] = examples("sst", 11)
    for task, shape in {"sst": (12, 5), "sts": (12,)}.items() if technique == "distillation" else ():
        found["train"][task].soft_labels = torch.full(shape, 0.2)
    made = assembly.phases(chosen, 1, model, found["train"])
    return run.Parts(chosen, 1, model, made, 16, found, assembly.choosing(chosen, found))


def train(folder: Path, technique: str, *blows: tuple[int, str, int]) -> None:
    """Train in that folder and meet signals: (step, at what, signal). Each update goes to trained.txt."""
    torch.set_num_threads(1)
    trainers = at_work()
    for blow in blows:
        arm(trainers, *blow)
    folder.mkdir(exist_ok=True)
    write_down(folder)
    with open(folder / "said.txt", "a", encoding="utf-8") as said, contextlib.redirect_stderr(said):
        run.train(parts_of(technique), folder / "run", folder / "logs", checkpoint(folder))


def write_down(folder: Path) -> None:
    """Note each update: its step, its losses and its examples."""
    compute = Trainer._compute

    def written(trainer: Trainer, phase: Phase, batches: Mapping[str, Batch]) -> Numbers:
        made = compute(trainer, phase, batches)
        losses = [loss.item() for loss in made.losses().values()]
        with open(folder / "trained.txt", "a", encoding="utf-8") as file:
            file.write(f"{trainer.outcome.steps} {losses} {loop.in_words(batches)}\n")
        return made

    Trainer._compute = written


def at_work() -> list[Trainer]:
    """The trainer of this process, from the moment that it runs."""
    trainers: list[Trainer] = []
    run_phases = Trainer.run

    def known(self, *given):
        trainers.append(self)
        return run_phases(self, *given)

    Trainer.run = known
    return trainers


def arm(trainers: list[Trainer], step: int, where: str, number: int = signal.SIGKILL) -> None:
    """Have that signal sent to this process there."""
    holder, name = {
        "results": (run, "predict_splits"),
        "forward": (loop, "loss_of"),
        "before the update": (loop, "_clip"),
        "after the update": (Trainer, "_checkpoint_where_due"),
        "while it is written": (saving, "save_file"),
        "before it is renamed": (saving.files, "flush"),
        "evaluation of sst": (evaluation, "predict"),
        "evaluation of sts": (evaluation, "predict"),
    }[where]
    usual = getattr(holder, name)
    setattr(
        holder, name, hit(usual, number, lambda given: trainers[0].outcome.steps == step and is_there(where, given))
    )


def is_there(where: str, given: tuple) -> bool:
    if where == "while it is written":
        Path(given[1]).write_bytes(b"half of a checkpoint")
    if where.startswith("evaluation"):
        return given[1].task.name == where[-3:]
    return True


def hit(usual: Callable, number: int, when: Callable[[tuple], bool]) -> Callable:
    """The usual, with the signal before it the first time that it is `when`."""
    sent = []

    def dangerous(*given, **named):
        if not sent and when(given):
            sent.append(number)
            os.kill(os.getpid(), number)
        return usual(*given, **named)

    return dangerous
