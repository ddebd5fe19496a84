"""The page: what its sections show, put into the layout, with all that their pictures need."""

import base64
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup

from mtbert.reporting import markdown, sentences
from mtbert.reporting.figures import LABELS, NAMES
from mtbert.reporting.sections.base import Report, Section

# Plotly's basic build (MIT licence) as npm's plotly.js-basic-dist-min has it, packed with gzip: a quarter of the size.
PLOTLY = Path(__file__).with_name("plotly-basic-4.1.1.min.js.gz")
LAYOUT, MACROS, PLAIN, SCRIPT, STYLE = "layout.html", "macros.html", "plain.html", "page.js", "page.css"
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
_markdown = MarkdownIt("commonmark", {"html": False}).enable("table")


def render(report: Report, local: bool) -> str:
    """The whole page as HTML.

    Args:
        report: what it shows.
        local: whether it stays on this machine; else it holds nothing of the clock, and sentences only where these
            are the project's own.
    """
    environment = _environment()
    figures = {section.name: section.part.figures(report, local) for section in report.sections}
    shown = [section for section in report.sections if section.title]
    parts = [_part(environment, report, section, local, figures[section.name]) for section in shown]
    return environment.get_template(LAYOUT).render(
        report=report,
        sections=Markup("\n\n").join(parts),
        content=content(report, local, figures),
        script=_source(environment, SCRIPT),
        style=_source(environment, STYLE),
        plotly=base64.b64encode(PLOTLY.read_bytes()).decode(),
    )


def _environment() -> Environment:
    folders = ChoiceLoader([PackageLoader("mtbert.reporting", "page"), PackageLoader("mtbert.reporting", "sections")])
    environment = Environment(
        loader=folders, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":"), "ensure_ascii": False}
    environment.filters |= {
        "markdown": lambda text: Markup(_markdown.render(text)),
        "below": below,
        "unlinked": unlinked,
        "phrase": lambda text: Markup(_markdown.renderInline(text)),
        "number": markdown.number,
        "p_value": markdown.p_value,
    }
    return environment


def _source(environment: Environment, name: str) -> Markup:
    assert environment.loader is not None
    return Markup(environment.loader.get_source(environment, name)[0])


def _part(
    environment: Environment, report: Report, section: Section, local: bool, figures: Mapping[str, Any]
) -> Markup:  # fmt: skip
    """A section by its template or, where it has none, its Markdown; below it those that stand inside."""
    inside = [other.markdown(report) for other in report.sections if other.inside == section.name]
    html = environment.get_template(section.part.template or PLAIN).render(
        section=section,
        text=section.markdown(report) if not section.part.template else "",
        inside="\n\n".join(below(text) for text in inside if text),
        figures=figures,
        local=local,
        with_sentences=report.with_sentences(local),
        **section.part.values(report, local),
    )
    return Markup(html)


def content(report: Report, local: bool, figures: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What page.js shows: figures and tables, each a tree of choices, and the sentences that they speak of."""
    drawn: dict[str, Any] = {}
    for section in report.sections:
        drawn |= figures[section.name]
    for section in report.sections:
        drawn |= section.part.choices(report)
    texts = _sentences(report) if report.with_sentences(local) else {}
    return {**drawn, "sentences": texts, "labels": LABELS, "names": NAMES}


def _sentences(report: Report) -> dict[str, dict[str, list[str]]]:
    """Those of every row that a section names, by task and the row's id."""
    rows: dict[str, set[str]] = {}
    for section in report.sections:
        for task, ids in section.part.rows(report).items():
            rows.setdefault(task, set()).update(ids)
    return {task: sentences.read(report.build, task, ids) for task, ids in rows.items()}


def below(text: str) -> str:
    """A Markdown section as one within another; files are named only, as the page below build has none beside it."""
    return unlinked(text.replace("## ", "### ", 1))


def unlinked(text: str) -> str:
    """Markdown in which files are named and not linked: the page below build has none beside it."""
    return LINK.sub(r"`\1`", text)
