"""What is said of a model beside what is asked of it, on standard error."""

import sys
from typing import TYPE_CHECKING

from mtbert import layout
from mtbert.errors import DataError
from mtbert.provenance import why
from mtbert.provenance.stale import changes_in_words

if TYPE_CHECKING:
    from mtbert.inference.baseline import Baseline
    from mtbert.inference.model import Model


def print_aside(text: str) -> None:
    """Print what is no result, to standard error."""
    print(text, file=sys.stderr)


def print_changes(model: "Model | Baseline") -> None:
    """Say in what a model's inputs differ from those of now: `dvc repro` would make it again, or does so now."""
    try:
        causes = why.changes_since(model.run)
    except DataError as error:  # what is asked of the model does not need these files
        print_aside(f"note: whether {model.name}, seed {model.seed}, is of the present settings is unknown: {error}")
        return
    if causes:
        print_aside(
            f"note: {model.name}, seed {model.seed}, was trained before these changed: {changes_in_words(causes)}; "
            f"`{layout.remedy(model.run)}` trains it again{why.hint(layout.build_of(model.run), model.run.parent.name)}"
        )
