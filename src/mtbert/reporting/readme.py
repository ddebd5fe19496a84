"""The report's README.md, one screen: what ran, what came of it, how to do it again, and where the rest is."""

from mtbert.reporting import markdown, remaking
from mtbert.reporting.catalog import Completed
from mtbert.reporting.sections import runs
from mtbert.reporting.sections.base import Report

EVIDENCE = (
    "The predictions, settings and histories of every run, where a report has them, lie in `evidence`; "
    "[docs/evidence.md](../../docs/evidence.md) shows how to make this report of them alone, or to test them otherwise."
)
WITHOUT_CACHE = (
    "Where the results that are here are not in DVC's cache, it trains these anew as well. Name the missing ones alone "
    "there, and add them to the evidence: [docs/evidence.md](../../docs/evidence.md)."
)


def render(report: Report) -> str:
    """What each section has for it, then where everything else stands."""
    paragraphs = [
        f"# Results: profile `{report.completed.profile}`",
        *(paragraph for section in report.sections for paragraph in section.readme(report)),
        rest(report),
        again(report.completed),
        missing(report.completed),
    ]
    return "\n\n".join(filter(None, paragraphs)) + "\n"


def rest(report: Report) -> str:
    """Where everything else stands: a line for the tables, one for the details and one for the numbers."""
    run = [f"[{markdown.heading(table)}](tables/{table.name}.md)" for table in report.tables if table.scored]
    absent = sum(not table.scored for table in report.tables)
    more = f" {absent} more have no number of ours yet: [tables](tables)." if absent else ""
    details = [f"[{section.about}](details/{section.name}.md)" for section in report.sections if section.about]
    lines = [
        f"Tables with our numbers beside those of the papers: {'; '.join(run)}.{more}",
        f"Details: {', '.join(details)}.",
        f"Numbers: {', '.join(f'[{name}]({name})' for name in number_files(report))}.",
        EVIDENCE,
    ]
    return f"## The rest\n\n{markdown.bullets(lines)}"


def number_files(report: Report) -> list[str]:
    """Names of the files of numbers: first what was measured, then what comes of comparing."""
    every = [numbers for section in report.sections for numbers in section.numbers]
    return [numbers.name for kind in ("measured", "compared") for numbers in every if numbers.kind == kind]


def again(completed: Completed) -> str:
    """How to train all that was asked for, with a command for each set of seeds."""
    heading = "To train what is missing" if completed.missing else "To train it again"
    commands = f"## {heading}\n\n```\n{runs.commands(completed)}\n```"
    several, lacking = len(completed.grids) > 1, bool(completed.missing)
    return "\n\n".join([commands, *([runs.ONE_BY_ONE] if several else []), *([WITHOUT_CACHE] if lacking else [])])


def missing(completed: Completed) -> str:
    """What was asked for and is not there; empty where all is there."""
    if not completed.missing:
        return ""
    trains = "commands above train" if len(completed.grids) > 1 else "command above trains"
    return (
        f"## Not run yet\n\nThe tables do without these; the {trains} them.\n\n"
        f"{markdown.bullets(remaking.absent(completed))}{remaking.not_asked(completed)}"
    )
