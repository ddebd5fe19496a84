"""Search the learning rate of each kind of training, and one further setting, on rows held out of the training sets.

Every kind gets the same search: one variant of it is trained with each of the same rates. With the rates that were
found, one setting of one variant is searched in the same way. Neither dev nor test is opened. Trainings lie in
build/search, where what is finished is not trained again; results go to data/searches.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd
import pydantic

from mtbert import errors, files, inputs, locking
from mtbert.config import code, planning, rates, resolve
from mtbert.config.params import SEARCH, Params, merged
from mtbert.data.held_out import hold_out
from mtbert.errors import SettingsError
from mtbert.scale import grid, trainings
from mtbert.scale.trainings import BUILD, Training, is_finished, say
from mtbert.settings import Kind, SearchSettings
from mtbert.training.evaluation import mean_score

SEARCHES = Path("data/searches")  # committed; two files for each profile that was searched for
STAGES = ("machine", "preprocess")  # with all that these need


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


def start(jobs: int, only: Literal["rates", "setting"] | None = None) -> None:
    """Make what the trainings start from, search, print what was found and how params.yaml states it.

    Args: see `mtbert search --help`.
    """
    params = Params(grid.PARAMS)
    search = settings(params)
    with locking.alone(BUILD / SEARCH / "lock", "search"):
        grid.dvc("repro", *STAGES)
        if only != "setting":
            params = run(params, trials_of_rates(search), jobs, BUILD, SEARCHES)
        if only == "setting" or (only is None and search.setting):
            run(params, trials_of_setting(search), jobs, BUILD, SEARCHES)


def settings(params: Params) -> SearchSettings:
    """Return the section `search` after all layers; SettingsError where the profile states no search."""
    try:
        return SearchSettings(**merged(params, SEARCH))
    except pydantic.ValidationError as error:
        told = errors.in_words(error)
        raise SettingsError(f"{params.file}: search, for the profile {params.get('profile')}: {told}") from None


def trials_of_rates(search: SearchSettings) -> list[Trial]:
    """Return every kind with every rate."""
    return [
        Trial(f"{kind.replace('_', '-')}-{number}", variant, rates.RATE, rate, kind)
        for kind, variant in search.kinds.items()
        for number, rate in enumerate(search.rates, start=1)
    ]


def trials_of_setting(search: SearchSettings) -> list[Trial]:
    """Return the variant of the further setting with every value."""
    if (one := search.setting) is None:
        raise SettingsError(f"{grid.PARAMS}: search.setting names no setting to be looked for")
    section, key = one.name.split(".")
    return [
        Trial(f"{one.variant}-{number}", one.variant, (section, key), value)
        for number, value in enumerate(one.values, start=1)
    ]


def run(params: Params, trials: Sequence[Trial], jobs: int, build: Path, out: Path) -> Params:
    """Train every trial in build/search, write the table of scores to `out`, and return `params` with what was found.

    Raises:
        SettingsError: a variant does not stand for its kind. DataError: what the trainings start from is missing or
        damaged. TrainingError, KeyboardInterrupt: see `trainings.run`.
    """
    search, planned, place = settings(params), planned_of(params, trials), build / SEARCH
    held = _prepare(search, planned, build)
    wanted = [Training(variant=trial.name, seed=search.seed) for trial in trials]
    waiting = [training for training in wanted if not is_finished(training, place)]
    say(f"{len(waiting)} of {len(trials)} to train; their output is in {place}/output/")
    trainings.run_here(waiting, jobs, place / "output", build=place)
    metrics = [files.read_json(place / "runs" / training.place / "metrics.json") for training in wanted]
    table = compared(trials, planned, search.seed, metrics, held)
    with files.new_file(out / f"{params.get('profile')}{'' if trials[0].kind else '-setting'}.csv") as file:
        table.to_csv(file, index=False, lineterminator="\n", float_format="%.6g")
    say(f"{table.to_string(index=False)}\n")
    return found(params, trials, table)


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
        if trial.kind:
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
    return planning.documents(params.put(("variants",), [*variants]).put(("ensembles",), None), variants)


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


def compared(
    trials: Sequence[Trial],
    planned: Mapping[str, Any],
    seed: int,
    metrics: Sequence[Mapping[str, Any]],
    held: Mapping[str, int],
) -> pd.DataFrame:
    """Return the table that data/searches/README.md describes.

    Of each kind the highest mean is chosen, of equal ones the first.
    """
    lines = []
    for trial, of_run in zip(trials, metrics, strict=True):
        scores = {task: of_run["dev"][task] for task in held if task in of_run["dev"]}
        tried = {"kind": trial.kind, "variant": trial.variant}
        if trial.kind is None:
            tried = {"variant": trial.variant, "setting": ".".join(trial.setting), "value": in_words(trial.value)}
        rate = planned[trial.name]["phases"][0]["learning_rate"]
        end = {"mean": mean_score(scores, scores), "rows": sum(held[task] for task in scores)}
        lines.append({**tried, "rate": rate, "seed": seed, **scores, **end, "steps": of_run["steps"]})
    table = pd.DataFrame(lines)
    best = table.groupby("kind" if "kind" in table else "setting")["mean"].idxmax()
    table.insert(table.columns.get_loc("rows"), "chosen", table.index.isin(best))  # type: ignore[arg-type]
    return table


def in_words(value: Any) -> str:
    """Return a setting's value in words, such as `sst 1.5, qqp 0.75`."""
    return ", ".join(f"{key} {item}" for key, item in value.items()) if isinstance(value, dict) else str(value)


def found(params: Params, trials: Sequence[Trial], table: pd.DataFrame) -> Params:
    """Return params with what was chosen; print these values, and which should be looked at."""
    for trial in (trial for trial, chosen in zip(trials, table["chosen"], strict=True) if chosen):
        place = ("training", "learning_rates", trial.kind) if trial.kind else trial.setting
        place = ("profiles", str(params.get("profile")), *place)
        params = params.put(place, trial.value)
        say(f"{'.'.join(place)}: {trial.value}")
        tried = [one.value for one in trials if one.kind == trial.kind]
        if trial.kind and trial.value in (min(tried), max(tried)):
            say(f"The best rate of {trial.kind} is at the end of the list: one beyond may be better.")
    return params
