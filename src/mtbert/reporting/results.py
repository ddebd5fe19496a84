"""Every result of a build directory; only what was asked for, so leftovers of other runs do not count.

`pandas.DataFrame(scores(...))` is one tidy table of every score.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from mtbert import files, metrics, outputs, predictions
from mtbert.errors import DataError
from mtbert.outputs import RunMetrics, Untrained, VoteMetrics
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.reporting.published import METRICS, OVERALLS
from mtbert.tasks import TASKS, Split

SCORED_SPLITS: tuple[Split, ...] = ("train", "dev", "test")
ROUNDING = 1e-9  # by which two sums of the same numbers may differ


@dataclass(frozen=True)
class Score:
    """One score of one run or ensemble; value is None where there are predictions but the labels are withheld."""

    variant: str
    kind: str
    paper: str
    row: str
    seed: int
    split: str
    metric: str
    value: float | None


@dataclass(frozen=True)
class Weights:
    """Numbers of weights of the models of one row: one encoder's, and what all models add (adapters, heads) and train.

    stored: what all models need beside the encoder that they start from: what they add, and what they train of it.
    times_bert: all weights of all models over one encoder's; each model has an encoder of its own.
    """

    encoder: int
    added: int
    trained: int
    stored: int
    times_bert: float


@dataclass(frozen=True)
class Run:
    """How a training went; None for what is not told.

    Attributes:
        variant, seed, steps, epoch, device, precision, threads: these and the next are the same in two runs of the
            same settings.
        examples: of all tasks; of_tasks: of each, where the run says so.
        seconds, training_seconds, examples_per_second, peak_memory_mb: the clock's and the host's, as are the rest.
        processor, cores, memory_gb, accelerator: of the machine.
        versions: of libraries such as `torch`.
    """

    variant: str
    seed: int
    steps: int | None = None
    epoch: int | None = None
    examples: int | None = None
    of_tasks: Mapping[str, int] = field(default_factory=dict)
    device: str | None = None
    precision: str | None = None
    threads: int | None = None
    seconds: float | None = None
    training_seconds: float | None = None
    examples_per_second: float | None = None
    peak_memory_mb: float | None = None
    processor: str | None = None
    cores: int | None = None
    memory_gb: float | None = None
    accelerator: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


SETTLED = ("variant", "seed", "steps", "epoch", "examples", "device", "precision", "threads")  # by the settings


def scores(build: Path, completed: Completed) -> list[Score]:
    """Every score of every selected variant and ensemble, from their prediction files; none where there are none.

    Raises:
        DataError: a result is missing or altered, or metrics.json says something else than the prediction files; the
            message names the command that makes it again.
    """
    scores: list[Score] = []
    for entry, seed in completed.runs:
        about = entry.name, entry.kind, entry.paper, entry.row, seed
        for split, by_metric in _scores(entry, build, seed).items():
            scores += [Score(*about, split, metric, value) for metric, value in by_metric.items()]
    return scores


def untrained(build: Path) -> Untrained | None:
    """What the encoder knows before any training; None where it was not measured."""
    file = build / "encoders" / "base" / "untrained.json"
    return files.read_as(Untrained, file, "dvc repro encoder") if file.is_file() else None


def _scores(entry: CompletedEntry, build: Path, seed: int) -> dict[Split, dict[str, float | None]]:
    """By split, those of METRICS in its order; None where the labels of what was predicted are withheld."""
    said, by_split = read_metrics(entry, build, seed), {}
    for split in SCORED_SPLITS:
        tables = {
            task: files.read_parquet(file)
            for task in entry.tasks
            if (file := entry.predictions(build, seed, task, split)) is not None
        }
        for table in tables.values():  # runs of before `run.overall_rows` lack the column: all rows count
            table["overall"] = table["scored"] if "overall" not in table else table["overall"]
        values = {task: predictions.score(table, TASKS[task]) for task, table in tables.items()}
        known = predictions.scores(tables)
        _compare(said[split], known, f"{split} of {entry.name}, seed {seed}", entry.remake(seed))
        overalls = dict.fromkeys(OVERALLS) if set(metrics.MAIN_TASKS) <= set(values) else {}
        every: dict[str, float | None] = {**values, **overalls, **known}
        by_split[split] = {metric: every[metric] for metric in METRICS if metric in every} | every
    return by_split


def _compare(said: Mapping[str, float], computed: Mapping[str, float], where: str, remedy: str) -> None:
    """DataError where metrics.json and the prediction files differ by more than the order of a sum does."""
    for metric in sorted(said.keys() | computed.keys()):
        one, other = said.get(metric), computed.get(metric)
        if one is None or other is None or not math.isclose(one, other, rel_tol=0, abs_tol=ROUNDING):
            raise DataError(
                f"{where}: metrics.json says {metric} {_shown(one)}, the prediction files {_shown(other)}; "
                f"`{remedy} --force --single-item` makes both again"
            )


def _shown(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6f}"


def weights(build: Path, completed: Completed) -> dict[str, Weights]:
    """Numbers of weights of every selected variant, and of every selected ensemble, which holds all its members."""
    of = {e.name: _weights(e, build, e.seeds[0]) for e in completed.ran if not e.members}
    return {e.name: together([of[name] for name in e.members or (e.name,)]) for e in completed.ran}


def together(models: Sequence[Weights]) -> Weights:
    """Weights of models that are kept side by side."""
    added, trained = sum(model.added for model in models), sum(model.trained for model in models)
    stored, times_bert = sum(model.stored for model in models), sum(model.times_bert for model in models)
    return Weights(models[0].encoder, added, trained, stored, times_bert)


def _weights(entry: CompletedEntry, build: Path, seed: int) -> Weights:
    counts = read_metrics(entry, build, seed)["parameters"]
    encoder, added = counts["encoder"], counts["added"]
    return Weights(encoder, added, counts["trained"], counts["stored"], (encoder + added) / encoder)


def wide(
    build: Path, completed: Completed, known: Sequence[Score], counts: Mapping[str, Weights]
) -> pd.DataFrame:  # fmt: skip
    """One row per variant or ensemble and seed: length, a column per split and metric (dev_sst, ...), weights.

    known, counts: from `scores` and `weights`.
    """
    spoken = {score.metric for score in known}
    values: dict[tuple[str, int], dict[str, float | None]] = {}
    for score in known:
        values.setdefault((score.variant, score.seed), {})[f"{score.split}_{score.metric}"] = score.value
    splits = [split for split in SCORED_SPLITS if split != "train" or any(s.split == "train" for s in known)]
    columns = [f"{split}_{metric}" for split in splits for metric in METRICS if metric in spoken]
    rows = []
    for entry, seed in completed.runs:
        about = {"variant": entry.name, "kind": entry.kind, "paper": entry.paper, "row": entry.row, "seed": seed}
        scored, content = values.get((entry.name, seed), {}), read_metrics(entry, build, seed)
        length = {name: content.get(name) for name in ("steps", "epoch")}
        length |= {"departures": "; ".join(entry.departures)}
        rows.append(about | length | {name: scored.get(name) for name in columns} | vars(counts[entry.name]))
    return pd.DataFrame(rows).astype({"steps": "Int64", "epoch": "Int64"})


def summary(completed: Completed, known: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Mean dev scores over seeds by variant or ensemble, then metric, to six decimals; `known` is from `scores`."""
    values: dict[tuple[str, str], list[float]] = {}
    for score in known:
        if score.split == "dev" and score.value is not None:
            values.setdefault((score.variant, score.metric), []).append(score.value)
    means: dict[str, dict[str, float]] = {entry.name: {} for entry in completed.ran}
    for (variant, metric), several in values.items():
        means[variant][metric] = round(fmean(several), 6)
    return means


def bars(summary: Mapping[str, Mapping[str, float]]) -> pd.DataFrame:
    """What `dvc plots` draws: columns bar (`sst pals`), variant, metric, score, the bars of a metric side by side."""
    rows = [
        (f"{metric} {variant}", variant, metric, score)
        for variant, scores in summary.items()
        for metric, score in scores.items()
    ]
    columns = ["bar", "variant", "metric", "score"]
    return pd.DataFrame(rows, columns=columns).sort_values("metric", kind="stable", ignore_index=True)


def runs(build: Path, completed: Completed) -> list[Run]:
    """How each training went, by variant and seed."""
    return [_run(entry, build, seed) for entry in completed.variants for seed in entry.seeds]


def _run(entry: CompletedEntry, build: Path, seed: int) -> Run:
    """What metrics.json says of a run and, where it says nothing, the run's log."""
    log = outputs.log(files.log_directory(build, entry.directory(build, seed)))
    told = log.model_dump(exclude_none=True) if log else {}
    told |= told.get("machine", {})
    told |= {name: value for name, value in read_metrics(entry, build, seed).items() if value is not None}
    if isinstance(of_tasks := told.get("examples"), dict):
        told |= {"examples": sum(of_tasks.values()), "of_tasks": of_tasks}
    told |= {"variant": entry.name, "seed": seed, "threads": entry.threads}
    return Run(**{name: told[name] for name in Run.__dataclass_fields__ if name in told})


def run_frame(runs: Sequence[Run]) -> pd.DataFrame:
    """All that is known of `runs`: a line a run, a column for each library such as `torch version`."""
    libraries = sorted({library for run in runs for library in run.versions})
    lines = []
    for run in runs:
        line = {name: value for name, value in vars(run).items() if name not in ("versions", "of_tasks")}
        lines.append(line | {f"{library} version": run.versions.get(library) for library in libraries})
    return pd.DataFrame(lines)


def settled(runs: Sequence[Run]) -> pd.DataFrame:
    """What of `runs` may be committed: nothing of the clock or the host."""
    lines = [{name: getattr(run, name) for name in SETTLED} for run in runs]
    return pd.DataFrame(lines, columns=list(SETTLED)).convert_dtypes()


def read_metrics(entry: CompletedEntry, build: Path, seed: int) -> dict[str, Any]:
    """metrics.json of one seed; DataError with the command that makes it again where it is missing or damaged."""
    kind = VoteMetrics if entry.members else RunMetrics
    return files.read_as(
        kind, entry.file(build, seed, "metrics.json"), f"{entry.remake(seed)} --force --single-item"
    ).model_dump()
