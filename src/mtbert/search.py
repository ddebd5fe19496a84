"""Look for the learning rate of each kind of training: `python -m mtbert.search --jobs 2`, at the repository's root.

Every kind gets the same search: one variant of it is trained with each of the same rates, on training rows without
those that are held out, and is scored on these. Neither dev nor test is opened. What is done lies in build/search,
where what is finished is not trained again; the result goes to data/searches, to be committed.
"""

import argparse
import os
import queue
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pydantic

from mtbert import errors, files, inputs, machine, plan, repository
from mtbert.data.held_out import hold_out
from mtbert.errors import SettingsError, TrainingError
from mtbert.plan import code, rates, resolve
from mtbert.plan.documents import documents
from mtbert.plan.layers import SEARCH, merged
from mtbert.plan.params import Params
from mtbert.plan.rates import Kind, SearchSettings
from mtbert.reporting.searches import SEARCHES, at_the_end
from mtbert.training.evaluation import mean_score
from mtbert.training.run import finished

PARAMS = Path("params.yaml")
BUILD = Path("build")
STAGES = ("machine", "preprocess")  # with all that these need
Found = dict[str, dict[str, Any]]  # by trial: metrics.json of its run


@dataclass(frozen=True)
class Trial:
    """One training: a kind, the variant that stands for it, and a learning rate."""

    name: str
    kind: Kind
    variant: str
    rate: float


def run(params: Params, jobs: int, build: Path, out: Path) -> pd.DataFrame:
    """Search, and write the result to `out` under the profile's name.

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
    held = prepare(params, search, trials, build)
    found = train(trials, search.seed, build / SEARCH, jobs)
    result = compared(trials, search, found, held)
    with files.new_file(out / f"{params.get('profile')}.csv") as partial:
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
        Trial(f"{kind}-{number}", kind, variant, rate)
        for kind, variant in search.kinds.items()
        for number, rate in enumerate(search.rates, start=1)
    ]


def prepare(params: Params, search: SearchSettings, trials: Sequence[Trial], build: Path) -> dict[str, int]:
    """Write what the trainings need below build/search; how many rows of each task are held out."""
    place, planned = build / SEARCH, planned_of(params, trials)
    tasks = dict.fromkeys(task for trial in trials for task in planned[trial.name]["tasks"])
    held = hold_out(build / "data", tasks, place / "data", search.held_out, search.seed)
    plan.write(planned | code.of_stages(), place / "plan")
    files.write_json(place / inputs.MACHINE, inputs.machine(build))
    if not (place / "encoders").is_symlink():
        (place / "encoders").symlink_to(Path("..") / "encoders")
    inputs.write(place / "plan", place, place / "init")
    return held


def planned_of(params: Params, trials: Sequence[Trial]) -> dict[str, Any]:
    """The plan's documents with every trial in place of the variants; SettingsError with what is wrong."""
    for trial in trials:
        entry = params.get("catalog", trial.variant)
        if entry is None:
            raise SettingsError(f"{params.file}: search.kinds.{trial.kind} is {trial.variant}, which catalog lacks")
        training = {key: value for key, value in (entry.get("training") or {}).items() if key != "learning_rates"}
        params = params.put(("catalog", trial.name), {**entry, "training": {**training, "learning_rate": trial.rate}})
    variants = {}
    for trial in trials:
        variants[trial.name], faults = resolve.variant(params, trial.name)
        if faults:
            raise SettingsError(params.told(faults))
        _check(trial, variants[trial.name], params)
    return documents(params.put(("variants",), [*variants]).put(("ensembles",), None), variants)


def _check(trial: Trial, document: Mapping[str, Any], params: Params) -> None:
    """Refuse a variant of another kind, with rates of its own, or with corpora of which nothing is held out."""
    where = f"{params.file}: search.kinds.{trial.kind} is {trial.variant}"
    kinds = {rates.of_phase(phase) for phase in document["phases"]}
    if kinds != {trial.kind}:
        raise SettingsError(f"{where}, which is trained as {' and '.join(sorted(kinds)) or 'nothing'}")
    if any(phase["learning_rate"] != trial.rate for phase in document["phases"]):
        raise SettingsError(
            f"{where}, whose phases state a learning_rate of their own; allowed: one whose phases do not"
        )
    if any(set(phase["tasks"]) - set(document["tasks"]) for phase in document["phases"]):
        raise SettingsError(f"{where}, which draws on corpora beside its tasks'; allowed: one that does not")


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


def _finished(name: str, seed: int, place: Path) -> dict[str, Any] | None:
    """Its metrics.json where it was trained from what lies there now."""
    return finished(place, place / "runs" / name / str(seed), inputs.identity(place, name, seed))


def compared(trials: Sequence[Trial], search: SearchSettings, found: Found, held: Mapping[str, int]) -> pd.DataFrame:
    """The result's table; of each kind the rate with the highest mean is chosen, of equal ones the smallest."""
    lines = []
    for trial in trials:
        scores = {task: found[trial.name]["dev"][task] for task in held if task in found[trial.name]["dev"]}
        about = {"kind": trial.kind, "variant": trial.variant, "rate": trial.rate, "seed": search.seed}
        rows = sum(held[task] for task in scores)
        more = {"mean": mean_score(scores, scores), "rows": rows, "steps": found[trial.name]["steps"]}
        lines.append({**about, **scores, **more})
    table = pd.DataFrame(lines)
    best = table.groupby("kind")["mean"].idxmax()
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


def main() -> None:
    """Read the arguments and start."""
    parser = argparse.ArgumentParser(description="Look for the learning rate of each kind of training")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    jobs = parser.parse_args().jobs
    if jobs < 1:
        parser.error(f"--jobs is {jobs}; allowed: 1 and more")
    with errors.shown_plainly():
        start(jobs)


def start(jobs: int) -> None:
    """Make what the trainings start from, search, tell what was found."""
    params = Params(PARAMS)
    settings(params)
    if status := subprocess.run([*repository.DVC, "repro", *STAGES], check=False).returncode:
        sys.exit(status)
    result = run(params, jobs, BUILD, SEARCHES)
    print(result.to_string(index=False), to_state(str(params.get("profile")), result), sep="\n\n")


if __name__ == "__main__":
    main()
