"""Stage `baselines`: what cheap methods score on each task, before anything is trained."""

from pathlib import Path

from mtbert import files, layout, tasks
from mtbert.machine import program
from mtbert.provenance import seals


def main(build: Path, data_dir: Path, out: Path) -> None:
    """Check what the stages before it wrote; train the baselines, and print each score as soon as it is known."""
    from mtbert.baselines import run

    for folder in (layout.data(build), layout.encoder(build)):
        seals.check(folder)
    print("dev scores of cheap baselines, and seconds to train")
    run.train_all(build, tasks.read_folder(data_dir), out, lambda line: print(line, flush=True), data_dir)
    files.explain_empty(out, "No task has labelled dev rows.")


if __name__ == "__main__":
    program.run(main)
