"""Set params.yaml to a folder of one's own, with the options of `mtbert study`."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pydantic

from mtbert import files, tasks
from mtbert.config import papers, planning, templates
from mtbert.config.params import OTHERS, Params, at
from mtbert.data.preprocess import MOST_REFUSED
from mtbert.errors import SettingsError, first_of
from mtbert.errors import in_words as faults_in_words
from mtbert.models.encoder.architectures import read_config
from mtbert.models.heads import PAIRS_APART
from mtbert.pretrained import folders
from mtbert.pretrained.settings import EncoderSettings
from mtbert.study import costs, folds
from mtbert.study.understanding import FolderTask
from mtbert.variants.settings import VariantSettings

WAYS = "own"  # the paper of what is trained: papers/own.yaml
PROFILE = "own"  # of its ways: profiles.own in params.yaml
SEEDS = 3  # of each way where no other number is wished
QUICK = 3  # ways of it that are trained with --quick
OF_SEVERAL = ("own-shared", "own-lora-per-task", "own-annealed", "own-proportional")  # of one task each repeats another
FEW_PAIRS = 1000  # rows of train of a task of pairs with classes, below which it has PAIRS_APART
SHOWN = 5  # names or keys in a line
USUAL_WIDTH, USUAL_RATE = 384, 2e-4  # of MiniLM, by the search of data/searches/own-recipe.csv


class StudyOptions(NamedTuple):
    """What a person asks of a study.

    Attributes:
        quick: whether one seed of a few ways is enough.
        seeds: of each way.
        encoder: a name or folder as `encoder.name` takes it; None leaves that as it is.
        steps: how many times as long as usual every model trains; None leaves `training.epochs` as it is.
    """

    quick: bool = False
    seeds: int = SEEDS
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
    settings = _read(file)
    return at(settings, ("profile",)) == PROFILE and _is_set_to(file, settings, folder.resolve())


def most_refused(file: Path) -> float:
    """Return which share of a file's rows may be faulty, by params.yaml; what is no number there is refused later."""
    if not file.is_file():
        raise SettingsError(f"{file} is missing; give commands in the root of the repository")
    if not (ways := file.resolve().parent / "papers" / f"{WAYS}.yaml").is_file():
        raise SettingsError(f"{file}: {ways}, which says what is trained, is missing; name params.yaml of a repository")
    settings = _read(file)
    share = settings.get("most_refused") if isinstance(settings, dict) else None
    return share if isinstance(share, int | float) else MOST_REFUSED


def select(file: Path, folder: Path, options: StudyOptions, folder_tasks: Sequence[FolderTask]) -> str:
    """Set params.yaml to the folder; print how long that takes, and return what is trained. It is checked before."""
    data = folder.resolve()
    ways = papers.load(file.resolve().parent / "papers")[WAYS].variants
    tasks_by_name = tasks.read_folder(folder)
    seeds = folds.in_repeats(1 if options.quick else options.seeds, tasks.number_of_folds(tasks_by_name))
    main = tasks.main(tasks_by_name)
    left_out = OF_SEVERAL if len(main) == 1 else ()
    chosen = [way for way in [*ways][: QUICK if options.quick else None] if way not in left_out]
    names = [*templates.expand({way: ways[way] for way in chosen}, main)]
    before = _read(file)
    is_same_folder = _is_set_to(file, before, data)
    is_same_encoder = options.encoder in (None, _encoder_before(before))
    old_rates = [] if is_same_folder and is_same_encoder else _rates_of_ways(before, [*ways])
    values = {
        **_of_folder(file.resolve().parent, data),
        **_of_options(file, before, options),
        "seeds": [*range(1, 1 + seeds)],
        "variants": names,
        "model.heads": _heads(file, before, options.encoder, is_same_folder, folder_tasks),
    }
    if old_rates:
        values["tuned"] = {name: entry for name, entry in before["tuned"].items() if name not in old_rates}
    with files.new_file(file) as partial:
        shutil.copy(file, partial)
        files.edit_yaml(partial, values)
        planned = planning.plan(Params(partial, shown=file))
        variants = {name: VariantSettings(**planned[name]) for name in names}
        for line in _changes_of_heads(file, at(before, ("model", "heads")) or {}, values["model.heads"], folder_tasks):
            print(f"\n{line}")
        if old_rates:
            print(
                f"\n{first_of(old_rates, SHOWN)}: rates of another folder or encoder are no longer in `tuned` in {file}"
            )
        if changes := _changes_of_profile(planned["catalog"], names):
            print(f"\n{file} changes profile own: {first_of(changes, SHOWN)}; a key that is null does not")
        print(f"\n{costs.in_words(EncoderSettings(**planned['encoder']), variants, seeds, folder_tasks)}")
    return f"{len(names)} models, {'one seed' if seeds == 1 else f'{seeds} seeds'} each,"


def _read(file: Path) -> Any:
    """Read params.yaml as it lies there; DataError where it is no YAML."""
    return files.read_yaml(file, "correct it", aliases=True)


def _of_folder(home: Path, data: Path) -> dict[str, Any]:
    """Return what a study of a folder sets in params.yaml, which is in `home`, whatever the options."""
    shown = data.relative_to(home) if data.is_relative_to(home) else data
    return {"profile": PROFILE, "data_dir": shown.as_posix()}


def _of_options(file: Path, before: Any, options: StudyOptions) -> dict[str, Any]:
    """Return what params.yaml has to say for another encoder or length."""
    values: dict[str, Any] = {}
    if options.encoder is not None:
        values["encoder.name"] = options.encoder
        values[f"profiles.{PROFILE}.training.learning_rate.encoder"] = _rate(options.encoder)
    if options.steps is not None:
        values["training.epochs"] = max(1, round(options.steps * _usual_epochs(file, before)))
    return values


def _changes_of_heads(
    file: Path, before: Mapping[str, Any], now: Mapping[str, str | None], folder_tasks: Sequence[FolderTask]
) -> Iterator[str]:
    """Yield which tasks have lost the head for pairs that are encoded apart, and which have it."""
    here = [of_task.task.name for of_task in folder_tasks]
    if dropped := [task for task in here if before.get(task) == PAIRS_APART and now.get(task) != PAIRS_APART]:
        yield f"{', '.join(dropped)}: {PAIRS_APART} of an earlier study is no longer in `model.heads` in {file}"
    if apart := [task for task, head in now.items() if head == PAIRS_APART]:
        yield f"{', '.join(apart)}: both sentences are encoded apart (`model.heads` in {file})"


def _rates_of_ways(settings: Any, ways: Sequence[str]) -> list[str]:
    """Return the variants of these ways whose rates are in `tuned`."""
    tuned = at(settings, ("tuned",))
    if not isinstance(tuned, dict):
        return []
    return [name for name in tuned if any(f"{name}-".startswith(f"{way}-") for way in ways)]


def _is_set_to(file: Path, settings: Any, data: Path) -> bool:
    """Return whether the settings of params.yaml name a folder, which is resolved."""
    return (file.resolve().parent / str(at(settings, ("data_dir",)))).resolve() == data


def _encoder_before(settings: Any) -> Any:
    """Return the encoder of studies, as params.yaml says."""
    return at(settings, ("encoder", "name")) or at(settings, ("profiles", PROFILE, "encoder", "name"))


def _changes_of_profile(catalog: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    """Return what params.yaml sets beside profile own for some of these variants, such as `training.epochs 12`.

    Heads are told by themselves.
    """
    changes: dict[str, Any] = {}
    for name in names:
        changes |= catalog["variants"][name]["overrides"]
    if catalog["held_out"] is not None:
        changes["held_out"] = catalog["held_out"]
    return [f"{key} {value}" for key, value in changes.items() if not key.startswith("model.heads.")]


def _heads(
    file: Path, before: Any, encoder: str | None, is_same_folder: bool, folder_tasks: Sequence[FolderTask]
) -> dict[str, str | None]:
    """Return `model.heads`: as it is, but that pairs with scores, and few pairs with classes, have the head for them.

    That head goes where an earlier study may have set it, and this one would not: for another folder, or for an encoder
    of sentences that is no longer used. Else somebody chose it.

    Args:
        file: params.yaml.
        before: what it says before the study.
        encoder: that of the study; None for the one of params.yaml.
        is_same_folder: whether params.yaml was set to the study's folder before.
        folder_tasks: the study's tasks.

    An encoder of sentences knows how alike two sentences are. In one sequence it has to learn that from the pairs: with
    300 of STS-B it has r 0.61 then, encoded apart 0.85, untrained 0.84 (data/searches/README.md). Other encoders have
    nothing to lose.
    """
    heads = at(before, ("model", "heads")) or {}
    usual = _encoder_before(before)
    chosen_encoder = _encoder(encoder, "--encoder") if encoder else _encoder(usual, f"{file}: encoder.name")
    knows_sentences = chosen_encoder.embeds_sentences
    here = {of_task.task.name for of_task in folder_tasks}
    known = {*here, *tasks.COURSE, OTHERS}  # heads of another folder's tasks go
    chosen = {name: head for name, head in heads.items() if name in known}
    if not is_same_folder:
        chosen = {name: head for name, head in chosen.items() if head != PAIRS_APART}
    for of_task in folder_tasks:
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
    """Return the encoder of a name.

    SettingsError, which says the place where it was set, for an unknown one; EncoderError for a folder that holds none.
    """
    try:
        settings = EncoderSettings(name=name)
    except pydantic.ValidationError as error:
        raise SettingsError(f"{place}: {faults_in_words(error)}") from None
    if settings.folder:
        folders.check_config(settings.folder)
    return settings


def _usual_epochs(file: Path, settings: Any) -> int:
    """Return how many epochs the profile of own tasks trains."""
    epochs = at(settings, ("profiles", PROFILE, "training", "epochs"))
    if not isinstance(epochs, int):
        raise SettingsError(f"{file}: profiles.{PROFILE}.training.epochs is {epochs!r}; allowed: a whole number")
    return epochs
