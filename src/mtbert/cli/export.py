"""`mtbert export`."""

from pathlib import Path
from typing import Annotated

import typer

from mtbert import starting


def main(
    model: Annotated[str, typer.Argument(help="A variant's name, a run's folder, or an address of MLflow's.")],
    out: Annotated[Path, typer.Argument(help="The folder to write; it must not exist.")],
    form: Annotated[str, typer.Option("--format", help="hf, sentence-transformers or onnx.")] = "hf",
    task: Annotated[
        str | None, typer.Option(help="hf: a plain BertForSequenceClassification of this task; onnx: its graph alone.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="For a variant's name: the run's seed; else the lowest.")] = None,
    build: Annotated[Path, typer.Option(help="The build directory.")] = Path("build"),
) -> None:
    """Write a trained model in a form that other libraries load, with a model card, ready for `hf upload`."""
    with starting.imports():
        from mtbert.exporting import folders
        from mtbert.using import loading
    trained = loading.load(model, seed, build, "cpu")
    if not isinstance(trained, loading.Model):
        raise folders.ExportError(f"{model} is an ensemble: export its members, {', '.join(trained.members)}")
    folders.export(trained, form, out, task)
    print(f"{out} holds {trained.name}, seed {trained.seed}; its README.md shows how to load it")
