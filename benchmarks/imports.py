"""How long each stage takes to start: `python benchmarks/imports.py`.

Every stage script is started where something is missing that its work begins with, once all is imported that the work
needs; the time until it says so is told, the median of several starts. `download` is left out: its work begins with the
network. Once more with Python's `-X importtime`, the packages are named whose own modules took longest to import.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import record

from mtbert import files
from mtbert.command import plainly
from mtbert.errors import MtbertError

REPOSITORY = Path(__file__).parents[1]
AIM = 4.0  # seconds
FILES = {  # what leads some stages as far as their imports
    "pretrain.yaml": "needed: true\n",
    "build/plan/catalog.yaml": "seeds: [1]\nvariants: {}\n",
}
STAGES: dict[str, tuple[str, ...]] = {
    "plan": ("no/params.yaml", "no/plan"),
    "encoder": ("no/encoder.yaml", "no/data", "no/out"),
    "preprocess": ("no/data", "no/encoder", "no/out", "no/needs.yaml"),
    "pretrain": ("sbert", "pretrain.yaml", "no"),
    "init": ("no", "no/init"),
    "train": ("none", "1", "no"),
    "collect": ("no", "no/results"),
    "report": ("no", "no/report", "no/submissions"),
    "track": ("build",),
}
LINE = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)")


def start(stage: str, place: Path, *options: str) -> tuple[float, str]:
    """Seconds until the stage misses its files, and what it wrote; MtbertError where it did not miss any."""
    script = REPOSITORY / "stages" / f"{stage}.py"
    for name, text in FILES.items():
        files.write_text(place / name, text)
    variables = os.environ | {"PYTHONPATH": str(REPOSITORY / "src"), "DVC_ROOT": str(place)}
    variables["MLFLOW_TRACKING_URI"] = "nowhere://none"
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *options, script, *STAGES[stage]],
        cwd=place, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    if not done.returncode:
        raise MtbertError(f"stages/{stage}.py was to end for want of files, but it went on:\n{done.stdout[-2000:]}")
    return seconds, done.stdout


def slowest(told: str, count: int = 4) -> str:
    """The packages with the longest imports, each its own modules' time alone, from what -X importtime wrote."""
    times: Counter[str] = Counter()
    for microseconds, package in LINE.findall(told):
        times[package] += int(microseconds)
    return ", ".join(f"{package} {microseconds / 1e6:.2f}" for package, microseconds in times.most_common(count))


def main() -> None:
    """Read the arguments, start every stage, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=list(STAGES), default=list(STAGES), metavar="STAGE")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--record", type=Path, help="keep the results in results.json and README.md of this folder")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as place:
        for stage in arguments.only:
            seconds = median(start(stage, Path(place))[0] for _ in range(arguments.times))
            told = slowest(start(stage, Path(place), "-X", "importtime")[1])
            met = "yes" if seconds < AIM else "no"
            rows.append(
                {"stage": stage, "seconds": seconds, "aim": f"< {AIM:g}", "met": met, "slowest imports, s": told}
            )
            print(f"  {stage}: {seconds:.2f} s", flush=True)
    print(f"\n{record.table(rows)}")
    if arguments.record:
        record.keep(arguments.record, "imports", {"rows": rows}, {"From a stage's start to its work:": rows})


if __name__ == "__main__":
    with plainly():
        main()
