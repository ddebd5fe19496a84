"""What ran where, and how long; the searches for learning rates and one further setting; pretraining."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mtbert import files
from mtbert.outputs import PRETRAINED
from mtbert.reporting import machines, markdown, remaking, results, searches
from mtbert.reporting.catalog import Completed
from mtbert.reporting.results import Run
from mtbert.reporting.sections.base import Numbers, Part, Report, Section
from mtbert.tasks import TASKS


def render(report: Report) -> str:
    """What ran where, what was searched for, and what each pretraining came to."""
    return "\n\n".join(filter(None, [run_table(report), *searched(report), *pretrainings(report.build)]))


def searched(report: Report) -> list[str]:
    """The searches for learning rates and for one further setting; empty texts where there was none."""
    profile, place = report.completed.profile, searches.place(report.build)
    return [
        searches.render(searches.read(profile, place)),
        searches.render_setting(searches.read_setting(profile, place)),
    ]


def values(report: Report, local: bool) -> dict[str, Any]:
    """What the page shows."""
    return {
        "command": commands(report.completed),
        "one_by_one": ONE_BY_ONE if len(report.completed.grids) > 1 else "",
        "ran": timed(report.runs) if local else run_table(report),
        "pretrainings": pretrainings(report.build),
    }


ONE_BY_ONE = (
    "Each command's report shows only what that command asked for. Keep an evidence of your own beside this one: "
    "`mtbert evidence build mine` after the first command, with `--add` after each of the others. It names its folder: "
    "`mtbert report --evidence` makes one report of that."
)


def commands(completed: Completed) -> str:
    """The command that makes all that was asked for; a line for each set of seeds, where variants differ in them."""
    return "\n".join(remaking.command(grid) for grid in completed.grids)


def run_table(report: Report) -> str:
    """What ran where, as far as it is the same in two runs of the same settings: length, device and the machine."""
    known = [run for run in report.runs if run.steps is not None]
    tasks = [task for task in TASKS if any(task in run.of_tasks for run in known)]
    lines = [
        _length(run)
        | {f"of {TASKS[task].title}": markdown.count(run.of_tasks.get(task, 0)) for task in tasks}
        | _device(run)
        | {"threads": markdown.count(run.threads)}
        for run in known
    ]
    machine = machines.here(report.build)
    parts = [
        markdown.lined(lines, sides=1),
        "" if machine == machines.UNKNOWN else f"Machine: {machine}.",
        *_elsewhere(report.build, known, machine),
    ]
    told = "\n\n".join(part for part in parts if part)
    return f"## What ran where\n\n{told}" if told else ""


def _elsewhere(build: Path, runs: Sequence[Run], here: str) -> list[str]:
    """A line for each other machine: what ran there, as these runs say themselves."""
    ran_there: dict[str, list[tuple[str, int]]] = {}
    for run in runs:
        machine = machines.of_run(build, build / "runs" / run.variant / str(run.seed))
        if machine != here:
            ran_there.setdefault(machine, []).append((run.variant, run.seed))
    return [
        f"On another machine, {where}: {'; '.join(remaking.by_seeds(names))}." for where, names in ran_there.items()
    ]


def timed(runs: Sequence[Run]) -> str:
    """The same with what differs from one run to the next: times, memory, every machine and its libraries."""
    logged = [run for run in runs if run.seconds is not None]
    if not logged:
        return ""
    lines = [
        _length(run)
        | {"wall time": duration(run.seconds), "training": duration(run.training_seconds)}
        | {"examples / s": markdown.count(run.examples_per_second)}
        | {"memory, MB": markdown.count(run.peak_memory_mb)}
        | _device(run)
        for run in logged
    ]
    took = [max(run.seconds or 0, run.training_seconds or 0) for run in logged]
    total = f"All trainings together: {duration(sum(took))}."
    if any(of_run > (run.seconds or 0) for of_run, run in zip(took, logged, strict=True)):
        total += " A training that was stopped has the wall time since it went on, and the training time of all of it."
    machines = markdown.bullets(list(dict.fromkeys(_machine(run) for run in logged)))
    return f"## What ran where, and how long\n\n{markdown.lined(lines, sides=1)}\n\n{total}\n\n{machines}"


def _length(run: Run) -> dict[str, str]:
    name = f"{run.variant}, seed {run.seed}"
    return {"run": name, "steps": markdown.count(run.steps), "examples": markdown.count(run.examples)}


def _device(run: Run) -> dict[str, str]:
    return {"device": ", ".join(filter(None, (run.device, run.precision))) or markdown.DASH}


def _machine(run: Run) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()) if version)
    accelerator = f", {run.accelerator}" if run.accelerator else ""
    size = f"{markdown.count(run.cores)} cores, {markdown.count(run.memory_gb)} GB"
    return f"{run.processor}, {size}{accelerator}; {libraries}"


def duration(seconds: float | None) -> str:
    """Such as `45 s`, `12 min 05 s` or `3 h 20 min`."""
    if seconds is None:
        return markdown.DASH
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


PRETRAININGS = {  # name: title, what was measured, its keys in metrics.json but for _before and _after, what it read
    "sbert": (
        "SBERT pretraining",
        "Pearson's r between the cosine of two sentence embeddings and the label, on STS-B dev",
        "sts_dev_pearson", "pairs", "entailment pairs",
    ),
    "mlm": (
        "MLM pretraining", "Loss of the masked language model on the tasks' dev sentences",
        "mlm_dev_loss", "sentences", "training sentences",
    ),
}  # fmt: skip


def pretrainings(build: Path) -> list[str]:
    """Each that a variant of the plan starts from."""
    return [text for text in (pretraining(build, name) for name in PRETRAININGS) if text]


def pretraining(build: Path, name: str) -> str:
    """What a pretraining changed; empty where no variant of the plan starts from it."""
    file, settings = build / "encoders" / name / "metrics.json", build / "plan" / f"pretrain-{name}.yaml"
    needed = files.read_plan(settings, "needed")["needed"] if settings.is_file() else True
    if not needed or not file.is_file():
        return ""
    title, measured, key, read, what = PRETRAININGS[name]
    metrics = files.read_as(PRETRAINED[name], file, f"dvc repro pretrain@{name}").model_dump()
    before, after = (markdown.number(metrics.get(f"{key}_{when}")) for when in ("before", "after"))
    steps, count = markdown.count(metrics.get("steps")), markdown.count(metrics.get(read))
    guess = metrics.get(f"{key}_of_frequencies")
    beside = "" if guess is None else f" A guess by how frequent each token is has {markdown.number(guess)}."
    return f"## {title}\n\n{measured}: {before} before, {after} after {steps} steps over {count} {what}.{beside}"


SECTION = Section(
    name="runs",
    title="Runs",
    about="what ran where",
    markdown=render,
    numbers=(Numbers("runs.csv", lambda report: report.marked(results.settled(report.runs))),),
    local_numbers=(Numbers("runs.csv", lambda report: report.marked(results.run_frame(report.runs))),),
    part=Part("runs.html", values),
)
