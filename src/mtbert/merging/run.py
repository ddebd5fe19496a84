"""Merge trained models into one, and write it as a training writes its own."""

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from mtbert import files, layout
from mtbert.data.batches import Examples
from mtbert.layout import WEIGHTS
from mtbert.machine.hardware import Hardware
from mtbert.merging import MERGES, settings_of
from mtbert.models.multitask import MultitaskModel
from mtbert.provenance import changes, inputs, manifests, seals
from mtbert.provenance.inputs import Inputs
from mtbert.scores import predictions
from mtbert.tasks import Tasks, for_run, read_build
from mtbert.training import assembly, evaluation, run
from mtbert.training.history import History
from mtbert.training.loop import Outcome
from mtbert.variants.settings import VariantSettings

CODE = "code-merge"  # of the plan: the code that merges
CHOOSING = 500  # spared rows of each task, at most, on which a scale is chosen


@dataclass(frozen=True)
class _Merge:
    """A merge of one seed that the plan asks for.

    Attributes:
        settings: of the merged model.
        seed: of its members.
        spared: the share of train's rows that the members held out.
        members: their runs' folders.
    """

    settings: VariantSettings
    seed: int
    spared: float
    members: Sequence[Path]

    def folder(self, out: Path) -> Path:
        """Return where it lies."""
        return out / self.settings.variant / str(self.seed)


def merge_all(build: Path, out: Path) -> list[str]:
    """Write each selected merge of each seed to OUT/NAME/SEED; return a line for each that is new or cannot be made."""
    keep_current(build, out)
    lines = []
    for merge in _merges(build):
        about = f"{merge.settings.variant}, seed {merge.seed}"
        missing = [member for member in merge.members if not _has_weights(member)]
        if missing:
            lines.append(f"{about}: not merged, since {missing[0]} has no weights here")
        elif not merge.folder(out).is_dir():
            _make(merge, build, merge.folder(out))
            lines.append(f"{about}: merged")
    return lines


def keep_current(build: Path, out: Path) -> None:
    """Remove the merges in OUT that are not selected, or that other members, data or code have made."""
    files.keep_only(out, [merge.folder(out) for merge in _merges(build) if _is_current(merge, build, out)])


def _is_current(merge: _Merge, build: Path, out: Path) -> bool:
    """Return whether a merge is there and would be made alike now."""
    is_there = merge.folder(out).is_dir() and all(seals.is_sealed(member) for member in merge.members)
    return is_there and inputs.is_finished(merge.folder(out), _inputs(merge, build))


def _merges(build: Path) -> Iterator[_Merge]:
    """Yield the merges that the plan asks for, by name and seed."""
    catalog = layout.read_catalog(build, "ensembles", "seeds")
    merges = {name: entry for name, entry in catalog["ensembles"].items() if entry["selected"] and entry.get("merge")}
    for name, entry in merges.items():
        members = [_planned(build, member) for member in entry["members"]]
        tasks = [task for member in members for task in member.tasks]
        settings = settings_of(
            name,
            entry["merge"],
            members,
            paper=entry.get("paper"),
            row=entry.get("row") or name,
            described=for_run(read_build(build), tasks),
        )
        spared = members[0].phases[0].spared  # alike in all members
        for seed in catalog["seeds"]:
            yield _Merge(settings, seed, spared, [layout.run(build, member, seed) for member in settings.members])


def _has_weights(run: Path) -> bool:
    """Return whether a trained model is there; its weights may have stayed on another machine."""
    return seals.is_sealed(run) and not seals.lacks_weights(run)


def _planned(build: Path, member: str) -> VariantSettings:
    return layout.read_planned(VariantSettings, layout.plan(build, member))


def _make(merge: _Merge, build: Path, out: Path) -> None:
    """Merge the members of a seed."""
    settings = merge.settings
    for member in merge.members:
        seals.check(member, only=[WEIGHTS])
    changes.check_rows(build, merge.members)
    states = [load_file(member / WEIGHTS) for member in merge.members]
    started = datetime.datetime.now(datetime.UTC)
    parts = assembly.assemble(settings, merge.seed, build)
    on = run.prepare(parts)
    unseen: dict[str, Examples] = {}
    for task, examples in parts.examples["train"].items():
        _, spared_examples = examples.split(merge.spared)
        unseen[task] = spared_examples.drawn(CHOOSING)

    def score() -> float:
        with on.autocast():
            return _score(parts.model, unseen, settings.described, on.device)

    scale = join(parts.model, states, settings.merge, score)
    parts.settings = settings.model_copy(update={"scale": scale})
    parts.changed = ("encoder",)
    parts.made_from = _inputs(merge, build)
    temperatures: dict[str, float] = {}
    if settings.run.selection == "spared":  # else the members have neither thresholds nor temperatures
        _fit_thresholds(parts.model, unseen, on)
        held_out = {task: rows for task, rows in unseen.items() if rows.task.has_one_class and len(rows)}
        temperatures = run.calibrate(parts.model, held_out, on)
    history = History(settings.run.log_every, lambda step, values: None)
    result = run.Result(started, on, Outcome(), history, temperatures)
    logs = layout.logs(build, settings.variant, out.name)
    run.write_model(parts, result, run.predict_splits(parts, on), out, logs)


def _fit_thresholds(model: MultitaskModel, unseen: Mapping[str, Examples], on: Hardware) -> None:
    """Choose the thresholds of tasks with several labels a row for the merged encoder."""
    for rows in unseen.values():
        if rows.task.several and len(rows):
            with on.autocast():
                evaluation.predict(model, rows, on.device, fits_thresholds=True)


def _inputs(merge: _Merge, build: Path) -> Inputs:
    """Return what a merged model is made from."""
    settings = merge.settings
    encoder_files = manifests.encoder_files(build, settings.model.encoder)
    seals_of_members = [member / layout.DIGESTS for member in merge.members]
    read = [*seals_of_members, *manifests.examples_of(build, settings.tasks), *encoder_files]
    return Inputs(
        settings=settings.model_dump(exclude={"sources"}),
        code=layout.read_plan(layout.plan(build, CODE)),
        files=inputs.digests(build, read),
        machine=inputs.machine(build),
        seed=merge.seed,
    )


def join(
    model: MultitaskModel, states: Sequence[Mapping[str, Tensor]], merge: str, score: Callable[[], float]
) -> float:
    """Give a model each member's head, and move its encoder to the merged one; return the chosen scale.

    Args:
        model: with the weights that all members started from.
        states: the members' weights.
        merge: the method.
        score: of the model as it is, on rows that no member has seen; the higher, the better.
    """
    method = MERGES[merge]
    encoder = model.encoder
    heads: dict[str, Tensor] = {}
    for state in states:
        heads |= {name.removeprefix("heads."): value for name, value in state.items() if name.startswith("heads.")}
    with torch.no_grad():
        model.heads.load_state_dict(heads)
        start = nn.utils.parameters_to_vector(encoder.parameters()).clone()
        step = method.direction([_vector(state, encoder, start) for state in states])

        def score_at(scale: float) -> float:
            nn.utils.vector_to_parameters(start + scale * step, encoder.parameters())
            return score()

        scale = method.scales[0]
        if len(method.scales) > 1:
            scale = max(method.scales, key=score_at)  # the smallest of equals
        nn.utils.vector_to_parameters(start + scale * step, encoder.parameters())
    return scale


def _vector(state: Mapping[str, Tensor], encoder: nn.Module, start: Tensor) -> Tensor:
    """Return a member's task vector [weights]."""
    flat = [state[f"encoder.{name}"].flatten() for name, _ in encoder.named_parameters()]
    return torch.cat(flat).to(start) - start


def _score(model: MultitaskModel, examples: dict[str, Examples], tasks: Tasks, device: torch.device) -> float:
    """Return the mean of the tasks' scores."""
    tables: dict[str, Any] = {
        task: evaluation.predict(model, task_examples, device) for task, task_examples in examples.items()
    }
    return evaluation.mean_score(predictions.scores(tables, tasks), [*examples])
