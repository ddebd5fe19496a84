"""A stage script's command line, which the signature of its `main` describes."""

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mtbert import errors


def run(main: Callable[..., None]) -> None:
    """Call `main` with the command line's arguments.

    A parameter is an argument, in order: a Path, a str or an int that is not below 0; one with a default may be left
    out. Wrong usage ends the script with status 2; it prints the usage, as `--help` does, and what is wrong. Errors
    end it as `errors.shown_plainly` describes.
    """
    parameters = inspect.signature(main).parameters.values()
    usage = " ".join(_shown(parameter) for parameter in parameters)
    parser = argparse.ArgumentParser(
        usage=f"%(prog)s {usage}",
        description=main.__globals__["__doc__"],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for parameter in parameters:
        _add(parser, parameter)
    with errors.shown_plainly():
        main(**vars(parser.parse_args()))


def _shown(parameter: inspect.Parameter) -> str:
    name = parameter.name.upper()
    return name if parameter.default is parameter.empty else f"[{name}]"


def _add(parser: argparse.ArgumentParser, parameter: inspect.Parameter) -> None:
    left_out: dict[str, Any] = {} if parameter.default is parameter.empty else {"default": parameter.default}
    parser.add_argument(
        parameter.name,
        metavar=parameter.name.upper(),
        type=KINDS[parameter.annotation],
        nargs="?" if left_out else None,
        **left_out,
    )


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


KINDS: dict[type, Callable[[str], Any]] = {Path: Path, str: str, int: _whole}
