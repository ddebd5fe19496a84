"""The command `mtbert`: a subcommand is a file here with a function `main`, and a line in COMMANDS.

The file is imported when its subcommand is called and not before, so that `mtbert --help` and what needs no torch start
at once. `main` is typed as typer reads it; its docstring is the subcommand's help.
"""

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

from mtbert import errors

COMMANDS = {  # name, with the file's _ as -, and what `mtbert --help` says of it
    "predict": "Predict with a trained model: sentences, or a file of them.",
    "export": "Write a trained model for transformers, sentence-transformers or ONNX.",
    "compare": "Say whether one model predicts better than another, from files of predictions.",
    "grid": "Train what params.yaml lists, several trainings side by side.",
    "pack": "Write trainings to one file, for a machine without DVC.",
    "run-packed": "Train what such a file holds.",
    "unpack": "Take the runs that were made of it, and have DVC record them.",
    "search": "Look for the learning rate of each kind of training, and for one further setting.",
    "tables": "Print the tables of results, and what to do next.",
    "report": "Write the report from the runs that are there; train nothing.",
    "evidence": "Pack what every number of a report comes from, small enough to commit.",
    "track": "Bring finished runs into MLflow that it lacks.",
    "ui": "Open MLflow's pages where the runs are.",
}
ABOUT = """\
Train one BERT for several sentence tasks, compare the ways to do it, and use what was trained.

`make reproduce` trains the variants that params.yaml lists. Then `mtbert predict pals --task sst "What a film!"` asks
one of them. `mtbert COMMAND --help` tells more of each command.

Exit status: 0 done, 1 a fault that is told in one line, 2 a command that was not understood, 130 Ctrl-C.
"""
AS_TYPED: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}


class Lazily(TyperGroup):
    """Knows the names of its commands, and imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The real command in the place of the one that stands for it in the list."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, loaded(str(name)), rest


app = typer.Typer(cls=Lazily, help=ABOUT, no_args_is_help=True, **AS_TYPED)
for _name, _about in COMMANDS.items():
    app.command(_name, help=_about)(lambda: None)


def loaded(name: str) -> Any:
    """The command of that name, its file imported."""
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    alone = typer.Typer(**AS_TYPED)
    alone.command(name)(module.main)
    return typer.main.get_command(alone)


def main() -> None:
    """Run the command line; errors of ours are told in one plain line, with exit status 1."""
    with errors.shown_plainly():
        app(prog_name="mtbert")
