"""What `mtbert study` does: understand a folder of one's own, print what it is and takes, and set params.yaml to it."""

import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import pydantic
import torch

from mtbert import files, seeding, tasks
from mtbert.config import papers, planning, studies
from mtbert.config.params import Params, at
from mtbert.config.techniques import NAMES
from mtbert.data import checks, drawing, guessing, readers
from mtbert.data import labels as labels_of
from mtbert.data.batches import Batch
from mtbert.data.preprocess import MOST_REFUSED, are_too_many, classes_without_rows
from mtbert.data.readers import Example
from mtbert.encoders.settings import SOURCES, TINY, EncoderSettings
from mtbert.errors import DataError, SettingsError, first_of, in_words
from mtbert.models.encoder.architectures import read_config
from mtbert.models.encoder.base import Backbone
from mtbert.models.encoder.bert import Bert, Config
from mtbert.results import metrics
from mtbert.tasks import SPLITS, Split, Task
from mtbert.tasks.reading import COLUMNS, TAKEN
from mtbert.variants.building import build_model
from mtbert.variants.settings import VariantSettings

WAYS = "own"  # the paper of what is trained: papers/own.yaml
PROFILE = "own"  # the recipe of its ways: profiles.own in params.yaml
QUICK = 5  # ways of it that are trained with --quick
USUAL_WIDTH, USUAL_RATE = 384, 2e-4  # of MiniLM, by the search of data/searches/own-recipe.csv
JOBS = 2  # trainings that `make reproduce` runs side by side on a CPU
CLASSES_SHOWN = 6
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
TRIED, LEAST = 3.0, 4  # seconds in which steps are counted, and how many at least
WORDS = re.compile(r"\w+|[^\w\s]")
COUNTED = 1000  # rows of a task whose words are counted
PIECES, LEAST_PIECES = 30_522, 1000  # word pieces of BERT, and of every encoder at least
BYTES = 4  # of a weight
ABOUT = """# What `mtbert study` understood of these files. More keys, such as `matters` and `show_text`: docs/own.md
"""
ENCODING = "utf-8"  # if none is given
SHOWN = 5  # files and columns
SplitRows = dict[Split, list[Example]]
Entries = dict[str, dict[str, Any]]  # tasks as tasks.yaml has them


@dataclass(frozen=True)
class Understood:
    """A task with its rows by split, and notes on its files, a line each."""

    task: Task
    rows: SplitRows
    notes: list[str]


class Wishes(NamedTuple):
    """What a person asks of a study.

    Attributes:
        quick: whether one seed of a few ways is enough.
        seeds: of each way.
        encoder: a name or folder as `encoder.name` takes it; None leaves that as it is.
        steps: how many times as long as usual every model trains; None leaves `training.epochs` as it is.
    """

    quick: bool = False
    seeds: int = 3
    encoder: str | None = None
    steps: float | None = None


def times(text: str) -> float:
    """Return the number that `2x` or `0.5x` says; SettingsError for other texts."""
    number = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,3})?)x?", text.strip())
    if number is None or not 0.1 <= float(number[1]) <= 100:
        raise SettingsError(f"--steps is {text!r}; allowed: a number from 0.1x to 100x, such as 2x")
    return float(number[1])


def run(folder: Path, wishes: Wishes, encoding: str, file: Path) -> None:
    """Print what the folder's tasks are, and how long they take; write its tasks.yaml and set params.yaml.

    Raises:
        DataError: what is in the folder cannot be understood.
        SettingsError: its tasks.yaml, or the settings, are faulty. Both files are as they were, then.
    """
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder; allowed: one that holds files such as topic-train.csv")
    most_refused = _most_refused(file)
    described, guessed = _described(folder, encoding)
    is_new = bool(guessed)
    own = [task for task in described.values() if not task.serves]
    understood = [_understand(folder, task, is_new, most_refused) for task in own]
    print(table(understood))
    notes = [note for of_task in understood for note in of_task.notes]
    print("\n".join(["", *_separators_in_words(folder, described), *_unread(folder, described), *notes]))
    task_file = folder / tasks.FILE
    if is_new:
        _write(task_file, guessed)
    try:
        models = _set(file, folder, wishes, understood)
    except BaseException:
        if is_new:
            task_file.unlink(missing_ok=True)
        raise
    state = "is read" if not is_new else "is written: correct it where it is wrong, and give this command again"
    print(f"\n{task_file} {state}.\n{file} trains {models} for these tasks now; `make reproduce` does.")


def _write(file: Path, entries: Entries, questions: Sequence[str] = ()) -> None:
    """Write tasks.yaml, with a comment for each question; DataError where it cannot be written."""
    comments = ABOUT + "".join(f"# {question}\n" for question in questions)
    try:
        files.write_yaml(file, entries, in_order=True)
        files.write_text(file, comments + file.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = f"copy the folder to where you may write, such as `cp -r {file.parent} .`, and study the copy"
        raise DataError(f"{file} cannot be written: {error.strerror}; {remedy}") from None


def _most_refused(file: Path) -> float:
    """Return which share of a file's rows may be faulty, by params.yaml; what is no number there is refused later."""
    if not file.is_file():
        raise SettingsError(f"{file} is missing; commands run at the repository's root")
    if not (ways := file.resolve().parent / "papers" / f"{WAYS}.yaml").is_file():
        raise SettingsError(f"{file}: {ways}, which says what is trained, is missing; name params.yaml of a repository")
    settings = files.read_yaml(file, "correct it", aliases=True)
    share = settings.get("most_refused") if isinstance(settings, dict) else None
    return share if isinstance(share, int | float) else MOST_REFUSED


def _described(folder: Path, encoding: str) -> tuple[dict[str, Task], Entries]:
    """Return the tasks of tasks.yaml; or those guessed from the files, and what that file is to say of them."""
    file = folder / tasks.FILE
    if not file.is_file():
        try:
            entries = guessing.tasks_of(folder, encoding)
        except guessing.AskedError as error:
            _write(file, error.entries, error.questions)
            raise
        return _guessed(folder, entries), entries
    described = tasks.read(file)
    if taken := [name for name in described if name in NAMES]:
        raise DataError(f"{file}: {taken[0]} is a technique's name; allowed: any other name")
    for name, task in described.items():
        if encoding not in (ENCODING, task.encoding):
            fault = f"--encoding is {encoding}, and {file} says that {name} is {task.encoding}"
            raise DataError(f"{fault}; set `encoding` there, and leave --encoding out")
    return described, {}


def _guessed(folder: Path, entries: Entries) -> dict[str, Task]:
    if taken := [name for name in entries if name in (*NAMES, *TAKEN, *COLUMNS)]:
        fault = f"a task would be called {taken[0]}, as something else in settings or tables is"
        raise DataError(f"{folder}: {fault}; rename {entries[taken[0]]['files']['train']}")
    with tempfile.TemporaryDirectory() as scratch:
        files.write_yaml(Path(scratch, tasks.FILE), entries, in_order=True)
        return tasks.of_folder(Path(scratch))


def _understand(folder: Path, task: Task, is_new: bool, most_refused: float) -> Understood:
    """Read all of a task's rows, which was guessed if it is new; DataError where a score of it could not be trusted."""
    rows: SplitRows = {}
    notes: list[str] = []
    for split in SPLITS:
        if drawing.source(task, split) in task.files:
            of_split = drawing.read(folder, task, split)
            rows[split] = of_split.examples
            notes += _notes(folder, task, split, of_split, most_refused)
    if task.kind != "score":
        _check_classes(folder, task, rows)
    if len({row.label for row in rows["dev"]}) < 2:
        raise DataError(
            f"{_file(folder, task, 'dev')}: all rows of dev have one label, so that no score tells models apart; add "
            "rows of another"
        )
    notes += [*_notes_of_columns(folder, task, rows, is_new), *_notes_of_rows(folder, task, rows)]
    return Understood(task, rows, notes)


def _notes_of_columns(folder: Path, task: Task, rows: SplitRows, is_new: bool) -> Iterator[str]:
    """Yield which columns of train are not used, and what to check of its labels."""
    file = _file(folder, task, "train")
    rows_of_train = readers.rows_of(file, task.encoding, task.name)
    columns = dict.fromkeys(column for row in rows_of_train for column in row.values)
    unused = [column for column in columns if column and column not in (*task.sentences, task.label, task.id)]
    if unused:
        yield f"{file.name}: not used: {first_of(unused, SHOWN)}"
    labels = {float(row.label or 0) for row in (*rows["train"], *rows["dev"])}
    if is_new and (doubt := guessing.doubt(task, labels)):
        yield f"{file.name}: {doubt}"
    if is_new and (several := labels_of.several(task.labels)):
        yield f"{file.name}: {several}"
    if is_new and (stand_ins := labels_of.stand_ins(task)):
        remedy = f"move them from `classes` to `left_out: [{', '.join(map(repr, stand_ins))}]`"
        first_labels = first_of(stand_ins, SHOWN)
        yield f"{file.name}: taken for classes: {first_labels}; if they stand for no label, {remedy}"
    alike: dict[str, dict[int, str]] = {}  # by what is seen of a label: its spelling in each class
    for label, number in task.labels.items():
        alike.setdefault(labels_of.seen(label), {})[number] = label
    if groups := [" and ".join(map(repr, labels.values())) for labels in alike.values() if len(labels) > 1]:
        yield f"{file.name}: different classes, though they look alike: {', '.join(groups)}"


def _notes_of_rows(folder: Path, task: Task, rows: SplitRows) -> Iterator[str]:
    """Yield what is odd in the rows: contradicting labels, rows of train in another split, and lacking classes."""
    digests: dict[Split, Any] = {split: checks.digests(of_split) for split, of_split in rows.items()}
    if task.kind != "score" and (conflicts := checks.conflicts(digests["train"])):
        text = "text has rows" if conflicts == 1 else "texts have rows"
        yield f"{_file(folder, task, 'train').name}: {conflicts:,} {text} of different labels"
    for split, of_split in digests.items():
        name = _file(folder, task, split).name
        if split != "train" and (count := int(of_split["folded"].isin(digests["train"]["folded"]).sum())):
            yield f"{name}: {count:,} of {len(of_split):,} {split} rows are in train, too"
        if split != "test" and (lacking := classes_without_rows(task, of_split)):
            yield f"{name}: no row of {split} has the label {first_of(lacking, CLASSES_SHOWN)}"


def _check_classes(folder: Path, task: Task, rows: SplitRows) -> None:
    """Raise DataError where dev has a class that train lacks."""
    classes = {row.label for row in rows["train"]}
    for row in rows["dev"]:
        if row.label in classes:
            continue
        if drawing.draws(task):
            remedy = "all rows of which were drawn for dev; add more of them, or give the task a dev file"
        else:
            remedy = "which no row of train has; add such rows to train, or leave it out of dev"
        name = task.class_names[int(row.label or 0)]
        file = _file(folder, task, "dev")
        raise DataError(f"{file}, line {row.line}: its {task.label} is {name!r}, {remedy}")


def _file(folder: Path, task: Task, split: Split) -> Path:
    return folder / task.files[drawing.source(task, split)]


def _notes(folder: Path, task: Task, split: Split, rows: drawing.RowsOfSplit, most_refused: float) -> list[str]:
    """Return what to know of a file; DataError where too many of its rows are faulty, or a class is not listed."""
    file = _file(folder, task, split)
    faulty = [refusal for refusal in rows.refusals if refusal.is_faulty]
    lines = [f"line {refusal.line}: {refusal.reason}" for refusal in faulty]
    for refusal, line in zip(faulty, lines, strict=True):
        if refusal.label and task.kind != "score":
            raise DataError(f"{file}, {line}; correct it, or list it in `classes` of {task.name} in tasks.yaml")
    if are_too_many(len(faulty), rows.in_file, most_refused):
        raise DataError(f"{file}: {len(faulty):,} of {rows.in_file:,} rows cannot be used; {first_of(lines, 3)}")
    notes: list[str] = []
    if faulty:
        notes.append(f"{file.name}: {len(faulty)} rows are left out; {lines[0]}")
    if split == "dev" and drawing.draws(task):
        drawn = f"{len(rows.examples):,} of its rows, drawn by their text, are dev"
        notes.append(f"{file.name}: tasks.yaml names no dev file, so {drawn}")
    return notes


def _unread(folder: Path, described: Mapping[str, Task]) -> Iterator[str]:
    """Yield which files in the folder look like data, and are those of no task."""
    named = {PurePath(name).as_posix() for task in described.values() for name in task.files.values()}
    if unnamed := [name for name in guessing.data_files(folder) if name not in named]:
        remedy = "add them there, or remove tasks.yaml and give this command again"
        yield f"tasks.yaml does not name {first_of(unnamed, SHOWN)}: {remedy}"
    if unreadable := [name for name in guessing.unreadable_files(folder) if name not in named]:
        yield f"not read: {first_of(unreadable, SHOWN)}; allowed: {', '.join(readers.ENDINGS)}"
    if deep := [name for name in guessing.deep_files(folder) if name not in named]:
        yield f"not read: {first_of(deep, SHOWN)}; allowed: files in the folder, or in a folder in it"


def _separators_in_words(folder: Path, described: Mapping[str, Task]) -> list[str]:
    """Return a line for what the columns of .csv files are taken to be separated by."""
    names_by: dict[str, list[str]] = {}
    for task in described.values():
        for name in task.files.values():
            if readers.ending(Path(name)) == ".csv":
                names_by.setdefault(readers.separator(folder / name, task.encoding), []).append(name)
    return [f"separated by {SEPARATORS[separator]}: {', '.join(names)}" for separator, names in names_by.items()]


def table(understood: Sequence[Understood]) -> str:
    """Return a line a task: its rows, columns, labels, metric, and the score of its most frequent class."""
    rows = [_cells(of_task) for of_task in understood]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("    ".join(cells).rstrip())
    return "\n".join(lines)


def _cells(understood: Understood) -> list[str]:
    task = understood.task
    counts = ", ".join(f"{len(rows):,} {split}" for split, rows in understood.rows.items())
    if task.kind == "score":
        labels = f"score {task.lowest:g} to {task.highest:g}"
    else:
        labels = f"{task.classes} classes: {first_of(task.class_names, CLASSES_SHOWN)}"
    score = majority_score(task, understood.rows)
    majority = "\N{EN DASH}" if score is None else f"majority {score:.2f}"
    return [task.name, counts, ", ".join(task.sentences), labels, metrics.in_words(task), majority]


def majority_score(task: Task, rows: SplitRows) -> float | None:
    """Return the dev score of always predicting train's most frequent class; None for a score."""
    if task.kind == "score":
        return None
    counts = Counter(row.label for row in rows["train"])
    labels = [float(row.label or 0) for row in rows["dev"]]
    return metrics.of_majority(task, [counts[number] for number in range(task.classes)], labels)


def _tokens(understood: Sequence[Understood]) -> int:
    """Return about how many tokens a row has: words and marks, and a third more for words of several pieces."""
    counts: list[int] = []
    for of_task in understood:
        for row in of_task.rows["train"][:COUNTED]:
            counts.append(len(WORDS.findall(f"{row.sentence1} {row.sentence2 or ''}")))
    return 3 + round(4 / 3 * sum(counts) / len(counts))


def _set(file: Path, folder: Path, wishes: Wishes, understood: Sequence[Understood]) -> str:
    """Set params.yaml to the folder; print how long that takes, and return what is trained. It is checked before."""
    home = file.resolve().parent
    data = folder.resolve()
    ways = [*papers.load(home / "papers")[WAYS].variants.items()]
    seeds = 1 if wishes.quick else wishes.seeds
    if wishes.quick:
        ways = ways[:QUICK]
    names = [*studies.expanded(dict(ways), tasks.main(tasks.of_folder(folder)))]
    values: dict[str, Any] = {
        "profile": PROFILE,
        "data_dir": (data.relative_to(home) if data.is_relative_to(home) else data).as_posix(),
        "seeds": [*range(1, 1 + seeds)],
        "variants": names,
    }
    if wishes.encoder is not None:
        values["encoder.name"] = wishes.encoder
        values["training.learning_rate.encoder"] = _rate(wishes.encoder)
    if wishes.steps is not None:
        values["training.epochs"] = max(1, round(wishes.steps * _usual_epochs(file)))
    with files.new_file(file) as partial:
        shutil.copy(file, partial)
        files.edit_yaml(partial, values)
        planned = planning.plan(Params(partial))
        variants = {name: VariantSettings(**planned[name]) for name in names}
        print(f"\n{_costs(EncoderSettings(**planned['encoder']), variants, seeds, understood)}")
    return f"{len(names)} models, {'one seed' if seeds == 1 else f'{seeds} seeds'} each,"


def _rate(encoder: str) -> float | None:
    """Return the rate at which a whole encoder is trained; None for one as wide as that of the profile's rate.

    A wider encoder needs a lower one: 2e-4 for a width of 384 becomes 1e-4 for 768. Nobody has searched it there.
    """
    try:
        settings = EncoderSettings(name=encoder)
    except pydantic.ValidationError as error:
        raise SettingsError(f"--encoder: {in_words(error)}") from None
    width = read_config(settings.folder)[1].hidden_size if settings.folder else settings.known_width or USUAL_WIDTH
    return None if width <= USUAL_WIDTH else float(f"{USUAL_RATE * USUAL_WIDTH / width:.1e}")


def _usual_epochs(file: Path) -> int:
    """Return how many epochs the profile of own tasks trains."""
    epochs = at(files.read_yaml(file, "correct it", aliases=True), ("profiles", PROFILE, "training", "epochs"))
    if not isinstance(epochs, int):
        raise SettingsError(f"{file}: profiles.{PROFILE}.training.epochs is {epochs!r}; allowed: a whole number")
    return epochs


def _costs(
    encoder: EncoderSettings, variants: Mapping[str, VariantSettings], seeds: int, understood: Sequence[Understood]
) -> str:
    """Return how long the trainings take here at most, by the speed of a few seconds of steps, and what they store."""
    first = next(iter(variants.values()))
    backbone = _backbone(encoder)
    adapters = [*_adapters_in_words(variants, backbone)]
    speed = _measure(backbone, first, min(_tokens(understood), first.model.max_tokens))
    rows = {of_task.task.name: len(of_task.rows["train"]) for of_task in understood}
    steps = sum(_steps(settings, rows) for settings in variants.values()) * seeds
    gigabytes = BYTES * speed.weights * len(variants) * seeds / 2**30
    on_gpu = torch.cuda.is_available()
    jobs = 1 if on_gpu else min(JOBS, os.cpu_count() or 1)
    minutes = speed.seconds * steps / jobs / 60
    time_in_words = f"{minutes:,.0f} minutes" if minutes < 120 else f"{minutes / 60:,.1f} hours"
    device = "its GPU" if on_gpu else f"{jobs} cores"
    text = (
        f"At most about {time_in_words} on {device} of this machine: {steps:,} steps of "
        f"{1000 * speed.seconds:,.0f} ms; a model that stops to improve ends sooner. "
        f"About {gigabytes:,.1f} GB of weights."
    )
    return f"{text}\nAdapters' weights, in millions: {'; '.join(adapters)}." if adapters else text


def _adapters_in_words(variants: Mapping[str, VariantSettings], backbone: Backbone) -> Iterator[str]:
    """Yield the row of each variant that has an adapter, with the adapter's weights."""
    for settings in variants.values():
        if settings.model.adapter.name != "none":
            adapter = build_model(settings, backbone, 1).adapter
            weights = sum(parameter.numel() for parameter in adapter.parameters())
            yield f"{settings.row} {weights / 1e6:.2f}"


def _steps(settings: VariantSettings, rows: Mapping[str, int]) -> int:
    """Return at most how many steps a training has, by the rows of train of each task."""
    steps = 0
    for phase in settings.phases:
        turns = 0
        for name in phase.tasks:
            task = settings.described[name]
            batches = (1 - phase.spared) * rows[name] / phase.batch_size
            turns += phase.epoch_length.turns(0 if task.kind == "score" else task.classes, batches, phase.batch_size)
        steps += phase.epochs * (phase.epoch_length.steps or turns)
    return steps


class Speed(NamedTuple):
    """The seconds of a step of a model, and how many weights it has."""

    seconds: float
    weights: int


def _measure(backbone: Backbone, settings: VariantSettings, tokens: int) -> Speed:
    """Train such a model for some steps on made-up rows of so many tokens."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_model(settings, backbone, 1).to(device).train()
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
    seconds = (ends[-1] - ends[0]) / (len(ends) - 1)
    return Speed(seconds, sum(parameter.numel() for parameter in model.parameters()))


def _backbone(encoder: EncoderSettings) -> Backbone:
    """Return an encoder of such sizes with random weights, since its files may not be here yet."""
    if encoder.folder:
        architecture, config = read_config(encoder.folder)
        return architecture(config)
    is_tiny = encoder.source is SOURCES[TINY]
    width = encoder.known_width or encoder.width
    return Bert(
        Config(
            vocab_size=encoder.vocabulary if is_tiny else PIECES,
            hidden_size=width,
            num_hidden_layers=encoder.known_layers,
            num_attention_heads=encoder.heads if is_tiny else 12,
            intermediate_size=encoder.feed_forward if is_tiny else 4 * width,
            max_position_embeddings=encoder.positions,
        )
    )
