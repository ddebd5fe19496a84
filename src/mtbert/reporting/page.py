"""The report's README.md, one screen: what ran, what came of it, what was changed, how to do it again, and the rest."""

import shlex
from collections.abc import Sequence

from mtbert.reporting import claimed, findings, markdown, sentences
from mtbert.reporting.catalog import Catalog
from mtbert.reporting.claims import Verdict
from mtbert.reporting.costs import Cost
from mtbert.reporting.findings import Standing
from mtbert.reporting.tables import Table

LEADERS = 5  # rows of the table
DETAILS = {  # file below details: what it holds
    "claims": "every claim with its comparisons",
    "misses": "worst misses",
    "pictures": "pictures",
    "leakage": "leakage",
    "data": "what the checks of the data found",
    "runs": "what ran where",
}
EVIDENCE = (
    "The predictions, settings and histories of every run, where a report has them, lie in `evidence`; "
    "[docs/evidence.md](../../docs/evidence.md) tells how to make this report of them alone, or to test them otherwise."
)
NUMBERS = ("results.csv", "summary.json", "curves.csv", "runs.csv", "claims.csv", "comparisons.csv", "leakage.csv")


def render(catalog: Catalog, tables: Sequence[Table], judged: Sequence[Verdict], leaders: Sequence[Cost],
    standings: Sequence[Standing] = (),
) -> str:  # fmt: skip
    """README.md; leaders are from `costs.leaders`, standings from `findings.standings`."""
    sections = [
        f"# Results: profile `{catalog.profile}`",
        headline(catalog),
        findings.render(catalog, judged, standings),
        "**[index.html](index.html)** is the whole report as one page to explore, offline.",
        markdown.bullets(limits(catalog)),
        best(leaders),
        claimed.in_short(judged),
        rest(tables),
        again(catalog),
        missing(catalog),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def headline(catalog: Catalog) -> str:
    """What ran, in a sentence."""
    variants = sum(not entry.members for entry in catalog.selected)
    known = sum(not entry.members for entry in catalog.entries)
    counts = {len(entry.seeds) for entry in catalog.selected} or {len(catalog.seeds)}
    seeds = "one seed" if counts == {1} else f"{markdown.span(counts)} seeds"
    data = f" on `{catalog.data}`" if catalog.data else ""
    ran = f"{variants} of the catalog's {known} variants, {seeds} each"
    return f"{ran}, trained{data} from the encoder `{catalog.encoder}`."


def limits(catalog: Catalog) -> list[str]:
    """What can be concluded, and what not, in Markdown."""
    counts = {len(entry.seeds) for entry in catalog.selected} or {len(catalog.seeds)}
    found = changed(catalog)
    if counts == {1}:
        found.append(
            "**One seed.** Another seed gives other scores, and one run does not show by how much. That one variant is "
            "better than another cannot be concluded from this report."
        )
    else:
        found.append(
            f"**{markdown.span(counts)} seeds.** Intervals are 95 % and of the mean over seeds; one seed has "
            "none. A difference whose interval holds 0 may be noise."
        )
    if sentences.may_be_committed(catalog):
        found.append(
            "**Generated sentences.** The sample is a small corpus of this project's own: it shows that the machinery "
            "works, and says nothing of the methods."
        )
    note = f" {catalog.encoder_note.rstrip('.')}." if catalog.encoder_note else ""
    if catalog.encoder != "bert-base-uncased" and not catalog.own_data:
        found.append(
            f"**Another encoder.** The papers start from `bert-base-uncased`, these runs from `{catalog.encoder}`: "
            f"compare which variant is ahead, not the scores themselves.{note}"
        )
    elif note:
        found.append(f"**`{catalog.encoder}`.**{note}")
    found.append(f"**Which epoch.** Kept: {markdown.KEPT[catalog.keep, catalog.selection]}.")
    if catalog.detail:
        found.append(f"**Many variants.** {catalog.detail}")
    if catalog.missing:
        found.append("**Not complete.** Some runs are missing; means and intervals are of those that are there.")
    return found


def changed(catalog: Catalog) -> list[str]:
    """What differs from the shipped settings, and in which variants; nothing where nothing does."""
    of: dict[tuple[str, ...], list[str]] = {}
    for entry in catalog.selected:
        if entry.departures:
            of.setdefault(entry.departures, []).append(entry.name)
    told = [f"{_code(names)}: {_code(departures)}" for departures, names in of.items()]
    settings = f" Set for all: {_code(catalog.overrides)}." if catalog.overrides else ""
    if not told:
        return [f"**Changed settings.**{settings}"] if settings else []
    return [f"**Changed settings.** These are not the papers' rows any more, and {markdown.CHANGED} marks them: "
            f"{'; '.join(told)}."]  # fmt: skip


def _code(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def best(leaders: Sequence[Cost]) -> str:
    """The rows with the highest overall on dev."""
    lines = [
        {
            "row": cost.row + (f" {markdown.CHANGED}" if cost.departures else ""),
            "variants": " + ".join(f"`{name}`" for name in cost.variants),
            "overall": markdown.number(cost.mean("overall_raw"))
            + ("" if (spread := cost.spread("overall_raw")) is None else f" ± {spread:.3f}"),
            markdown.TIMES_BERT: f"{cost.times_bert:.2f}",
        }
        for cost in leaders[:LEADERS]
    ]
    about = f"The mean of three scores on dev; {markdown.TIMES_BERT} counts a row's weights, one encoder as 1."
    return f"## Highest overall scores\n\n{about}\n\n{markdown.lined(lines, sides=2)}" if lines else ""


def rest(tables: Sequence[Table]) -> str:
    """Where everything else stands: a line for the tables, one for the details and one for the numbers."""
    run = [f"[{markdown.heading(table)}](tables/{table.name}.md)" for table in tables if table.run]
    absent = sum(not table.run for table in tables)
    more = f" Of {absent} more no row was run: [tables](tables)." if absent else ""
    details = ", ".join(f"[{what}](details/{name}.md)" for name, what in DETAILS.items())
    numbers = ", ".join(f"[{name}]({name})" for name in NUMBERS)
    lines = [
        f"Tables, ours beside the papers': {'; '.join(run)}.{more}",
        f"Details: {details}.",
        f"Numbers: {numbers}.",
        EVIDENCE,
    ]
    return f"## The rest\n\n{markdown.bullets(lines)}"


def again(catalog: Catalog) -> str:
    """How to make this report again."""
    return f"## To make it again\n\n```\n{command(catalog)}\n```"


def command(catalog: Catalog) -> str:
    """The command that makes all that was asked for, in a checkout as shipped; it trains what is missing."""
    settings = [
        f"profile={catalog.profile}",
        *([f"data_dir={catalog.data}"] if catalog.data else []),
        f"variants=[{','.join(catalog.asked)}]",
        f"seeds=[{','.join(map(str, catalog.seeds))}]",
        *catalog.overrides,
    ]
    return " ".join(["dvc exp run", *(f"-S {shlex.quote(setting)}" for setting in settings)])


def missing(catalog: Catalog) -> str:
    """What was asked for and is not there; empty where all is there."""
    if not catalog.missing:
        return ""
    return (
        "## Not run yet\n\nThese were asked for; the tables do without them, and the command above trains them.\n\n"
        f"{markdown.bullets(absent(catalog))}"
    )


def absent(catalog: Catalog) -> list[str]:
    """What was asked for and is not there: a line for each set of seeds with the variants that lack it."""
    seeds: dict[str, list[int]] = {}
    for name, seed in catalog.missing:
        seeds.setdefault(name, []).append(seed)
    names: dict[tuple[int, ...], list[str]] = {}
    for name, lacking in seeds.items():
        names.setdefault(tuple(lacking), []).append(name)
    return [
        f"seed{'s' if len(lacking) > 1 else ''} {', '.join(map(str, lacking))}: {_code(several)}"
        for lacking, several in names.items()
    ]
