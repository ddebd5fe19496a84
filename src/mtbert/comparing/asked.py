"""What `mtbert compare` asks for: the rows of both sides, the metric, and what matters."""

from pathlib import Path

from mtbert.comparing import judging, sources
from mtbert.comparing.judging import Outcome
from mtbert.comparing.rows import Rows
from mtbert.errors import MtbertError, UnknownNameError
from mtbert.tasks import TASKS

MATTERS = 0.01  # without a task


def compare(
    ours: str,
    theirs: str,
    task: str | None,
    metric: str | None,
    matters: float | None,
    columns: str,
    filtered: str | None,
    build: Path,
) -> Outcome:
    """Compare two sides; MtbertError for an unknown name, or rows that cannot be read or do not fit together."""
    metric, names = _metric(task, metric), _names(columns)
    sides = [_read(side, names, metric, filtered, task, build) for side in (ours, theirs)]
    return judging.compare(sides[0], sides[1], metric, _matters(task) if matters is None else matters)


def _read(source: str, names: dict[str, str], metric: str, filtered: str | None, task: str | None, build: Path) -> Rows:
    if not sources.is_run(source):
        return sources.read(source, names, metric, filtered)
    from mtbert.comparing import tracked

    return tracked.read(source, names, metric, filtered, task, build)


def _metric(task: str | None, metric: str | None) -> str:
    if task is not None and task not in TASKS:
        raise MtbertError(str(UnknownNameError("task", task, TASKS)))
    if metric is None and task is None:
        raise MtbertError(
            f"needs --task, one of {', '.join(TASKS)}, or --metric, one of accuracy, f1, pearson, spearman"
        )
    return metric or TASKS[str(task)].metric


def _matters(task: str | None) -> float:
    if task is None:
        return MATTERS
    from mtbert.reporting import claims

    return claims.load().matters.get(task, MATTERS)


def _names(columns: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in columns.split(",") if pair]
    if faulty := [name for name, sign, _ in pairs if not sign]:
        raise MtbertError(f"--columns {columns}: {', '.join(faulty)} has no =; allowed: label=gold,prediction=guess")
    names = {name.strip(): in_file.strip() for name, _, in_file in pairs}
    if unknown := [name for name in names if name not in sources.KNOWN]:
        raise MtbertError(f"--columns {columns}: {UnknownNameError('column', unknown[0], sources.KNOWN)}")
    return names
