"""An interim answer, while trainings go on: `python -m mtbert.trainings.interim build 1,2 6 "what comes next"`.

Without seeds it is a page of what the baselines score.

It calls what the stages merge, ensemble, judge and report call, without DVC. `dvc repro` of these stages would take
DVC's lock for as long, hash `build/runs` while trainings write there, and record results of some runs as those of all.
Nothing written here misleads DVC afterwards: it compares outputs with its records. Merges and votes of the same members
stay in `build/merged` and `build/votes`, so that the stages find them made. Stage `report` makes its folder anew.

Merging takes by far the longest. So the answer is printed before it, with the merged models that are there already;
afterwards the page is written again, with those of all seeds. Left out is what takes long or needs a quiet machine:
points of sentences, speed. Tables of results and MLflow's runs come with the last answer.
"""

from collections.abc import Sequence
from pathlib import Path

from mtbert.machine import program
from mtbert.tasks import number_of_folds, read_build, whole_repeats


def main(build: Path, seeds: str, of: int, following: str) -> None:
    """Write the report of the runs with these seeds, marked as interim; print its tables and answer; then merge."""
    numbers = [int(seed) for seed in seeds.split(",") if seed]
    baselines = sorted((build / "baselines").glob("*/*/metrics.json"))
    if not numbers and not baselines:
        return
    from mtbert import layout
    from mtbert.machine import locking
    from mtbert.merging import run as merging
    from mtbert.provenance import seals
    from mtbert.report import first_page, markdown
    from mtbert.scores import outdated

    report = layout.report(build)
    mark = f"{_in_words(len(numbers), of, following)}{of_folds(numbers, number_of_folds(read_build(build)))}"
    with locking.exclusive(layout.lock(build, "report"), "report"):
        seals.check_build(build)
        if not numbers:
            first_page.write(build, baselines, report, mark)
            print(f"\nThe baselines are on the page: {report / 'index.html'}\n")
            return
        left_out = markdown.literal(outdated.in_words(outdated.of_build(build, numbers)))
        mark = " ".join(filter(None, [mark, left_out]))
        merging.keep_current(build, layout.merged(build))
        print(f"\n{_answer(build, numbers, mark).strip()}\n", flush=True)
        if merging.merge_all(build, layout.merged(build)):
            _answer(build, numbers, mark)


def _answer(build: Path, seeds: Sequence[int], mark: str) -> str:
    """Write the page of the models with these seeds that are there; return its tables and answer."""
    from mtbert import layout
    from mtbert.judge import plan_of
    from mtbert.replication import replicate
    from mtbert.replication import report as reports
    from mtbert.scores import collect, ensembles

    ensembles.vote_all(build, layout.votes(build))
    results = collect.collect(build, seeds, pictures=False)
    plan = plan_of(layout.read_catalog(build, "seeds"))  # by it test is not looked at before the end
    return reports.write(replicate(results, plan=plan), layout.report(build), build=build, interim=mark)


def _in_words(seeds: int, of: int, following: str) -> str:
    """Return what an interim report says first, such as `Trainings go on (1 of 6 seeds are there), ...`."""
    state = f"{seeds} of {of} seeds are there" if seeds else "baselines alone are there"
    more = f" {following[0].upper()}{following[1:]}." if following else ""
    return f"Trainings go on ({state}), and verdicts can change.{more}"


def of_folds(seeds: Sequence[int], folds: int) -> str:
    """Return that models have no scores yet, where no repeat of folds is whole; it begins with a blank."""
    if not folds or whole_repeats(seeds, folds):
        return ""
    return f" Models have no scores before {folds} seeds are there, since each predicts another fold."


if __name__ == "__main__":
    program.run(main)
