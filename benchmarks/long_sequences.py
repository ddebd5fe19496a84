"""Long sequences through ModernBERT: `python benchmarks/long_sequences.py small 2048 4`, shape, tokens and rows.

A forward and a backward pass of the encoder alone, in bf16's autocast on one thread of a CPU: with local attention in
blocks, as a mask over all tokens, and transformers' own. Of two passes behind a warm-up the faster one counts.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import clock
import torch
from torch import Tensor, nn
from transformers import AutoModel, ModernBertConfig

from mtbert.models.encoder import architectures, modernbert
from mtbert.models.encoder.encoder import Encoder
from mtbert.pretrained import loading

SHAPES = {"base": (22, 768, 12, 1152), "small": (11, 384, 6, 576)}  # layers, width, heads, feed-forward
PASSES = 2
CPU = torch.device("cpu")


def models(shape: str) -> tuple[nn.Module, Encoder]:
    """Return transformers' model with random weights, and ours with the same."""
    layers, width, heads, feed_forward = SHAPES[shape]
    config = ModernBertConfig(
        num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads, intermediate_size=feed_forward
    )
    torch.manual_seed(1)
    theirs = AutoModel.from_config(config).train()
    loading.silence()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return theirs, Encoder(architectures.read(Path(folder))).train()


def measure(name: str, forward: Callable[[], Tensor], encoder: nn.Module) -> None:
    """Print seconds of the processor, and the memory above what was held before, of a forward and a backward pass."""

    def run() -> None:
        with torch.autocast("cpu", torch.bfloat16):
            hidden = forward()
        hidden.float().pow(2).mean().backward()
        encoder.zero_grad(set_to_none=True)

    run()
    seconds, peaks = list[float](), list[float]()
    for _ in range(PASSES):
        started = time.process_time()
        peaks.append(clock.peak_memory(run, CPU) or float("nan"))
        seconds.append(time.process_time() - started)
    print(f"{name:<24} {min(seconds):7.2f} s {max(peaks):7.0f} MiB", flush=True)


def main(shape: str, tokens: int, rows: int) -> None:
    """Measure the three, one after the other."""
    torch.set_num_threads(1)
    theirs, ours = models(shape)
    ids = torch.randint(5, 50_000, (rows, tokens))
    mask = torch.ones_like(ids)

    def forward() -> Tensor:
        return ours(ours.words(ids), torch.zeros_like(ids), mask)

    measure("local in blocks", forward, ours)
    in_blocks = modernbert.in_blocks
    modernbert.in_blocks = lambda tokens, reach: False  # for this one measurement
    measure("local as a mask", forward, ours)
    modernbert.in_blocks = in_blocks
    measure("transformers", lambda: theirs(input_ids=ids, attention_mask=mask).last_hidden_state, theirs)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
