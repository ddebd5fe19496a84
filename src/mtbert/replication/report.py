"""The report with the papers' claims, and the questions that it begins with."""

from pathlib import Path

from mtbert.replication import claims_section, questions_section
from mtbert.replication.judging import Replication
from mtbert.report import dev_rows
from mtbert.report import write as reports
from mtbert.report.page import PageSection
from mtbert.report.write import Addition


def write(
    replication: Replication,
    directory: Path,
    build: Path | None = None,
    interim: str = "",
) -> str:
    """Write the report, as `mtbert.report.write` does.

    Args:
        replication: what is judged.
        directory: the report's folder.
        build: a build folder, whose sentences of dev are shown where they may be; None of evidence alone.
        interim: what a report says first while trainings go on.

    Raises:
        DataError: the directory holds something else than a report.
    """
    judgement = replication.judgement

    def add(folder: Path) -> Addition:
        return _addition(replication, folder)

    texts = {} if build is None else dev_rows.sentences(build)
    grouped = {} if build is None else dev_rows.groups(build)
    return reports.write(judgement, directory, texts, interim, add, grouped)


def _addition(replication: Replication, folder: Path) -> Addition:
    """Return claims and questions, and draw the picture of the questions into a report's folder."""
    results = replication.judgement.results
    questions_section.draw(replication.questions, folder)
    claims = claims_section.render(results, replication.claims)
    numbers = {"claims.csv": claims_section.frame(replication.claims)} if replication.claims else {}
    return Addition(
        first=questions_section.render(results, replication.questions, "pictures"),
        sections=[PageSection("claims", "Claims", claims)],
        numbers=numbers,
    )
