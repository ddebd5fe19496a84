"""What the graphs of an ONNX export compute: `mtbert_tasks.json`, which `mtbert export --format onnx` writes."""

from pathlib import Path
from typing import Literal

from mtbert import files, layout
from mtbert.data import tokens
from mtbert.errors import MtbertError, first_of
from mtbert.settings import Section

FILE = "mtbert_tasks.json"
CARD = "README.md"
EXPORT = "mtbert export VARIANT FOLDER --format onnx"
Form = Literal["text", "pair", "pair-apart"]


class ServingError(MtbertError):
    """A folder cannot be served, or an option of the server does not fit it."""


class ServedTask(Section):
    """One task of an export.

    Attributes:
        graph: the graph that has an output of the task's name; its file is GRAPH.onnx.
        form: what a row of the graph is: a text, a pair in one sequence, or a pair of two sequences.
        kind: what the output is: a logit for each of several classes, the logit of class 1 of two, a score, or a logit
            for each label of which a row has any number (`sets`).
        labels, names: of each class: its label as the data has it, and its name for people; none for a score.
        thresholds: of `sets`, the least probability at which a row has each label.
        lowest, highest: the range of the score.
    """

    graph: str
    form: Form
    kind: Literal["classes", "binary", "score", "sets"]
    labels: list[str] = []
    names: list[str] = []
    thresholds: list[float] = []
    lowest: float = 0.0
    highest: float = 0.0

    @property
    def is_pair(self) -> bool:
        """Whether a row has two texts."""
        return self.form != "text"


class Description(Section):
    """An export.

    Attributes:
        variant, seed: of the trained model.
        longest: most tokens of a sequence; longer ones are cut.
        is_of_sample: whether it was trained on the sample's generated sentences, and knows no others.
        tasks: what it answers, by name.
    """

    variant: str
    seed: int
    longest: int
    is_of_sample: bool = False
    tasks: dict[str, ServedTask]


def read(folder: Path) -> Description:
    """Read an export's description.

    Raises:
        ServingError: the folder has none, or it is not as it was exported. DataError: a file is damaged.
    """
    if not folder.is_dir():
        raise ServingError(f"{folder} is no folder; allowed: a folder that `{EXPORT}` wrote")
    if not (folder / FILE).is_file():
        there = first_of(sorted(file.name for file in folder.iterdir()), 5) or "nothing"
        raise ServingError(f"{folder} has no {FILE} (it holds {there}); `{EXPORT}` writes a folder with it")
    _check(folder, FILE, _digests(folder))
    return files.read_as(Description, folder / FILE, EXPORT)


def check(folder: Path, description: Description) -> None:
    """Compare the files of an export with the digests that it came with, but for README.md, which people change.

    Raises:
        ServingError: a file is missing, or is not as it was exported.
    """
    digests = _digests(folder)
    graphs = [f"{task.graph}.onnx" for task in description.tasks.values()]
    for name in dict.fromkeys((tokens.TOKENIZER, *graphs, *digests)):
        if name != CARD:
            _check(folder, name, digests)


def _digests(folder: Path) -> dict[str, str]:
    return files.read_as(dict[str, str], folder / layout.DIGESTS, EXPORT)


def _check(folder: Path, name: str, digests: dict[str, str]) -> None:
    if name not in digests:
        raise ServingError(f"{folder / layout.DIGESTS} has no digest of {name}; `{EXPORT}` writes the folder again")
    if not (folder / name).is_file():
        raise ServingError(f"{folder / name} is missing; `{EXPORT}` writes the folder again")
    digest = files.sha256(folder / name)
    if digest != digests[name]:
        raise ServingError(
            f"{folder / name} is not as it was exported: its SHA-256 is {digest[:12]}..., {layout.DIGESTS} has "
            f"{digests[name][:12]}...; `{EXPORT}` writes the folder again"
        )
