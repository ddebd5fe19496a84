"""Look for the learning rate of each kind of training: `python -m mtbert.search --jobs 2`, at the repository's root.

Every kind gets the same search: one variant of it is trained with each of the same rates, on training rows without
those that are held out, and is scored on these. Where params.yaml has taken over the rates that were found, one further
setting of one variant is looked for in the same way. Neither dev nor test is opened. What is done lies in build/search,
where what is finished is not trained again; the results go to data/searches, to be committed.
"""

import argparse
import math
import os
import queue
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import pydantic
import yaml

from mtbert import errors, files, inputs, machine, plan, repository, searches
from mtbert.data.held_out import hold_out
from mtbert.errors import SettingsError, TrainingError
from mtbert.plan import code, rates, resolve
from mtbert.plan.documents import documents
from mtbert.plan.layers import SEARCH, merged
from mtbert.plan.params import Params
from mtbert.plan.rates import Kind, OneSetting, SearchSettings
from mtbert.searches import SEARCHES, at_the_end
from mtbert.training.evaluation import mean_score
from mtbert.training.run import finished

PARAMS = Path("params.yaml")
BUILD = Path("build")
STAGES = ("machine", "preprocess")  # with all that these need
Only = Literal["rates", "setting"]
ONLY_HELP = "search for the rates alone, or for the setting alone, with the rates of params.yaml"
ABOUT = "Look for the learning rate of each kind of training, and for one further setting"
Found = dict[str, dict[str, Any]]  # by trial: metrics.json of its run


@dataclass(frozen=True)
class Trial:
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

    @property
    def place(self) -> str:
        """What in params.yaml names the variant."""
        return "search.setting.variant" if self.kind is None else f"search.kinds.{self.kind}"


def run(params: Params, jobs: int, build: Path, out: Path) -> pd.DataFrame:
    """Search for rates, and write the result to `out` under the profile's name.

    Args:
        params: whose profile is searched for.
        jobs: trainings at a time, at least 1.
        build: holds machine.json, data and encoders; `search` below it is this search's own.
        out: the folder of results.

    Returns:
        A line for each trial: kind, variant, rate, seed, the score of each task and their mean, whether it is chosen,
        the rows held out of all tasks together, steps.

    Raises:
        SettingsError: the profile states no search, or a variant does not stand for its kind. DataError: what the
        trainings start from is missing or damaged. TrainingError: trainings failed; the others are kept.
    """
    search = settings(params)
    trials = trials_of(search)
    planned = planned_of(params, trials)
    warn_of_threads(planned, jobs)
    held = prepare(params, search, planned, build)
    found = train(trials, search.seed, build / SEARCH, jobs)
    return _written(compared(trials, search, found, held), out / f"{params.get('profile')}.csv")


def run_setting(params: Params, jobs: int, build: Path, out: Path) -> pd.DataFrame:
    """Search for the one setting beside the rates, and write the result to `out`; as `run`.

    Returns:
        As `run`, with the setting and its value in place of the kind; `rate` is what params.yaml states.

    Raises:
        SettingsError: besides, that rate is not the one which the search for rates found.
    """
    search, profile = settings(params), str(params.get("profile"))
    trials = trials_of_setting(_one(params))
    planned = planned_of(params, trials)
    first = planned[trials[0].name]
    _check_rates(params, first, searches.read(profile, out))
    warn_of_threads(planned, jobs)
    held = prepare(params, search, planned, build)
    found = train(trials, search.seed, build / SEARCH, jobs)
    result = compared_setting(trials, first["phases"][0]["learning_rate"], search, found, held)
    return _written(result, searches.of_setting(profile, out))


def _one(params: Params) -> OneSetting:
    if (one := settings(params).setting) is None:
        raise SettingsError(f"{params.file}: search.setting names no setting to be looked for")
    return one


def _written(result: pd.DataFrame, file: Path) -> pd.DataFrame:
    with files.new_file(file) as partial:
        result.to_csv(partial, index=False, lineterminator="\n", float_format="%.6g")
    return result


def settings(params: Params) -> SearchSettings:
    """The section `search` after all layers."""
    try:
        return SearchSettings(**merged(params, SEARCH))
    except pydantic.ValidationError as error:
        told = errors.in_words(error)
        raise SettingsError(f"{params.file}: search, for the profile {params.get('profile')}: {told}") from None


def trials_of(search: SearchSettings) -> list[Trial]:
    """Every kind with every rate."""
    return [
        Trial(f"{kind.replace('_', '-')}-{number}", variant, rates.RATE, rate, kind)
        for kind, variant in search.kinds.items()
        for number, rate in enumerate(search.rates, start=1)
    ]


def trials_of_setting(one: OneSetting) -> list[Trial]:
    """The variant with every value."""
    section, key = one.name.split(".")
    return [
        Trial(f"{one.variant}-{number}", one.variant, (section, key), value)
        for number, value in enumerate(one.values, start=1)
    ]


def prepare(params: Params, search: SearchSettings, planned: dict[str, Any], build: Path) -> dict[str, int]:
    """Write what the planned trainings need below build/search; how many rows of each task are held out."""
    place = build / SEARCH
    tasks = dict.fromkeys(task for name in _selected(planned) for task in planned[name]["tasks"])
    held = hold_out(build / "data", tasks, place / "data", search.held_out, search.seed)
    plan.write(planned | code.of_stages(), place / "plan")
    files.write_json(place / inputs.MACHINE, inputs.machine(build))
    if not (place / "encoders").is_symlink():
        (place / "encoders").symlink_to(Path("..") / "encoders")
    inputs.write(place / "plan", place, place / "init")
    return held


def _selected(planned: Mapping[str, Any]) -> list[str]:
    return [name for name, entry in planned["catalog"]["variants"].items() if entry["selected"]]


def planned_of(params: Params, trials: Sequence[Trial]) -> dict[str, Any]:
    """The plan's documents with every trial in place of the variants; SettingsError with what is wrong."""
    for trial in trials:
        params = _with(params, trial)
    variants = {}
    for trial in trials:
        variants[trial.name], faults = resolve.variant(params, trial.name)
        if faults:
            raise SettingsError(params.format_faults(faults))
        _check(trial, variants[trial.name], params)
    return documents(params.put(("variants",), [*variants]).put(("ensembles",), None), variants)


def _with(params: Params, trial: Trial) -> Params:
    """With the trial as a variant of the catalog."""
    entry = params.get("catalog", trial.variant)
    if entry is None:
        raise SettingsError(f"{params.file}: {trial.place} is {trial.variant}, which catalog lacks")
    section, key = trial.setting
    values = {**(entry.get(section) or {}), key: trial.value}
    if trial.setting == rates.RATE:
        values.pop("learning_rates", None)
    return params.put(("catalog", trial.name), {**entry, section: values})


def _check(trial: Trial, document: Mapping[str, Any], params: Params) -> None:
    """Refuse a variant of another kind, with rates of its own, or with corpora of which nothing is held out."""
    where = f"{params.file}: {trial.place} is {trial.variant}"
    kinds = {rates.of_phase(phase) for phase in document["phases"]}
    if len(kinds) != 1 or trial.kind not in (None, *kinds):
        raise SettingsError(f"{where}, which is trained as {' and '.join(sorted(kinds)) or 'nothing'}")
    if trial.kind and any(phase["learning_rate"] != trial.value for phase in document["phases"]):
        raise SettingsError(
            f"{where}, whose phases state a learning_rate of their own; allowed: one whose phases do not"
        )
    if any(set(phase["tasks"]) - set(document["tasks"]) for phase in document["phases"]):
        raise SettingsError(f"{where}, which draws on corpora beside its tasks'; allowed: one that does not")


def _check_rates(params: Params, document: Mapping[str, Any], found: pd.DataFrame | None) -> None:
    """Refuse another rate than the one that was found for the kind, where there was a search for it."""
    if found is None:
        return
    best = dict(zip(found["kind"][found["chosen"]], found["rate"][found["chosen"]], strict=True))
    for phase in document["phases"]:
        kind, rate = rates.of_phase(phase), phase["learning_rate"]
        if not math.isclose(rate, best.get(kind, rate), rel_tol=1e-5):
            place = f"profiles.{params.get('profile')}.training.learning_rates.{kind}"
            raise SettingsError(
                f"{params.file}: {document['variant']} would be trained with the learning rate {rate:.1e}, but the "
                f"search found {best[kind]:.1e} for {kind}; state it as {place}, then start again: what is trained is "
                "kept"
            )


def train(trials: Sequence[Trial], seed: int, place: Path, jobs: int) -> Found:
    """Train what is not finished, `jobs` at a time; TrainingError with the output of those that failed."""
    waiting = [trial.name for trial in trials if _finished(trial.name, seed, place) is None]
    print(f"{len(waiting)} of {len(trials)} to train, {jobs} at a time; their output is in {place}/output/", flush=True)
    (place / "output").mkdir(parents=True, exist_ok=True)
    free: queue.Queue[dict[str, str]] = queue.Queue()
    for share in machine.shares(jobs) if waiting else ():
        free.put(share)
    with ThreadPoolExecutor(jobs) as workers:
        ended = [workers.submit(_train, name, seed, place, free) for name in waiting]
        try:
            for training in ended:
                training.result()
        except KeyboardInterrupt:  # which those that run have got, too
            workers.shutdown(cancel_futures=True)
            raise
    found = {trial.name: _finished(trial.name, seed, place) for trial in trials}
    if failed := [str(_output(place, name)) for name, metrics in found.items() if metrics is None]:
        raise TrainingError(f"{len(failed)} of {len(trials)} failed, the others are kept: {', '.join(failed)}")
    return {name: metrics for name, metrics in found.items() if metrics is not None}


def _train(name: str, seed: int, place: Path, free: queue.Queue[dict[str, str]]) -> None:
    share = free.get()
    command = [sys.executable, str(code.SCRIPTS / "train.py"), name, str(seed), str(place)]
    with _output(place, name).open("wb") as output:
        environment = os.environ | share | {"MTBERT_LIVE": "off"}
        ended = subprocess.run(command, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False)
    print(f"{name}: {'failed' if ended.returncode else 'trained'}", flush=True)
    free.put(share)


def _output(place: Path, name: str) -> Path:
    return place / "output" / f"{name}.log"


def warn_of_threads(planned: Mapping[str, Any], jobs: int) -> None:
    """The number of threads stays as it is, since scores depend on it."""
    threads = max(planned[name]["run"]["threads"] for name in _selected(planned))
    if jobs * threads > machine.cores():
        print(
            f"warning: {jobs} trainings of {threads} threads each share {machine.cores()} cores, which makes each much "
            f"slower; start with JOBS={max(1, machine.cores() // threads)}, or set run.threads in params.yaml",
            file=sys.stderr,
            flush=True,
        )


def _finished(name: str, seed: int, place: Path) -> dict[str, Any] | None:
    """Its metrics.json where it was trained from what lies there now."""
    return finished(place, place / "runs" / name / str(seed), inputs.identity(place, name, seed))


def compared(trials: Sequence[Trial], search: SearchSettings, found: Found, held: Mapping[str, int]) -> pd.DataFrame:
    """The result's table; of each kind the rate with the highest mean is chosen, of equal ones the smallest."""
    lines = []
    for trial in trials:
        about = {"kind": trial.kind, "variant": trial.variant, "rate": trial.value, "seed": search.seed}
        lines.append({**about, **_scores(found[trial.name], held)})
    return _chosen(pd.DataFrame(lines), "kind")


def compared_setting(
    trials: Sequence[Trial], rate: float, search: SearchSettings, found: Found, held: Mapping[str, int]
) -> pd.DataFrame:
    """The same for the values of one setting; of equal ones the first is chosen."""
    lines = []
    for trial in trials:
        value = searches.in_words(trial.value)
        about = {"variant": trial.variant, "setting": ".".join(trial.setting), "value": value}
        lines.append({**about, "rate": rate, "seed": search.seed, **_scores(found[trial.name], held)})
    return _chosen(pd.DataFrame(lines), "setting")


def _scores(metrics: Mapping[str, Any], held: Mapping[str, int]) -> dict[str, float]:
    scores = {task: metrics["dev"][task] for task in held if task in metrics["dev"]}
    rows = sum(held[task] for task in scores)
    return {**scores, "mean": mean_score(scores, scores), "rows": rows, "steps": metrics["steps"]}


def _chosen(table: pd.DataFrame, group: str) -> pd.DataFrame:
    """With whether a line has the highest mean of its group."""
    best = table.groupby(group)["mean"].idxmax()
    table.insert(table.columns.get_loc("rows"), "chosen", table.index.isin(best))  # type: ignore[arg-type]
    return table


def to_state(profile: str, result: pd.DataFrame) -> str:
    """The lines for the profile in params.yaml, and what should be looked at before they are taken over."""
    chosen = result[result["chosen"]]
    found = [f"{kind}: {rate:.1e}" for kind, rate in zip(chosen["kind"], chosen["rate"], strict=True)]
    keys = ["profiles:", f"  {profile}:", "    training:", "      learning_rates:"]
    ends = [
        f"The best rate of {kind} is at the end of the list: one beyond may be better." for kind in at_the_end(result)
    ]
    return "\n".join([*keys, *(f"        {line}" for line in found), *ends])


def setting_to_state(profile: str, one: OneSetting, result: pd.DataFrame) -> str:
    """The lines for the profile in params.yaml."""
    section, key = one.name.split(".")
    value = one.values[list(result["chosen"]).index(True)]
    return yaml.safe_dump({"profiles": {profile: {section: {key: value}}}}, sort_keys=False).rstrip()


def main() -> None:
    """Read the arguments and start."""
    parser = argparse.ArgumentParser(description=ABOUT)
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    parser.add_argument("--only", choices=get_args(Only), help=ONLY_HELP)
    arguments = parser.parse_args()
    if arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; allowed: 1 and more")
    with errors.shown_plainly():
        start(arguments.jobs, arguments.only)


def start(jobs: int, only: Only | None = None) -> None:
    """Make what the trainings start from, search, tell what was found."""
    params = Params(PARAMS)
    profile, one = str(params.get("profile")), settings(params).setting
    if status := subprocess.run(
        [*repository.DVC, "repro", *STAGES], check=False, env=repository.environment()
    ).returncode:
        sys.exit(status)
    if only != "setting":
        result = run(params, jobs, BUILD, SEARCHES)
        print(result.to_string(index=False), to_state(profile, result), sep="\n\n", flush=True)
    if only == "setting" or (only is None and one):
        result = run_setting(params, jobs, BUILD, SEARCHES)
        print(result.to_string(index=False), setting_to_state(profile, _one(params), result), sep="\n\n")


if __name__ == "__main__":
    main()
