"""Command lines that signatures describe: of the command `mtbert`, by typer, and of each stage's script.

The scripts do without typer, since a machine that only trains may lack it.
"""

import argparse
import contextlib
import inspect
import io
import re
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING, Any

from mtbert import errors

if TYPE_CHECKING:
    import typer

STYLE: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"]}


class MissingPackageError(errors.MtbertError):
    """A package that the command needs and that is not installed."""


def run(main: Callable[..., None]) -> None:
    """Call a script's `main` with the command line's arguments; its module's docstring is the help."""
    parser = argparse.ArgumentParser(description=main.__globals__["__doc__"])
    for name, argument in inspect.signature(main).parameters.items():
        default = {} if argument.default is argument.empty else {"nargs": "?", "default": argument.default}
        kind = natural_number if argument.annotation is int else argument.annotation  # argparse shows its name
        parser.add_argument(name, type=kind, **default)
    with plainly():
        main(**vars(parser.parse_args()))
    sys.exit(0)


def natural_number(text: str) -> int:
    """Return a number of digits alone; ValueError for others."""
    if not text.isdecimal():
        raise ValueError(text)
    return int(text)


def start(app: "typer.Typer", name: str | None = None) -> None:
    """Run a command line, and leave the process: status 2 for wrong usage, else as `plainly` says."""
    with plainly():
        app(prog_name=name)


@contextlib.contextmanager
def plainly() -> Iterator[None]:
    """Run a block that is all of a program.

    The exit status is 0 for success, 1 for an error, which is told in one line, 130 for Ctrl-C. What the terminal's
    encoding lacks is written as its code.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with errors.shown_plainly(), _missing_packages_told():
        try:
            yield
        finally:
            sys.stdout.flush()  # where a disk is full, this tells it


@contextlib.contextmanager
def _missing_packages_told() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        name = str(error.name).partition(".")[0]
        if name in ("mtbert", "None"):
            raise
        raise MissingPackageError(
            f"this command needs the package {name}, which is not installed: run `{_brings(name)}`"
        ) from error


def _brings(name: str) -> str:
    """Return the command that installs a package: make's for mtbert itself, or for the extra that names it."""
    for requirement in metadata.requires("mtbert") or ():
        needed, _, condition = requirement.partition(";")
        if re.split(r"[^\w.-]", needed)[0].lower() == name.replace("_", "-").lower():
            extra = re.search(r'extra == "(\w+)"', condition)
            return f"make setup-{extra[1]}" if extra and extra[1] not in ("pipeline", "minilm") else "make setup"
    return "make setup"
