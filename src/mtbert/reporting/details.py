"""Sections of the report that stand in files of their own: pictures, worst misses, what ran where, pretraining."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import files
from mtbert.outputs import PRETRAINED, Elsewhere
from mtbert.reporting import claimed, corpora, leakage, markdown, mistakes, needed, searches, sentences
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.claims import Verdict
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.pictures import Picture
from mtbert.tasks import TASKS

NOTHING = "These runs have left nothing to tell here.\n"
MARKS = re.compile(r"[\\`*_\[\]|~&]")  # what Markdown takes for its own within a line


def render(
    build: Path,
    catalog: Catalog,
    judged: Sequence[Verdict],
    runs: Sequence[Mapping[str, Any]],
    made: Sequence[Picture],
    seen: pd.DataFrame,
    answers: Mapping[str, Mapping[str, Answers]],
) -> dict[str, str]:
    """The text of every file below details, by its name without the ending.

    Args:
        build: what is reported.
        catalog: what was asked for.
        judged: from `verdicts.judge`.
        runs: from `results.runs`.
        made: from `pictures.write`.
        seen: from `leakage.scores`.
        answers: from `mistakes.answers`.
    """
    pretrained = [pretraining(build, name) for name in PRETRAININGS]
    found = {
        "claims": [claimed.render(judged), needed.render_claims(needed.of_claims(judged))],
        "misses": [misses(build, catalog, answers)],
        "pictures": [shown(made, catalog.detail)],
        "leakage": [leakage.render(seen)],
        "data": [corpora.data(build, catalog)],
        "runs": [ran(build, runs), *searched(build, catalog.profile), *pretrained],
    }
    return {name: _file([part for part in parts if part]) for name, parts in found.items()}


def searched(build: Path, profile: str) -> list[str]:
    """What was looked for, as sections; empty ones where nothing was."""
    place = searches.place(build)
    rates, setting = searches.read(profile, place), searches.read_setting(profile, place)
    return [searches.render(rates), searches.render_setting(setting)]


def _file(parts: Sequence[str]) -> str:
    """Sections as a file of their own, whose title the first heading is."""
    return "\n\n".join(parts).replace("## ", "# ", 1) + "\n" if parts else NOTHING


def shown(made: Sequence[Picture], detail: str) -> str:
    """The pictures, one below the other, after what they leave out; of the first seed where they show single runs."""
    if not made:
        return ""
    images = [f"**{picture.title}**\n\n![{picture.title}](../pictures/{picture.name}.png)" for picture in made]
    return "\n\n".join(["## Pictures", *filter(None, [detail]), *images])


def misses(build: Path, catalog: Catalog, answers: Mapping[str, Mapping[str, Answers]]) -> str:
    """The worst misses of all variants together, a table a task; with sentences where these may be handed on."""
    parts = [_misses_of(build, catalog, task, list(several.values())) for task, several in answers.items()]
    if not any(parts):
        return ""
    about = "Rows that the variants, taken together, are surest of and wrong, or farthest from the label."
    if not sentences.may_be_committed(catalog):
        about += " By id: the corpora are not handed on. `build/report/index.html` shows the sentences."
    return "\n\n".join(["## Worst misses", about, *filter(None, parts)])


def _misses_of(build: Path, catalog: Catalog, task: str, several: list[Answers]) -> str:
    worst = mistakes.worst(mistakes.together(several), TASKS[task])
    texts = sentences.read(build, task, {miss.id for miss in worst}) if sentences.may_be_committed(catalog) else {}
    size = "off by" if TASKS[task].kind == "score" else "probability"
    lines = [
        {
            "sentences" if texts else "row": " / ".join(map(literal, texts.get(miss.id, []))) or f"`{miss.id}`",
            "label": f"{miss.label:g}",
            "predicted": f"{miss.prediction:.3g}",
            size: f"{miss.size:.2f}",
        }
        for miss in worst
    ]
    return f"**{TASKS[task].title}**\n\n{markdown.lined(lines, sides=1)}" if lines else ""


def literal(text: str) -> str:
    """Text of a corpus as Markdown that shows it as it is, in one cell of a table."""
    return MARKS.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def ran(build: Path, runs: Sequence[Mapping[str, Any]]) -> str:
    """What ran where, as far as it is the same in two runs of the same settings: length, device and the machine."""
    known = [run for run in runs if run["steps"] is not None]
    lines = [_length(run) | _device(run) | {"threads": markdown.count(run["threads"])} for run in known]
    file = build / "machine.json"
    begun = files.read_as(dict[str, str], file, f"rm {file} && dvc repro machine") if file.is_file() else {}
    machine = ", ".join(value for value in begun.values() if value)
    parts = [
        markdown.lined(lines, sides=1),
        f"Machine: {machine}." if machine else "",
        *_elsewhere(build, known, begun),
    ]
    told = "\n\n".join(part for part in parts if part)
    return f"## What ran where\n\n{told}" if told else ""


def _elsewhere(build: Path, runs: Sequence[Mapping[str, Any]], begun: Mapping[str, str]) -> list[str]:
    """A line for each other machine: what ran there, as these runs say themselves."""
    ran_there: dict[str, list[str]] = {}
    for run in runs:
        file = build / "runs" / run["variant"] / str(run["seed"]) / files.ELSEWHERE
        if file.is_file():
            machine = files.read_as(Elsewhere, file, "mtbert unpack").machine.model_dump()
            if machine != begun:
                where = ", ".join(value for value in machine.values() if value)
                ran_there.setdefault(where, []).append(f"{run['variant']}, seed {run['seed']}")
    return [f"On another machine, {where}: {'; '.join(names)}." for where, names in ran_there.items()]


def timed(runs: Sequence[Mapping[str, Any]]) -> str:
    """The same with what differs from one run to the next: times, memory, every machine and its libraries."""
    logged = [run for run in runs if run["seconds"] is not None]
    if not logged:
        return ""
    lines = [
        _length(run)
        | {"wall time": duration(run["seconds"]), "training": duration(run["training_seconds"])}
        | {"examples / s": markdown.count(run["examples_per_second"])}
        | {"memory, MB": markdown.count(run["peak_memory_mb"])}
        | _device(run)
        for run in logged
    ]
    total = f"All trainings together: {duration(sum(run['seconds'] for run in logged))}."
    machines = markdown.bullets(list(dict.fromkeys(_machine(run) for run in logged)))
    return f"## What ran where, and how long\n\n{markdown.lined(lines, sides=1)}\n\n{total}\n\n{machines}"


def _length(run: Mapping[str, Any]) -> dict[str, str]:
    name = f"{run['variant']}, seed {run['seed']}"
    return {"run": name, "steps": markdown.count(run["steps"]), "examples": markdown.count(run["examples"])}


def _device(run: Mapping[str, Any]) -> dict[str, str]:
    return {"device": ", ".join(filter(None, (run["device"], run["precision"]))) or markdown.DASH}


def _machine(run: Mapping[str, Any]) -> str:
    versions = {name.removesuffix(" version"): value for name, value in run.items() if name.endswith(" version")}
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    accelerator = f", {run['accelerator']}" if run["accelerator"] else ""
    size = f"{markdown.count(run['cores'])} cores, {markdown.count(run['memory_gb'])} GB"
    return f"{run['processor']}, {size}{accelerator}; {libraries}"


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


def pretraining(build: Path, name: str) -> str:
    """What a pretraining changed; empty where no variant of the plan starts from it."""
    file, settings = build / "encoders" / name / "metrics.json", build / "plan" / f"pretrain-{name}.yaml"
    needed = files.read_plan(settings, "needed")["needed"] if settings.is_file() else True
    if not needed or not file.is_file():
        return ""
    title, measured, key, read, what = PRETRAININGS[name]
    found = files.read_as(PRETRAINED[name], file, f"dvc repro pretrain@{name}").model_dump()
    before, after = (markdown.number(found.get(f"{key}_{when}")) for when in ("before", "after"))
    steps, count = markdown.count(found.get("steps")), markdown.count(found.get(read))
    return f"## {title}\n\n{measured}: {before} before, {after} after {steps} steps over {count} {what}."
