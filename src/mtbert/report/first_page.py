"""The first page of a report, before any training has ended: what the baselines score on dev."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from mtbert import files
from mtbert.report import markdown, page
from mtbert.report.page import PageSection
from mtbert.scores.described import UNTRAINED, UNTRAINED_LABEL, baseline_label
from mtbert.scores.metrics import in_words
from mtbert.scores.schemas import ModelMetrics
from mtbert.tasks import Tasks, main, read_build


def write(build: Path, metrics: Sequence[Path], directory: Path, interim: str) -> None:
    """Write the page into a report's folder; `metrics` are files of baselines' scores, `interim` comes first."""
    tasks = read_build(build)
    scores: dict[str, Mapping[str, float]] = {}
    for file in metrics:
        scored = files.read_as(ModelMetrics, file, "dvc repro baselines")
        scores[scored.variant] = scored.dev
    section = PageSection("results", "Results: baselines", f"{interim}\n\n{table(scores, tasks)}")
    rows = [(name, task, score) for name, by_task in scores.items() for task, score in by_task.items()]
    with files.new_directory(directory) as partial:
        files.write_text(partial / "index.html", page.render([section], partial))
        files.write_text(partial / "README.md", f"{section.markdown.removeprefix('#')}\n")
        results = pd.DataFrame(rows, columns=["variant", "task", "dev"])
        files.write_text(partial / "results.csv", results.to_csv(index=False, lineterminator="\n"))


def table(scores: Mapping[str, Mapping[str, float]], tasks: Tasks) -> str:
    """Return a line for each baseline, with its score on each task of the mean."""
    lines: list[dict[str, str]] = []
    for name, by_task in scores.items():
        cells = {
            markdown.literal(f"{tasks[task].display_name} ({in_words(tasks[task])})"): markdown.number(
                by_task.get(task)
            )
            for task in main(tasks)
        }
        lines.append({"": UNTRAINED_LABEL if name == UNTRAINED else baseline_label(name), **cells})
    return markdown.lined(lines)
