"""Let ensembles vote: a folder for each seed of which all members are trained, made again where a member has changed.

Such a folder holds what a run's does, without weights: settings, scores, predictions; and `inputs.json`: what the vote
was made from.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.errors import DataError
from mtbert.results import predictions, vote
from mtbert.results.schemas import RunMetrics, Scored, Sizes, VoteInputs
from mtbert.results.tables import Frame
from mtbert.tasks import Tasks, of_build, stated

SPLITS = ("dev", "test")  # that are voted on: each run draws training rows of its own
CODE = "code-ensemble"  # of the plan: the code that votes
Tables = dict[str, dict[str, Frame]]  # by split and task


def vote_all(build: Path, out: Path) -> list[str]:
    """Write the vote of each selected ensemble and seed to OUT/NAME/SEED; return a line for each that is new.

    A vote of the same members, tasks and code stays. What is not asked for any more, or lacks a member, is removed.

    Raises:
        DataError: no plan, a member's file was altered, or members predicted other rows.
    """
    catalog = layout.read_catalog(build, "ensembles", "seeds")
    tasks = of_build(build)
    asked = {name: of for name, of in catalog["ensembles"].items() if of["selected"] and not of.get("merge")}
    members = {
        out / name / str(seed): [layout.run(build, member, seed) for member in asked[name]["members"]]
        for name, seed in itertools.product(asked, catalog["seeds"])
    }
    complete = {folder: runs for folder, runs in members.items() if all(map(layout.is_sealed, runs))}
    files.keep_only(out, complete)
    lines = []
    for folder, runs in complete.items():
        entry = asked[folder.parent.name]
        inputs = VoteInputs(
            ensemble=entry,
            members=[files.sha256(run / layout.DIGESTS) for run in runs],
            tasks=files.sha256_of(files.json_text({name: stated(task) for name, task in tasks.items()}).encode()),
            code=files.sha256(layout.plan(build, CODE)),
        )
        if _inputs_of(folder) != inputs:
            _write(folder, entry, runs, tasks, inputs)
            lines.append(f"{folder.parent.name}, seed {folder.name}: {len(runs)} models have voted")
    return lines


def _inputs_of(folder: Path) -> VoteInputs | None:
    """Return what a vote was made from; None where none is there that is whole."""
    if not layout.is_sealed(folder):
        return None
    try:
        layout.check_sealed(folder)
        return files.read_as(VoteInputs, folder / layout.INPUTS, layout.remedy(folder))
    except DataError:  # it is voted again
        return None


def _write(folder: Path, entry: Mapping[str, Any], members: Sequence[Path], tasks: Tasks, inputs: VoteInputs) -> None:
    of_predictions = [layout.predictions(Path(), *one).as_posix() for one in itertools.product(tasks, SPLITS)]
    for run in members:
        layout.check_sealed(run, only=[layout.METRICS, layout.SETTINGS, *of_predictions])
    voted = voted_by(members, tasks)
    scores = {split: predictions.scores(of_split, tasks) for split, of_split in voted.items()}
    name, seed = folder.parent.name, int(folder.name)
    scored = Scored(variant=name, seed=seed, parameters=_sizes(members), dev=scores["dev"], test=scores["test"])
    settings = {"variant": name, "seed": seed, **_settings(entry, members[0], voted, tasks)}
    with files.new_directory(folder) as partial:
        for split, of_split in voted.items():
            for task, table in of_split.items():
                predictions.write(layout.predictions(partial, task, split), table)
        files.write_yaml(partial / layout.SETTINGS, settings)
        files.write_json(partial / layout.METRICS, scored.model_dump())
        files.write_json(partial / layout.INPUTS, inputs.model_dump())
        layout.seal(partial)


def voted_by(members: Sequence[Path], tasks: Tasks) -> Tables:
    """Return the vote of these runs on each task and split that all of them predicted.

    Raises:
        DataError: they predicted other rows.
    """
    voted: Tables = {split: {} for split in SPLITS}
    for split, task in itertools.product(SPLITS, tasks):
        predicted = {run.parent.name: layout.predictions(run, task, split) for run in members}
        if all(file.is_file() for file in predicted.values()):
            tables = {member: files.read_parquet(file) for member, file in predicted.items()}
            voted[split][task] = vote.vote(tables, tasks[task])
    return voted


def _sizes(members: Sequence[Path]) -> Sizes:
    """Return the weights of all members together, and those of one's encoder."""
    each = [files.read_as(RunMetrics, run / layout.METRICS, layout.remedy(run)).parameters for run in members]
    return Sizes(
        encoder=each[0].encoder,
        added=sum(sizes.added for sizes in each),
        trained=sum(sizes.trained for sizes in each),
        stored=sum(sizes.stored for sizes in each),
    )


def _settings(entry: Mapping[str, Any], first: Path, voted: Tables, tasks: Tasks) -> dict[str, Any]:
    """Return what is known of a vote: its members and tasks, and what holds for the first member's training."""
    trained = files.read_as(dict[str, Any], first / layout.SETTINGS, layout.remedy(first), files.read_yaml)
    shared = {key: trained[key] for key in ("profile", "run") if key in trained}
    own = {key: entry[key] for key in ("paper", "row", "members") if entry.get(key)}
    on = [task for task in tasks if any(task in of_split for of_split in voted.values())]
    return own | {"tasks": on} | shared
