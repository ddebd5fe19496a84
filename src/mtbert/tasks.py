"""The table of tasks: the name of each corpus, its files, the meaning of its labels, and its metric.

A new task is one row here and, if its files have a format of their own, one reader in `mtbert.data.readers`.
"""

from dataclasses import dataclass, field
from typing import Literal

Split = Literal["train", "dev", "test"]
SPLITS: tuple[Split, ...] = ("train", "dev", "test")


@dataclass(frozen=True)
class Task:
    """One corpus and the task on it.

    Attributes:
        name: its name in params.yaml and in every file name.
        title: its name in tables.
        kind: `classes` (label 0 to classes - 1), `binary` (0 or 1) or `score` (a real number in `lowest` to `highest`).
        classes: number of classes; 1 for a score.
        metric: `accuracy`, or `pearson` for scores.
        reader: which reader of `mtbert.data.readers` understands the files.
        files: file of each split, below the data directory.
        sentences: columns (or JSON keys) of the one or two sentences.
        label: column (or JSON key) of the label.
        labels: for labels that are words, the class of each; empty where labels are numbers.
        submission: column title of the course's submission file; empty where the course has none.
    """

    name: str
    title: str
    kind: Literal["classes", "binary", "score"]
    classes: int
    metric: Literal["accuracy", "pearson"]
    reader: str
    files: dict[Split, str]
    sentences: tuple[str, ...]
    label: str
    labels: dict[str, int] = field(default_factory=dict)
    submission: str = ""
    lowest: float = 0.0
    highest: float = 0.0

    @property
    def is_pair(self) -> bool:
        """Whether an example has two sentences."""
        return len(self.sentences) == 2


def _course(stem: str) -> dict[Split, str]:
    return {
        "train": f"cs224n/{stem}-train.csv",
        "dev": f"cs224n/{stem}-dev.csv",
        "test": f"cs224n/{stem}-test-student.csv",
    }


ONE, TWO = ("sentence",), ("sentence1", "sentence2")
ENTAILMENT = {"contradiction": 0, "neutral": 1, "entailment": 2}

_ROWS = (
    Task(
        name="sst",
        title="SST-5",
        kind="classes",
        classes=5,
        metric="accuracy",
        reader="course",
        files=_course("ids-sst"),
        sentences=ONE,
        label="sentiment",
        submission="Predicted_Sentiment",
    ),
    Task(
        name="qqp",
        title="QQP",
        kind="binary",
        classes=2,
        metric="accuracy",
        reader="course",
        files=_course("quora"),
        sentences=TWO,
        label="is_duplicate",
        submission="Predicted_Is_Paraphrase",
    ),
    Task(
        name="sts",
        title="STS-B",
        kind="score",
        classes=1,
        metric="pearson",
        reader="course",
        files=_course("sts"),
        sentences=TWO,
        label="similarity",
        submission="Predicted_Similiary",
        lowest=0.0,
        highest=5.0,
    ),
    Task(
        name="cfimdb",
        title="CFIMDB",
        kind="binary",
        classes=2,
        metric="accuracy",
        reader="course",
        files=_course("ids-cfimdb"),
        sentences=ONE,
        label="sentiment",
        submission="Predicted_Sentiment",
    ),
    Task(
        name="snli",
        title="SNLI",
        kind="classes",
        classes=3,
        metric="accuracy",
        reader="nli",
        files={
            "train": "nli/snli_1.0_train.jsonl",
            "dev": "nli/snli_1.0_dev.jsonl",
            "test": "nli/snli_1.0_test.jsonl",
        },
        sentences=TWO,
        label="gold_label",
        labels=ENTAILMENT,
    ),
    Task(
        name="mnli",
        title="MNLI",
        kind="classes",
        classes=3,
        metric="accuracy",
        reader="nli",
        files={"train": "nli/multinli_1.0_train.jsonl", "dev": "nli/multinli_1.0_dev_matched.jsonl"},
        sentences=TWO,
        label="gold_label",
        labels=ENTAILMENT,
    ),
)
TASKS: dict[str, Task] = {task.name: task for task in _ROWS}


@dataclass(frozen=True)
class Reuse:
    """A corpus whose training examples serve another corpus's task, with its head and its adapter.

    Attributes:
        name: its name in `training.tasks`, beside the tasks proper.
        corpus: the corpus whose training examples are reused.
        serves: the task that they train.
        labels: maps the corpus's labels to labels of that task; examples with another label are left out.
    """

    name: str
    corpus: str
    serves: str
    labels: dict[int, int]


# "My PAL BERT", model 4: more data for two of its tasks. A contradiction is no paraphrase; neutral says nothing of it.
REUSES: dict[str, Reuse] = {
    reuse.name: reuse
    for reuse in (
        Reuse(name="snli_as_qqp", corpus="snli", serves="qqp", labels={0: 0, 2: 1}),
        Reuse(name="cfimdb_as_sst", corpus="cfimdb", serves="sst", labels={0: 0, 1: 4}),
    )
}


def served(name: str) -> str:
    """Return the task that a phase's entry trains: itself, or the one that a reused corpus serves."""
    return REUSES[name].serves if name in REUSES else name


def corpus(name: str) -> str:
    """Return the corpus that a phase's entry draws its examples from."""
    return REUSES[name].corpus if name in REUSES else name
