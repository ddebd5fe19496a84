"""Learning rates that are tried for each way alike, before a study compares them: `mtbert tune`.

Each model of each way trains three times: at a third of its rates, at its rates, and at three times its rates. A trial
has one seed and a third of the steps. Its score is that of its best epoch on the training rows that `training.spared`
keeps out, so that dev chooses nothing. The best trial's rates are written under `tuned` in params.yaml.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from mtbert import files, layout
from mtbert.errors import SettingsError
from mtbert.machine import locking
from mtbert.training import assembly
from mtbert.training.run import best_score
from mtbert.trainings import dvc
from mtbert.trainings.many import say
from mtbert.variants.settings import RATES, PhaseSettings, VariantSettings

FACTORS = (1 / 3, 1.0, 3.0)
SHARE = 1 / 3  # of the steps of a training
SEED = 1
DIGITS = 3  # of a rate


class Trial(NamedTuple):
    """A model at other rates, and what came of it.

    Attributes:
        factor: of its usual rates.
        score: the mean over tasks on spared training rows.
        seconds: that it took.
    """

    factor: float
    score: float
    seconds: float


def run(jobs: int, build: Path) -> None:
    """Try rates for each selected variant that trains, print what came of them, and write the best to params.yaml.

    Raises:
        SettingsError: a variant does not choose its epoch on spared training rows, or has a task with folds.
        SystemExit: a stage of DVC failed, and DVC has printed why.
    """
    with locking.exclusive(dvc.LOCK, "tune"):
        dvc.run("repro", "manifest")
        planned = {name: _planned(build, name) for name in _selected(build)}
        trained = {name: settings for name, settings in planned.items() if settings.phases}
        _check(trained)
        say(f"{len(FACTORS) * len(trained)} trials of {len(trained)} models, each with a third of the steps")
        tuned: dict[str, dict[str, Any]] = {}
        for name, trials in _trials(trained, jobs, build):
            best = max(trials, key=lambda trial: trial.score)
            say(f"{name}: {', '.join(map(_in_words, trials))}")
            tuned[name] = {"training": rates(trained[name].phases[0], best.factor), "trials": [*map(_record, trials)]}
        files.edit_yaml(dvc.PARAMS, {"tuned": tuned})
    say(f"{dvc.PARAMS} has the best rates under `tuned`; `make reproduce` trains with them")


def _selected(build: Path) -> list[str]:
    variants = layout.read_catalog(build, "variants")["variants"]
    return [name for name, about in variants.items() if about["selected"]]


def _planned(build: Path, name: str) -> VariantSettings:
    return layout.read_planned(VariantSettings, layout.plan(build, name))


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


def _trials(variants: Mapping[str, VariantSettings], jobs: int, build: Path) -> Iterator[tuple[str, Sequence[Trial]]]:
    """Yield the trials of each variant, as many at a time as `jobs`."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending = {
            name: [pool.submit(trial, settings, factor, build) for factor in FACTORS]
            for name, settings in variants.items()
        }
        for name, futures in pending.items():
            yield name, [future.result() for future in futures]


def trial(settings: VariantSettings, factor: float, build: Path) -> Trial:
    """Train a variant at `factor` times its rates with a third of its steps; write nothing."""
    start = time.perf_counter()
    phase = settings.phases[0]
    length = phase.epoch_length.times(SHARE)
    shorter = phase.model_copy(update={"epoch_length": length, **rates(phase, factor)})
    parts = assembly.assemble(settings.model_copy(update={"phases": [shorter]}), SEED, build)
    score = best_score(parts)
    return Trial(factor, score, time.perf_counter() - start)


def rates(phase: PhaseSettings, factor: float) -> dict[str, float]:
    """Return a phase's rates, times a factor, by their keys in section `training`."""
    usual = {key: getattr(phase, key) for key in RATES}
    return {key: float(f"{factor * rate:.{DIGITS}g}") for key, rate in usual.items() if rate is not None}


def _record(trial: Trial) -> dict[str, float]:
    return {"factor": round(trial.factor, DIGITS), "score": round(trial.score, 4), "seconds": round(trial.seconds)}


def _in_words(trial: Trial) -> str:
    return f"{trial.factor:.2g} times its rates {trial.score:.3f} ({trial.seconds:.0f} s)"
