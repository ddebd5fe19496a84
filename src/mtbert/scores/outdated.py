"""Runs of a build folder that were made from other inputs than those of now, and tables that are older than the runs.

They lie there where settings, data or code have changed, and the trainings have not ended, or have failed. Whoever
collects results leaves such runs out; whoever reads tables says that they are there.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.errors import first_of
from mtbert.provenance import changes
from mtbert.provenance.changes import SHOWN, Change, list_in_words
from mtbert.scores.checks import ROUNDING
from mtbert.scores.columns import KEY, Frame
from mtbert.scores.schemas import RunMetrics


def there(folder: Path, entries: Mapping[str, Any], seeds: Sequence[int]) -> list[Path]:
    """Return the folders of the selected models of a kind that are there."""
    selected = [name for name, entry in entries.items() if entry["selected"]]
    models = [folder / name / str(seed) for name, seed in itertools.product(selected, seeds)]
    return [model for model in models if model.is_dir()]


def runs_there(build: Path, seeds: Sequence[int] | None = None) -> list[Path]:
    """Return the runs of the plan's variants that are there, of all its seeds or of these; none of parts of train."""
    catalog = layout.read_catalog(build, "variants", "seeds")
    whole = {name: entry for name, entry in catalog["variants"].items() if not entry.get("part")}
    return there(layout.runs(build), whole, catalog["seeds"] if seeds is None else seeds)


def of_build(build: Path, seeds: Sequence[int] | None = None) -> dict[Path, list[Change]]:
    """Return those of `runs_there` that a training of now would not make, each with what differs."""
    return changes.of_variants(build, runs_there(build, seeds))


def in_words(outdated: Mapping[Path, Sequence[Change]], what: str = "Left out") -> str:
    """Return which runs these are and what has changed since; empty for none."""
    if not outdated:
        return ""
    names = [f"{run.parent.name}-{run.name}" for run in outdated]
    differing = [change for of_run in outdated.values() for change in of_run]
    return f"{what}: {first_of(names, SHOWN)}, trained before these changed: {list_in_words(differing)}."


def after_dvc(outdated: Mapping[Path, Sequence[Change]]) -> str:
    """Return the same where DVC has no training left to do, and how to train them; empty for none.

    DVC takes such runs for those of now after `dvc commit --force`.
    """
    stages = " ".join(f"train@{run.parent.name}-{run.name}" for run in outdated)
    remedy = f"DVC takes them for runs of now; `dvc repro --force --single-item {stages}` trains them again."
    return f"{in_words(outdated)} {remedy}" if outdated else ""


def of_tables(build: Path) -> str:
    """Return how a build folder's tables of results differ from its runs and from its plan.

    Empty where they agree, and where there are no tables, no runs or no plan.
    """
    file = layout.results(build) / "runs.parquet"
    if not (file.is_file() and layout.runs(build).is_dir() and layout.plan(build).is_file()):
        return ""
    table: Frame = files.read_parquet(file).set_index(KEY)
    collected = table.index[table["kind"] == "variant"]
    runs = {(run.parent.name, int(run.name)): run for run in runs_there(build)}
    outdated = changes.of_variants(build, runs.values())
    in_table = {run: differing for run, differing in outdated.items() if _is_in(table, run)}
    texts = [in_words(in_table, "These tables are of runs of before")]
    newer = [key for key, run in runs.items() if run not in outdated and not _is_in(table, run)]
    gone = [key for key in collected if key not in runs]
    for fact, keys in (("without new runs", newer), ("of runs that are gone, or not selected", gone)):
        if keys:
            names = first_of([f"{variant}-{seed}" for variant, seed in keys], SHOWN)
            texts.append(f"{file.parent} is {fact}: {names}.")
    return " ".join(filter(None, texts))


def _is_in(table: Frame, run: Path) -> bool:
    """Return whether a table of runs has the dev scores of a run, by variant and seed."""
    key = (run.parent.name, int(run.name))
    if key not in table.index:
        return False
    line, scores = table.loc[key], files.read_as(RunMetrics, run / layout.METRICS, layout.remedy(run)).dev
    return all(abs(line.get(f"dev_{metric}", math.nan) - score) <= ROUNDING for metric, score in scores.items())
