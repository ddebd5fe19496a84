"""Run the graphs of an export with onnxruntime: texts to sequences, sequences to outputs, outputs to answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mtbert.data import tokens
from mtbert.data.tokens import TokenSequence
from mtbert.errors import MtbertError
from mtbert.serving import description
from mtbert.serving.description import Description, Form, ServedTask, ServingError

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
LONGEST_SHOWN = 300  # characters of a library's message


class EncodedRow(NamedTuple):
    """A row as a graph reads it.

    Attributes:
        sequences: of a row: one, or two where the texts of a pair are encoded apart.
        is_cut: whether the row was longer than the model's longest sequence, and lost its end.
    """

    sequences: tuple[TokenSequence, ...]
    is_cut: bool

    @property
    def length(self) -> int:
        """Tokens of its longest sequence."""
        return max(len(sequence.ids) for sequence in self.sequences)


class Graphs:
    """The graphs of an export's folder, each with its own weights in memory.

    Attributes:
        description: what they compute.
    """

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """Load them.

        Args:
            folder: what `mtbert export --format onnx` wrote.
            threads: that compute a batch.

        Raises:
            ServingError, DataError, EncoderError: a file is missing, or is not as it was exported.
        """
        self.description: Description = description.read(folder)
        description.check(folder, self.description)
        self._tokenize = tokens.wordpieces(folder)
        self._special_tokens = tokens.special_tokens(folder)
        graphs = dict.fromkeys(task.graph for task in self.description.tasks.values())
        self._sessions = {graph: _session(folder, graph, threads) for graph in graphs}
        for name, task in self.description.tasks.items():
            if name not in (outputs := [output.name for output in self._sessions[task.graph].get_outputs()]):
                raise ServingError(f"{folder / task.graph}.onnx has no output {name}, only {', '.join(outputs)}")

    def encode(self, form: Form, rows: Sequence[Sequence[str]]) -> list[EncodedRow]:
        """Return rows of one or two texts as the graphs of a form read them."""
        columns = [self._tokenize([*texts]) for texts in zip(*rows, strict=True)]
        return [self._framed(form, texts) for texts in zip(*columns, strict=True)]

    def _framed(self, form: Form, texts: Sequence[list[int]]) -> EncodedRow:
        """Put special tokens around the word pieces of a row's texts, which are cut where they are too long."""
        special, longest = self._special_tokens, self.description.longest
        is_joined = form == "pair"
        if is_joined:
            first, second = texts
            sequences = (special.frame_pair(first, second, longest),)
        else:
            sequences = tuple(special.frame(ids, longest) for ids in texts)
        counts = [len(ids) for ids in texts]
        count = sum(counts) if is_joined else max(counts)
        return EncodedRow(sequences, count + special.count(is_joined) > longest)

    def run(self, graph: str, tasks: Sequence[str], rows: Sequence[EncodedRow]) -> dict[str, np.ndarray]:
        """Return the outputs of some tasks of a graph, by task: float32 [rows, outputs].

        Raises:
            MtbertError: one is NaN or infinite.
        """
        from onnxruntime import RunOptions  # type: ignore[attr-defined]

        session, options = self._sessions[graph], RunOptions()
        options.only_execute_path_to_fetches = True  # else it computes all tasks
        arrays = self._arrays(rows)
        inputs = {each.name: arrays[each.name] for each in session.get_inputs()}
        outputs: Any = session.run([*tasks], inputs, options)
        for task, output in zip(tasks, outputs, strict=True):
            if not np.isfinite(output).all():
                raise MtbertError(f"{graph}.onnx computed a number of {task} that is not finite")
        return dict(zip(tasks, outputs, strict=True))

    def _arrays(self, rows: Sequence[EncodedRow]) -> dict[str, np.ndarray]:
        """Return a graph's inputs, int64 [sequences, tokens]: all first sequences, then all second ones."""
        sequences = [sequence for column in zip(*(row.sequences for row in rows), strict=True) for sequence in column]
        size = (len(sequences), max(row.length for row in rows))
        ids = np.full(size, self._special_tokens.padding, np.int64)
        mask, types = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for number, sequence in enumerate(sequences):
            end = len(sequence.ids)
            ids[number, :end], mask[number, :end], types[number, sequence.second : end] = sequence.ids, 1, 1
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}


def _session(folder: Path, graph: str, threads: int) -> "InferenceSession":
    """Load a graph, whose digest was checked."""
    from onnxruntime import InferenceSession, SessionOptions  # type: ignore[attr-defined]

    options = SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_cpu_mem_arena = False  # which would keep the memory of the largest batch
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads leave the cores to others
    options.log_severity_level = 3
    try:
        session = InferenceSession(folder / f"{graph}.onnx", options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common base
        message = " ".join(str(error).split())[:LONGEST_SHOWN]
        raise ServingError(f"onnxruntime cannot load {folder / graph}.onnx: {message}") from None
    if unknown := {each.name for each in session.get_inputs()} - KNOWN_INPUTS:
        raise ServingError(f"{folder / graph}.onnx has inputs that are not known: {', '.join(sorted(unknown))}")
    return session


def answers(task: ServedTask, outputs: np.ndarray) -> list[dict[str, Any]]:
    """Return the answer of a task to each row as plain values; outputs [rows, size].

    A score comes with its range; a class, or each label of a set, as its label and name, with the probability of each
    label.
    """
    numbers = outputs.astype(np.float64)
    if task.kind == "score":
        return [{"score": score, "lowest": task.lowest, "highest": task.highest} for score in numbers[:, 0].tolist()]
    if task.kind == "sets":
        return [_answer_of_sets(task, row) for row in _sigmoid(numbers)]
    yes = _sigmoid(numbers)
    probabilities = np.hstack([1 - yes, yes]) if task.kind == "binary" else _softmax(numbers)
    listed = []
    for row, number in zip(probabilities.tolist(), probabilities.argmax(axis=1).tolist(), strict=True):
        label, name = task.labels[number], task.names[number]
        listed.append({"label": label, "name": name, "probabilities": dict(zip(task.labels, row, strict=True))})
    return listed


def _answer_of_sets(task: ServedTask, probabilities: np.ndarray) -> dict[str, Any]:
    """Return the labels that a row has, from the probability of each [labels]."""
    members = np.flatnonzero(probabilities >= task.thresholds).tolist()
    return {
        "labels": [task.labels[number] for number in members],
        "names": [task.names[number] for number in members],
        "probabilities": dict(zip(task.labels, probabilities.tolist(), strict=True)),
    }


def _sigmoid(logits: np.ndarray) -> np.ndarray:
    """Return the probability of each logit's class, or label, by itself."""
    exponents = np.exp(-np.abs(logits))
    certain = 1 / (1 + exponents)
    return np.where(logits >= 0, certain, exponents / (1 + exponents))


def _softmax(logits: np.ndarray) -> np.ndarray:
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)
