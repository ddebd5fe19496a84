"""Load exports as their cards say, in a process without mtbert, and write what they compute.

Arguments: the form, a JSON file of what to compute, the JSON file to write, and an export's folder, or two. To compute
are `texts`, lists by task: one list of sentences, or the first and the second sentences of pairs, and whether these are
encoded apart; and `batches`, numbers of rows that are computed together (0: all).

What is written for one folder: `outputs`, for each of `batches` rows of numbers by task: the logits, or the embeddings
of the first sentences; and `megabytes`, by which the process grew by loading and computing, null where the system does
not say. For two: for each of `batches` the milliseconds that a row takes in the first export and in the second: the
median over batches that both compute in turn, as the mean over tasks.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

sys.modules["mtbert"] = None  # type: ignore[assignment]  # as where it is not installed

Columns = list[list[str]]  # one list of sentences, or the first and the second ones of pairs
Rows = list[list[float]]  # a row of numbers for each text or pair
Texts = dict[str, tuple[Columns, bool]]  # by task: the columns, and whether they are encoded apart
Predict = Callable[[str, Columns, bool], Rows]  # from a task, columns, and whether they are encoded apart
STATUS = Path("/proc/self/status")  # of Linux
TIMED = 20  # batches of each task at most
WARM = 2  # batches that are computed first


def hf(folder: str) -> Predict:
    """Return what computes logits by transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)

    def predict(task: str, columns: Columns, apart: bool) -> Rows:
        inputs = tokenizer(*_stacked(columns, apart), padding=True, truncation=True, return_tensors="pt")
        options: dict[str, Any] = {"sequences": 2} if apart else {}
        with torch.no_grad():
            return model(**inputs, task=task, **options).logits.float().tolist()

    return predict


def sentence_transformers(folder: str) -> Predict:
    """Return what computes the embeddings of the first sentences by sentence-transformers."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, trust_remote_code=True, device="cpu")
    return lambda task, columns, apart: model.encode(columns[0], task=task).tolist()


def onnx(folder: str) -> Predict:
    """Return what computes logits by onnxruntime."""
    from onnxruntime import InferenceSession
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    sessions = {}
    for graph in Path(folder).glob("*.onnx"):
        session = InferenceSession(graph)
        sessions |= {output.name: session for output in session.get_outputs()}

    def predict(task: str, columns: Columns, apart: bool) -> Rows:
        inputs = tokenizer(*_stacked(columns, apart), padding=True, truncation=True, return_tensors="np")
        return sessions[task].run([task], dict(inputs))[0].tolist()

    return predict


def _stacked(columns: Columns, apart: bool) -> Columns:
    """Return the columns; of pairs that are encoded apart, all first sentences and then all second ones as one."""
    return [[*columns[0], *columns[1]]] if apart else columns


def in_batches(predict: Predict, texts: Texts, size: int) -> dict[str, Rows]:
    """Return the rows of each task, so many of which are computed together; all where the number is 0."""
    outputs: dict[str, Rows] = {}
    for task, (columns, apart) in texts.items():
        count = len(columns[0])
        starts = range(0, count, size or count)
        outputs[task] = [row for start in starts for row in predict(task, _part(columns, start, size or count), apart)]
    return outputs


def _part(columns: Columns, start: int, size: int) -> Columns:
    """Return so many rows of columns, from one on."""
    return [column[start : start + size] for column in columns]


def milliseconds(exports: list[Predict], texts: Texts, size: int) -> list[float]:
    """Return what a row takes in each export, so many of which are computed together, as the mean over tasks."""
    medians: list[list[float]] = []
    for task, (columns, apart) in texts.items():
        count = min(size, len(columns[0]))
        starts = [*range(0, len(columns[0]) - count + 1, count)][:TIMED]
        times: list[list[float]] = [[] for _ in exports]
        for start in [*starts[:WARM], *starts]:
            for predict, of_export in zip(exports, times, strict=True):
                began = time.perf_counter()
                predict(task, _part(columns, start, count), apart)
                of_export.append(1000 * (time.perf_counter() - began) / count)
        medians.append([median(of_export[len(starts[:WARM]) :]) for of_export in times])
    return [fmean(of_export) for of_export in zip(*medians, strict=True)]


def _compute(form: str, folder: str, request: dict[str, Any]) -> dict[str, Any]:
    """Return the outputs of an export, and the memory that it takes."""
    __import__(PACKAGES[form])  # whose own memory is not the export's
    before = _megabytes()
    predict = FORMS[form](folder)
    outputs = [in_batches(predict, request["texts"], size) for size in request["batches"]]
    after = _megabytes()
    return {"outputs": outputs, "megabytes": None if before is None or after is None else after - before}


def _megabytes() -> float | None:
    """Return the memory of this process that is in use, in MB of 10^6 bytes; None where the system does not say."""
    if not STATUS.is_file():
        return None
    fields = dict(line.split(":", 1) for line in STATUS.read_text(encoding="utf-8").splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024 / 1e6


FORMS = {"hf": hf, "sentence-transformers": sentence_transformers, "onnx": onnx}
PACKAGES = {"hf": "transformers", "sentence-transformers": "sentence_transformers", "onnx": "onnxruntime"}

if __name__ == "__main__":
    form, request_file, out, *folders = sys.argv[1:]
    request = json.loads(Path(request_file).read_text(encoding="utf-8"))
    if len(folders) == 1:
        content: Any = _compute(form, folders[0], request)
    else:
        exports = [FORMS[form](folder) for folder in folders]
        content = [milliseconds(exports, request["texts"], size) for size in request["batches"]]
    Path(out).write_text(json.dumps(content), encoding="utf-8")
