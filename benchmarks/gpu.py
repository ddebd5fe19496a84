"""What is to be measured on a GPU, the most valuable first: `python benchmarks/gpu.py OUT BUILD [BUILD ...]`.

A GPU that is lent is lent for minutes. So each part is a program of its own, with a limit in seconds; one that fails or
takes too long does not stop the next ones. What it prints is appended to OUT/output.txt at once. Tables go into copies
of results.json and README.md there, and trainings into archives, as campaign.py says. The first build folder (see
campaign.py) is the one whose variants are trained again, and one at a time.

    python benchmarks/gpu.py out build/small --parts bytes steps compiled long alone
    python benchmarks/gpu.py out build/small build/headline --parts campaign --limit 560

A machine that has PyTorch may lack pydantic and ruamel.yaml, which all trainings need, and nltk, which `minbert-pos`
needs. Take their wheels there.
"""

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
SOURCE = str(HERE.parent / "src")  # where the package is not installed, it is read from there
TWICE = ("pals", "smart-pals", "slap-share-surgery", "rival-imtl-g", "mypal-relational")
STEPS = (
    "plain", "plain-any-order", "plain-unrecorded", "pals", "pals-any-order", "pals-unrecorded",
    "smart", "smart-any-order", "smart-unrecorded", "trainer", "trainer-best",
)  # fmt: skip
LONG = ("plain", "pals", "smart", "trainer-best")
ENDING = 100.0  # seconds that a campaign may take after its limit: for what runs then, its merges and votes
GRACE = 15.0  # seconds in which a part that is stopped may write what it has


class Part(NamedTuple):
    """A part: the arguments of Python, and its limit in seconds."""

    arguments: list[str]
    limit: float


def parts_of(out: Path, builds: Sequence[Path], remaining: float) -> dict[str, Part]:
    """Return the parts by name, in order."""
    steps = [str(HERE / "steps.py"), "--device", "cuda", "--passes", "3"]
    both, kept = ["--shape", "minilm", "base"], ["--record", str(out)]
    long = ["--shape", "base", "--batch", "64", "--tokens", "128"]
    campaign = str(HERE / "campaign.py")
    folders = [*map(str, builds)]
    return {
        "bytes": Part([str(HERE / "same_bytes.py"), folders[0], *TWICE], 200.0),
        "steps": Part([*steps, *both, *kept, "--only", *STEPS], 150.0),
        "long": Part([*steps, *long, "--only", *LONG], 60.0),
        "compiled": Part([*steps, *both, "--only", "plain", "trainer-best", "trainer-compiled"], 200.0),
        "alone": Part([campaign, str(out / "alone"), folders[0], "--processes", "1", "--limit", "40"], 90.0),
        "campaign": Part([campaign, str(out / "campaign"), *folders, "--limit", str(remaining - ENDING)], remaining),
    }


def run(name: str, part: Part, output: Path) -> bool:
    """Run a part, and append what it prints to a file as it comes; return whether it ended well."""
    started = time.monotonic()
    with output.open("a", encoding="utf-8") as log:
        print(f"== {name}: {' '.join(part.arguments)}", file=log, flush=True)
        command = [sys.executable, *part.arguments]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH")]))}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            status = str(process.wait(part.limit))
        except subprocess.TimeoutExpired:
            stop(process)
            status = f"none within {part.limit:g} s"
        line = f"== {name}: exit status {status}, {time.monotonic() - started:.0f} s"
        print(line, file=log, flush=True)
    print(line, flush=True)
    return status == "0"


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a part with the processes that it has started; it may write what it has first."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with contextlib.suppress(ProcessLookupError):  # none of them is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main() -> int:
    """Read the arguments, run the parts; exit status 1 where one did not end well."""
    started = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("builds", type=Path, nargs="+")
    names = [*parts_of(Path(), [Path()], 0.0)]
    parser.add_argument(
        "--parts", nargs="+", choices=names, default=names, metavar="NAME", help=f"of {', '.join(names)}"
    )
    parser.add_argument("--limit", type=float, default=560.0, help="seconds that all of it may take (560)")
    arguments = parser.parse_args()
    out: Path = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    for name in ("results.json", "README.md"):
        shutil.copy(HERE / name, out / name)
    all_ended_well = True
    for name in arguments.parts:
        remaining = started + arguments.limit - time.monotonic()
        part = parts_of(out, arguments.builds, remaining)[name]
        part = part._replace(limit=min(part.limit, remaining))
        if part.limit <= 0:
            print(f"== {name}: no time is left", flush=True)
            all_ended_well = False
        elif not run(name, part, out / "output.txt"):
            all_ended_well = False
    return 0 if all_ended_well else 1


if __name__ == "__main__":
    sys.exit(main())
