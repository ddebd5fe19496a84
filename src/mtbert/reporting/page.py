"""The report's index, README.md: the tables, what ran where and how long, the data, and how to do it again."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from mtbert import files
from mtbert.outputs import PRETRAINED, DataReport
from mtbert.reporting import claimed, leakage, markdown, mistakes, sentences
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.claims import Verdict
from mtbert.reporting.mistakes import Answers
from mtbert.reporting.pictures import Picture
from mtbert.reporting.tables import Table
from mtbert.tasks import SPLITS, TASKS

MARKS = re.compile(r"[\\`*_\[\]|~&]")  # what Markdown takes for its own within a line
FILES = (
    "The same as one page to explore, offline: [index.html](index.html).\n\n"
    "Every run and score: [results.csv](results.csv), [summary.json](summary.json), [curves.csv](curves.csv), "
    "[runs.csv](runs.csv)."
)

CORPORA = [f"{task}/{split}" for task in TASKS for split in SPLITS]


def render(
    build: Path,
    catalog: Catalog,
    tables: list[Table],
    runs: list[dict[str, Any]],
    made: Sequence[Picture],
    seen: pd.DataFrame,
    judged: Sequence[Verdict],
    answers: Mapping[str, Mapping[str, Answers]],
) -> str:
    """The page in Markdown.

    Args:
        build, catalog, tables: what is reported.
        runs, made, seen, judged: from `results.runs`, `pictures.write`, `leakage.scores` and `verdicts.judge`.
        answers: from `mistakes.answers`.
    """
    sections = [
        f"# Results: profile `{catalog.profile}`",
        f"{again(catalog)}\n\n{FILES}",
        claimed.render(judged),
        *(
            f"{markdown.render(table, catalog)}\nAs numbers: [{table.name}.csv](tables/{table.name}.csv)."
            for table in tables
        ),
        shown(made, catalog.detail),
        misses(build, catalog, answers),
        leakage.render(seen),
        ran(runs),
        missing(catalog),
        *(pretraining(build, name) for name in PRETRAININGS),
        data(build, catalog),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def shown(made: Sequence[Picture], detail: str) -> str:
    """The pictures, one below the other, after what they leave out; of the first seed where they show single runs."""
    if not made:
        return ""
    images = [f"**{picture.title}**\n\n![{picture.title}](pictures/{picture.name}.png)" for picture in made]
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
    return f"**{TASKS[task].title}**\n\n{_grid(lines, sides=1)}" if lines else ""


def literal(text: str) -> str:
    """Text of a corpus as Markdown that shows it as it is, in one cell of a table."""
    return MARKS.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def again(catalog: Catalog) -> str:
    """How to make this report again."""
    return f"To make it again:\n\n```\n{command(catalog)}\n```"


def command(catalog: Catalog) -> str:
    """The command that makes this report again."""
    own = f" -S data_dir={catalog.data}" if catalog.data else ""
    chosen = [entry.name for entry in catalog.selected if not entry.members]
    settings = f"profile={catalog.profile}{own} -S 'variants=[{','.join(chosen)}]'"
    seeds = ",".join(map(str, catalog.seeds))
    return f"dvc exp run -S {settings} -S 'seeds=[{seeds}]'"


def ran(runs: list[dict[str, Any]]) -> str:
    """What ran where: wall time per run and, below, the machine and the libraries."""
    logged = [run for run in runs if run["seconds"] is not None]
    if not logged:
        return ""
    lines = [
        {
            "run": f"{run['variant']}, seed {run['seed']}",
            "wall time": duration(run["seconds"]),
            "training": duration(run["training_seconds"]),
            "examples": _rounded(run["examples"]),
            "examples / s": _rounded(run["examples_per_second"]),
            "memory, MB": _rounded(run["peak_memory_mb"]),
            "device": f"{run['device']}, {run['precision']}",
        }
        for run in logged
    ]
    sides = ("left", *["right"] * 5, "left")
    table = pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=sides)
    total = f"All trainings together: {duration(sum(run['seconds'] for run in logged))}."
    return f"## What ran where\n\n{table}\n\n{total}\n\n{markdown.bullets(machines(logged))}"


def missing(catalog: Catalog) -> str:
    """What was asked for and is not there, with the commands that make it; empty where all is there."""
    if not catalog.missing:
        return ""
    commands = markdown.bullets([f"`{command}`" for command in catalog.missing])
    return f"## Not run yet\n\nThese were asked for; the tables do without them.\n\n{commands}"


def machines(logged: list[dict[str, Any]]) -> list[str]:
    """One line for each machine and set of libraries that runs were made with."""
    return list(dict.fromkeys(_machine(run) for run in logged))


def _machine(run: dict[str, Any]) -> str:
    versions = {name.removesuffix(" version"): value for name, value in run.items() if name.endswith(" version")}
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    accelerator = f", {run['accelerator']}" if run["accelerator"] else ""
    size = f"{_rounded(run['cores'])} cores, {_rounded(run['memory_gb'])} GB"
    return f"{run['processor']}, {size}{accelerator}; {libraries}"


def duration(seconds: float | None) -> str:
    """Such as `45 s`, `12 min 05 s` or `3 h 20 min`."""
    if seconds is None:
        return markdown.DASH
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _rounded(value: float | None) -> str:
    return markdown.DASH if value is None else f"{value:,.0f}"


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
    steps, count = _rounded(found.get("steps")), _rounded(found.get(read))
    return f"## {title}\n\n{measured}: {before} before, {after} after {steps} steps over {count} {what}."


def data(build: Path, catalog: Catalog) -> str:
    """What the check of the data found, from build/data/report.json, and what else `preprocess` should have left."""
    file, unknown = build / "data" / "report.json", _unknown_rows(build, catalog)
    if not file.is_file():
        return f"## Data\n\n{unknown}" if unknown else ""
    report = files.read_as(DataReport, file, "dvc repro preprocess").model_dump(by_alias=True)
    overlaps = [*report.get("overlaps", []), *report.get("overlaps with pretraining", [])]
    parts = [
        "## Data",
        _grid([_file_line(name, report["files"][name]) for name in CORPORA if name in report["files"]], sides=2),
        "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels (case and "
        "spacing folded). Refused rows, with line and reason: `build/data/report.json`.",
        _grid([_overlap_line(overlap) for overlap in overlaps if overlap["sharing"] or overlap["bare"]], sides=2),
        _missing(report.get("missing", [])),
        unknown,
    ]
    return "\n\n".join(part for part in parts if part)


def _unknown_rows(build: Path, catalog: Catalog) -> str:
    """What the report does without where `preprocess` has not said which dev rows share a sentence."""
    asked = {task for entry in catalog.selected for task in entry.tasks}
    needed = [Path("data", task, "dev-rows.parquet") for task in TASKS if task in asked]
    lacking = ", ".join(f"`{file}`" for file in needed if not (build / file).is_file())
    said = "rows that share a sentence are resampled apart, which makes intervals too narrow, and leakage is not told"
    return f"Without {lacking} {said}; `dvc repro preprocess` makes what is missing." if lacking else ""


def _file_line(name: str, found: Mapping[str, Any]) -> dict[str, str]:
    return {
        "file": name,
        "labels": "yes" if found["labelled"] else "withheld",
        "rows read": _rounded(found["read"]),
        "kept": _rounded(found["kept"]),
        "refused": _rounded(len(found["refused"])),
        "duplicates": _rounded(found["duplicates"]["folded"]),
        "conflicts": _rounded(len(found["conflicts"])),
    }


def _overlap_line(overlap: Mapping[str, Any]) -> dict[str, str]:
    return {
        "rows of": overlap["of"],
        "that are in": overlap["with"],
        "rows": _rounded(overlap["rows"]),
        "exactly": _rounded(overlap["exact"]),
        "case and spacing folded": _rounded(overlap["folded"]),
        "punctuation dropped": _rounded(overlap["bare"]),
        "sharing a sentence": _rounded(overlap["sharing"]),
    }


def _missing(names: Sequence[str]) -> str:
    return f"Not there: {', '.join(f'`{name}`' for name in names)}." if names else ""


def _grid(lines: list[dict[str, str]], sides: int) -> str:
    """A Markdown table whose first `sides` columns are text; empty for no lines."""
    if not lines:
        return ""
    align = ["left"] * sides + ["right"] * (len(lines[0]) - sides)
    return pd.DataFrame(lines).to_markdown(index=False, disable_numparse=True, colalign=align)
