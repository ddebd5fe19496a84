"""Set params.yaml to a folder of one's own, as a person wishes."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from mtbert import files, tasks
from mtbert.config import papers, planning, studies
from mtbert.config.params import REST, Params, at
from mtbert.data.preprocess import MOST_REFUSED
from mtbert.errors import SettingsError
from mtbert.errors import in_words as faults_in_words
from mtbert.models.encoder.architectures import read_config
from mtbert.models.heads import PAIRS_APART
from mtbert.pretrained.settings import EncoderSettings
from mtbert.study import costs, folds
from mtbert.study.understanding import TaskRows
from mtbert.variants.settings import VariantSettings

WAYS = "own"  # the paper of what is trained: papers/own.yaml
PROFILE = "own"  # the recipe of its ways: profiles.own in params.yaml
QUICK = 3  # ways of it that are trained with --quick
FEW_PAIRS = 1000  # rows of train of a task of pairs with classes, below which it has PAIRS_APART
USUAL_WIDTH, USUAL_RATE = 384, 2e-4  # of MiniLM, by the search of data/searches/own-recipe.csv


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


def is_prepared(file: Path, folder: Path) -> bool:
    """Return whether params.yaml is set to a study of this folder."""
    if not file.is_file() or not (folder / tasks.FILE).is_file():
        return False
    settings = files.read_yaml(file, "correct it", aliases=True)
    data = (file.resolve().parent / str(at(settings, ("data_dir",)))).resolve()
    return at(settings, ("profile",)) == PROFILE and data == folder.resolve()


def most_refused(file: Path) -> float:
    """Return which share of a file's rows may be faulty, by params.yaml; what is no number there is refused later."""
    if not file.is_file():
        raise SettingsError(f"{file} is missing; commands run at the repository's root")
    if not (ways := file.resolve().parent / "papers" / f"{WAYS}.yaml").is_file():
        raise SettingsError(f"{file}: {ways}, which says what is trained, is missing; name params.yaml of a repository")
    settings = files.read_yaml(file, "correct it", aliases=True)
    share = settings.get("most_refused") if isinstance(settings, dict) else None
    return share if isinstance(share, int | float) else MOST_REFUSED


def select(file: Path, folder: Path, wishes: Wishes, task_rows: Sequence[TaskRows]) -> str:
    """Set params.yaml to the folder; print how long that takes, and return what is trained. It is checked before."""
    home = file.resolve().parent
    data = folder.resolve()
    ways = [*papers.load(home / "papers")[WAYS].variants.items()]
    tasks_by_name = tasks.read_folder(folder)
    seeds = folds.in_rounds(1 if wishes.quick else wishes.seeds, tasks.number_of_folds(tasks_by_name))
    if wishes.quick:
        ways = ways[:QUICK]
    names = [*studies.expanded(dict(ways), tasks.main(tasks_by_name))]
    values: dict[str, Any] = {
        "profile": PROFILE,
        "data_dir": (data.relative_to(home) if data.is_relative_to(home) else data).as_posix(),
        "seeds": [*range(1, 1 + seeds)],
        "variants": names,
        "model.heads": heads(file, wishes.encoder, data, task_rows),
    }
    if wishes.encoder is not None:
        values["encoder.name"] = wishes.encoder
        values[f"profiles.{PROFILE}.training.learning_rate.encoder"] = _rate(wishes.encoder)  # `tuned` is above it
    if wishes.steps is not None:
        values["training.epochs"] = max(1, round(wishes.steps * _usual_epochs(file)))
    with files.new_file(file) as partial:
        shutil.copy(file, partial)
        files.edit_yaml(partial, values)
        planned = planning.plan(Params(partial, shown=file))
        variants = {name: VariantSettings(**planned[name]) for name in names}
        before = at(files.read_yaml(file, "correct it", aliases=True), ("model", "heads")) or {}
        here = [of_task.task.name for of_task in task_rows]
        had_it = [task for task in here if before.get(task) == PAIRS_APART]
        if dropped := [task for task in had_it if values["model.heads"].get(task) != PAIRS_APART]:
            print(f"\n{', '.join(dropped)}: {PAIRS_APART} of an earlier study is no longer in `model.heads` in {file}")
        if apart := [task for task, head in values["model.heads"].items() if head == PAIRS_APART]:
            print(f"\n{', '.join(apart)}: both sentences are encoded apart (`model.heads` in {file})")
        print(f"\n{costs.in_words(EncoderSettings(**planned['encoder']), variants, seeds, task_rows)}")
    return f"{len(names)} models, {'one seed' if seeds == 1 else f'{seeds} seeds'} each,"


def heads(file: Path, encoder: str | None, data: Path, task_rows: Sequence[TaskRows]) -> dict[str, str | None]:
    """Return `model.heads`: as it is, but that pairs with scores, and few pairs with classes, have the head for them.

    That head goes where an earlier study may have set it, and this one would not: for another folder, or for an encoder
    of sentences that is no longer used. Else somebody chose it.

    Args:
        file: params.yaml, as it was before.
        encoder: that of the study; None for the one of `file`.
        data: the study's folder, resolved.
        task_rows: its tasks.

    An encoder of sentences knows how alike two sentences are. In one sequence it has to learn that from the pairs: with
    300 of STS-B it has r 0.61 then, encoded apart 0.85, untrained 0.84 (data/searches/README.md). Other encoders have
    nothing to lose.
    """
    settings = files.read_yaml(file, "correct it", aliases=True)
    stated = at(settings, ("model", "heads")) or {}
    usual = at(settings, ("encoder", "name")) or at(settings, ("profiles", PROFILE, "encoder", "name"))
    chosen_encoder = _encoder(encoder, "--encoder") if encoder else _encoder(usual, f"{file}: encoder.name")
    knows_sentences = chosen_encoder.embeds_sentences
    is_same_folder = (file.resolve().parent / str(at(settings, ("data_dir",)))).resolve() == data
    here = {of_task.task.name for of_task in task_rows}
    known = {*here, *tasks.COURSE, REST}  # heads of another folder's tasks go
    chosen = {name: head for name, head in stated.items() if name in known}
    if not is_same_folder:
        chosen = {name: head for name, head in chosen.items() if head != PAIRS_APART}
    for of_task in task_rows:
        task, rows = of_task.task, len(of_task.rows["train"])
        is_for_it = task.is_pair and (task.kind == "score" or rows < FEW_PAIRS)
        if knows_sentences and is_for_it and chosen.get(task.name) is None:
            chosen[task.name] = PAIRS_APART
        may_be_a_studys = not knows_sentences and is_for_it and chosen.get(task.name) == PAIRS_APART
        if may_be_a_studys and _encoder(usual, f"{file}: encoder.name").embeds_sentences:
            del chosen[task.name]
    return chosen


def _rate(encoder: str) -> float:
    """Return the rate at which a whole encoder is trained.

    A wider encoder needs a lower one: 2e-4 for a width of 384 becomes 1e-4 for 768. Nobody has searched it there.
    """
    settings = _encoder(encoder, "--encoder")
    width = read_config(settings.folder)[1].hidden_size if settings.folder else settings.known_width or USUAL_WIDTH
    return USUAL_RATE if width <= USUAL_WIDTH else float(f"{USUAL_RATE * USUAL_WIDTH / width:.1e}")


def _encoder(name: str, place: str) -> EncoderSettings:
    """Return the encoder of a name; SettingsError, which says the place where it was set, for an unknown one."""
    try:
        return EncoderSettings(name=name)
    except pydantic.ValidationError as error:
        raise SettingsError(f"{place}: {faults_in_words(error)}") from None


def _usual_epochs(file: Path) -> int:
    """Return how many epochs the profile of own tasks trains."""
    epochs = at(files.read_yaml(file, "correct it", aliases=True), ("profiles", PROFILE, "training", "epochs"))
    if not isinstance(epochs, int):
        raise SettingsError(f"{file}: profiles.{PROFILE}.training.epochs is {epochs!r}; allowed: a whole number")
    return epochs
