"""Training steps of the project and of others, side by side in one process: `python benchmarks/steps.py`.

Every pass takes each contestant in turn through its plan of steps. A step's time is the median over passes; a
contestant's is the mean over its steps, which stand for all its batches (see corpus.py).
"""

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import clock
import corpus
import numpy as np
import ours
import peers
import plain
import record
import torch
from corpus import Corpus, Plan, Rule, at_random, by_length, corpora, grouped, plan
from lengths import TASKS
from transformers import CONFIG_MAPPING

from mtbert.command.program import report_errors


@dataclass(frozen=True)
class Shape:
    """An encoder's architecture and shape, and how much of it is timed where nothing else is asked for."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    vocabulary: int
    steps: int
    passes: int
    contestants: tuple[str, ...]
    pals_aim: float
    kind: str = "bert"  # `model_type`

    @property
    def pals(self) -> dict[str, Any]:
        """The project's PALs, narrower where the whole encoder is."""
        return ours.PALS | ({"dim": 12, "heads": 2} if self.width < ours.PALS["dim"] else {})

    def adapter(self, name: str) -> dict[str, Any]:
        """What a contestant of the project has in its encoder."""
        options = {**ours.ADAPTERS, "pals": self.pals}
        return {"name": name, **options[name]} if name in options else {"name": "none"}

    def arithmetic(self, lengths: Sequence[int], adapter: str) -> float:
        """Multiplications and additions of a forward and a backward pass (twice that) over these sequences' tokens.

        Matrix products of the layers alone: 2 (4 w^2 + 2 w f) a token and 4 n w for its attention; of a PAL
        2 (2 w d + 3 d^2) and 4 n d; of two targets' factors or two bottlenecks of width m 2 (4 w m). A gated
        feed-forward has 3 w f; attention by distance, of which there are 2 n, 8 n w more.
        """
        wide, deep, narrow = self.width, self.feed_forward, (adapter == "pals") * self.pals["dim"]
        thin = {"lora": ours.ADAPTERS["lora"]["rank"], "houlsby": ours.ADAPTERS["houlsby"]["size"]}.get(adapter, 0)
        maps = 3 if self.kind == "modernbert" else 2
        token = 2 * (4 * wide**2 + maps * wide * deep + 2 * wide * narrow + 3 * narrow**2 + 4 * wide * thin)
        other = 4 * (wide + narrow) + 8 * wide * (self.kind == "deberta-v2")  # a token with each of its sequence
        return 3 * self.layers * sum(float(n) * token + float(n) ** 2 * other for n in lengths)

    def config(self) -> Any:
        """As transformers knows it; dropout is the architecture's own: 0.1, of ModernBERT 0."""
        made: Any = CONFIG_MAPPING[self.kind]
        return made(
            vocab_size=self.vocabulary,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.feed_forward,
            **FORMS[self.kind],
        )


SPECIAL = {name: corpus.SPECIAL.index(mark) for name, mark in [("pad_token_id", "[PAD]"), ("cls_token_id", "[CLS]"),
           ("bos_token_id", "[CLS]"), ("sep_token_id", "[SEP]"), ("eos_token_id", "[SEP]")]}  # fmt: skip
FORMS: dict[str, dict[str, Any]] = {  # what else config.json states on the hub
    "bert": {},
    "roberta": {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5, **SPECIAL},
    "modernbert": SPECIAL,
    "deberta-v2": {
        "position_buckets": 256, "relative_attention": True, "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
        "norm_rel_ebd": "layer_norm", "position_biased_input": False, "type_vocab_size": 0, "layer_norm_eps": 1e-7,
    },
}  # fmt: skip
FEW = ("plain", *ours.ADAPTERS, "bert-n-pals", "trainer", "trainer-best")
EVERY = (*ours.KINDS, "bert-n-pals", "minbert", "trainer", "trainer-best")
OTHERS = ("plain", "pals", "trainer", "trainer-best")
SHAPES = {
    "minilm": Shape(6, 384, 12, 1536, 30522, 3, 5, EVERY, 1.25),
    "base": Shape(12, 768, 12, 3072, 30522, 1, 3, FEW, 1.15),
    # Each as wide as MiniLM, and in proportion to its base model.
    "roberta": Shape(6, 384, 12, 1536, 50265, 1, 3, OTHERS, 1.25, "roberta"),
    "modernbert": Shape(11, 384, 6, 576, 50368, 1, 3, OTHERS, 1.25, "modernbert"),
    "deberta": Shape(6, 384, 6, 1536, 128100, 1, 3, OTHERS, 1.25, "deberta-v2"),
    "tiny": Shape(2, 24, 2, 48, 200, 1, 2, EVERY, 1.3),  # for the tests
}
SHAPES |= {
    f"tiny-{name}": replace(SHAPES["tiny"], kind=SHAPES[name].kind, contestants=OTHERS)
    for name in ("roberta", "modernbert", "deberta")
}
KNOWN = (*ours.KINDS, *plain.KINDS, *peers.KINDS)
FP32 = (*plain.KINDS, "trainer")
PEERS: dict[str, Rule] = {
    "bert-n-pals": at_random,
    "minbert": at_random,
    "trainer": at_random,
    "trainer-best": grouped,
    "trainer-compiled": grouped,
}
# How many times as long a step of the first should take as one of the second: at least, and at most.
SLOWER: dict[tuple[str, str], float | None] = {
    ("bert-n-pals", "pals"): 10.0,
    ("minbert", "pals"): None,
    ("lora", "plain"): None,
    ("houlsby", "plain"): None,
    ("trainer", "plain"): 3.0,
    ("trainer-best", "plain"): 1.3,
    ("trainer-compiled", "plain"): None,
}
DEARER = {("smart", "plain"): 2.6, ("pcgrad", "interleaved"): 1.3}


@dataclass
class Contestant:
    """Someone who trains: `run` takes it through its plan once; `seconds` has the timed steps' times of each pass."""

    plan: Plan
    run: Callable[[clock.Stamp], None]
    state: clock.OwnState = field(default_factory=clock.OwnState)
    seconds: list[list[float]] = field(default_factory=list)
    memory: float | None = None

    @property
    def timed(self) -> Plan:
        """The steps that are timed: the plan's second half."""
        return self.plan[len(self.plan) // 2 :]

    def times(self) -> np.ndarray:
        """Seconds of each step, the median over passes."""
        return np.median(np.array(self.seconds), axis=0)


@dataclass(frozen=True)
class Bench:
    """What all contestants of one shape share."""

    shape: Shape
    size: int
    encoding: Literal["cross", "bi"]
    precision: Literal["bf16", "fp32"]  # of the project's contestants, and of the Trainer at its best
    device: torch.device
    scratch: Path
    corpora: dict[str, Corpus]

    def enter(self, name: str, steps: int) -> Contestant:
        """A contestant, ready to run."""
        config, bf16 = self.shape.config(), self.precision == "bf16"
        if name in ours.KINDS:
            together = name in ("interleaved", "pcgrad")
            planned = plan(self.corpora, by_length, self.size, steps, together)
            device = self.device.type
            if device == "cuda":  # what a GPU repeats has run twice before it is timed
                planned = [*planned, *planned]
            more = (self.size, device, self.shape.adapter(name), self.encoding, self.precision)
            return Contestant(planned, ours.training(name, planned, self.scratch / "build", *more))
        # Padded to 128 tokens all batches are alike, so one task's stand for all.
        corpora = {"qqp": self.corpora["qqp"]} if name == "bert-n-pals" else self.corpora
        planned = plan(corpora, PEERS[name], self.size, steps)
        more = (name, planned, corpora, config)
        if name in plain.KINDS:
            run = plain.training(*more, self.shape.pals, self.device, self.scratch / "plain")
        else:
            run = peers.training(*more, self.device, self.scratch / "trainer", bf16)
        return Contestant(planned, clock.by_updates(run))

    def row(self, name: str, contestant: Contestant, peaks: Mapping[str, float]) -> dict[str, Any]:
        """A contestant's line in the table."""
        seconds, steps = contestant.times(), contestant.timed
        tasks = {
            f"{task} s": fmean(s for s, step in zip(seconds, steps, strict=True) if task in step)
            for task in TASKS
            if any(len(step) == 1 and task in step for step in steps)
        }
        picked = [(task, pick) for step in steps for task, picks in step.items() for pick in picks]
        lengths = [tokens for task, pick in picked for tokens in self.corpora[task].sequences[pick]]
        precision = "fp32" if name in FP32 else self.precision
        adapter = "pals" if name in plain.KINDS else name
        done = None if name == "smart" else self.shape.arithmetic(lengths, adapter) / seconds.sum()
        return {
            "contestant": name,
            "precision": precision,
            "s a step": float(seconds.mean()),
            **{f"{task} s": tasks.get(f"{task} s") for task in TASKS},
            "examples/s": len(picked) / seconds.sum(),
            "tokens/s": sum(lengths) / seconds.sum(),
            "of the peak": None if done is None else f"{100 * done / peaks[precision]:.0f} %",
            "memory MiB": contestant.memory,
        }


def measure(contestants: Mapping[str, Contestant], passes: int, device: torch.device, now: clock.Now) -> None:
    """Everyone in turn, pass after pass. Memory is that of the first, which makes everyone's optimiser."""
    for number in range(passes):
        for name, contestant in contestants.items():

            def once(name: str = name, contestant: Contestant = contestant) -> None:
                seconds = clock.steps(contestant.run, device, now)
                assert len(seconds) == len(contestant.plan) - 1, f"{name} made another number of updates"
                contestant.seconds.append(seconds[-len(contestant.timed) :])

            with contestant.state.restored():
                if number:
                    once()
                else:
                    contestant.memory = clock.peak_memory(once, device)
            print(
                f"  pass {number + 1} of {passes}: {name:16} {fmean(contestant.seconds[-1]):8.3f} s a step", flush=True
            )


def ratios(seconds: Mapping[str, float], pals_aim: float) -> list[dict[str, Any]]:
    """How many times as long one contestant's step takes as another's, beside what is aimed at."""
    dearer = DEARER | {("pals", "plain"): pals_aim}
    rows = []
    for (first, second), aim in [*SLOWER.items(), *dearer.items()]:
        if {first, second} <= seconds.keys():
            ratio, most = seconds[first] / seconds[second], (first, second) in dearer
            met = None if aim is None else "yes" if (ratio <= aim if most else ratio >= aim) else "no"
            aimed = None if aim is None else f"{'<=' if most else '>='} {aim:g}"
            rows.append({"step of": first, "over": second, "ratio": ratio, "aim": aimed, "met": met})
    return rows


def bench(shape: str, arguments: argparse.Namespace, scratch: Path) -> None:
    """All contestants of one shape: measure, print, keep."""
    chosen, device = SHAPES[shape], ours.device_of(arguments.device)
    names = [
        name for name in arguments.only or chosen.contestants if arguments.encoding == "cross" or name in ours.KINDS
    ]
    steps, passes = arguments.steps or chosen.steps, arguments.passes or chosen.passes
    print(f"{shape}: {', '.join(names)}", flush=True)
    made = corpora(arguments.batch, chosen.vocabulary, arguments.encoding)
    ours.write_build(scratch / "build", chosen.config(), made)
    precision = ours.precision_on(arguments.precision, device)
    entries = Bench(chosen, arguments.batch, arguments.encoding, precision, device, scratch, made)
    contestants = {name: entries.enter(name, steps) for name in names}
    now = time.process_time if arguments.busy else time.perf_counter
    kinds = {"fp32": torch.float32}
    if ours.precision_on("auto", device) == "bf16":  # emulated, a product takes ten seconds
        kinds["bf16"] = torch.bfloat16
    before = {name: clock.matmul_peak(device, kind, now) for name, kind in kinds.items()}
    measure(contestants, passes, device, now)
    peaks = {name: max(before[name], clock.matmul_peak(device, kind, now)) for name, kind in kinds.items()}
    rows = [entries.row(name, contestant, peaks) for name, contestant in contestants.items()]
    compared = ratios({row["contestant"]: row["s a step"] for row in rows}, chosen.pals_aim)
    peak = [{"precision": name, "matrix product GFLOP/s": value / 1e9} for name, value in peaks.items()]
    print(*(f"\n{record.table(part)}" for part in (rows, compared, peak)), sep="\n", flush=True)
    if arguments.record:
        settings = {
            "batch": arguments.batch,
            "steps a task": steps,
            "passes": passes,
            "encoding": arguments.encoding,
            "busy": arguments.busy,
        }
        content = {
            "settings": settings | {"device": device.type},
            "contestants": rows,
            "ratios": compared,
            "peak": peak,
        }
        titles = {"Steps:": rows, "Ratios:": compared, "The machine's peak:": peak}
        part = f"steps-{shape}" + "-fp32" * (arguments.precision == "fp32") + "-busy" * arguments.busy
        part += f"-{device.type}" * (device.type != "cpu")
        record.keep(arguments.record, part, content, titles)


def main() -> None:
    """Read the arguments, go through the shapes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--shape",
        nargs="+",
        choices=list(SHAPES),
        default=["minilm", "base"],
        metavar="NAME",
        help=f"of {', '.join(SHAPES)}",
    )
    parser.add_argument("--steps", type=int, help="steps of each task in a pass")
    parser.add_argument("--passes", type=int)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument(
        "--encoding", choices=["cross", "bi"], default="cross", help="bi: the project's own steps alone"
    )
    parser.add_argument(
        "--precision", choices=["auto", "fp32"], default="auto", help="fp32: as where the hardware has no bf16"
    )
    parser.add_argument("--only", nargs="+", choices=KNOWN, metavar="NAME", help=f"of {', '.join(KNOWN)}")
    parser.add_argument(
        "--busy", action="store_true", help="one thread and its own seconds, where other programs run, too"
    )
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--record", type=Path, help="keep the results in results.json and README.md of this folder")
    arguments = parser.parse_args()
    if arguments.busy:
        torch.set_num_threads(1)
    for shape in arguments.shape:
        with tempfile.TemporaryDirectory() as scratch:
            bench(shape, arguments, Path(scratch))
        gc.collect()


if __name__ == "__main__":
    with report_errors():
        main()
