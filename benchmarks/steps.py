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
from corpus import BATCHES, Corpus, Plan, Rule, at_random, by_length, corpora, grouped, plan, uniform
from lengths import TASKS
from transformers import CONFIG_MAPPING

from mtbert.machine.program import report_errors


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
        """The settings of an adapter."""
        options = {**ours.ADAPTERS, "pals": self.pals}
        return {"name": name, **options.get(name, {})}

    def arithmetic(self, lengths: Sequence[int], adapter: str) -> float:
        """Multiplications and additions of a forward and a backward pass (twice that) over these sequences' tokens.

        Matrix products of the layers alone count, w being the width, f the feed-forward's, n tokens of a sequence:

        - a token has 2 (4 w^2 + 2 w f), with a gated feed-forward 2 (4 w^2 + 3 w f), and 4 n w for its attention;
        - attention by distance, of which there are 2 n, has 8 n w more;
        - a PAL of width d has 2 (2 w d + 3 d^2) and 4 n d;
        - two targets' factors, or two bottlenecks, of width m have 2 (4 w m).
        """
        w, f = self.width, self.feed_forward
        d = self.pals["dim"] if adapter == "pals" else 0
        m = {"lora": ours.ADAPTERS["lora"]["rank"], "houlsby": ours.ADAPTERS["houlsby"]["size"]}.get(adapter, 0)
        maps = 3 if self.kind == "modernbert" else 2
        per_token = 2 * (4 * w**2 + maps * w * f + 2 * w * d + 3 * d**2 + 4 * w * m)
        per_pair = 4 * (w + d)  # a token with each of its sequence
        if self.kind == "deberta-v2":
            per_pair += 8 * w
        return 3 * self.layers * sum(float(n) * per_token + float(n) ** 2 * per_pair for n in lengths)

    def config(self) -> Any:
        """As transformers knows it; dropout is the architecture's own: 0.1, of ModernBERT 0."""
        config_class: Any = CONFIG_MAPPING[self.kind]
        return config_class(
            vocab_size=self.vocabulary,
            hidden_size=self.width,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.feed_forward,
            **FORMS[self.kind],
        )


SPECIAL = {"pad_token_id": corpus.PAD, "cls_token_id": corpus.CLS, "bos_token_id": corpus.CLS,
           "sep_token_id": corpus.SEP, "eos_token_id": corpus.SEP}  # fmt: skip
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
OURS = {**ours.KINDS, **ours.GPU_KINDS}
CONTESTANTS = (*OURS, *plain.KINDS, *peers.KINDS)
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
    ("plain-unrecorded", "plain"): None,
    ("pals-unrecorded", "pals"): None,
    ("smart-unrecorded", "smart"): None,
}
DEARER = {("smart", "plain"): 2.6, ("pcgrad", "interleaved"): 1.3}
DEARER |= {(name, f"{name}-any-order"): 1.1 for name in ("plain", "pals", "smart")}
ON_GPU: dict[tuple[str, str], float | None] = {("trainer-best", "plain"): 3.0}
PALS_AIM_ON_GPU = 1.3


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

    def seconds_of(self, task: str) -> float | None:
        """Mean seconds of a step of that task alone; None where there is none."""
        seconds = [time for time, step in zip(self.times(), self.timed, strict=True) if [*step] == [task]]
        return fmean(seconds) if seconds else None


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
        return self._enter_ours(name, steps) if name in OURS else self._enter_other(name, steps)

    def _enter_ours(self, name: str, steps: int) -> Contestant:
        device = self.device.type
        steps_of_plan = plan(self.corpora, by_length, self.size, steps, together=name in ("interleaved", "pcgrad"))
        if device == "cuda":  # what a GPU repeats has run twice before it is timed
            steps_of_plan = 2 * steps_of_plan
        kind = OURS[name]
        adapter = self.shape.adapter(kind.adapter)
        build = self.scratch / "build"
        run = ours.training(kind, steps_of_plan, build, self.size, device, adapter, self.encoding, self.precision)
        return Contestant(steps_of_plan, run)

    def _enter_other(self, name: str, steps: int) -> Contestant:
        # Padded to 128 tokens all batches are alike, so one task's stand for all.
        corpora = {"qqp": self.corpora["qqp"]} if name == "bert-n-pals" else self.corpora
        steps_of_plan = plan(corpora, PEERS[name], self.size, steps)
        config = self.shape.config()
        if name in plain.KINDS:
            scratch = self.scratch / "plain"
            run = plain.training(name, steps_of_plan, corpora, config, self.shape.pals, self.device, scratch)
        else:
            scratch = self.scratch / "trainer"
            is_bf16 = self.precision == "bf16"
            run = peers.training(name, steps_of_plan, corpora, config, self.device, scratch, is_bf16)
        return Contestant(steps_of_plan, clock.by_updates(run))

    def row(self, name: str, contestant: Contestant, peaks: Mapping[str, float]) -> dict[str, Any]:
        """A contestant's line in the table."""
        seconds = contestant.times()
        lengths: list[int] = []  # tokens of each sequence
        examples = 0
        for step in contestant.timed:
            for task, picks in step.items():
                examples += len(picks)
                for pick in picks:
                    lengths += self.corpora[task].sequences[pick]
        precision = "fp32" if name in FP32 else self.precision
        peak_share = None
        if not name.startswith("smart"):
            adapter = OURS[name].adapter if name in OURS else "none"
            if name in plain.KINDS:
                adapter = "pals"
            share = self.shape.arithmetic(lengths, adapter) / seconds.sum() / peaks[precision]
            peak_share = f"{100 * share:.0f} %"
        return {
            "contestant": name,
            "precision": precision,
            "s a step": float(seconds.mean()),
            **{f"{task} s": contestant.seconds_of(task) for task in TASKS},
            "examples/s": examples / seconds.sum(),
            "tokens/s": sum(lengths) / seconds.sum(),
            "of the peak": peak_share,
            "memory MiB": contestant.memory,
        }


def measure(contestants: Mapping[str, Contestant], passes: int, device: torch.device, now: clock.Now) -> None:
    """Everyone in turn, pass after pass. Memory is that of the first, which makes everyone's optimiser."""
    for number in range(passes):
        for name, contestant in contestants.items():

            def once(name: str = name, contestant: Contestant = contestant) -> None:
                seconds = clock.step_seconds(contestant.run, device, now)
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


def ratios(seconds: Mapping[str, float], pals_aim: float, on_gpu: bool = False) -> list[dict[str, Any]]:
    """How many times as long one contestant's step takes as another's, beside what is aimed at."""
    if on_gpu:
        pals_aim = PALS_AIM_ON_GPU
    at_least = [(names, ">=", aim) for names, aim in {**SLOWER, **(ON_GPU if on_gpu else {})}.items()]
    at_most = [(names, "<=", aim) for names, aim in {**DEARER, ("pals", "plain"): pals_aim}.items()]
    rows = []
    for (first, second), sign, aim in [*at_least, *at_most]:
        if not {first, second} <= seconds.keys():
            continue
        ratio = seconds[first] / seconds[second]
        row: dict[str, Any] = {"step of": first, "over": second, "ratio": ratio, "aim": None, "met": None}
        if aim is not None:
            is_met = ratio >= aim if sign == ">=" else ratio <= aim
            row |= {"aim": f"{sign} {aim:g}", "met": "yes" if is_met else "no"}
        rows.append(row)
    return rows


def bench(shape: str, arguments: argparse.Namespace, scratch: Path) -> None:
    """All contestants of one shape: measure, print, keep."""
    sizes = SHAPES[shape]
    device = ours.device_of(arguments.device)
    names = arguments.only or sizes.contestants
    if arguments.encoding == "bi":
        names = [name for name in names if name in OURS]
    steps = arguments.steps or sizes.steps
    passes = arguments.passes or sizes.passes
    if arguments.tokens:
        names = [name for name in names if name != "bert-n-pals"]  # which pads to 128 anyway
    data = made_up(arguments, sizes.vocabulary)
    print(f"{shape}: {', '.join(names)}", flush=True)
    ours.write_build(scratch / "build", sizes.config(), data)
    precision = ours.precision_on(arguments.precision, device)
    entries = Bench(sizes, arguments.batch, arguments.encoding, precision, device, scratch, data)
    contestants = {name: entries.enter(name, steps) for name in names}
    now = time.process_time if arguments.busy else time.perf_counter
    before = matmul_peaks(device, now)
    measure(contestants, passes, device, now)
    after = matmul_peaks(device, now)
    peaks = {name: max(before[name], after[name]) for name in before}
    rows = [entries.row(name, contestant, peaks) for name, contestant in contestants.items()]
    compared = ratios({row["contestant"]: row["s a step"] for row in rows}, sizes.pals_aim, device.type == "cuda")
    peak = [{"precision": name, "matrix product GFLOP/s": value / 1e9} for name, value in peaks.items()]
    print(*(f"\n{record.table(part)}" for part in (rows, compared, peak)), sep="\n", flush=True)
    if arguments.record:
        settings = {
            "batch": arguments.batch,
            "tokens": arguments.tokens,
            "steps a task": steps,
            "passes": passes,
            "encoding": arguments.encoding,
            "busy": arguments.busy,
            "device": device.type,
        }
        content = {"settings": settings, "contestants": rows, "ratios": compared, "peak": peak}
        titles = {"Steps:": rows, "Ratios:": compared, "The machine's peak:": peak}
        record.keep(arguments.record, _part(shape, arguments, device), content, titles)


def made_up(arguments: argparse.Namespace, vocabulary: int) -> dict[str, Corpus]:
    """The corpora: of real lengths, or with `--tokens` one of equal lengths."""
    if arguments.tokens:
        return {"sst": uniform(arguments.tokens, BATCHES * arguments.batch, vocabulary)}
    return corpora(arguments.batch, vocabulary, arguments.encoding)


def matmul_peaks(device: torch.device, now: clock.Now) -> dict[str, float]:
    """The machine's peak by precision; that of bf16 only where the hardware has it, since emulation takes long."""
    peaks = {"fp32": clock.matmul_peak(device, torch.float32, now)}
    if ours.precision_on("auto", device) == "bf16":
        peaks["bf16"] = clock.matmul_peak(device, torch.bfloat16, now)
    return peaks


def _part(shape: str, arguments: argparse.Namespace, device: torch.device) -> str:
    """The name under which results are kept, such as `steps-minilm-fp32`."""
    names = ["steps", shape]
    if arguments.tokens:
        names.append(f"{arguments.batch}x{arguments.tokens}")
    if arguments.precision == "fp32":
        names.append("fp32")
    if arguments.busy:
        names.append("busy")
    if device.type != "cpu":
        names.append(device.type)
    return "-".join(names)


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
    parser.add_argument("--tokens", type=int, help="of each sequence, of one task, in place of real lengths")
    parser.add_argument(
        "--encoding", choices=["cross", "bi"], default="cross", help="bi: the project's own steps alone"
    )
    parser.add_argument(
        "--precision", choices=["auto", "fp32"], default="auto", help="fp32: as where the hardware has no bf16"
    )
    names = ", ".join(CONTESTANTS)
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, metavar="NAME", help=f"of {names}")
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
