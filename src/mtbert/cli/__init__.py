"""The command `mtbert`: each subcommand is a file here with a function `main`, and a line in COMMANDS.

A file is imported only when its subcommand is called, so that `mtbert --help` and commands without torch start at once.
typer reads the types of `main`; its docstring is the subcommand's help.
"""

import contextlib
import importlib
import re
from collections.abc import Iterator
from importlib import metadata
from typing import Any

import typer
from typer.core import TyperGroup

from mtbert import errors

COMMANDS = {  # name (the file's, with - for _) and the text of `mtbert --help`
    "predict": "Predict with a trained model: sentences, or a file of them.",
    "export": "Write a trained model for transformers, sentence-transformers or ONNX.",
    "compare": "Test whether one model predicts better than another, from files of predictions.",
    "grid": "Train what params.yaml lists, several trainings side by side.",
    "pack": "Write trainings to one file, for a machine without DVC.",
    "unpack": "Bring the finished runs back, and record them in DVC.",
    "search": "Search the learning rate of each kind of training, and one further setting.",
    "tables": "Print the tables of results, and what to do next.",
    "report": "Write the report from the finished runs; train nothing.",
    "evidence": "Pack the files that a report's numbers come from, small enough to commit.",
    "track": "Log finished runs that MLflow lacks.",
    "ui": "Open MLflow's pages with the runs.",
}
ABOUT = """\
Train one BERT for several sentence tasks, compare the ways to do it, and use what was trained.

`make reproduce` trains the variants that params.yaml lists. Then `mtbert predict pals --task sst "What a film!"`
predicts with one of them. `mtbert COMMAND --help` describes each command.

Exit status: 0 for success, 1 for an error (one line on standard error), 2 for wrong usage, 130 for Ctrl-C.
"""
AS_TYPED: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}


class Lazily(TyperGroup):
    """A group that knows the names of its commands, and imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Replace the listed placeholder by the real command."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, loaded(str(name)), rest


app = typer.Typer(cls=Lazily, help=ABOUT, no_args_is_help=True, **AS_TYPED)
for _name, _about in COMMANDS.items():
    app.command(_name, help=_about)(lambda: None)


def loaded(name: str) -> Any:
    """Import a command's file and return the command."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    alone = typer.Typer(**AS_TYPED)
    alone.command(name)(module.main)
    return typer.main.get_command(alone)


def main() -> None:
    """Run the command line; our own errors are printed in one plain line, with exit status 1."""
    with errors.shown_plainly(), _missing_packages_told():
        app(prog_name="mtbert")


class MissingPackageError(errors.MtbertError):
    """A package that the command needs and that is not installed."""

    def __init__(self, name: str) -> None:
        super().__init__(f"this command needs the package {name}, which is not installed: `pip install {brings(name)}`")


@contextlib.contextmanager
def _missing_packages_told() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        name = str(error.name).partition(".")[0]
        if name in (__name__.partition(".")[0], "None"):
            raise
        raise MissingPackageError(name) from error


def brings(name: str) -> str:
    """What to install so that a package comes with it: mtbert, or mtbert with the extra that names the package."""
    for requirement in metadata.requires("mtbert") or ():
        needed, _, condition = requirement.partition(";")
        if re.split(r"[^\w.-]", needed)[0].lower() == name.replace("_", "-").lower():
            extra = re.search(r'extra == "(\w+)"', condition)
            return f"'mtbert[{extra[1]}]'" if extra else "mtbert"
    return "mtbert"
