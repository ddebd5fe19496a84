"""Stage `track`: log every run that MLflow lacks."""

import os
import sys
from pathlib import Path

from mtbert import tracking
from mtbert.machine import program


def main(build: Path) -> None:
    """Log the runs, and print their number."""
    try:
        summary = tracking.sync_runs(build)
    except tracking.TrackingError as error:
        # Exit status 1 keeps DVC from counting the stage as done, so that the next `dvc repro` tries again. The
        # stage is the last and nothing needs it, so all results are recorded by then. Within `dvc exp run` a
        # failed stage would discard the whole experiment.
        experiment = os.environ.get("DVC_EXP_NAME")
        if not experiment:
            raise
        print(f"warning: {error} (`dvc exp apply {experiment}` first)", file=sys.stderr)
        return
    print(summary)


if __name__ == "__main__":
    program.run(main)
