"""Stage `track`: bring every run and ensemble that MLflow lacks into it."""

import os
import sys
from pathlib import Path

from mtbert import command, tracking


def main(build: Path) -> None:
    """Bring the runs in, say how many."""
    try:
        done = tracking.bring_in(build)
    except tracking.TrackingError as error:
        # Exit status 1 keeps DVC from counting the stage as done, so that the next `dvc repro` makes good; the
        # stage comes last and nothing needs it, so all results are recorded by then. Within `dvc exp run` a
        # failed stage would discard the whole experiment, and without MLflow there is nothing to make good.
        experiment = os.environ.get("DVC_EXP_NAME")
        if tracking.installed() and not experiment:
            raise
        first = f" (`dvc exp apply {experiment}` first)" if experiment else ""
        print(f"warning: {error}{first}", file=sys.stderr)
        return
    print(done)


if __name__ == "__main__":
    command.run(main)
