"""`mtbert unpack`."""

from pathlib import Path
from typing import Annotated

import typer


def main(archive: Annotated[Path, typer.Argument(help="An archive of runs, made from a pack.")]) -> None:
    """Check runs that were made elsewhere, place them, and record them in DVC: `dvc repro` trains none of them."""
    from mtbert.scale import packs

    packs.unpack(archive)
