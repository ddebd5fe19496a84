"""Rows a second that a model predicts, beside sentence-transformers: `python benchmarks/predicting.py RUN TASK`.

RUN is a folder such as build/runs/own-shared/1, and the rows are TASK's train in the same build folder, in its order.
sentence-transformers' `encode` embeds the same texts with the weights that the model started from, in fp32, and
predicts nothing. With `--graphs FOLDER`, what `mtbert export VARIANT FOLDER --format onnx` wrote is a contestant, too.
All take turns on the same texts, in one process. Time is the processor's, of one thread.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import mtbert
from mtbert import files, layout
from mtbert.machine.program import report_errors
from mtbert.pretrained import sbert
from mtbert.serving.graphs import Graphs

Texts = Sequence[str]
ROWS = 512  # of a turn
TURNS = 6
BATCH = 32  # rows of a graph, as of a prediction and of `encode`


def contestants(run: Path, task: str, graphs: Path | None) -> dict[str, Callable[[Texts], Any]]:
    """Return what each computes of texts."""
    model = mtbert.load(run)
    embedder = sbert.sentence_model(layout.encoder(layout.build_of(run)), "cpu", model.settings.model.max_tokens)
    found: dict[str, Callable[[Texts], Any]] = {
        "predict": lambda texts: model.predict(texts, task),
        "encode": lambda texts: embedder.encode([*texts], batch_size=BATCH, show_progress_bar=False),
    }
    if graphs:
        exported = Graphs(graphs)
        graph = exported.description.tasks[task].graph

        def onnx(texts: Texts) -> None:
            rows = sorted(exported.encode("text", [[text] for text in texts]), key=lambda row: row.length)
            for start in range(0, len(rows), BATCH):
                exported.run(graph, [task], rows[start : start + BATCH])

        found["onnx"] = onnx
    return found


def main() -> None:
    """Parse the command line, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("task")
    parser.add_argument("--graphs", type=Path, metavar="FOLDER", help="an export of the same variant")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    import record

    file = layout.examples(layout.data(layout.build_of(chosen.run)), chosen.task, "train")
    texts = files.read_parquet(file, ["sentence1"])["sentence1"].tolist()[: ROWS * TURNS]
    computed = contestants(chosen.run, chosen.task, chosen.graphs)
    seconds = dict.fromkeys(computed, 0.0)
    for compute in computed.values():
        compute(texts[:BATCH])
    for start in range(0, len(texts), ROWS):
        for name, compute in computed.items():
            began = time.process_time()
            compute(texts[start : start + ROWS])
            seconds[name] += time.process_time() - began
    rows = [
        {"contestant": name, "rows a CPU second": len(texts) / spent, "over encode": seconds["encode"] / spent}
        for name, spent in seconds.items()
    ]
    print(record.table(rows))


if __name__ == "__main__":
    with report_errors():
        main()
