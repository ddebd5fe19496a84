"""The command line of each stage's script, which its signature describes, and the end of every program.

The scripts do without typer, since a machine that only trains may lack it.
"""

import argparse
import contextlib
import gc
import inspect
import io
import os
import re
import sys
from collections.abc import Callable, Iterator

from mtbert import errors

INSTALL = (
    "in a clone `make setup` installs what all need, `make setup-onnx`, `make setup-serve` and `make setup-cluster` "
    "the rest; elsewhere `pip install 'mtbert[onnx]'` what exports to ONNX need, `mtbert[serve]` what serves them, "
    "`mtbert[train]` what trains and reports"
)
OBJECTS = 10_000  # new ones between two looks of the garbage collector; Python's default is 700
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def run(main: Callable[..., None]) -> None:
    """Call a script's `main` with the command line's arguments; its module's docstring is the help."""
    parser = argparse.ArgumentParser(description=main.__globals__["__doc__"])
    for name, argument in inspect.signature(main).parameters.items():
        default = {} if argument.default is argument.empty else {"nargs": "?", "default": argument.default}
        parser.add_argument(name, type=argument.annotation, **default)
    with report_errors():
        main(**vars(parser.parse_args()))
    sys.exit(0)


@contextlib.contextmanager
def report_errors() -> Iterator[None]:
    """Run a block that is all of a program, and end it with one line for an error of our own or of the system.

    The exit status is 0 for success, 1 for an error, 130 for Ctrl-C. Credentials in that line are masked, and control
    characters are replaced by their codes.

    Python's garbage collector looks through its objects more seldom than by default: torch and transformers make
    hundreds of thousands as they are imported, all of which stay. At the end it does not look at all.
    """
    gc.set_threshold(OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for an encoding that lacks a character
    try:
        try:
            yield
        finally:
            gc.freeze()
            sys.stdout.flush()  # where a disk is full, this tells it
    except BrokenPipeError:  # whoever read the output has enough
        _forget_output()
        sys.exit(1)
    except KeyboardInterrupt:
        print("stopped; no half-written output was left behind", file=sys.stderr)
        sys.exit(130)
    except (errors.MtbertError, OSError, ModuleNotFoundError) as error:
        line = _line_of(error)
        if line is None:
            raise
        _forget_output()
        sys.exit(f"error: {_without_controls(errors.masked(line))}")


def _without_controls(text: str) -> str:
    """Replace each control character, which could steer the terminal, by its code."""
    return CONTROL.sub(lambda character: f"\\x{ord(character[0]):02x}", text)


def _line_of(error: Exception) -> str | None:
    """Return the line for an error; None where the program itself is at fault."""
    if isinstance(error, ModuleNotFoundError):
        name = str(error.name).partition(".")[0]
        if name in ("mtbert", "None"):
            return None
        return f"this command needs the package {name}, which is not installed; {INSTALL}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _forget_output() -> None:
    """Keep Python from writing again, as it ends, what could not be written."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
