"""Let ensembles vote: a folder for each seed of which all members are trained, made again where a member has changed.

Such a folder holds what a run's does, without weights: settings, scores, predictions, and `inputs.json`.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mtbert import files, layout
from mtbert.provenance import changes, inputs, seals
from mtbert.provenance.inputs import Inputs
from mtbert.scores import predictions
from mtbert.scores import vote as voting
from mtbert.scores.columns import WEIGHTS, Predictions
from mtbert.scores.schemas import ModelMetrics, RunMetrics
from mtbert.tasks import Tasks, dump_task, read_build

VOTED = ("dev", "test")  # splits that are voted on: each run draws training rows of its own
CODE = "code-ensemble"  # of the plan: the code that votes


@dataclass(frozen=True)
class _Vote:
    """A vote that is asked for.

    Attributes:
        folder: OUT/NAME/SEED, where it lies.
        entry: of the ensemble, in the plan.
        members: the folders of their runs.
    """

    folder: Path
    entry: Mapping[str, Any]
    members: Sequence[Path]

    @property
    def name(self) -> str:
        """The name of the ensemble."""
        return self.folder.parent.name

    @property
    def seed(self) -> int:
        """The seed of all members."""
        return int(self.folder.name)

    @property
    def is_complete(self) -> bool:
        """Whether all members are trained."""
        return all(map(seals.is_sealed, self.members))


def vote_all(build: Path, out: Path) -> list[str]:
    """Write the vote of each selected ensemble and seed to OUT/NAME/SEED; return a line for each that is new.

    A vote of the same members, tasks and code stays. What is not asked for any more, or lacks a member, is removed.

    Raises:
        DataError: no plan, a member's file was altered, or members predicted other rows, or other than there are now.
    """
    tasks = read_build(build)
    complete = [vote for vote in _asked_for(build, out) if vote.is_complete]
    files.keep_only(out, [vote.folder for vote in complete])
    made_from = {vote.folder: _inputs(build, vote, tasks) for vote in complete}
    new = [vote for vote in complete if not inputs.is_finished(vote.folder, made_from[vote.folder])]
    changes.check_rows(build, [member for vote in new for member in vote.members])
    for vote in new:
        _write(vote, tasks, made_from[vote.folder])
    return [f"{vote.name}, seed {vote.seed}: {len(vote.members)} models have voted" for vote in new]


def _asked_for(build: Path, out: Path) -> Iterator[_Vote]:
    """Yield a vote for each selected ensemble that is not merged, and each seed."""
    catalog = layout.read_catalog(build, "ensembles", "seeds")
    for name, entry in catalog["ensembles"].items():
        if entry["selected"] and not entry.get("merge"):
            for seed in catalog["seeds"]:
                members = [layout.run(build, member, seed) for member in entry["members"]]
                yield _Vote(out / name / str(seed), entry, members)


def _inputs(build: Path, vote: _Vote, tasks: Tasks) -> Inputs:
    """Return what a vote is made from: its members, and the examples that they were made from."""
    digests = inputs.digests(build, [run / layout.DIGESTS for run in vote.members])
    for made_from in filter(None, map(inputs.of_model, vote.members)):
        digests |= {name: digest for name, digest in made_from.files.items() if inputs.is_of_data(name)}
    return Inputs(
        settings={**vote.entry, "described": {name: dump_task(task) for name, task in tasks.items()}},
        code=layout.read_plan(layout.plan(build, CODE)),
        files=digests,
        seed=vote.seed,
    )


def _write(vote: _Vote, tasks: Tasks, made_from: Inputs) -> None:
    predicted = [layout.predictions(Path(), task, split) for task, split in itertools.product(tasks, VOTED)]
    for run in vote.members:
        seals.check(run, only=[layout.METRICS, layout.SETTINGS, *(file.as_posix() for file in predicted)])
    voted = voted_by(vote.members, tasks)
    scored = ModelMetrics(
        variant=vote.name,
        seed=vote.seed,
        parameters=_sizes(vote.members),
        dev=predictions.scores(voted["dev"], tasks),
        test=predictions.scores(voted["test"], tasks),
        beside=predictions.scores_beside(voted["dev"], tasks),
    )
    with files.new_directory(vote.folder) as partial:
        for split, by_task in voted.items():
            for task, table in by_task.items():
                predictions.write(layout.predictions(partial, task, split), table)
        files.write_yaml(partial / layout.SETTINGS, _settings(vote, voted, tasks))
        files.write_json(partial / layout.METRICS, scored.content())
        files.write_text(partial / layout.INPUTS, made_from.text())
        seals.seal(partial)


def voted_by(members: Sequence[Path], tasks: Tasks) -> Predictions:
    """Return the vote of these runs on each task and split that all of them predicted.

    Raises:
        DataError: they predicted other rows.
    """
    voted: Predictions = {split: {} for split in VOTED}
    for split, task in itertools.product(VOTED, tasks):
        by_member = {run.parent.name: layout.predictions(run, task, split) for run in members}
        if all(file.is_file() for file in by_member.values()):
            tables = {member: files.read_parquet(file) for member, file in by_member.items()}
            voted[split][task] = voting.vote(tables, tasks[task])
    return voted


def _sizes(members: Sequence[Path]) -> dict[str, int]:
    """Return the weights of all members together, and those of one's encoder."""
    by_member = [files.read_as(RunMetrics, run / layout.METRICS, layout.remedy(run)).parameters for run in members]
    return {name: sum(sizes[name] for sizes in by_member) for name in WEIGHTS} | {"encoder": by_member[0]["encoder"]}


def _settings(vote: _Vote, voted: Predictions, tasks: Tasks) -> dict[str, Any]:
    """Return what is known of a vote: its members and tasks, and what holds for the first member's training."""
    first = vote.members[0]
    trained = files.read_as(dict[str, Any], first / layout.SETTINGS, layout.remedy(first))
    voted_tasks = [task for task in tasks if any(task in by_task for by_task in voted.values())]
    return {
        "variant": vote.name,
        "seed": vote.seed,
        **{key: vote.entry[key] for key in ("paper", "row", "members") if vote.entry.get(key)},
        "tasks": voted_tasks,
        **{key: trained[key] for key in ("profile", "run") if key in trained},
    }
