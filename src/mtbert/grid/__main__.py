"""The grid's command line: `python -m mtbert.grid --jobs 4`, at the repository's root."""

import argparse

from mtbert import errors
from mtbert.grid import run


def main() -> None:
    """Read the arguments and run; exit status 1 where a training failed, 130 where it was stopped."""
    parser = argparse.ArgumentParser(description="`dvc repro`, its trainings side by side")
    parser.add_argument("--jobs", type=int, help="trainings at a time (1; on a cluster as many as there is room for)")
    parser.add_argument("--variants", help="sets `variants` in params.yaml first: 'pals slap-smart', or all")
    parser.add_argument("--address", help="of a running Ray cluster, such as 10.0.0.1:6379; this machine alone without")
    parser.add_argument("--gpus", type=float, help="part of a GPU for each training, such as 0.25")
    arguments = parser.parse_args()
    if arguments.jobs is not None and arguments.jobs < 1:
        parser.error(f"--jobs is {arguments.jobs}; allowed: 1 and more")
    if arguments.gpus is not None and arguments.gpus < 0:
        parser.error(f"--gpus is {arguments.gpus}; allowed: 0 and more")
    with errors.shown_plainly():
        run.start(arguments.jobs, arguments.variants, arguments.address, arguments.gpus)


if __name__ == "__main__":
    main()
