"""How fast an exported ONNX graph is beside torch on the CPU: `python benchmarks/graphs.py pals --task sts`.

Both predict the same batches of random word pieces with the same number of threads, by turns; the median of several
runs is told, and by how much their outputs differ at most.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import record
import torch

from mtbert.command import plainly
from mtbert.errors import MtbertError
from mtbert.inference import exporting, loading

SHAPES = ((1, 16), (32, 32), (32, 128))  # batch and tokens
BY_TURNS = 9


def inputs(shape: tuple[int, int], pieces: int) -> dict[str, np.ndarray]:
    """Random ids without padding, each [batch, tokens]."""
    ids = np.random.default_rng(0).integers(0, pieces, shape)
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def seconds(run: Callable[[], Any]) -> float:
    """Of one run."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def measure(model: loading.Model, task: str, threads: int) -> list[dict[str, Any]]:
    """A line for each shape."""
    import onnxruntime

    torch.set_num_threads(threads)
    options: Any = onnxruntime.SessionOptions()  # type: ignore[attr-defined]
    options.intra_op_num_threads = threads
    with tempfile.TemporaryDirectory() as place:
        exporting.export(model, "onnx", Path(place) / "out")
        session = onnxruntime.InferenceSession(str(Path(place) / "out" / f"{task}.onnx"), options)
    network, asked = exporting.rebuilt(model), {"task": task, "sequences": exporting.sequences(model, task)}
    lines = []
    for batch, length in SHAPES:
        given = inputs((batch, min(length, model.longest)), model.network.encoder.bert.config.vocab_size)
        tensors = {name: torch.from_numpy(value) for name, value in given.items()}

        def ours(tensors: dict[str, torch.Tensor] = tensors) -> np.ndarray:
            with torch.inference_mode():
                return np.asarray(network(**tensors, **asked).logits)

        def graphs(given: dict[str, np.ndarray] = given) -> np.ndarray:
            return np.asarray(session.run(None, given)[0])

        apart = float(np.abs(ours() - graphs()).max())  # which warms both up
        times = [(seconds(ours), seconds(graphs)) for _ in range(BY_TURNS)]
        torchs, onnx = (median(one[side] for one in times) for side in (0, 1))
        lines.append(
            {
                "batch": batch, "tokens": min(length, model.longest), "torch, ms": round(1000 * torchs, 2),
                "ONNX, ms": round(1000 * onnx, 2), "times as fast": round(torchs / onnx, 2),
                "outputs apart": float(f"{apart:.1e}"),
            }
        )  # fmt: skip
    return lines


def main() -> None:
    """Measure, print, and record where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a variant's name, or a run's folder")
    parser.add_argument("--task", default="sts")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build", type=Path, default=Path("build"))
    parser.add_argument("--record", type=Path, help="keep the results in results.json and README.md of this folder")
    arguments = parser.parse_args()
    model = loading.load(arguments.model, None, arguments.build, "cpu")
    if not isinstance(model, loading.Model) or exporting.sequences(model, arguments.task) > 1:
        raise MtbertError(f"{arguments.model}: choose a single model, and a task whose examples are one sequence")
    rows = measure(model, arguments.task, arguments.threads)
    print(record.table(rows))
    if arguments.record:
        record.keep(arguments.record, "graphs", {"rows": rows}, {"A batch through torch, and through its graph:": rows})


if __name__ == "__main__":
    with plainly():
        main()
