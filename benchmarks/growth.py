"""How time and memory grow: preprocessing with rows, a training step with tokens, the pipeline with variants.

`python benchmarks/growth.py`. Exponents are slopes of logarithms: fitted over all sizes, and between the two largest,
where what is paid once weighs least. 1 is in proportion, 2 with the square.
"""

import argparse
import importlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import memory
import numpy as np
import record
import yaml

from mtbert import files, predictions
from mtbert.command import plainly
from mtbert.errors import MtbertError
from mtbert.tasks import TASKS

REPOSITORY = Path(__file__).parents[1]
WORDS = [f"{first}{second}{third}" for first in "bdfgk" for second in "aeiou" for third in "lmnrst"]
Cost = tuple[float, float | None]  # seconds, MiB above what was held before


def alone(work: Callable[[], None], *modules: str) -> Cost:
    """What the work costs in a fresh process that has imported these modules already."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_costed, work, modules).result()


def _costed(work: Callable[[], None], modules: Sequence[str]) -> Cost:
    for module in modules:
        importlib.import_module(module)
    seconds: list[float] = []

    def timed() -> None:
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)

    most = memory.peak(timed)
    return seconds[0], most


def exponent(sizes: Sequence[float], values: Sequence[float]) -> float:
    """The slope of log(value) by log(size): 2 for [1, 2, 4] and [3, 12, 48]."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0])


def rows_of(what: str, by: str, sizes: Sequence[int], costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """A table's rows: what it costs at each size, and at the last of several how it grew."""
    found: list[dict[str, Any]] = [
        {"what": what, "by": by, "size": f"{size:,}", "seconds": seconds, "MiB": most}
        for size, (seconds, most) in zip(sizes, costs, strict=True)
    ]
    if len(sizes) < 2:
        return found
    seconds, most = zip(*costs, strict=True)
    found[-1] |= {
        "exponent": exponent(sizes, seconds),
        "at the end": exponent(sizes[-2:], seconds[-2:]),
        "of memory": None if None in most else exponent(sizes, most),
    }
    return found


# --- preprocessing ----------------------------------------------------------------------------------------------------


def write_corpus(directory: Path, rows: int) -> None:
    """A file of question pairs, 12 words each, none twice."""
    generator = np.random.default_rng(1)
    pool = [" ".join(words) for words in generator.choice(WORDS, (2000, 10))]
    picks = generator.integers(0, len(pool), (rows, 2)).tolist()
    path = directory / TASKS["qqp"].files["train"]
    path.parent.mkdir(parents=True)
    with path.open("w", encoding="utf-8") as handle:
        handle.write("\tid\tsentence1\tsentence2\tis_duplicate\n")
        for number, (one, two) in enumerate(picks):
            own = f"{WORDS[number % 150]} {WORDS[number // 150 % 150]}{WORDS[number // 22500 % 150]}"
            handle.write(f"{number}\tq{number}\t{pool[one]} {own}\t{pool[two]} {own}\t{number % 2}.0\n")


def write_tokenizer(directory: Path) -> None:
    """BERT's kind of tokenizer over the words that the corpus is made of."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = ["[PAD]", "[UNK]", *WORDS, *(f"##{word}" for word in WORDS)]
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))


def preprocess(data: Path, encoder: Path, out: Path) -> None:
    """The stage's own work."""
    from mtbert.data.preprocess import preprocess
    from mtbert.data.tokens import wordpieces

    preprocess(data, out, wordpieces(encoder), set())


def preprocessing(sizes: Sequence[int], scratch: Path) -> list[dict[str, Any]]:
    """Preprocessing of one file by its rows."""
    costs = []
    write_tokenizer(scratch / "encoder")
    for rows in sizes:
        write_corpus(scratch / str(rows), rows)
        work = partial(preprocess, scratch / str(rows), scratch / "encoder", scratch / "out")
        costs.append(alone(work, "mtbert.data.preprocess", "tokenizers"))
        print(f"  preprocess {rows:,} rows: {costs[-1][0]:.2f} s", flush=True)
        shutil.rmtree(scratch / str(rows))
    return rows_of("preprocess", "rows", sizes, costs)


# --- a training step --------------------------------------------------------------------------------------------------


def step(shape: str, tokens: int, build: Path) -> None:
    """Write below `build` what plain training steps on sequences of that length take: seconds, MiB."""
    import clock
    import corpus
    import ours
    from steps import SHAPES

    size, count, config, device = 8, 2, SHAPES[shape].config(), ours.device_of("auto")
    made = {"sst": corpus.uniform(tokens, size * count, config.vocab_size)}
    ours.write_build(build, config, made)
    plan = corpus.plan(made, corpus.by_length, size, count)
    run = ours.training("plain", plan, build, size, device.type, {"name": "none"})
    seconds: list[float] = []
    most = clock.peak_memory(lambda: seconds.extend(clock.steps(run, device)), device)
    files.write_json(build / "cost.json", [min(seconds), most])


def training(sizes: Sequence[int], shape: str, scratch: Path) -> list[dict[str, Any]]:
    """A plain training step by the length of its eight sequences."""
    costs = []
    for tokens in sizes:
        build = scratch / f"step-{tokens}"
        alone(partial(step, shape, tokens, build))
        seconds, most = files.read_json(build / "cost.json")
        costs.append((seconds, most))
        print(f"  training step of {tokens} tokens: {seconds:.3f} s", flush=True)
        shutil.rmtree(build)
    return rows_of(f"training step ({shape}, batch 8)", "tokens", sizes, costs)


# --- the pipeline -----------------------------------------------------------------------------------------------------


IDLE = "dvc repro, nothing to do"
ALIKE = "the same, stages that do nothing on as many files"
EMPTY = "the same, stages that do nothing on one file"
STAGES_BESIDE = 8  # plan, encoder, preprocess, pretrain, init, collect, report, track


def write_project(root: Path, count: int) -> None:
    """A copy of the pipeline whose catalog is `count` variants of one task."""
    for name in ("dvc.yaml", ".dvcignore", ".dvc/config"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, root / name)
    for name in ("src", "stages", "papers", "data/sample", "data/searches"):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    params = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    catalog = {f"v{number}": {"row": "mine", "tasks": ["sst"]} for number in range(count)}
    params |= {
        "profiles": {"sample": {"encoder": {"name": "tiny"}}},
        "ensembles": {},
        "seeds": [1],
    }
    params |= {"catalog": catalog, "variants": list(catalog)}
    (root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)


def write_results(build: Path, count: int) -> None:
    """What `count` trainings leave, made up: scores, predictions of 200 rows, history, log. No embeddings."""
    import pandas as pd

    from mtbert import inputs

    task, rows = TASKS["sst"], 200
    labels = [float(number % task.classes) for number in range(rows)]
    table = pd.DataFrame({"id": [f"r{number}" for number in range(rows)], "label": labels, "prediction": labels})
    table[list(predictions.probability_columns(task))] = 1 / task.classes
    table["scored"] = True
    content = {"steps": 40, "epoch": 1, "parameters": {"encoder": 1000, "added": 250, "trained": 1250, "stored": 1250}}
    history = "phase,step,name,value\n" + "".join(f"1,{step},loss/sst,{2 / step}\n" for step in range(1, 41))
    files.write_json(build / "data" / "report.json", {"files": {}})
    machine = {"processor": "", "accelerator": "", "torch": ""}
    named = [*(f"encoders/base/{name}" for name in inputs.ENCODER_FILES), "data/none"]
    manifest = {"files": dict.fromkeys(named, ""), "code": ""}
    for name in (f"v{number}" for number in range(count)):
        files.write_json(build / "init" / f"{name}.json", manifest | {"machine": machine})
        run = build / "runs" / name / "1"
        files.write_json(run / "metrics.json", {"variant": name, "seed": 1, **content, "dev": {"sst": 1.0}, "test": {}})
        files.write_text(run / "history.csv", history)
        files.write_yaml(run / "settings.yaml", {"row": "mine", "tasks": ["sst"], "profile": "sample"})
        predictions.write(predictions.path(run, "sst", "dev"), table)
        files.seal(run)
        files.write_json(files.log_directory(build, run) / "run.json", {"seconds": 1.0, "device": "cpu"})


def command(root: Path, *arguments: str) -> str:
    """Run Python in the project; its output, or MtbertError with it where it fails."""
    variables = os.environ | {"PYTHONPATH": "src", "DVC_NO_ANALYTICS": "true"}
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    variables = {name: value for name, value in variables.items() if not name.startswith("DVC_ROOT")}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    if done.returncode:
        raise MtbertError(f"{' '.join(arguments)} failed:\n{done.stdout[-3000:]}")
    return done.stdout


def plan(root: Path) -> None:
    """The stage's own work."""
    from mtbert.config import code, planning
    from mtbert.config.params import Params

    planned = planning.plan(Params(root / "params.yaml"))
    planning.write(planned | code.of_stages(), root / "build" / "plan")


def report(root: Path) -> None:
    """The stage's own work."""
    from mtbert.report import write
    from mtbert.results import collect

    write.write(collect.collect(root / "build"), root / "build" / "report")


def nothing_to_do(roots: Mapping[str, Path], turns: int = 5) -> dict[str, float]:
    """Seconds of `dvc repro` where all is there: medians of several, by turns. MtbertError where it runs a stage."""
    taken: dict[str, list[float]] = {what: [] for what in roots}
    for _ in range(turns):
        for what, root in roots.items():
            started = time.perf_counter()
            told = command(root, "-m", "dvc", "repro")
            taken[what].append(time.perf_counter() - started)
            if "Running stage" in told:
                raise MtbertError(f"`dvc repro` found something to do in {root}:\n{told[-3000:]}")
    return {what: median(seconds) for what, seconds in taken.items()}


def settle(root: Path, count: int) -> None:
    """Have DVC take what lies there for the stages' results; what no stage was run for is made up."""
    for name in (
        "encoders/base",
        "encoders/sbert",
        "data",
        "init",
        "results",
        "submissions",
    ):
        files.write_json(root / "build" / name / "made-up.json", {})
    for number in range(count):
        files.write_json(root / "build" / "init" / f"v{number}.json", {})
    for name in ("machine.json", "data/report.json"):
        files.write_json(root / "build" / name, {})
    write_tokenizer(root / "build" / "encoders" / "base")
    command(root, "-m", "dvc", "commit", "--force")


def write_empty(root: Path, count: int, alike: bool) -> None:
    """As many stages as the project has with `count` variants, done already: what DVC takes by itself.

    Each has one small file it depends on and one that it makes; `alike` for a training's three and its folder.
    """
    stages = {}
    for number in range(count + STAGES_BESIDE):
        needed = ["code", *([f"plan/{number}", f"init/{number}"] if alike else [])]
        made = [f"runs/{number}"] if alike else [f"out/{number}"]
        for name in needed:
            files.write_text(root / name, f"{name}\n")
        for name in made:
            files.write_text(root / name / "one" if alike else root / name, f"{name}\n")
        stages[f"s{number}"] = {"cmd": "true", "deps": needed, "outs": made}
    files.write_yaml(root / "dvc.yaml", {"stages": stages})
    for name in (".dvcignore", ".dvc/config"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, root / name)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    command(root, "-m", "dvc", "commit", "--force")


def pipeline(sizes: Sequence[int], scratch: Path) -> list[dict[str, Any]]:
    """The plan, the report, and `dvc repro` with nothing to do, by the number of variants."""
    costs: dict[str, list[Cost]] = {what: [] for what in ("plan", "report", IDLE, ALIKE, EMPTY)}
    for count in sizes:
        root = scratch / f"project-{count}"
        write_project(root, count)
        costs["plan"].append(alone(partial(plan, root), "mtbert.config"))
        write_results(root / "build", count)
        costs["report"].append(alone(partial(report, root), "mtbert.report.write"))
        settle(root, count)
        roots = {IDLE: root, ALIKE: scratch / f"alike-{count}", EMPTY: scratch / f"empty-{count}"}
        for what in (ALIKE, EMPTY):
            write_empty(roots[what], count, what is ALIKE)
        for what, seconds in nothing_to_do(roots).items():
            costs[what].append((seconds, None))
        print(f"  {count} variants: " + ", ".join(f"{what} {cost[-1][0]:.2f} s" for what, cost in costs.items()))
        shutil.rmtree(root)
    return [row for what, cost in costs.items() for row in rows_of(what, "variants", sizes, cost)]


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--tokens", type=int, nargs="*", default=[32, 64, 128, 256, 512])
    parser.add_argument("--variants", type=int, nargs="*", default=[1, 10, 50, 200])
    parser.add_argument("--shape", default="minilm", help="of the encoder whose steps are timed: minilm or base")
    parser.add_argument("--record", type=Path, help="keep the results in results.json and README.md of this folder")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        rows = [
            *(preprocessing(arguments.rows, scratch) if arguments.rows else []),
            *(training(arguments.tokens, arguments.shape, scratch) if arguments.tokens else []),
            *(pipeline(arguments.variants, scratch) if arguments.variants else []),
        ]
    print(f"\n{record.table(rows)}")
    if arguments.record:
        record.keep(arguments.record, "growth", {"rows": rows}, {"Aim: no exponent of rows or variants above 1.": rows})


if __name__ == "__main__":
    with plainly():
        main()
