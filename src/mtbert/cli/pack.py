"""`mtbert pack`."""

from pathlib import Path
from typing import Annotated, Literal

import typer


def main(
    out: Annotated[Path, typer.Argument(help="The pack to write, a tar file.")],
    variants: Annotated[
        str | None, typer.Option(help="Set `variants` in params.yaml first: 'pals slap-smart', or all.")
    ] = None,
    seeds: Annotated[str | None, typer.Option(help="Set `seeds` in params.yaml first: '1 2 3'.")] = None,
    weights: Annotated[
        Literal["fp32", "fp16"] | None,
        typer.Option(help="Set `encoder.weights` first: fp16 rounds the starting weights, half the size."),
    ] = None,
) -> None:
    """Write every training that is not up to date to one file, for a machine without DVC: docs/machines.md."""
    from mtbert.scale import packs

    numbers = (seeds or "").replace(",", " ").split()
    if wrong := [number for number in numbers if not number.isdecimal()]:
        raise typer.BadParameter(f"{wrong[0]!r} is not a whole number of 0 or more", param_hint="--seeds")
    packs.pack(out, variants, [int(number) for number in numbers], weights)
