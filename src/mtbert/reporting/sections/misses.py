"""The worst misses: the surest wrong classes, and the scores farthest from their labels."""

import re
from typing import Any

from mtbert.reporting import markdown, mistakes, sentences
from mtbert.reporting.mistakes import Miss
from mtbert.reporting.sections.base import Part, Report, Section, once
from mtbert.tasks import TASKS

ALL = "all variants"  # their answers together
MARKS = re.compile(r"[\\`*_\[\]|~&]")  # what Markdown takes for its own within a line
Misses = dict[str, list[Miss]]  # by variant


@once
def misses(report: Report) -> dict[str, Misses]:
    """By task: the worst misses of all variants together, then of each that is shown by itself."""
    detailed = {entry.name for entry in report.completed.detailed}
    by_task: dict[str, Misses] = {}
    for task, by_variant in report.answers.items():
        shown = {ALL: mistakes.together(list(by_variant.values()))} if len(by_variant) > 1 else {}
        shown |= {name: said for name, said in by_variant.items() if name in detailed}
        by_task[task] = {name: mistakes.worst(said, TASKS[task]) for name, said in shown.items()}
    return by_task


def choices(report: Report) -> dict[str, dict[str, dict[str, list[dict[str, Any]]]]]:
    """All of them, with few digits."""
    shown: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task, by_variant in misses(report).items():
        shown[task] = {name: [_rounded(miss) for miss in worst] for name, worst in by_variant.items()}
    return {"misses": shown}


def _rounded(miss: Miss) -> dict[str, Any]:
    return {
        "id": miss.id,
        "label": round(miss.label, 2),
        "prediction": round(miss.prediction, 2),
        "size": round(miss.size, 3),
    }


def rows(report: Report) -> dict[str, set[str]]:
    """The ids of the rows that are missed, by task."""
    return {
        task: {miss.id for worst in by_variant.values() for miss in worst}
        for task, by_variant in misses(report).items()
    }


def render(report: Report) -> str:
    """The worst misses of all variants together, a table a task; with sentences where these may be handed on."""
    tables = [_of_task(report, task) for task in report.answers]
    if not any(tables):
        return ""
    about = "Rows that the variants, taken together, are surest of and wrong, or farthest from the label."
    if not sentences.may_be_committed(report.completed):
        about += (
            " By id: the corpora are not handed on. Where they are at hand, the page that `dvc repro` makes, "
            "`build/report/index.html`, shows the sentences."
        )
    return "\n\n".join(["## Worst misses", about, *filter(None, tables)])


def _of_task(report: Report, task: str) -> str:
    worst = mistakes.worst(mistakes.together(list(report.answers[task].values())), TASKS[task])
    texts: dict[str, list[str]] = {}
    if sentences.may_be_committed(report.completed):
        texts = sentences.read(report.build, task, {miss.id for miss in worst})
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


SECTION = Section(
    name="misses",
    title="Worst misses",
    about="worst misses",
    markdown=render,
    part=Part("misses.html", lambda report, _: {"answers": report.answers}, choices=choices, rows=rows),
)
