"""`mtbert unpack`."""

from pathlib import Path
from typing import Annotated

import typer


def main(archive: Annotated[Path, typer.Argument(help="An archive of runs, made from a pack.")]) -> None:
    """Check runs that were made elsewhere, place them, and have DVC record them: `dvc repro` trains none of them."""
    from mtbert.parcels import unpacking

    unpacking.unpack(archive)
