"""Train what a pack holds, where there is nothing but the pack: `python mtbert-pack/run.py --jobs 2`.

A copy of this file lies in every pack. It says what it lacks before it imports anything of that.
"""

import argparse
import contextlib
import importlib.util
import os
import sys
from pathlib import Path

NEEDED = {  # as pip calls it: as it is imported. What trainings import; with torch come filelock and numpy
    "torch": "torch", "filelock": "filelock", "numpy": "numpy", "pandas": "pandas",
    "pyarrow": "pyarrow", "pydantic": "pydantic", "ruamel.yaml": "ruamel", "safetensors": "safetensors",
    "scipy": "scipy", "tokenizers": "tokenizers", "tqdm": "tqdm",
}  # fmt: skip


def main(folder: Path) -> None:
    """Read the arguments, train, write the archive of runs; exit status 1 where a training failed, 130 if stopped."""
    parser = argparse.ArgumentParser(description="Train what this pack holds; the same command goes on after a stop")
    parser.add_argument("--jobs", type=int, help="trainings at a time: 2, or as many as GPUs hold")
    parser.add_argument("--weights", action="store_true", help="bring the trained weights back, too")
    parser.add_argument("--only", help="the name of a training, such as pals-1, and no other")
    parser.add_argument("--out", type=Path, default=Path("runs.tar"), help="the archive of runs (runs.tar)")
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()
    if arguments.jobs is not None and arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; allowed: 1 and more")
    if missing := [name for name, module in NEEDED.items() if importlib.util.find_spec(module) is None]:
        sys.exit(f"error: trainings need packages that are not installed: pip install {' '.join(missing)}")
    sys.path.insert(0, str(folder / "src"))
    os.environ["MTBERT_LIVE"] = "off"  # `track` logs the runs afterwards
    from mtbert.machine import program
    from mtbert.trainings import packs

    with program.report_errors(), contextlib.chdir(folder):
        packs.train(**vars(arguments))


if __name__ == "__main__":
    main(Path(__file__).resolve().parent)
