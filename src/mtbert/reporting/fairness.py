"""Whether two rows may be compared at all, and whether their models had learnt what they were given.

Two runs are alike where they kept their epoch by the same rule, ran the same code and had as many threads: what differs
there moves scores and is no part of a claim. A model is *still learning* where its last epoch is its best on dev, and
dev still rises or its training loss still falls. Where more updates would change it, a comparison tells of their
number. So it does where the pretraining that a model starts from has learnt nothing of sentences, and where overfitting
is told by training rows that were not seen. Of code with a known fault nothing is judged.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from mtbert import files
from mtbert.outputs import PRETRAINED, DataReport, MlmMetrics, SbertMetrics
from mtbert.reporting import curves, machines, results
from mtbert.reporting.catalog import Completed, CompletedEntry
from mtbert.tasks import TASKS

FALL = 0.05  # of a task's loss, from the third quarter of a phase to the fourth, as a mean over tasks
FAULTS = {  # of what all trainings share, by its digest; runs of it stay in an evidence
    "5b67f43a81b43bae113457a5eae877e0c756c7e485487eafd4ff21a5fc6adb88": "epochs were chosen, and training rows scored, "
    "on the first rows of a file; SST-5's are sorted, and of its first 500 dev rows 76 % are positive, of all 40 %",
}
RISE = 0.01  # of the mean dev score of the tasks, from the best of the epochs before to the last: what matters overall
SEEN = 0.5  # of a task's training rows, some of which overfitting is told by
UNEQUAL = 0.05  # examples of a task, or updates, may differ by this share: samplers draw
BUDGET = ("examples", "updates")  # in a part's `differs`: that these differ is what the claim is about
HISTORY = ["phase", "step", "name", "value"]  # columns
Run = tuple[str, int]


@dataclass(frozen=True)
class Conduct:
    """How a run was made, and how its training went; None where it does not say.

    Attributes:
        made: profile, precision, run.keep, run.selection, run.threads, and `code`, the digest of what all trainings
            share.
        techniques: the digest of each technique's own file.
        updates: how many.
        examples: by task, how many it saw.
        rise: by how much the last epoch is better on dev than the best before it, as RISE says; 0 of a single epoch,
            None without scores on dev. This and what follows are of the last phase with several epochs.
        fall: the share by which the training loss still fell, as FALL says.
        settings: its settings.yaml.
        machine: where it ran, in words. Machines round otherwise, which moves scores as another seed does, so runs of
            two are compared, and the report says so.
    """

    made: dict[str, Any]
    techniques: dict[str, str] = field(default_factory=dict)
    updates: int | None = None
    examples: dict[str, int] | None = None
    rise: float | None = None
    fall: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)
    machine: str = ""

    @property
    def still_learning(self) -> bool:
        """Whether more updates would have changed it."""
        return self.rise is not None and self.rise >= 0 and (self.rise > RISE or self.fall > FALL)


class Conducts:
    """Those of all selected runs; a vote's are its members'."""

    def __init__(self, build: Path, completed: Completed) -> None:
        """Read them; a run that says nothing of itself is like another that does not."""
        self._members = {entry.name: entry.members or (entry.name,) for entry in completed.entries}
        self._pretrained = {name: said for name in PRETRAINED if (said := _pretrained(build, name))}
        self._train_rows = _train_rows(build)
        trained = {name for entry in completed.ran for name in self._members[entry.name]}
        self._found: dict[Run, Conduct] = {
            (entry.name, seed): _read(entry, build, seed)
            for entry in completed.entries
            if entry.name in trained
            for seed in entry.seeds
        }

    def unlike(self, ours: Sequence[str], other: Sequence[str], seed: int) -> list[str]:
        """In what the two rows' runs of a seed were made otherwise, in words; nothing where they may be compared."""
        every = [*self._of(ours, [seed]), *self._of(other, [seed])]
        names = dict.fromkeys(name for one in every for name in one.made)
        differing = [name for name in names if len({one.made.get(name) for one in every}) > 1]
        techniques = dict.fromkeys(name for one in every for name in one.techniques)
        known = ((name, {one.techniques[name] for one in every if name in one.techniques}) for name in techniques)
        return differing + [f"code of {name}" for name, digests in known if len(digests) > 1]

    def differing(self, names: Sequence[str], ours: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
        """Those of these settings that are not the same in all runs of two rows, or that these do not state.

        A profile may set what two reports set otherwise, such as the length of an epoch.
        """
        every = [one for row in (ours, other) for name in row for one in self._runs_of(name)]
        stated = {name: [_values(one.settings, name) for one in every] for name in names}
        return tuple(name for name, values in stated.items() if [] in values or any(v != values[0] for v in values))

    def _runs_of(self, name: str) -> list[Conduct]:
        return [one for (of, _), one in self._found.items() if of == name]

    def faults(self, side: Sequence[str], seeds: Iterable[int]) -> list[str]:
        """The known faults of the code that trained a row's models, in words."""
        codes = dict.fromkeys(one.made.get("code") for one in self._of(side, seeds))
        return [FAULTS[code] for code in codes if code in FAULTS]

    def faulty(self) -> dict[str, list[str]]:
        """The variants that code with a known fault trained, by the fault in words."""
        found: dict[str, list[str]] = {}
        for name in dict.fromkeys(name for name, _ in self._found):
            for fault in self.faults([name], [seed for of, seed in self._found if of == name]):
                found.setdefault(fault, []).append(name)
        return found

    def of_faulty_code(self) -> frozenset[str]:
        """The variants that code with a known fault trained, and the ensembles that have one as a member."""
        models = {name for names in self.faulty().values() for name in names}
        return frozenset(name for name, members in self._members.items() if not models.isdisjoint(members))

    def models(self, *sides: Sequence[str]) -> list[str]:
        """The models of these rows, each once; those of a vote are its members."""
        return list(dict.fromkeys(name for side in sides for row in side for name in self._members.get(row, (row,))))

    def still_learning(self, model: str, seeds: Iterable[int]) -> str:
        """What a model still has to learn, in words; empty where it needs no more updates.

        By what its runs still learn, as means over those that do, where they are more than half; and that its
        pretraining had learnt nothing.
        """
        every = self._of([model], seeds)
        encoders = dict.fromkeys((one.settings.get("model") or {}).get("encoder") for one in every)
        said = [self._pretrained[name] for name in encoders if name in self._pretrained]
        learning = [(one.rise or 0.0, one.fall) for one in every if one.still_learning]
        if 2 * len(learning) > len(every):
            rise, fall = (sum(values) / len(learning) for values in zip(*learning, strict=True))
            falls = f", and the loss still falls by {100 * fall:.0f} %" if fall > FALL else ""
            said.append(f"the last epoch is the best on dev, by {rise:.3f}{falls}")
        return ", and ".join(said)

    def unseen(self, model: str, seeds: Iterable[int], tasks: Iterable[str]) -> str:
        """Of which tasks a model saw fewer training rows than SEEN says, in words; empty where it saw enough."""
        said = []
        for task, rows in self._train_rows.items():
            seen = [one.examples.get(task, 0) for one in self._of([model], seeds) if one.examples is not None]
            if task in tasks and seen and fmean(seen) < SEEN * rows:
                said.append(f"{100 * fmean(seen) / rows:.0f} % of {TASKS[task].title}'s")
        return f"it saw {' and '.join(said)} training rows" if said else ""

    def machines(self, ours: Sequence[str], other: Sequence[str], seeds: Iterable[int]) -> str:
        """On which machines the two rows' runs were made, in words; empty where each seed has the same for both."""
        seeds = list(seeds)
        if all(self._where(ours, [seed]) == self._where(other, [seed]) for seed in seeds):
            return ""
        sides = ((" ".join(side), " and ".join(sorted(self._where(side, seeds)))) for side in (ours, other))
        return "; ".join(f"{side} on {where}" for side, where in sides)

    def _where(self, side: Sequence[str], seeds: Iterable[int]) -> set[str]:
        return {one.machine for one in self._of(side, seeds)}

    def unequal(
        self, ours: Sequence[str], other: Sequence[str], seeds: Iterable[int], tasks: Sequence[str],
        differs: Sequence[str],
    ) -> list[str]:  # fmt: skip
        """What the two rows' runs had unequally much of, as `unequal` says, as a mean over seeds."""
        seeds = list(seeds)
        return unequal(self._of(ours, seeds), self._of(other, seeds), tasks, differs, len(seeds))

    def _of(self, side: Sequence[str], seeds: Iterable[int]) -> list[Conduct]:
        return [self._found[name, seed] for seed in seeds for name in self.models(side) if (name, seed) in self._found]


def unequal(
    mine: Sequence[Conduct], theirs: Sequence[Conduct], tasks: Sequence[str], differs: Sequence[str], seeds: int = 1
) -> list[str]:
    """What two sets of runs had unequally much of, in words: examples of each task, updates. Those in `differs` may.

    The numbers are of a row, so of all its models, and of one of its seeds.
    """
    counts: dict[str, Callable[[Conduct], int | None]] = {}
    if "updates" not in differs:
        counts["updates"] = lambda one: one.updates
    for task in tasks if "examples" not in differs else ():
        counts[f"examples of {TASKS[task].title}"] = lambda one, task=task: _seen(one, task)
    differences = []
    for name, count in counts.items():
        one, two = (_total(side, count) for side in (mine, theirs))
        if one is not None and two is not None and abs(one - two) > UNEQUAL * max(one, two):
            differences.append(f"{one / seeds:,.0f} and {two / seeds:,.0f} {name}")
    return differences


def _total(side: Sequence[Conduct], count: Callable[[Conduct], int | None]) -> int | None:
    """The sum over a row's models and seeds; None where one does not say."""
    counts = [count(one) for one in side]
    return None if None in counts else sum(number for number in counts if number is not None)


def _seen(one: Conduct, task: str) -> int | None:
    return None if one.examples is None else one.examples.get(task, 0)


def _read(entry: CompletedEntry, build: Path, seed: int) -> Conduct:
    directory = entry.directory(build, seed)
    settings = entry.settings(build, seed)
    scores = results.read_metrics(entry, build, seed) if (directory / "metrics.json").is_file() else {}
    run = settings.get("run") or {}
    made = {f"run.{name}": run.get(name) for name in ("keep", "selection", "threads")}
    made |= {"profile": settings.get("profile"), "precision": scores.get("precision"), "code": settings.get("code")}
    told = (directory / "history.csv").is_file()
    history = _judged_phase(curves.read(entry, build, seed, HISTORY)) if told else None
    rise, fall = (None, 0.0) if history is None else (_rise(history), _fall(history))
    updates, examples = scores.get("steps"), scores.get("examples")
    machine = machines.of_run(build, directory)
    return Conduct(made, settings.get("sources") or {}, updates, examples, rise, fall, settings, machine)


def _train_rows(build: Path) -> dict[str, int]:
    """How many rows each task's train set has; empty where `preprocess` has not said it."""
    file = build / "data" / "report.json"
    if not file.is_file():
        return {}
    read = files.read_as(DataReport, file, "dvc repro preprocess").files
    return {task: read[f"{task}/train"].kept for task in TASKS if f"{task}/train" in read}


def _pretrained(build: Path, name: str) -> str:
    """What a pretraining failed to learn, in words; empty where it learnt, or does not say."""
    file = build / "encoders" / name / "metrics.json"
    if not file.is_file():
        return ""
    found = files.read_as(PRETRAINED[name], file, f"dvc repro pretrain@{name}")
    if isinstance(found, SbertMetrics):
        before, after = found.sts_dev_pearson_before, found.sts_dev_pearson_after
        if after > before:
            return ""
        told = f"{before:.3f} before, {after:.3f} after"
        return f"its pretraining of {found.steps:,} steps did not raise r on STS-B ({told})"
    if not isinstance(found, MlmMetrics) or found.mlm_dev_loss_of_frequencies is None:
        return ""
    after, guess = found.mlm_dev_loss_after, found.mlm_dev_loss_of_frequencies
    if after < guess:
        return ""
    losses = f"a loss of {after:.3f} on dev, where a guess by frequencies has {guess:.3f}"
    return f"its pretraining of {found.steps:,} steps knows of tokens only how frequent they are ({losses})"


def _values(settings: Any, name: str) -> list[Any]:
    """Everything that settings hold under this name, at any depth."""
    if isinstance(settings, list):
        return [value for one in settings for value in _values(one, name)]
    if not isinstance(settings, dict):
        return []
    here = [settings[name]] if name in settings else []
    return here + [value for key, below in settings.items() if key != name for value in _values(below, name)]


def _judged_phase(history: pd.DataFrame) -> pd.DataFrame:
    """Of a history.csv the last phase with several epochs that were scored on dev, as one cannot rise, or the last."""
    on_dev = history.loc[history["name"].isin([f"dev/{task}" for task in TASKS])]
    epochs = on_dev.groupby("phase")["step"].nunique()
    several = epochs.index[epochs > 1]
    return history.loc[history["phase"] == (several.max() if len(several) else history["phase"].max())]


def _rise(phase: pd.DataFrame) -> float | None:
    """By how much dev rises in the last epoch, as RISE says."""
    of_tasks = phase.loc[phase["name"].isin([f"dev/{task}" for task in TASKS])]
    means = of_tasks.groupby("step")["value"].mean()
    if len(means) < 2:
        return 0.0 if len(means) else None
    return float(means.iloc[-1] - means.iloc[:-1].max())


def _fall(phase: pd.DataFrame) -> float:
    """The share by which the loss falls, as FALL says: each task's mean from the third quarter to the fourth."""
    losses = phase.loc[phase["name"].isin([f"loss/{task}" for task in TASKS])]
    if losses.empty:
        return 0.0
    first, last = phase["step"].min(), phase["step"].max()
    quarter = ((losses["step"] - first) * 4 / max(1, last - first + 1)).astype(int)
    means = losses.assign(quarter=quarter).groupby(["name", "quarter"])["value"].mean().unstack()
    if not {2, 3} <= set(means):
        return 0.0
    return float((1 - means[3] / means[2]).dropna().mean())
