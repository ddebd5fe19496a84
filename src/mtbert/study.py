"""What `mtbert study` does: understand a folder of one's own, say what it is and takes, and set params.yaml to it."""

import math
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from mtbert import files, seeding, tasks
from mtbert.config import papers, planning, studies
from mtbert.config.params import Params
from mtbert.config.techniques import NAMES
from mtbert.data import checks, drawing, guessing, readers
from mtbert.data.batches import Batch
from mtbert.data.preprocess import FEW, MOST_REFUSED
from mtbert.data.readers import Example, Refusal
from mtbert.encoders.settings import SOURCES, TINY, EncoderSettings
from mtbert.errors import DataError, first_of
from mtbert.models.encoder.architectures import read_config
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.bert import Bert, Config
from mtbert.tasks import METRIC_NAMES, SPLITS, Split, Task
from mtbert.tasks.reading import TAKEN
from mtbert.variants.building import build_model
from mtbert.variants.settings import VariantSettings

WAYS = "own"  # the paper of what is trained: papers/own.yaml
QUICK = 5  # ways of it that are trained with --quick
CLASSES_SHOWN = 6
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
TRIED, LEAST = 3.0, 4  # seconds in which steps are counted, and how many at least
WORDS = re.compile(r"\w+|[^\w\s]")
SEEN = 1000  # rows of a task whose words are counted
PIECES, LEAST_PIECES = 30_522, 1000  # of an encoder, and of every one
BYTES = 4  # of a weight
ABOUT = """# What `mtbert study` understood of these files. More keys, such as `matters` and `show_text`: docs/own.md
"""
Rows = dict[Split, list[Example]]


@dataclass(frozen=True)
class Understood:
    """A task with its rows by split, and what is to be said of its files, a line each."""

    task: Task
    rows: Rows
    notes: list[str]


def run(folder: Path, quick: bool, seeds: int, encoding: str, file: Path) -> None:
    """Print what the folder's tasks are, and how long they take; write its tasks.yaml and set params.yaml.

    Raises:
        DataError: what is in the folder cannot be understood.
        SettingsError: its tasks.yaml, or the settings, are faulty. Both files are as they were, then.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; allowed: one that holds files such as topic-train.csv")
    described, is_new = _described(folder, encoding)
    understood = [_understood(folder, task) for task in described.values() if not task.serves]
    print(table(understood))
    print("\n".join(["", *_separated(folder, described), *(note for one in understood for note in one.notes)]))
    own = folder / tasks.FILE
    if is_new:
        files.write_yaml(own, guessing.tasks_of(folder, encoding), in_order=True)
        files.write_text(own, ABOUT + own.read_text(encoding="utf-8"))
    try:
        planned = _set(file, folder, quick, seeds, _tokens(understood))
    except BaseException:
        if is_new:
            own.unlink(missing_ok=True)
        raise
    said = "is read" if not is_new else "is written: correct it where it is wrong, and give this command again"
    print(f"\n{own} {said}.\n{file} trains {planned} for these tasks now; `make reproduce` does.")


def _described(folder: Path, encoding: str) -> tuple[dict[str, Task], bool]:
    """Return the tasks that tasks.yaml describes, or that the files tell, and whether that file is to be written."""
    if (folder / tasks.FILE).is_file():
        found, is_new = tasks.read(folder / tasks.FILE), False
    else:
        with tempfile.TemporaryDirectory() as scratch:
            written = guessing.tasks_of(folder, encoding)
            if taken := [name for name in written if name in (*NAMES, *TAKEN)]:
                told = f"a task would be called {taken[0]}, as something else in settings is"
                raise DataError(f"{folder}: {told}; rename {written[taken[0]]['files']['train']}")
            files.write_yaml(Path(scratch, tasks.FILE), written, in_order=True)
            found, is_new = tasks.of_folder(Path(scratch)), True
    if taken := [name for name in found if name in NAMES]:
        raise DataError(f"{folder / tasks.FILE}: {taken[0]} is a technique's name; allowed: any other name")
    return found, is_new


def _understood(folder: Path, task: Task) -> Understood:
    """Read all of a task's rows; DataError where a score of it could not be trusted."""
    rows, notes = Rows(), list[str]()
    for split in SPLITS:
        if drawing.source(task, split) in task.files:
            rows[split], refused = drawing.read(folder, task, split)
            notes += _notes(folder, task, split, rows[split], refused)
    if task.kind != "score" and (count := checks.conflicts(checks.digests(rows["train"]))):
        text = "text has rows" if count == 1 else "texts have rows"
        notes.append(f"{_shown(folder, task, 'train').name}: {count:,} {text} of different labels")
    there = {row.label for row in rows["train"]}
    if unknown := [row for row in rows["dev"] if task.kind != "score" and row.label not in there]:
        name = task.class_names[int(unknown[0].label or 0)]
        if drawing.draws(task):
            told = "all rows of which were drawn for dev; add more of them, or give the task a dev file"
        else:
            told = "which no row of train has; add such rows to train, or leave it out of dev"
        place = f"{_shown(folder, task, 'dev')}, line {unknown[0].line}"
        raise DataError(f"{place}: its {task.label} is {name!r}, {told}")
    if len({row.label for row in rows["dev"]}) < 2:
        raise DataError(f"{_shown(folder, task, 'dev')}: all rows of dev have one label, so that no score tells models "
                        "apart; add rows of another")  # fmt: skip
    return Understood(task, rows, notes)


def _shown(folder: Path, task: Task, split: Split) -> Path:
    return folder / task.files[drawing.source(task, split)]


def _notes(folder: Path, task: Task, split: Split, rows: list[Example], refused: list[Refusal]) -> list[str]:
    """Return what to know of a file; DataError where too many of its rows are faulty, or a class is not listed."""
    file = _shown(folder, task, split)
    faulty = [refusal for refusal in refused if refusal.is_faulty]
    notes = list[str]()
    if unknown := [refusal for refusal in faulty if refusal.label and task.kind != "score"]:
        told = f"line {unknown[0].line}: {unknown[0].reason}"
        raise DataError(f"{file}, {told}; correct it, or list it in `classes` of {task.name} in tasks.yaml")
    if len(faulty) > max(FEW, MOST_REFUSED * (len(rows) + len(faulty))):
        lines = first_of([f"line {refusal.line}: {refusal.reason}" for refusal in faulty], 3)
        raise DataError(f"{file}: {len(faulty):,} of {len(rows) + len(faulty):,} rows cannot be used; {lines}")
    if faulty:
        notes.append(f"{file.name}: {len(faulty)} rows are left out; line {faulty[0].line}: {faulty[0].reason}")
    if split == "dev" and drawing.draws(task):
        notes.append(f"{file.name}: there is no dev file, so {len(rows):,} of its rows, drawn by their text, are dev")
    return notes


def _separated(folder: Path, described: Mapping[str, Task]) -> list[str]:
    """Return a line for what the columns of .csv files are taken to be separated by."""
    found: dict[str, list[str]] = {}
    for task in described.values():
        for name in (name for name in task.files.values() if readers.ending(Path(name)) == ".csv"):
            found.setdefault(readers.separator(folder / name, task.encoding), []).append(name)
    return [f"separated by {SEPARATORS[sign]}: {', '.join(names)}" for sign, names in found.items()]


def table(understood: Sequence[Understood]) -> str:
    """Return a line a task: its rows, columns, labels, metric, and the score of its most frequent class."""
    lines = [_cells(one) for one in understood]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("    ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
                     for line in lines)  # fmt: skip


def _cells(one: Understood) -> list[str]:
    task, counts = one.task, {split: f"{len(rows):,} {split}" for split, rows in one.rows.items()}
    names = first_of(task.class_names, CLASSES_SHOWN)
    kind = f"score {task.lowest:g} to {task.highest:g}" if task.kind == "score" else f"{task.classes} classes: {names}"
    majority = majority_score(task, one.rows)
    shown = "\N{EN DASH}" if majority is None else f"majority {majority:.2f}"
    return [task.name, ", ".join(counts.values()), ", ".join(task.sentences), kind, METRIC_NAMES[task.metric], shown]


def majority_score(task: Task, rows: Rows) -> float | None:
    """Return the dev score of always predicting train's most frequent class; None for a score."""
    from mtbert.results import metrics

    if task.kind == "score":
        return None
    (most, _), *_ = Counter(row.label for row in rows["train"]).most_common(1)
    labels = [float(row.label or 0) for row in rows["dev"]]
    return metrics.of_task(task, labels, [float(most or 0)] * len(labels))


def _tokens(understood: Sequence[Understood]) -> int:
    """Return about how many tokens a row has: words and marks, and a third more for words of several pieces."""
    counts = [len(WORDS.findall(f"{row.sentence1} {row.sentence2 or ''}")) for one in understood
              for row in one.rows["train"][:SEEN]]  # fmt: skip
    return 3 + round(4 / 3 * sum(counts) / len(counts))


def _set(file: Path, folder: Path, quick: bool, seeds: int, tokens: int) -> str:
    """Set params.yaml to the folder; say how long that takes, and return what is trained. It is checked before."""
    home = file.resolve().parent
    place = folder.resolve()
    data_dir = place.relative_to(home).as_posix() if place.is_relative_to(home) else place.as_posix()
    ways = dict([*papers.load(home / "papers")[WAYS].variants.items()][: QUICK if quick else None])
    names = [*studies.expanded(ways, tasks.main(tasks.of_folder(folder)))]
    text = file.read_text(encoding="utf-8")
    values = {"data_dir": data_dir, "seeds": [*range(1, 1 + (1 if quick else seeds))], "variants": names}
    for key, value in values.items():
        text = with_value(text, key, value)
    with files.new_file(file) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")
        params = Params(partial)
        planned = planning.plan(params)
        variants = {name: VariantSettings(**planned[name]) for name in names}
        print(f"\n{_costs(EncoderSettings(**planned['encoder']), variants, len(values['seeds']), tokens)}")
    return f"{len(names)} models, {'one seed' if quick else f'{seeds} seeds'} each,"


def with_value(text: str, key: str, value: Any) -> str:
    """Return the text of params.yaml with another value of a key at its top; comments stay."""
    written = "".join(f"\n- {one}" for one in value) if isinstance(value, list) else f" {value}"
    lines, count = re.subn(
        rf"^{key}:[^\S\n]*(?:(?!#)\S[^#\n]*?)?([^\S\n]+#[^\n]*)?((?:\n(?:-|[^\S\n]+-)[^\n]*)*)$",
        lambda found: (
            f"{key}:{written if isinstance(value, str) else ''}{found[1] or ''}"
            f"{written if isinstance(value, list) else ''}"
        ),
        text,
        count=1,
        flags=re.M,
    )
    if not count:
        raise DataError(f"params.yaml lacks {key}; `git checkout params.yaml` brings it back")
    return lines


def _costs(encoder: EncoderSettings, variants: Mapping[str, VariantSettings], seeds: int, tokens: int) -> str:
    """Return how long the trainings take here, by the speed of a few seconds of steps, and what they store."""
    first, weights = next(iter(variants.values())), _weights(encoder)
    added = [*_added(variants, weights)]
    seconds, stored = _measured(weights, first, min(tokens, first.model.max_tokens))
    steps = sum(_steps(settings) for settings in variants.values()) * seeds
    gigabytes = BYTES * stored * len(variants) * seeds / 2**30
    took = seconds * steps / 60
    shown = f"{took:,.0f} minutes" if took < 120 else f"{took / 60:,.1f} hours"
    device = "its GPU" if torch.cuda.is_available() else "one core"
    return (
        f"About {shown} on {device} of this machine: {steps:,} steps of {1000 * seconds:,.0f} ms, "
        f"and some for predictions. About {gigabytes:,.1f} GB of weights."
        + (f"\nAdapters' weights, in millions: {'; '.join(added)}." if added else "")
    )


def _added(variants: Mapping[str, VariantSettings], weights: Backbone) -> Iterator[str]:
    """Yield the row of each variant that has an adapter, with the adapter's weights."""
    for settings in variants.values():
        if settings.model.adapter.name != "none":
            adapter = build_model(settings, weights, 1).adapter
            yield f"{settings.row} {sum(one.numel() for one in adapter.parameters()) / 1e6:.2f}"


def _steps(settings: VariantSettings) -> int:
    """Return about how many steps a training has, whose epochs have a number of steps, or of examples of each task."""
    steps = 0
    for phase in settings.phases:
        length = phase.epoch_length
        turns = math.ceil((length.examples or 0) / phase.batch_size)
        steps += phase.epochs * (length.steps or turns * len(phase.tasks))
    return steps


def _measured(weights: Backbone, settings: VariantSettings, tokens: int) -> tuple[float, int]:
    """Return the seconds of a step of such a model on made-up rows of so many tokens, and its weights."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_model(settings, weights, 1).to(device).train()
    optimiser = torch.optim.AdamW(model.parameters())
    size = settings.phases[0].batch_size
    ids = torch.from_numpy(seeding.stream(1, "study").integers(5, LEAST_PIECES, (size, tokens)))
    rows = ("",) * size
    batch = Batch(settings.tasks[0], rows, ids, torch.ones_like(ids), torch.zeros_like(ids), torch.zeros(size), 1)
    batch = batch.to(device)
    torch.set_num_threads(settings.run.threads)
    ends: list[float] = []
    while len(ends) < LEAST or ends[-1] - ends[0] < TRIED:  # the first step is slower
        model.loss(batch, model(batch)).backward()
        optimiser.step()
        optimiser.zero_grad()
        ends.append(time.perf_counter())
    took = (ends[-1] - ends[0]) / (len(ends) - 1)
    return took, sum(parameter.numel() for parameter in model.parameters())


def _weights(encoder: EncoderSettings) -> Backbone:
    """Return an encoder of such sizes with weights that are drawn: its files may not be here yet."""
    if encoder.folder:
        architecture, config = read_config(encoder.folder)
        return architecture(config)
    is_tiny = encoder.source is SOURCES[TINY]
    width = encoder.known_width or encoder.width
    heads, middle = (encoder.heads, encoder.feed_forward) if is_tiny else (12, 4 * width)
    return Bert(
        Config(
            vocab_size=encoder.vocabulary if is_tiny else PIECES,
            hidden_size=width,
            num_hidden_layers=encoder.known_layers,
            num_attention_heads=heads,
            intermediate_size=middle,
            max_position_embeddings=encoder.positions,
        )
    )
