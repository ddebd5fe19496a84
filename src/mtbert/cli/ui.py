"""`mtbert ui`."""

from typing import Annotated

import typer


def main(port: Annotated[int, typer.Argument(min=1, max=65535, help="Where to serve.")] = 5000) -> None:
    """Open MLflow's pages where the runs are, and print their addresses; Ctrl-C ends it."""
    from mtbert.tracking import ui

    ui.serve([str(port)])
