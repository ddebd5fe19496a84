"""Small exports that nobody trained, whose graphs compute what a test can foresee, and real servers of them."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from mtbert import files
from mtbert.provenance import seals
from mtbert.serving import description
from mtbert.serving.description import Description, ServedTask

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "good", "bad"]
LONGEST = 8
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PATIENCE = 60.0  # seconds: a machine may have much else to do


def export(folder: Path, slow: float = 0.0) -> Path:
    """An export with the tasks `tone` and `spam` of texts, `same` of pairs in one sequence, `near` of pairs apart.

    The graphs know the sum of a sequence's ids and of its types. `slow` makes them take about so many seconds a batch.
    """
    folder.mkdir()
    _tokenizer().save(str(folder / "tokenizer.json"))
    _graph(folder / "texts.onnx", {"tone": [[0.1], [0.0], [-0.1]], "spam": [[-1.0]]}, slow)
    _graph(folder / "pairs.onnx", {"same": [[1.0]]}, slow)
    _graph(folder / "pairs-apart.onnx", {"near": [[1.0]]}, slow)
    tasks = {
        "tone": ServedTask(graph="texts", form="text", kind="classes", labels=["x", "y", "z"], names=["X", "Y", "Z"]),
        "spam": ServedTask(graph="texts", form="text", kind="binary", labels=["no", "yes"], names=["no", "yes"]),
        "same": ServedTask(graph="pairs", form="pair", kind="score", lowest=0.0, highest=99.0),
        "near": ServedTask(graph="pairs-apart", form="pair-apart", kind="score", lowest=0.0, highest=99.0),
    }
    about = Description(variant="made", seed=3, longest=LONGEST, tasks=tasks)
    files.write_json(folder / description.FILE, about.model_dump())
    seals.seal(folder)
    return folder


def _tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def _graph(file: Path, weights: dict[str, list[list[float]]], slow: float) -> None:
    """Write a graph of weights times the sum of a row's ids, and 100 for each token of type 1; of pairs, both rows'."""
    nodes = [
        helper.make_node("Mul", ["input_ids", "attention_mask"], ["seen"]),
        helper.make_node("Mul", ["token_type_ids", "hundred"], ["hundreds"]),
        helper.make_node("Add", ["seen", "hundreds"], ["both"]),
        helper.make_node("ReduceSum", ["both", "last"], ["sums"], keepdims=1),
        helper.make_node("Cast", ["sums"], ["real"], to=TensorProto.FLOAT),
    ]
    constants = {"hundred": np.array(100, np.int64), "last": np.array([1], np.int64)}
    source = "real"
    if "apart" in file.stem:
        constants |= {"halves": np.array([2, -1], np.int64), "first": np.array([0], np.int64)}
        nodes += [
            helper.make_node("Reshape", ["real", "halves"], ["stacked"]),
            helper.make_node("ReduceSum", ["stacked", "first"], ["flat"], keepdims=0),
            helper.make_node("Unsqueeze", ["flat", "last"], ["paired"]),
        ]
        source = "paired"
    if slow:
        constants |= {"square": np.full((1000, 1000), 0.001, np.float32), "zero": np.array(0.0, np.float32)}
        products = [f"product{number}" for number in range(int(50 * slow))]  # each takes some 20 ms
        nodes += [
            helper.make_node("ReduceSum", [source], ["sum"], keepdims=0),
            helper.make_node("Add", ["square", "sum"], ["moved"]),  # so that it is not computed once for all
            *(
                helper.make_node("MatMul", [before, "square"], [product])
                for before, product in zip(["moved", *products], products, strict=False)
            ),
            helper.make_node("ReduceSum", [products[-1]], ["work"], keepdims=0),
            helper.make_node("Mul", ["work", "zero"], ["nothing"]),
            helper.make_node("Add", [source, "nothing"], ["slowly"]),
        ]
        source = "slowly"
    outputs = []
    for name, rows in weights.items():
        constants[f"of_{name}"] = np.array(rows, np.float32).T
        nodes.append(helper.make_node("MatMul", [source, f"of_{name}"], [name]))
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", len(rows)]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "tokens"]) for name in INPUTS]
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, file.stem, inputs, outputs, tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, file)


# `mtbert`, where nothing large is installed
MTBERT = """
import sys
for name in ("torch", "transformers", "pandas", "scipy", "sklearn", "mlflow", "dvc", "onnx"):
    sys.modules[name] = None
from mtbert import cli
cli.main()
"""


class Server:
    """A process of `mtbert serve`."""

    def __init__(self, folder: Path, *options: str, stderr: Any = subprocess.DEVNULL) -> None:
        """Start it, and wait until it is ready."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        command = [sys.executable, "-c", MTBERT, "serve", str(folder), "--port", str(self.port), *options]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True, start_new_session=True
        )
        end = time.monotonic() + PATIENCE
        while not self._is_ready():
            assert self.process.poll() is None, self.process.stdout
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        try:
            return self.get("/ready").status == 200
        except OSError:
            return False

    def get(self, path: str) -> "Reply":
        return self._asked("GET", path, None)

    def predict(self, **content: Any) -> "Reply":
        return self.post(json.dumps(content).encode())

    def post(self, body: bytes) -> "Reply":
        return self._asked("POST", "/predict", body)

    def _asked(self, method: str, path: str, body: bytes | None) -> "Reply":
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body)
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()

    def end(self) -> int:
        """Send SIGTERM, and return the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        assert self.process.stdout
        self.process.stdout.close()
        return status

    def kill(self) -> None:
        """End it and its workers, however it fares."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


class Reply:
    """A server's answer."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    def json(self) -> Any:
        return json.loads(self.body)
