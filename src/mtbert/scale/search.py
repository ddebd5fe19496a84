"""Search the learning rate of each kind of training on rows held out of the training sets.

Every kind gets the same search: one variant of it is trained with each of the same rates. Neither dev nor test is
opened. Trainings lie in build/search, where what is finished is not trained again; the results go to data/searches.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pydantic

from mtbert import errors, files, inputs, locking
from mtbert.config import code, planning, rates, resolve
from mtbert.config.params import SEARCH, Params, merged
from mtbert.data.held_out import hold_out
from mtbert.errors import SettingsError
from mtbert.scale import grid, trainings
from mtbert.scale.trainings import BUILD, Training, say
from mtbert.settings import Kind, SearchSettings
from mtbert.training.evaluation import mean_score

SEARCHES = Path("data/searches")  # committed; a file for each profile that was searched for
STAGES = ("machine", "preprocess")  # with all that these need


class Trial(NamedTuple):
    """One training, by the name of its run: the variant that stands for a kind, with a rate."""

    name: str
    kind: Kind
    variant: str
    rate: float


def start(jobs: int) -> None:
    """Make what the trainings start from, search, print what was found and how params.yaml states it."""
    params = Params(grid.PARAMS)
    planned_of(params, trials_of(settings(params)))
    with locking.alone(BUILD / SEARCH / "lock", "search"):
        grid.dvc("repro", *STAGES)
        run(params, jobs, BUILD, SEARCHES)


def settings(params: Params) -> SearchSettings:
    """Return the section `search` after all layers; SettingsError where the profile states no search."""
    try:
        return SearchSettings(**merged(params, SEARCH))
    except pydantic.ValidationError as error:
        told = errors.in_words(error)
        raise SettingsError(f"{params.file}: search, for the profile {params.get('profile')}: {told}") from None


def trials_of(search: SearchSettings) -> list[Trial]:
    """Return every kind with every rate."""
    return [
        Trial(f"{kind.replace('_', '-')}-{number}", kind, variant, rate)
        for kind, variant in search.kinds.items()
        for number, rate in enumerate(search.rates, start=1)
    ]


def run(params: Params, jobs: int, build: Path, out: Path) -> None:
    """Train every trial in build/search, and write the table of scores to `out`.

    Raises:
        SettingsError: a variant does not stand for its kind.
        DataError: what the trainings start from is missing or damaged.
        TrainingError, KeyboardInterrupt: see `trainings.run`.
    """
    search, place = settings(params), build / SEARCH
    trials = trials_of(search)
    planned = planned_of(params, trials)
    tasks = dict.fromkeys(task for trial in trials for task in planned[trial.name]["tasks"])
    held = hold_out(build / "data", tasks, place / "data", search.held_out, search.seed)
    planning.write(planned | code.of_stages(), place / "plan")
    files.write_json(place / inputs.MACHINE, inputs.machine(build))
    if not (place / "encoders").is_symlink():
        (place / "encoders").symlink_to(Path("..") / "encoders")
    inputs.write(place / "plan", place, place / "init")
    wanted = [Training(variant=trial.name, seed=search.seed) for trial in trials]
    waiting = [training for training in wanted if not inputs.is_finished(place / "runs" / training.place, place)]
    say(f"{len(waiting)} of {len(trials)} to train; their output is in {place}/output/")
    os.environ["MTBERT_LIVE"] = "off"  # no run of a variant
    trainings.run_here(waiting, jobs, place / "output", build=place)
    metrics = [files.read_json(place / "runs" / training.place / "metrics.json") for training in wanted]
    table, profile = compared(trials, search.seed, metrics, held), params.get("profile")
    with files.new_file(out / f"{profile}.csv") as file:
        table.to_csv(file, index=False, lineterminator="\n", float_format="%.6g")
    say(f"{table.to_string(index=False)}\n")
    for kind, rate in table.loc[table["chosen"], ["kind", "rate"]].to_numpy():
        say(f"profiles.{profile}.training.learning_rates.{kind}: {rate}")
        if rate in (search.rates[0], search.rates[-1]):
            say(f"The best rate of {kind} is at the end of the list: one beyond may be better.")


def planned_of(params: Params, trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the plan's documents with every trial in place of the variants; SettingsError with what is wrong.

    Refused are a variant of another kind, one with rates of its own, and corpora of which nothing is held out.
    """
    variants = {}
    for trial in trials:
        where = f"{params.file}: search.kinds.{trial.kind} is {trial.variant}"
        if (entry := params.get("catalog", trial.variant)) is None:
            raise SettingsError(f"{where}, which catalog lacks")
        training = {**(entry.get("training") or {}), "learning_rate": trial.rate, "learning_rates": None}
        params = params.put(("catalog", trial.name), {**entry, "training": training})
        document, faults = resolve.variant(params, trial.name)
        if faults:
            raise SettingsError(params.format_faults(faults))
        phases = document["phases"]
        kinds = {rates.of_phase(phase) for phase in phases}
        if kinds != {trial.kind}:
            raise SettingsError(f"{where}, which is trained as {' and '.join(sorted(kinds)) or 'nothing'}")
        if any(phase["learning_rate"] != trial.rate for phase in phases):
            raise SettingsError(f"{where}, whose phases state a learning_rate of their own; allowed: one whose do not")
        if any(set(phase["tasks"]) - set(document["tasks"]) for phase in phases):
            raise SettingsError(f"{where}, which draws on corpora beside its tasks'; allowed: one that does not")
        variants[trial.name] = document
    return planning.documents(params.put(("variants",), [*variants]).put(("ensembles",), None), variants)


def compared(
    trials: Sequence[Trial], seed: int, metrics: Sequence[Mapping[str, Any]], held: Mapping[str, int]
) -> pd.DataFrame:
    """Return the table that data/searches/README.md describes.

    Of each kind the highest mean is chosen, of equal ones the smallest rate.
    """
    lines = []
    for trial, of_run in zip(trials, metrics, strict=True):
        scores = {task: of_run["dev"][task] for task in held if task in of_run["dev"]}
        tried = {"kind": trial.kind, "variant": trial.variant, "rate": trial.rate, "seed": seed}
        end = {"mean": mean_score(scores, scores), "rows": sum(held[task] for task in scores)}
        lines.append({**tried, **scores, **end, "steps": of_run["steps"]})
    table = pd.DataFrame(lines)
    best = table.groupby("kind")["mean"].idxmax()
    table.insert(table.columns.get_loc("rows"), "chosen", table.index.isin(best))  # type: ignore[arg-type]
    return table
