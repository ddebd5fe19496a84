"""What the check of the corpora found."""

from mtbert.report import markdown
from mtbert.report.study import Study


def render(study: Study) -> str:
    """Return what the check of the data found; empty where it is not known."""
    report = study.results.data.report
    files = [
        {"file": markdown.literal(name), "labels": "yes" if counts.labelled else "withheld"}
        | {"read": f"{counts.read:,}", "kept": f"{counts.kept:,}", "refused": f"{counts.refused:,}"}
        | {"duplicates": f"{counts.duplicates.folded:,}", "conflicts": f"{counts.conflicts:,}"}
        for name, counts in (report.files if report else {}).items()
    ]
    about = "Duplicates: rows whose sentences an earlier row has; conflicts: such rows with different labels."
    return f"{about}\n\n{markdown.lined(files, 2)}" if files else ""
