"""Search the learning rate of each kind of training, and one further setting, on rows held out of the training sets.

Every kind gets the same search: one variant of it is trained with each of the same rates. Where params.yaml has taken
over the rates that were found, one setting of one variant is searched in the same way. Neither dev nor test is opened.
Trainings lie in build/search, where what is finished is not trained again; results go to data/searches.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pydantic

from mtbert import errors, files, inputs
from mtbert.config import code, planning, rates, resolve
from mtbert.config.documents import documents
from mtbert.config.params import SEARCH, Params, merged
from mtbert.data.held_out import hold_out
from mtbert.errors import DataError, SettingsError
from mtbert.scale import pipeline, runner
from mtbert.scale.trainings import BUILD, Training, is_finished, say, threads
from mtbert.settings import Kind, SearchSettings
from mtbert.training.evaluation import mean_score

SEARCHES = Path("data/searches")  # committed; two files for each profile that was searched for
STAGES = ("machine", "preprocess")  # with all that these need
Only = Literal["rates", "setting"]


class Trial(NamedTuple):
    """One training: a variant with another value of one setting.

    Attributes:
        name: of its run.
        variant: what is trained, of the catalog.
        setting: section and key.
        value: of the setting.
        kind: of training, for which the variant stands; None where it stands for itself.
    """

    name: str
    variant: str
    setting: tuple[str, str]
    value: Any
    kind: Kind | None = None


def start(jobs: int, only: Only | None = None) -> None:
    """Make what the trainings start from, search, print what was found and how params.yaml states it.

    Args:
        jobs: trainings at a time, at least 1.
        only: the rates alone, or the setting alone with the rates of params.yaml; None for both.
    """
    params = Params(pipeline.PARAMS)
    wanted = [trials_of_rates(params)] if only != "setting" else []
    wanted += [trials_of_setting(params)] if only == "setting" or (only is None and settings(params).setting) else []
    pipeline.dvc("repro", *STAGES)
    for trials in wanted:
        table = run(params, trials, jobs, BUILD, SEARCHES)
        say(f"{table.to_string(index=False)}\n\n{to_state(str(params.get('profile')), trials, table)}\n")


def settings(params: Params) -> SearchSettings:
    """Return the section `search` after all layers; SettingsError where the profile states no search."""
    try:
        return SearchSettings(**merged(params, SEARCH))
    except pydantic.ValidationError as error:
        told = errors.in_words(error)
        raise SettingsError(f"{params.file}: search, for the profile {params.get('profile')}: {told}") from None


def trials_of_rates(params: Params) -> list[Trial]:
    """Return every kind with every rate."""
    search = settings(params)
    return [
        Trial(f"{kind.replace('_', '-')}-{number}", variant, rates.RATE, rate, kind)
        for kind, variant in search.kinds.items()
        for number, rate in enumerate(search.rates, start=1)
    ]


def trials_of_setting(params: Params) -> list[Trial]:
    """Return the variant of the further setting with every value."""
    if (one := settings(params).setting) is None:
        raise SettingsError(f"{params.file}: search.setting names no setting to be looked for")
    section, key = one.name.split(".")
    return [
        Trial(f"{one.variant}-{number}", one.variant, (section, key), value)
        for number, value in enumerate(one.values, start=1)
    ]


def run(params: Params, trials: Sequence[Trial], jobs: int, build: Path, out: Path) -> pd.DataFrame:
    """Train every trial, and write the table of scores to `out`.

    Args:
        params: whose profile is searched for.
        trials: all for rates, or all for the setting.
        jobs: trainings at a time, at least 1.
        build: holds machine.json, data and encoders; `search` below it is the search's own.
        out: the folder of results.

    Returns:
        A line for each trial: what was tried, rate, seed, the score of each task and their mean, whether it is chosen,
        the rows held out of all tasks together, steps.

    Raises:
        SettingsError: a variant does not stand for its kind, or its rate is not the one that was found. DataError: what
        the trainings start from is missing or damaged. TrainingError, KeyboardInterrupt: see `runner.run`.
    """
    search, planned = settings(params), planned_of(params, trials)
    of_rates, of_setting = (out / f"{params.get('profile')}{ending}.csv" for ending in ("", "-setting"))
    if trials[0].kind is None and of_rates.is_file():
        _check_rates(params, planned[trials[0].name], of_rates)
    held = _prepare(search, planned, build)
    table = compared(trials, planned, search.seed, _trained(trials, search.seed, jobs, build / SEARCH), held)
    with files.new_file(of_rates if trials[0].kind else of_setting) as partial:
        table.to_csv(partial, index=False, lineterminator="\n", float_format="%.6g")
    return table


def planned_of(params: Params, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the plan's documents with every trial in place of the variants; SettingsError with what is wrong.

    Refused are a variant of another kind, one with rates of its own, and corpora of which nothing is held out.
    """
    variants = {}
    for trial in trials:
        where = f"{params.file}: search.{f'kinds.{trial.kind}' if trial.kind else 'setting.variant'} is {trial.variant}"
        if (entry := params.get("catalog", trial.variant)) is None:
            raise SettingsError(f"{where}, which catalog lacks")
        section, key = trial.setting
        values = {**(entry.get(section) or {}), key: trial.value}
        if trial.setting == rates.RATE:
            values.pop("learning_rates", None)
        params = params.put(("catalog", trial.name), {**entry, section: values})
        document, faults = resolve.variant(params, trial.name)
        if faults:
            raise SettingsError(params.format_faults(faults))
        phases = document["phases"]
        kinds = {rates.of_phase(phase) for phase in phases}
        if len(kinds) != 1 or trial.kind not in (None, *kinds):
            raise SettingsError(f"{where}, which is trained as {' and '.join(sorted(kinds)) or 'nothing'}")
        if trial.kind and any(phase["learning_rate"] != trial.value for phase in phases):
            raise SettingsError(f"{where}, whose phases state a learning_rate of their own; allowed: one whose do not")
        if any(set(phase["tasks"]) - set(document["tasks"]) for phase in phases):
            raise SettingsError(f"{where}, which draws on corpora beside its tasks'; allowed: one that does not")
        variants[trial.name] = document
    return documents(params.put(("variants",), [*variants]).put(("ensembles",), None), variants)


def _check_rates(params: Params, document: Mapping[str, Any], file: Path) -> None:
    """Refuse another rate than the one that was found for the kind."""
    try:
        found = pd.read_csv(file, usecols=["kind", "rate", "chosen"])
    except ValueError as error:
        raise DataError(f"{file} is no table of a search: {error}; `mtbert search` makes it again") from None
    best = dict(zip(found["kind"][found["chosen"]], found["rate"][found["chosen"]], strict=True))
    for phase in document["phases"]:
        kind, rate = rates.of_phase(phase), phase["learning_rate"]
        if not math.isclose(rate, best.get(kind, rate), rel_tol=1e-5):
            raise SettingsError(
                f"{params.file}: {document['variant']} would be trained with the learning rate {rate:.1e}, but the "
                f"search found {best[kind]:.1e}; state it as profiles.{params.get('profile')}.training.learning_rates."
                f"{kind}, then start again: what is trained is kept"
            )


def _prepare(search: SearchSettings, planned: dict[str, Any], build: Path) -> dict[str, int]:
    """Write what the trainings need below build/search; return how many rows of each task are held out."""
    place = build / SEARCH
    selected = [name for name, entry in planned["catalog"]["variants"].items() if entry["selected"]]
    tasks = dict.fromkeys(task for name in selected for task in planned[name]["tasks"])
    held = hold_out(build / "data", tasks, place / "data", search.held_out, search.seed)
    planning.write(planned | code.of_stages(), place / "plan")
    files.write_json(place / inputs.MACHINE, inputs.machine(build))
    if not (place / "encoders").is_symlink():
        (place / "encoders").symlink_to(Path("..") / "encoders")
    inputs.write(place / "plan", place, place / "init")
    return held


def _trained(trials: Sequence[Trial], seed: int, jobs: int, place: Path) -> list[dict[str, Any]]:
    """Train what is not finished; return each trial's metrics.json."""
    trainings = [Training(variant=trial.name, seed=seed) for trial in trials]
    waiting = [training for training in trainings if not is_finished(training, place)]
    say(f"{len(waiting)} of {len(trials)} to train; their output is in {place}/output/")
    if waiting:
        shares = runner.shares(min(jobs, len(waiting)), threads(waiting[0], place))
        runner.run(waiting, partial(runner.here, build=place), shares, place / "output")
    return [files.read_json(place / "runs" / training.place / "metrics.json") for training in trainings]


def compared(
    trials: Sequence[Trial],
    planned: Mapping[str, Any],
    seed: int,
    found: Sequence[Mapping[str, Any]],
    held: Mapping[str, int],
) -> pd.DataFrame:
    """Return the table; of each kind the highest mean is chosen, of equal ones the first."""
    lines = []
    for trial, metrics in zip(trials, found, strict=True):
        scores = {task: metrics["dev"][task] for task in held if task in metrics["dev"]}
        tried = {"kind": trial.kind, "variant": trial.variant}
        if trial.kind is None:
            tried = {"variant": trial.variant, "setting": ".".join(trial.setting), "value": in_words(trial.value)}
        rate = planned[trial.name]["phases"][0]["learning_rate"]
        end = {"mean": mean_score(scores, scores), "rows": sum(held[task] for task in scores)}
        lines.append({**tried, "rate": rate, "seed": seed, **scores, **end, "steps": metrics["steps"]})
    table = pd.DataFrame(lines)
    best = table.groupby("kind" if "kind" in table else "setting")["mean"].idxmax()
    table.insert(table.columns.get_loc("rows"), "chosen", table.index.isin(best))  # type: ignore[arg-type]
    return table


def in_words(value: Any) -> str:
    """A setting's value, such as `sst 1.5, qqp 0.75`; two are the same where their words are."""
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)


def to_state(profile: str, trials: Sequence[Trial], table: pd.DataFrame) -> str:
    """Return the lines for the profile in params.yaml, and what should be looked at before they are taken over."""
    values: dict[str, Any] = {}
    warned = list[str]()
    for trial in (trial for trial, chosen in zip(trials, table["chosen"], strict=True) if chosen):
        section, key = trial.setting
        if trial.kind is None:
            values[section] = {key: trial.value}
            continue
        values.setdefault(section, {}).setdefault("learning_rates", {})[trial.kind] = trial.value
        tried = [one.value for one in trials if one.kind == trial.kind]
        if trial.value in (min(tried), max(tried)):
            warned.append(f"The best rate of {trial.kind} is at the end of the list: one beyond may be better.")
    return "\n".join([files.yaml_text({"profiles": {profile: values}}, in_order=True).rstrip(), *warned])
