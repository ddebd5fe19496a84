"""Learning rates that are tried for each way alike, before a study compares them: `mtbert tune`.

Each model of each way trains three times: at a third of its rates, at its rates, and at three times its rates. Its
rates are those without `tuned`, also where it was tuned before. A trial has one seed and a third of the steps. Its
score is that of its best epoch on the training rows that `training.spared` keeps out, so that dev chooses nothing. The
best trial's rates are written under `tuned` in params.yaml. Rates that a stronger layer sets cannot be tuned.

`build/cache/trials` keeps each trial under the digest of what it was made from, so that none is made twice.
"""

import math
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.config import planning, rates, resolve
from mtbert.config.params import OTHERS, Params, Place, dotted
from mtbert.config.places import merge_variant
from mtbert.config.rates import Trial
from mtbert.errors import DivergedError, SettingsError, TrainingError
from mtbert.machine import locking
from mtbert.provenance import manifests
from mtbert.training import assembly
from mtbert.training.run import best_score
from mtbert.trainings import dvc
from mtbert.trainings.many import say
from mtbert.variants.settings import RATES, PhaseSettings, VariantSettings

FACTORS = (1 / 3, 1.0, 3.0)
SHARE = 1 / 3  # of the steps of a training
SEED = 1
DIGITS = 3  # of a rate


def run(jobs: int, build: Path) -> None:
    """Try rates for each selected variant that trains, print what came of them, and write the best to params.yaml.

    Raises:
        SettingsError: a variant does not choose its epoch on spared training rows, or has a task with folds; or a
            stronger layer than `tuned` sets its rates.
        TrainingError: a trial's process was ended from outside.
        SystemExit: a stage of DVC failed, and DVC has printed why.
    """
    with locking.exclusive(dvc.LOCK, "tune"):
        dvc.run("repro", "manifest")
        params = Params(dvc.PARAMS).put(("tuned",), {})
        planned = _planned(params)
        students = [name for name, settings in planned.items() if settings.teachers]
        trained = {name: settings for name, settings in planned.items() if settings.phases and name not in students}
        trained = {name: settings for name, settings in trained.items() if settings.share == 1}  # parts have its rates
        _check(trained)
        for name, settings in trained.items():
            _check_rates_count(params, name, settings.phases[0])
        if students:
            say(f"{', '.join(students)} is not tuned, since no trial trains its teachers: it keeps its rates")
        say(f"{len(FACTORS) * len(trained)} trials of {len(trained)} models, each with a third of the steps")
        tuned: dict[str, dict[str, Any]] = {}
        for name, trials in _trials(trained, jobs, build):
            say(f"{name}: {', '.join(map(_in_words, trials))}")
            tuned[name] = {"trials": [*map(_record, trials)]}
            if best := _best_of(trials):
                tuned[name]["training"] = _rates_times(trained[name].phases[0], best.factor)
            else:
                say(f"{name}: every trial diverged, so it keeps its rates")
        files.edit_yaml(dvc.PARAMS, {"tuned": tuned})
    say(f"{dvc.PARAMS} has the best rates under `tuned`; `make reproduce` trains with them")


def _planned(params: Params) -> dict[str, VariantSettings]:
    """Return the settings of the selected variants by name."""
    documents = planning.plan(params)
    return {name: VariantSettings(**documents[name]) for name in params.get("variants")}


def _best_of(trials: Sequence[Trial]) -> Trial | None:
    """Return the trial with the highest score, of equal ones the first; None where all diverged."""
    best, highest = None, -math.inf
    for trial in trials:
        if trial.score is not None and trial.score > highest:
            best, highest = trial, trial.score
    return best


def _check(variants: Mapping[str, VariantSettings]) -> None:
    for name, settings in variants.items():
        if with_folds := [task for task in settings.tasks if settings.described[task].folds]:
            raise SettingsError(
                f"{name} cannot be tuned: {with_folds[0]} has `folds` in tasks.yaml, so that each row is scored, and "
                "rates would be chosen on rows that are scored; allowed: tasks without folds"
            )
        if settings.run.selection != "spared" or len(settings.phases) > 1:
            raise SettingsError(
                f"{name} cannot be tuned: its trials are scored on spared training rows; allowed: variants of one "
                "phase with run.selection: spared, such as those that `mtbert study FOLDER` selects"
            )


def _check_rates_count(params: Params, name: str, phase: PhaseSettings) -> None:
    """Raise SettingsError where a variant would not train at rates under `tuned`.

    Args:
        params: without rates under `tuned`.
        name: of the variant.
        phase: its only phase, as planned from `params`.
    """
    tried = _rates_times(phase, FACTORS[0])
    with_tried = params.put(("tuned", name), {"training": tried})
    document, faults = resolve.variant(with_tried, name)
    if document is None:
        raise SettingsError(params.format_faults(faults))
    kind = rates.of_phase({"trainable": phase.trainable, "frozen": phase.frozen, "schedule": phase.schedule})
    plain_kind = kind.removesuffix("_constant")
    for key, rate in tried.items():
        if document["phases"][0][key] != rate:
            places = ", ".join(map(dotted, _stronger_places(with_tried, name, {key, kind, plain_kind, OTHERS})))
            raise SettingsError(
                f"{name} cannot be tuned: {places} in {params.shown} would overrule its {key} under `tuned`; allowed: "
                "null there"
            )


def _stronger_places(params: Params, name: str, last_keys: Collection[str]) -> list[Place]:
    """Return the places above `tuned` where a variant's training sets one of these keys."""
    places = dict.fromkeys(merge_variant(params, name).places.values())
    stronger = [place for place in places if place[0] in ("training", "catalog") and place[-1] in last_keys]
    return [place for place in stronger if {*RATES} & {*place} and not isinstance(params.get(*place), dict)]


def _trials(variants: Mapping[str, VariantSettings], jobs: int, build: Path) -> Iterator[tuple[str, Sequence[Trial]]]:
    """Yield the trials of each variant, as many at a time as `jobs`."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending = {
            name: [pool.submit(trial, settings, factor, build) for factor in FACTORS]
            for name, settings in variants.items()
        }
        for name, futures in pending.items():
            try:
                yield name, [future.result() for future in futures]
            except BrokenProcessPool:
                folder = layout.cache(build, "trials")
                raise TrainingError(
                    f"a trial of {name}, or of a model after it, was ended from outside: the memory may be too small; "
                    f"{folder} keeps the trials that are done, and `mtbert tune --jobs 1` makes the rest"
                ) from None


def trial(settings: VariantSettings, factor: float, build: Path) -> Trial:
    """Train a variant at `factor` times its rates with a third of its steps; write nothing but what came of it.

    A trial that was made from the same before is read, not made again.
    """
    rates_tried = _rates_times(settings.phases[0], factor)
    training = manifests.of_training(build, settings.variant, SEED)
    made_from = training.model_copy(update={"settings": {**training.settings, "share": SHARE, "rates": rates_tried}})
    file = layout.cache(build, "trials") / f"{made_from.identity}.json"
    if file.is_file():
        return files.read_as(Trial, file, f"rm {file}")
    tried = _train(settings, factor, build)
    files.write_json(file, tried.model_dump())
    return tried


def _train(settings: VariantSettings, factor: float, build: Path) -> Trial:
    """Train a variant at `factor` times its rates with a third of its steps; write nothing."""
    start = time.perf_counter()
    phase = settings.phases[0]
    length = phase.epoch_length.times(SHARE)
    shorter = phase.model_copy(update={"epoch_length": length, **_rates_times(phase, factor)})
    parts = assembly.assemble(settings.model_copy(update={"phases": [shorter]}), SEED, build)
    try:
        score = best_score(parts)
    except DivergedError:
        score = None
    return Trial(factor=factor, score=score, seconds=time.perf_counter() - start)


def _rates_times(phase: PhaseSettings, factor: float) -> dict[str, float]:
    """Return a phase's rates, times a factor, by their keys in section `training`."""
    usual = {key: getattr(phase, key) for key in RATES}
    return {key: float(f"{factor * rate:.{DIGITS}g}") for key, rate in usual.items() if rate is not None}


def _record(trial: Trial) -> dict[str, float | None]:
    score = None if trial.score is None else round(trial.score, 4)
    return {"factor": round(trial.factor, DIGITS), "score": score, "seconds": round(trial.seconds)}


def _in_words(trial: Trial) -> str:
    score = "diverged" if trial.score is None else f"{trial.score:.3f}"
    return f"{trial.factor:.2g} times its rates {score} ({trial.seconds:.0f} s)"
