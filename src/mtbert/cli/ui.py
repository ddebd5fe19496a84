"""`mtbert ui`."""

from typing import Annotated

import typer


def main(port: Annotated[int, typer.Argument(min=1, max=65535, help="The port.")] = 5000) -> None:
    """Open MLflow on the runs; Ctrl-C ends it."""
    from mtbert.tracking import ui

    ui.serve(port)
